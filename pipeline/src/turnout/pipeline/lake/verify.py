"""Does the lake add up? Every row made again from its facts, every file counted, every root with one last segment, every call counted once."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import polars as pl

from turnout.outcomes.classify import CLASSIFIER_VERSION
from turnout.outcomes.facts import TurnFacts
from turnout.outcomes.verdict import Flag
from turnout.pipeline.codec import decode_turn
from turnout.pipeline.errors import TurnoutError
from turnout.pipeline.lake.beside import check_cubes, check_index
from turnout.pipeline.lake.calls import calls_of, counted_once
from turnout.pipeline.lake.delta import Table
from turnout.pipeline.lake.errors import reason_of
from turnout.pipeline.lake.files import DataFile, micros
from turnout.pipeline.lake.index import IdIndex
from turnout.pipeline.lake.parquet import complete
from turnout.pipeline.lake.problems import RECLASSIFY, REWRITE, Found, Problem
from turnout.pipeline.lake.reading import NAMED, Reader
from turnout.pipeline.lake.relations import RELATION_FLAGS, with_flags
from turnout.pipeline.lake.store import Store
from turnout.pipeline.rows import ClassifiedTurn, Row, classified, step_rows, tool_call_rows, turn_row
from turnout.pipeline.schema import TABLES

_CHILDREN: Final[Mapping[str, Callable[[ClassifiedTurn], list[Row]]]] = {
    "steps": step_rows,
    "tool_calls": tool_call_rows,
}
_NOT_FROM_FACTS: Final = {"last_segment", "updated_at", "received_at", "cost_usd", "cost_source", "price_list"}
_NOT_OF_OLD: Final = {"step_output_tokens", "step_output_cap", "step_cut"}
"""Columns that files of an older turnout do not have."""


def verify(store: Store) -> Iterator[Problem]:
    """Look at everything; yields nothing where all adds up.

    Raises:
        LakeError: when the lake cannot be read at all.
    """
    found = Found()
    snapshot = Reader(store).snapshot()
    segments: list[pl.DataFrame] = []
    index, counted = IdIndex(store), set[str]()
    children = {name: {(file.date, file.group): file for file in snapshot.files(name)} for name in _CHILDREN}
    for file in snapshot.files("turns"):
        rows = _rows(store, "turns", file, found)
        if rows is None:
            continue
        segments.append(rows.select("turn_id", "root_turn_id", "started_at", "ended_at", "last_segment"))
        held = {
            name: _of_group(store, name, files.pop((file.date, file.group), None), found)
            for name, files in children.items()
        }
        _check_group(file, rows, held, found, counted)
        check_index(index, file, rows, found)
        check_cubes(store, "turns", file, rows, found)
    for name, files in children.items():
        found.note(f"a file of {name} belongs to no turns", REWRITE, (file.path for file in files.values()))
    _check_segments(segments, found)
    _check_versions(store, found)
    yield from found.problems()


def _rows(store: Store, name: str, file: DataFile, found: Found) -> pl.DataFrame | None:
    """The rows of a file with every column of the schema; None where it cannot be read."""
    try:
        frame = pl.read_parquet(store.local(name, file.path), hive_partitioning=False, glob=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        found.note(f"a file of {name} cannot be read", REWRITE, [f"{file.path}: {error}"])
        return None
    if frame.height != file.rows:
        found.note(f"a file of {name} holds another number of rows than its commit says", REWRITE, [file.path])
    return complete(name, frame).with_columns(date=pl.lit(file.date)).select(list(TABLES[name]))


def _of_group(store: Store, name: str, file: DataFile | None, found: Found) -> pl.DataFrame:
    rows = None if file is None else _rows(store, name, file, found)
    if file is None or rows is None:
        return pl.DataFrame(schema=dict(TABLES[name]))
    check_cubes(store, name, file, rows, found)
    return rows


def _check_group(
    file: DataFile, rows: pl.DataFrame, held: Mapping[str, pl.DataFrame], found: Found, counted: set[str]
) -> None:
    """Look at the turns of one group; ``counted`` are the calls of transcripts that turns before these count."""
    expected: dict[str, list[Row]] = {name: [] for name in _CHILDREN}
    for row in rows.iter_rows(named=True):
        try:
            whole = _made_again(row)
        except (ValueError, TurnoutError) as error:
            found.note("the facts of a turn cannot be read", REWRITE, [f"{row['turn_id']}: {reason_of(error)}"])
            continue
        elsewhere = counted_elsewhere(row, whole.facts, held["steps"])
        turn = counted_once(whole, elsewhere)
        calls = calls_of(whole.facts) - elsewhere
        found.note("a model call counts in two turns", REWRITE, (f"{row['turn_id']}: {one}" for one in calls & counted))
        counted |= calls
        for name, rows_of in _CHILDREN.items():
            expected[name].extend(rows_of(turn))
        if row["classifier_version"] != CLASSIFIER_VERSION:
            found.note("a turn was decided by another version of the classifier", RECLASSIFY, [row["turn_id"]])
        else:
            _compare(row, turn_row(turn), found)
        if row["date"] != file.date:
            found.note("a turn lies under another date than its own", REWRITE, [row["turn_id"]])
    for name, stored in held.items():
        made = pl.DataFrame(expected[name], schema=dict(TABLES[name]), orient="row")
        _compare_children(name, _countable(made), _countable(stored), found)


def _made_again(row: Mapping[str, Any]) -> ClassifiedTurn:
    return classified(decode_turn(row["facts"].encode()).turn, micros(row["received_at"]) * 1000)


def counted_elsewhere(row: Mapping[str, Any], facts: TurnFacts, steps: pl.DataFrame) -> frozenset[str]:
    """The calls of a turn that count in another one: its row says that there are some, and the rows of its steps which."""
    if Flag.DUPLICATE_CALL not in row["flags"]:
        return frozenset()
    bare = pl.all_horizontal(pl.col("input_tokens", "output_tokens", "cost_usd").is_null())
    rows = steps.filter((pl.col("turn_id") == row["turn_id"]) & bare).select("step", "position").rows()
    return frozenset(call for place, call in _placed(facts) if place in rows) & calls_of(facts)


def _placed(facts: TurnFacts) -> Iterator[tuple[tuple[int | None, int], str]]:
    """The place of the row of each step, and the call that it was."""
    counts: Counter[int | None] = Counter()
    for step in facts.steps:
        counts[step.index] += 1
        if step.message_id:
            yield (step.index, counts[step.index]), step.message_id


def _compare(row: Mapping[str, Any], made: Row, found: Found) -> None:
    again = pl.DataFrame([made], schema=dict(TABLES["turns"]), orient="row").row(0, named=True)
    again["flags"] = [*with_flags(again["flags"], {Flag(flag) for flag in row["flags"]} & RELATION_FLAGS)]
    told = {name for name in TABLES["turns"] if row[name] is not None or name not in _NOT_OF_OLD} - _NOT_FROM_FACTS
    wrong = [name for name in TABLES["turns"] if name in told and again[name] != row[name]]
    if wrong:
        found.note("a turn says something else than its facts", REWRITE, [f"{row['turn_id']}: {', '.join(wrong)}"])


def _countable(rows: pl.DataFrame) -> Counter[tuple[object, ...]]:
    return Counter(rows.drop("outcome", "cost_usd", strict=False).iter_rows())


def _compare_children(
    name: str, made: Counter[tuple[object, ...]], stored: Counter[tuple[object, ...]], found: Found
) -> None:
    found.note(f"a row of {name} is missing", REWRITE, (str(row[0]) for row in (made - stored).elements()))
    found.note(
        f"a row of {name} is not in the facts of its turn",
        REWRITE,
        (str(row[0]) for row in (stored - made).elements()),
    )


def _check_segments(segments: list[pl.DataFrame], found: Found) -> None:
    if not segments:
        return
    every = pl.concat(segments)
    doubled = every.group_by("turn_id").len().filter(pl.col("len") > 1)["turn_id"].to_list()
    found.note("a segment is there twice", REWRITE, map(str, doubled))
    order = (pl.col("started_at"), pl.col("ended_at"), pl.col("turn_id"))
    last = (
        every.sort(*order, nulls_last=False).group_by("root_turn_id", maintain_order=True).agg(pl.col("turn_id").last())
    )
    wrong = every.join(last, on=["root_turn_id", "turn_id"], how="left", coalesce=False).filter(
        pl.col("last_segment") != pl.col("turn_id_right").is_not_null()
    )
    found.note("a segment is wrongly marked as the last of its root, or not", REWRITE, wrong["turn_id"].to_list())


def _check_versions(store: Store, found: Found) -> None:
    turns = Table.find("turns", store)
    for name, application in NAMED.items():
        newest = Table.find(name, store)
        if turns is not None and newest is not None and newest.version != (turns.transaction(application) or 0):
            found.note("a write was left unfinished", "nothing: the next write takes it away", [name])
