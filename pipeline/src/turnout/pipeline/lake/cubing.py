"""The cubes of files: made when a large file is written, read instead of it.

A cube lies beside the lake's tables under a name made from its file, so it needs no commit: it is there or it is not, and where it is
not the file itself is read.
"""

import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import polars as pl

from turnout.pipeline.cubes import CUBES, Cube
from turnout.pipeline.lake.files import DataFile
from turnout.pipeline.lake.store import Store

FOLDER: Final = "_cubes"
"""Where cubes are, below the root of the lake."""


@dataclass(frozen=True, slots=True)
class Cubing:
    """When a cube is worth its file: from so many rows on, and if it has at most such a share of them."""

    rows: int = 4096
    share: float = 0.25


def path_of(cube: Cube, file: str) -> str:
    """The path of the cube of a file, below `FOLDER`."""
    return f"{cube.name}/{file}"


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
        cubes = [cube for cube in CUBES if cube.table == table and rows >= worth.rows]
        self._counted: dict[Cube, list[pl.DataFrame]] = {cube: [] for cube in cubes}

    def add(self, frame: pl.DataFrame) -> None:
        """Count some of the rows."""
        self._rows += frame.height
        for cube, parts in self._counted.items():
            parts.append(cube.rows(frame))

    def write(self, store: Store, path: str) -> None:
        """Write the cubes of the file that is about to be committed, where they are worth it."""
        for cube, parts in self._counted.items():
            whole = cube.together(parts)
            if whole.height <= self._worth.share * self._rows:
                buffer = io.BytesIO()
                whole.write_parquet(buffer, compression="zstd", compression_level=1)
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
        key = cube.name, path
        if key not in self._known:
            self._known[key] = self._store.has(FOLDER, path_of(cube, path))
        return self._known[key]
