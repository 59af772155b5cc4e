"""Looking after a lake: merging files, keeping by age, forgetting a person."""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from turnout.outcomes.classify import CLASSIFIER_VERSION
from turnout.pipeline.lake.compaction import Target, mergers, places_of
from turnout.pipeline.lake.tables import CHILDREN, Tables
from turnout.pipeline.lake.upsert import Place, plan_removal
from turnout.pipeline.lake.writing import Writer, ids_of
from turnout.pipeline.rows import classified

BATCH: Final = 2000
"""How many turns are decided again in one change."""


def compact(writer: Writer, target: Target) -> int:
    """Put groups of files together; says how many were merged.

    Raises:
        ConflictError: when another writer committed meanwhile.
    """
    writer.tables.settle()
    merged = 0
    for places in list(mergers(writer.tables.turns.files(), target)):
        _merge(writer, places)
        merged += len(places)
    return merged


def _merge(writer: Writer, places: Sequence[Place]) -> None:
    """One set of groups of one date becomes one group, in all three tables."""
    tables, place = writer.tables, (places[0][0], writer.tables.namer())
    for name in (*CHILDREN, "turns"):
        held = places_of(tables[name].files())
        old = [held[one] for one in places if one in held]
        if not old:
            continue
        rows = pl.concat([tables.read(name, file) for file in old])
        new = tables.put(name, place, rows)
        if name == "turns":
            writer.index.write(place, ids_of(rows))
        writer.reached(f"{name} merged")
        tables[name].commit([new], old, transactions=tables.names() if name == "turns" else None, rearranged=True)


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
        writer.change(plan_removal(ids, writer.stored(ids)))
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
        rows = pl.scan_parquet(path, hive_partitioning=False).filter(condition).select("turn_id")
        found.update((rows if limit is None else rows.head(limit - len(found))).collect()["turn_id"])
        if limit is not None and len(found) >= limit:
            break
    return found
