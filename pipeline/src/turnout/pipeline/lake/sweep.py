"""Deleting files that no version of a lake needs any more, after a grace that no reader outlives."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from turnout.outcomes.facts import Instant
from turnout.pipeline.cubes import CUBES
from turnout.pipeline.lake import cubing, index
from turnout.pipeline.lake.delta import Table
from turnout.pipeline.lake.reading import NAMED
from turnout.pipeline.lake.store import Store
from turnout.pipeline.schema import TABLES

GRACE: Final = 3600 * 1_000_000_000
"""How long files stay after no version needs them: no reader holds a snapshot for so long."""

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
    """Files of the tables, cubes and index files that belong to nothing, named from the root."""
    needed = {name: _needed(store, name) for name in TABLES}
    for name, paths in needed.items():
        yield from (f"{name}/{path}" for path in store.data_files(name) if path not in paths)
    cubes = {cubing.path_of(cube, path) for cube in CUBES for path in needed[cube.table]}
    yield from (f"{cubing.FOLDER}/{path}" for path in store.data_files(cubing.FOLDER) if path not in cubes)
    turns = Table.find("turns", store)
    indexed = {index.path_of((file.date, file.group)) for file in (turns.files() if turns is not None else ())}
    yield from (f"{index.FOLDER}/{path}" for path in store.data_files(index.FOLDER) if path not in indexed)


def _needed(store: Store, name: str) -> set[str]:
    """The files of a table in its newest version, and in the one that the newest turns commit names."""
    turns = Table.find("turns", store)
    versions: list[int | None] = [None]
    if turns is not None and name in NAMED:
        versions.append(turns.transaction(NAMED[name]) or 0)
    tables = [Table.find(name, store, version) for version in versions]
    return {file.path for table in tables if table is not None for file in table.files()}
