"""Looking after a lake: merging files, keeping by age, forgetting a person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from turnout.outcomes.classify import CLASSIFIER_VERSION
from turnout.pipeline.lake.compaction import Target, mergers, places_of
from turnout.pipeline.lake.files import DataFile
from turnout.pipeline.lake.parquet import NewFile
from turnout.pipeline.lake.tables import CHILDREN, Tables
from turnout.pipeline.lake.upsert import Place, plan_removal
from turnout.pipeline.lake.writing import NEEDED, Writer, ids_of
from turnout.pipeline.rows import classified

BATCH: Final = 2000
"""How many turns are decided again in one change."""


@dataclass(frozen=True, slots=True)
class Merged:
    """Groups of one date put together as one group, not part of the lake yet: the old and the new file of each table."""

    groups: int
    old: Mapping[str, tuple[DataFile, ...]]
    new: Mapping[str, NewFile]


def plan_merges(tables: Tables, target: Target, before: str | None) -> list[tuple[Place, ...]]:
    """The sets of groups to put together, of all dates or those before one."""
    tables.settle()
    return list(mergers((file for file in tables.turns.files() if before is None or file.date < before), target))


def merge(writer: Writer, places: Sequence[Place]) -> Merged:
    """Put groups of one date together; reads and writes files alone, so that writers need not wait for it."""
    tables, place = writer.tables, (places[0][0], writer.tables.namer())
    old = {name: _held(tables, name, places) for name in (*CHILDREN, "turns")}
    new: dict[str, NewFile] = {}
    for name, files in old.items():
        poured = tables.pour(name, place, files) if files else None
        if poured is not None:
            new[name] = poured
            writer.reached(f"{name} merged")
    new_turns = tables.store.local("turns", new["turns"].file.path)
    rows = pl.scan_parquet(new_turns, hive_partitioning=False, glob=False).select(NEEDED)
    writer.index.write(place, ids_of(rows))
    return Merged(len(places), old, new)


def install(writer: Writer, merged: Merged) -> int:
    """Make merged groups part of the lake; says how many groups that were, none where some of them have changed meanwhile.

    Raises:
        ConflictError: when another writer committed meanwhile.
    """
    tables = writer.tables
    tables.settle()
    unchanged = all(set(files) <= set(tables[name].files()) for name, files in merged.old.items())
    there = all(tables.store.has(name, new.file.path) for name, new in merged.new.items())
    if not (unchanged and there):
        return 0
    for name, files in merged.old.items():
        if files:
            added = [merged.new[name]] if name in merged.new else []
            names = tables.names() if name == "turns" else None
            tables[name].commit(added, files, transactions=names, rearranged=True)
            writer.reached(f"{name} exchanged")
    return merged.groups


def _held(tables: Tables, name: str, places: Sequence[Place]) -> tuple[DataFile, ...]:
    held = places_of(tables[name].files())
    return tuple(held[place] for place in places if place in held)


def retain(tables: Tables, first_dates: Mapping[str, str]) -> int:
    """Take out of each table the files of dates before its first; says how many turns went.

    Steps and tool calls never outlive their turns.

    Raises:
        ConflictError: when another writer committed meanwhile.
    """
    tables.settle()
    turns_from = first_dates.get("turns", "")
    old_turns = [file for file in tables.turns.files() if file.date < turns_from]
    for name in CHILDREN:
        first = max(turns_from, first_dates.get(name, ""))
        old = [file for file in tables[name].files() if file.date < first]
        if old:
            tables[name].commit(removed=old)
    tables.turns.commit(removed=old_turns, transactions=tables.names())
    return sum(file.rows for file in old_turns)


def forget(writer: Writer, column: str, value: str) -> int:
    """Take out every turn of one conversation or person, with its steps and tool calls; says how many turns went.

    Raises:
        ConflictError: when another writer committed meanwhile.
    """
    writer.tables.settle()
    ids = _ids_where(writer.tables, pl.col(column) == value)
    if ids:
        writer.change(plan_removal(ids, writer.around((), ids)))
    return len(ids)


def reclassify(writer: Writer) -> int:
    """Decide the turns again that another version of the classifier decided; says how many, at most `BATCH` in one go.

    Raises:
        ConflictError: when another writer committed meanwhile.
    """
    writer.tables.settle()
    ids = _ids_where(writer.tables, pl.col("classifier_version") != CLASSIFIER_VERSION, BATCH)
    stored = writer.stored(ids)
    turns = [classified(stored[turn_id].facts(), stored[turn_id].received_at) for turn_id in ids]
    return writer.write(turns, None).replaced if turns else 0


def _ids_where(tables: Tables, condition: pl.Expr, limit: int | None = None) -> set[str]:
    """The turns of which a condition holds, or so many of them."""
    found: set[str] = set()
    for file in tables.turns.files():
        path = tables.store.local("turns", file.path)
        rows = pl.scan_parquet(path, hive_partitioning=False, glob=False).filter(condition).select("turn_id")
        found.update((rows if limit is None else rows.head(limit - len(found))).collect()["turn_id"])
        if limit is not None and len(found) >= limit:
            break
    return found
