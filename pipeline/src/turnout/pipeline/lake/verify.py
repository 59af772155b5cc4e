"""Does the lake add up? Every row made again from its facts, every file counted, every root with one last segment."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from turnout.outcomes.classify import CLASSIFIER_VERSION
from turnout.outcomes.verdict import Flag
from turnout.pipeline.codec import decode_turn
from turnout.pipeline.lake.delta import Table
from turnout.pipeline.lake.files import DataFile, micros
from turnout.pipeline.lake.parquet import complete
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
_EXAMPLES: Final = 3


@dataclass(frozen=True, slots=True)
class Problem:
    """One kind of thing that does not add up: how often, with examples, and what to do."""

    what: str
    count: int
    examples: tuple[str, ...]
    do: str


class _Found:
    """Problems as they are met, by kind."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._examples: defaultdict[tuple[str, str], list[str]] = defaultdict(list)

    def note(self, what: str, do: str, examples: Iterable[str]) -> None:
        for example in examples:
            self._counts[what, do] += 1
            if len(self._examples[what, do]) < _EXAMPLES:
                self._examples[what, do].append(example)

    def problems(self) -> Iterator[Problem]:
        for (what, do), count in self._counts.items():
            yield Problem(what, count, tuple(self._examples[what, do]), do)


def verify(store: Store) -> Iterator[Problem]:
    """Look at everything; yields nothing where all adds up.

    Raises:
        LakeError: when the lake cannot be read at all.
    """
    found = _Found()
    snapshot = Reader(store).snapshot()
    segments: list[pl.DataFrame] = []
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
        _check_group(file, rows, held, found)
    for name, files in children.items():
        found.note(f"a file of {name} belongs to no turns", _REWRITE, (file.path for file in files.values()))
    _check_segments(segments, found)
    _check_versions(store, found)
    yield from found.problems()


_REWRITE: Final = "import the same source again, or restore the lake from a copy"
_RECLASSIFY: Final = "decide them again with `turnout lake reclassify`"


def _rows(store: Store, name: str, file: DataFile, found: _Found) -> pl.DataFrame | None:
    """The rows of a file with every column of the schema; None where it cannot be read."""
    try:
        frame = pl.read_parquet(store.local(name, file.path), hive_partitioning=False, glob=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        found.note(f"a file of {name} cannot be read", _REWRITE, [f"{file.path}: {error}"])
        return None
    if frame.height != file.rows:
        found.note(f"a file of {name} holds another number of rows than its commit says", _REWRITE, [file.path])
    return complete(name, frame).with_columns(date=pl.lit(file.date)).select(list(TABLES[name]))


def _of_group(store: Store, name: str, file: DataFile | None, found: _Found) -> pl.DataFrame:
    rows = None if file is None else _rows(store, name, file, found)
    return pl.DataFrame(schema=dict(TABLES[name])) if rows is None else rows


def _check_group(file: DataFile, rows: pl.DataFrame, held: Mapping[str, pl.DataFrame], found: _Found) -> None:
    expected: dict[str, list[Row]] = {name: [] for name in _CHILDREN}
    for row in rows.iter_rows(named=True):
        turn = _made_again(row)
        for name, rows_of in _CHILDREN.items():
            expected[name].extend(rows_of(turn))
        if row["classifier_version"] != CLASSIFIER_VERSION:
            found.note("a turn was decided by another version of the classifier", _RECLASSIFY, [row["turn_id"]])
        else:
            _compare(row, turn_row(turn), found)
        if row["date"] != file.date:
            found.note("a turn lies under another date than its own", _REWRITE, [row["turn_id"]])
    for name, stored in held.items():
        made = pl.DataFrame(expected[name], schema=dict(TABLES[name]), orient="row")
        _compare_children(name, _countable(made), _countable(stored), found)


def _made_again(row: Mapping[str, Any]) -> ClassifiedTurn:
    return classified(decode_turn(row["facts"].encode()).turn, micros(row["received_at"]) * 1000)


def _compare(row: Mapping[str, Any], made: Row, found: _Found) -> None:
    again = pl.DataFrame([made], schema=dict(TABLES["turns"]), orient="row").row(0, named=True)
    again["flags"] = [*with_flags(again["flags"], {Flag(flag) for flag in row["flags"]} & RELATION_FLAGS)]
    told = {name for name in TABLES["turns"] if row[name] is not None or name not in _NOT_OF_OLD} - _NOT_FROM_FACTS
    wrong = [name for name in TABLES["turns"] if name in told and again[name] != row[name]]
    if wrong:
        found.note("a turn says something else than its facts", _RECLASSIFY, [f"{row['turn_id']}: {', '.join(wrong)}"])


def _countable(rows: pl.DataFrame) -> Counter[tuple[object, ...]]:
    return Counter(rows.drop("outcome", "cost_usd", strict=False).iter_rows())


def _compare_children(
    name: str, made: Counter[tuple[object, ...]], stored: Counter[tuple[object, ...]], found: _Found
) -> None:
    found.note(f"a row of {name} is missing", _REWRITE, (str(row[0]) for row in (made - stored).elements()))
    found.note(
        f"a row of {name} is not in the facts of its turn",
        _REWRITE,
        (str(row[0]) for row in (stored - made).elements()),
    )


def _check_segments(segments: list[pl.DataFrame], found: _Found) -> None:
    if not segments:
        return
    every = pl.concat(segments)
    doubled = every.group_by("turn_id").len().filter(pl.col("len") > 1)["turn_id"].to_list()
    found.note("a segment is there twice", _REWRITE, map(str, doubled))
    order = (pl.col("started_at"), pl.col("ended_at"), pl.col("turn_id"))
    last = (
        every.sort(*order, nulls_last=False).group_by("root_turn_id", maintain_order=True).agg(pl.col("turn_id").last())
    )
    wrong = every.join(last, on=["root_turn_id", "turn_id"], how="left", coalesce=False).filter(
        pl.col("last_segment") != pl.col("turn_id_right").is_not_null()
    )
    found.note("a segment is wrongly marked as the last of its root, or not", _REWRITE, wrong["turn_id"].to_list())


def _check_versions(store: Store, found: _Found) -> None:
    turns = Table.find("turns", store)
    for name, application in NAMED.items():
        newest = Table.find(name, store)
        if turns is not None and newest is not None and newest.version != (turns.transaction(application) or 0):
            found.note("a write was left unfinished", "nothing: the next write takes it away", [name])
