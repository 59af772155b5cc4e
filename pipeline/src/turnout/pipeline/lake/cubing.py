"""The cubes of files: made when a large file is written, read instead of it.

A cube lies beside the lake's tables under a name made from its file, so it needs no commit: it is there or it is not, and where it is
not the file itself is read.
"""

import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from turnout.pipeline.cubes import Cube, of_table, source_of
from turnout.pipeline.lake.files import DataFile
from turnout.pipeline.lake.store import Store

FOLDER: Final = "_cubes"
"""Where cubes are, below the root of the lake."""

# Ids hardly compress, and unpacking them is what a question over single rows spends its time on.
_WRITTEN: Final[dict[bool, dict[str, Any]]] = {
    False: {"compression": "zstd", "compression_level": 1},
    True: {"compression": "lz4"},
}


@dataclass(frozen=True, slots=True)
class Cubing:
    """When a cube is worth its file: from so many rows on, and if it has at most such a share of them."""

    rows: int = 4096
    share: float = 0.4


def path_of(cube: Cube, file: str) -> str:
    """The path of the cube of a file, below `FOLDER`."""
    return f"{cube.key}/{file}"


class CubeCounter:
    """Counts the cubes of one file while its rows go by; of a small file none."""

    def __init__(self, table: str, rows: int, worth: Cubing) -> None:
        """Begin.

        Args:
            table: whose file.
            rows: about how many there will be.
            worth: when a cube is worth its file.
        """
        self._rows = 0
        self._worth = worth
        self._cubes = of_table(table) if rows >= worth.rows else ()
        # A cube that another one holds is counted from that, at the end.
        self._counted: dict[Cube, list[pl.DataFrame]] = {
            cube: [] for cube in self._cubes if source_of(cube, self._cubes) is None
        }

    def add(self, frame: pl.DataFrame) -> None:
        """Count some of the rows; those of one turn come together."""
        self._rows += frame.height
        for cube, parts in self._counted.items():
            parts.append(cube.rows(frame))

    def write(self, store: Store, path: str) -> None:
        """Write the cubes of the file that is about to be committed, where they are worth it."""
        whole = {cube: cube.together(parts) for cube, parts in self._counted.items()}
        for cube in self._cubes:
            source = source_of(cube, whole)
            counted = whole[cube] if source is None else cube.together([whole[source]])
            if cube.single or counted.height <= self._worth.share * self._rows:
                buffer = io.BytesIO()
                counted.write_parquet(buffer, **_WRITTEN[cube.single])
                store.put(FOLDER, path_of(cube, path), buffer.getvalue())


class CubeFiles:
    """Knows which files have which cubes; looks at each file once, for its cubes are there before it is."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[tuple[str, str], bool] = {}

    def of(self, cube: Cube, files: Iterable[DataFile]) -> dict[DataFile, str]:
        """The local paths of the cubes of those files that have this one."""
        return {
            file: self._store.local(FOLDER, path_of(cube, file.path)) for file in files if self._has(cube, file.path)
        }

    def _has(self, cube: Cube, path: str) -> bool:
        key = cube.key, path
        if key not in self._known:
            self._known[key] = self._store.has(FOLDER, path_of(cube, path))
        return self._known[key]
