"""Turns -> the frames of the three tables, column by column: the rows of `turnout.pipeline.rows` for many turns, in a fraction of the time. Pure.

What a column means is said there, row by row; here it is said once more because a dictionary for each row costs more than all that is in it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any, Final, TypeAlias

import polars as pl

from turnout.outcomes.facts import Output, Step, StepError, ToolCall, Usage
from turnout.outcomes.finishes import finish_of
from turnout.outcomes.providers import FinishClass
from turnout.outcomes.usage import inclusive
from turnout.pipeline.analysis.price import Cost
from turnout.pipeline.costs import step_cost
from turnout.pipeline.rows import ClassifiedTurn, Row, date_of
from turnout.pipeline.schema import INSTANT, TABLES

_Columns: TypeAlias = Mapping[str, Sequence[object]]

_NANOS_PER_SECOND: Final = 1_000_000_000
_MOST: Final = 2**63 - 1
_NO_USAGE, _NO_OUTPUT, _NO_ERROR = Usage(), Output(), StepError()
_TOKENS: Final = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
_OF_A_STEP: Final = (
    "provider",
    "api",
    "model",
    "finish_reason",
    "raw_finish_reason",
    "stream_complete",
    "forced_final",
    "aborted",
    "max_output_tokens",
    "attempts",
)
_OF_A_CALL: Final = ("final", "arguments_valid", "arguments_digest", "mutating", "error_type", "denied_by")
_OF_A_TURN: Final = ("turn_id", "service", "environment", "agent", "agent_version", "source", "attended")


def frame_of(table: str, rows: Sequence[Row]) -> pl.DataFrame:
    """Rows as a frame of a table."""
    names = list(TABLES[table])
    columns = zip(*map(itemgetter(*names), rows), strict=True) if rows else ((),) * len(names)
    return _frame(table, dict(zip(names, columns, strict=True)))


def steps_frame(turns: Sequence[ClassifiedTurn], costs: Sequence[Sequence[Cost]] | None = None) -> pl.DataFrame:
    """The rows of `steps`, one a model call, in order; ``costs`` are those of each turn's calls, where they have been worked out already."""
    steps = [step for turn in turns for step in turn.facts.steps]
    means = [finish_of(step).kind for step in steps]
    errors = [step.error or _NO_ERROR for step in steps]
    outputs = [step.output or _NO_OUTPUT for step in steps]
    columns = {
        "step": _each("index", steps),
        "started_at": _micros(_each("started_at", steps)),
        "ended_at": _micros(_each("ended_at", steps)),
        **{name: _each(name, steps) for name in _OF_A_STEP},
        "finish_class": [None if kind is None else str(kind) for kind in means],
        "refused": [kind is FinishClass.REFUSAL for kind in means],
        "refusal_category": [step.refusal.category if step.refusal else None for step in steps],
        **_tokens(steps),
        "cost_usd": [cost.usd for of_steps in (costs_of(turns) if costs is None else costs) for cost in of_steps],
        "error_type": _each("type", errors),
        "error_status": _each("status", errors),
        "text_chars": _each("text_chars", outputs),
        "parts": _each("parts", outputs),
        "tool_calls": [len(step.tool_calls) for step in steps],
        "is_last": [last for turn in turns for last in _last_of(len(turn.facts.steps))],
        "position": [place for turn in turns for place in _places(step.index for step in turn.facts.steps)],
    }
    return _frame("steps", columns, turns, [len(turn.facts.steps) for turn in turns])


def costs_of(turns: Iterable[ClassifiedTurn]) -> list[list[Cost]]:
    """What each call of each turn cost."""
    return [[step_cost(step) for step in turn.facts.steps] for turn in turns]


