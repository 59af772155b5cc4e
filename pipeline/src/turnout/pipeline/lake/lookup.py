"""Stored rows by turn id and root, through the index of ids, without a scan of the lake."""

from collections.abc import Collection, Iterable
from functools import partial
from typing import Any, Final

import msgspec
import polars as pl

from turnout.outcomes.facts import TurnFacts
from turnout.pipeline.codec import decode_turn
from turnout.pipeline.lake.compaction import places_of
from turnout.pipeline.lake.files import DataFile, micros
from turnout.pipeline.lake.index import IdIndex
from turnout.pipeline.lake.store import Store
from turnout.pipeline.lake.upsert import Place, Stored

_COLUMNS: Final = (
    "turn_id",
    "root_turn_id",
    "parent_turn_id",
    "trace_id",
    "flags",
    "usage_complete",
    "input_tokens",
    "output_tokens",
    "digest",
    "classifier_version",
    "received_at",
    "started_at",
    "ended_at",
    "last_segment",
    "facts",
)


def tellers_of(store: Store, index: IdIndex, files: Iterable[DataFile], calls: Collection[str]) -> dict[str, Stored]:
    """Every row of `turns` that tells of one of these calls."""
    live = places_of(files)
    quoted = [f'"message_id":{json_text(call)}' for call in calls]
    mentions = pl.col("trace_id").is_null() & pl.col("facts").str.contains_any(quoted)
    found: dict[str, Stored] = {}
    for place in sorted(index.places(map(json_text, calls), live)):
        found |= _where(store, place, live[place], mentions)
    return found


def json_text(call: str) -> str:
    """The id of a call as it stands in stored facts; the index knows calls by this."""
    return msgspec.json.encode(call).decode()


def stored_rows(store: Store, index: IdIndex, files: Iterable[DataFile], keys: Collection[str]) -> dict[str, Stored]:
    """Every row of `turns` whose turn id, root or parent is one of the keys, and every other segment of those roots."""
    live = places_of(files)
    found: dict[str, Stored] = {}
    asked: set[str] = set()
    wanted = set(keys)
    while wanted:
        for place in sorted(index.places(wanted, live)):
            found |= _matching(store, place, live[place], wanted)
        asked |= wanted
        wanted = {row.root for row in found.values()} - asked
    return found


def _matching(store: Store, place: Place, file: DataFile, keys: set[str]) -> dict[str, Stored]:
    wanted = pl.Series(list(keys), dtype=pl.String).implode()
    match = pl.any_horizontal(pl.col("turn_id", "root_turn_id", "parent_turn_id").is_in(wanted))
    return _where(store, place, file, match)


def _where(store: Store, place: Place, file: DataFile, condition: pl.Expr) -> dict[str, Stored]:
    rows = (
        pl.scan_parquet(store.local("turns", file.path), hive_partitioning=False, glob=False)
        .filter(condition)
        .select(_COLUMNS)
    )
    return {row["turn_id"]: _stored(place, row) for row in rows.collect().iter_rows(named=True)}


def _stored(place: Place, row: dict[str, Any]) -> Stored:
    return Stored(
        turn_id=row["turn_id"],
        root=row["root_turn_id"],
        parent=row["parent_turn_id"],
        told_by_spans=row["trace_id"] is not None,
        digest=row["digest"],
        classifier_version=row["classifier_version"],
        received_at=micros(row["received_at"]) * 1000,
        started_at=None if row["started_at"] is None else micros(row["started_at"]) * 1000,
        ended_at=None if row["ended_at"] is None else micros(row["ended_at"]) * 1000,
        last_segment=row["last_segment"],
        flags=tuple(row["flags"]),
        usage_known=bool(row["usage_complete"])
        and (row["input_tokens"] is not None or row["output_tokens"] is not None),
        place=place,
        facts=partial(_decoded, row["facts"]),
    )


def _decoded(facts: str) -> TurnFacts:
    return decode_turn(facts.encode()).turn
