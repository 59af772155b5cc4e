"""Deleting files that no version of a lake needs any more, after a grace that no reader outlives."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from turnout.outcomes.facts import Instant
from turnout.pipeline.cubes import CUBES
from turnout.pipeline.lake import cubing, index
from turnout.pipeline.lake.delta import Table
from turnout.pipeline.lake.files import DataFile, place_of
from turnout.pipeline.lake.reading import NAMED
from turnout.pipeline.lake.store import Store
from turnout.pipeline.schema import TABLES

GRACE: Final = 3600 * 1_000_000_000
"""How long files stay after no version needs them: no reader holds a snapshot for so long."""

_CUBED: Final = 16 * 1024
"""No smaller file has as many rows as a cube is worth; where a place cannot be asked for a list, each cube is asked for."""

_SEEN: Final = "_turnout_unneeded.json"


@dataclass(frozen=True, slots=True)
class Swept:
    """Files that no version needs: deleted ones, and those whose grace is not over."""

    deleted: int
    deleted_bytes: int
    waiting: int


def sweep(store: Store, now: Instant, grace: Instant = GRACE) -> Swept:
    """Delete the files that no version needs and that were found so at least a grace ago.

    To be called while no other writer is at work: a file that waits for its commit looks as if nobody needed it.
    """
    seen = _seen(store)
    unneeded = {path: seen.get(path, now) for path in _unneeded(store)}
    due = {path for path, first_seen in unneeded.items() if now - first_seen >= grace}
    size = sum(store.delete(path) for path in sorted(due))
    waiting = {path: first_seen for path, first_seen in unneeded.items() if path not in due}
    store.keep(_SEEN, json.dumps(waiting).encode())
    return Swept(len(due), size, len(waiting))


def _seen(store: Store) -> dict[str, Instant]:
    kept = store.kept(_SEEN)
    seen: dict[str, Instant] = {} if kept is None else json.loads(kept)
    return seen


def _unneeded(store: Store) -> Iterator[str]:
    """Files that belong to nothing, named from the root: of the tables, and beside them cubes and index files."""
    live = {name: _live(store, name) for name in TABLES}
    strays = {name: _strays(store, name, live[name]) for name in TABLES}
    for name, sizes in strays.items():
        yield from (f"{name}/{path}" for path in sizes)
    yield from (f"{cubing.FOLDER}/{path}" for path in _cubes(store, strays, live))
    yield from (f"{index.FOLDER}/{path}" for path in _indexes(store, strays["turns"], live["turns"]))


def _cubes(store: Store, strays: Mapping[str, Mapping[str, int]], live: Mapping[str, Iterable[DataFile]]) -> set[str]:
    """Cubes of no file: those of strays, and whatever else lies beside the cubes of live files."""
    needed = {cubing.path_of(cube, file.path) for cube in CUBES for file in live[cube.table]}
    large = {name: [path for path, size in sizes.items() if size >= _CUBED] for name, sizes in strays.items()}
    of_strays = (cubing.path_of(cube, path) for cube in CUBES for path in large[cube.table])
    return {path for path in of_strays if store.has(cubing.FOLDER, path)} | (set(store.listed(cubing.FOLDER)) - needed)


def _indexes(store: Store, strays: Iterable[str], live: Iterable[DataFile]) -> set[str]:
    """Index files of no group: those of strays, and whatever else lies beside those of live groups."""
    needed = {index.path_of((file.date, file.group)) for file in live}
    of_strays = {index.path_of(place_of(path)) for path in strays} - needed
    return {path for path in of_strays if store.has(index.FOLDER, path)} | (set(store.listed(index.FOLDER)) - needed)


def _live(store: Store, name: str) -> tuple[DataFile, ...]:
    """The files of a table in its newest version, and in the one that the newest turns commit names."""
    newest, turns = Table.find(name, store), Table.find("turns", store)
    named = None
    if turns is not None and name in NAMED:
        named = Table.find(name, store, turns.transaction(NAMED[name]) or 0)
    return tuple(file for table in (newest, named) if table is not None for file in table.files())


def _strays(store: Store, name: str, live: Iterable[DataFile]) -> dict[str, int]:
    """The files of a table that are there and in none of these versions, with their sizes."""
    table = Table.find(name, store)
    # The log tells of files that were taken out, also once they are deleted.
    gone = set[str]() if table is None else table.strays() - {file.path for file in live}
    sizes = ((path, store.size(name, path)) for path in gone)
    return {path: size for path, size in sizes if size is not None}