def tool_calls_frame(turns: Sequence[ClassifiedTurn]) -> pl.DataFrame:
    """The rows of `tool_calls`, in order."""
    by_turn = [[(step, call) for step in turn.facts.steps for call in step.tool_calls] for turn in turns]
    steps = [step for pairs in by_turn for step, _ in pairs]
    calls = [call for pairs in by_turn for _, call in pairs]
    columns = {
        "step": _each("index", steps),
        "position": [place for pairs in by_turn for place in _places(step.index for step, _ in pairs)],
        "call_id": _each("id", calls),
        "tool": _each("name", calls),
        "status": [None if call.status is None else str(call.status) for call in calls],
        **{name: _each(name, calls) for name in _OF_A_CALL},
        "started_at": _micros(_each("started_at", calls)),
        "ended_at": _micros(_each("ended_at", calls)),
        "duration_s": [_took(call) for call in calls],
        "is_last": [last for pairs in by_turn for last in _last_of(len(pairs))],
        "model": _each("model", steps),
    }
    return _frame("tool_calls", columns, turns, [len(pairs) for pairs in by_turn])


def _frame(
    table: str, columns: _Columns, turns: Sequence[ClassifiedTurn] = (), counts: Sequence[int] = ()
) -> pl.DataFrame:
    """Columns as a frame of a table, with what the rows of one turn share: so many rows a turn."""
    kinds = TABLES[table]
    frame = pl.DataFrame([_series(name, columns[name], kinds[name]) for name in kinds if name in columns])
    if len(frame.columns) < len(kinds):
        shared = _shared(turns)
        dimensions = pl.DataFrame([_series(name, shared[name], kinds[name]) for name in kinds if name in shared])
        rows = pl.Series([number for number, count in enumerate(counts) for _ in range(count)], dtype=pl.UInt32)
        frame = frame.hstack(dimensions[rows])
    return frame.select(list(kinds))


def _series(name: str, values: Sequence[object], kind: Any) -> pl.Series:
    if kind == INSTANT:
        return pl.Series(name, values, pl.Int64).cast(INSTANT)
    return _lists(name, values, kind) if isinstance(kind, pl.List) else pl.Series(name, values, kind)


def _lists(name: str, values: Sequence[Any], kind: pl.List) -> pl.Series:
    """A column of lists. Each list is a series to be made, so that those of many rows that are the same are made once."""
    numbers: dict[tuple[str, ...], int] = {}
    rows = [numbers.setdefault(tuple(value), len(numbers)) for value in values]
    return pl.Series(name, list(map(list, numbers)), kind).gather(pl.Series(rows, dtype=pl.UInt32))


def _shared(turns: Sequence[ClassifiedTurn]) -> _Columns:
    facts = [turn.facts for turn in turns]
    starts = [turn.received_at if turn.facts.started_at is None else turn.facts.started_at for turn in turns]
    return {
        **{name: _each(name, facts) for name in _OF_A_TURN},
        "root_turn_id": [one.root_turn_id or one.turn_id for one in facts],
        "date": [date_of(turn) for turn in turns],
        "outcome": [str(turn.verdict.outcome) for turn in turns],
        "turn_started_at": _micros(starts),
    }


def _each(name: str, items: Iterable[object]) -> list[Any]:
    return list(map(attrgetter(name), items))


def _tokens(steps: Iterable[Step]) -> _Columns:
    """Sums that no column can hold are as good as not recorded."""
    used = [inclusive(step) or _NO_USAGE for step in steps]
    counts = {name: _each(name, used) for name in _TOKENS}
    return {
        name: [None if count is None or count > _MOST else count for count in column] for name, column in counts.items()
    }


def _micros(instants: Iterable[int | None]) -> list[int | None]:
    return [None if instant is None else instant // 1000 for instant in instants]


def _took(call: ToolCall) -> float | None:
    start, end = call.started_at, call.ended_at
    return None if start is None or end is None or end < start else (end - start) / _NANOS_PER_SECOND


def _last_of(count: int) -> Iterator[bool]:
    return (number == count for number in range(1, count + 1))


def _places(indexes: Iterable[int | None]) -> Iterator[int]:
    """Which of the rows with its index a row is, from 1."""
    counts: dict[int | None, int] = {}
    for index in indexes:
        counts[index] = counts.get(index, 0) + 1
        yield counts[index]
