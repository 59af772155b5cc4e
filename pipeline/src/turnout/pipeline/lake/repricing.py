"""Costs by today's price list: what a source reported stays, what the list gave is asked again, and what it now knows gets a price."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import polars as pl

from turnout.outcomes.verdict import Flag
from turnout.pipeline.analysis.price import PRICE_LIST, CostSource
from turnout.pipeline.codec import decode_turn
from turnout.pipeline.lake.calls import counted_once
from turnout.pipeline.lake.compaction import places_of
from turnout.pipeline.lake.files import DataFile, at_places, micros
from turnout.pipeline.lake.pouring import Change
from turnout.pipeline.lake.tables import Tables
from turnout.pipeline.lake.upsert import Place
from turnout.pipeline.lake.verify import counted_elsewhere
from turnout.pipeline.rows import ClassifiedTurn, Row, classified, step_rows, turn_row

_OF_TURNS: Final = ("turn_id",)
_OF_STEPS: Final = ("turn_id", "step", "position")
_COSTS: Final = ("cost_usd", "cost_source", "price_list")
_REPORTED: Final = str(CostSource.REPORTED)


@dataclass(frozen=True, slots=True)
class Repriced:
    """What asking again did, in turns: how many now have another price, and how many of those looked at still have none."""

    changed: int = 0
    unpriced: int = 0

    def __add__(self, other: "Repriced") -> "Repriced":
        """Both together."""
        return Repriced(self.changed + other.changed, self.unpriced + other.unpriced)


def due(tables: Tables) -> list[Place]:
    """The groups of files that have a turn whose cost was not reported and is not of today's list."""
    tables.settle()
    return [place for place, file in places_of(tables.turns.files()).items() if _asked(tables, file).height]


def reprice(tables: Tables, place: Place) -> Repriced:
    """Ask for the prices of one group again, in one change; a group that is not there any more has nothing to ask for.

    Raises:
        ConflictError: when another writer committed meanwhile; nothing of it is then part of the lake.
    """
    tables.settle()
    file = places_of(tables.turns.files()).get(place)
    if file is None:
        return Repriced()
    asked = _asked(tables, file)
    steps_of = _steps(tables, place, asked)
    turns = {row["turn_id"]: _again(row, steps_of) for row in asked.iter_rows(named=True)}
    made = {turn_id: turn_row(turn) for turn_id, turn in turns.items()}
    before = {row["turn_id"]: tuple(row[name] for name in _COSTS) for row in asked.iter_rows(named=True)}
    changed = [turn_id for turn_id, row in made.items() if tuple(row[name] for name in _COSTS) != before[turn_id]]
    if changed:
        steps = [row for turn_id in changed for row in step_rows(turns[turn_id])]
        _exchange(tables, place, {"steps": steps, "turns": [made[turn_id] for turn_id in changed]})
    unpriced = sum(row["cost_usd"] is None and row["input_tokens"] is not None for row in made.values())
    return Repriced(len(changed), unpriced)


def _asked(tables: Tables, file: DataFile) -> pl.DataFrame:
    """The turns of a file to be asked for: priced by another list, or not priced though tokens were used."""
    another = (pl.col("cost_source") != _REPORTED) & (pl.col("price_list") != PRICE_LIST)
    unpriced = pl.col("cost_source").is_null() & pl.col("input_tokens").is_not_null()
    rows = pl.scan_parquet(tables.store.local("turns", file.path), hive_partitioning=False, glob=False)
    return rows.filter(another | unpriced).select("turn_id", "facts", "received_at", "flags", *_COSTS).collect()


def _steps(tables: Tables, place: Place, asked: pl.DataFrame) -> pl.DataFrame:
    """The stored calls of the turns that leave out some, which say which."""
    doubled = asked.filter(pl.col("flags").list.contains(str(Flag.DUPLICATE_CALL)))["turn_id"].to_list()
    files = at_places(tables["steps"].files(), tables.turns.files(), {place}) if doubled else ()
    columns = ("turn_id", "step", "position", "input_tokens", "output_tokens", "cost_usd")
    paths = [tables.store.local("steps", file.path) for file in files]
    rows = [pl.scan_parquet(path, hive_partitioning=False, glob=False).select(columns) for path in paths]
    held = pl.concat(rows).collect() if rows else pl.DataFrame(schema=dict.fromkeys(columns, pl.Null))
    return held.filter(pl.col("turn_id").is_in(doubled)) if rows else held


def _again(row: Mapping[str, Any], steps: pl.DataFrame) -> ClassifiedTurn:
    """The turn made again from its facts, without the calls that count in another one."""
    whole = classified(decode_turn(row["facts"].encode()).turn, micros(row["received_at"]) * 1000)
    return counted_once(whole, counted_elsewhere(row, whole.facts, steps))


def _exchange(tables: Tables, place: Place, rows: Mapping[str, Collection[Row]]) -> None:
    """Write the files of a group anew with the costs of some rows; the steps first, `turns` last and naming them."""
    turns = tables.turns.files()
    for name, keys, costs in (("steps", _OF_STEPS, ("cost_usd",)), ("turns", _OF_TURNS, _COSTS)):
        old = at_places(tables[name].files(), turns, {place})
        change = _change(pl.DataFrame(list(rows[name]), infer_schema_length=None), keys, costs)
        new = [tables.pour(name, (file.date, file.group), [file], change) for file in old]
        names = tables.names() if name == "turns" else None
        tables[name].commit([file for file in new if file is not None], old, transactions=names)


def _change(made: pl.DataFrame, keys: tuple[str, ...], costs: tuple[str, ...]) -> Change:
    if made.is_empty():
        return _as_they_are
    return partial(_with_costs, made=made.select(*keys, *costs), keys=keys, costs=costs)


def _as_they_are(rows: pl.DataFrame) -> pl.DataFrame:
    return rows


def _with_costs(rows: pl.DataFrame, made: pl.DataFrame, keys: tuple[str, ...], costs: tuple[str, ...]) -> pl.DataFrame:
    """Rows with the costs that were made for them, by key; a cost that was made may be none."""
    fresh = made.cast({name: rows.schema[name] for name in made.columns}).with_columns(made=pl.lit(value=True))
    joined = rows.join(fresh, on=keys, how="left", suffix="_made", nulls_equal=True, maintain_order="left")
    return joined.with_columns(
        pl.when("made").then(f"{name}_made").otherwise(name).alias(name) for name in costs
    ).select(rows.columns)
