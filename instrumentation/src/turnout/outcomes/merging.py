"""Rows that speak of one step or one tool call, merged key by key."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, TypeVar

from turnout.outcomes.facts import Output, Refusal, Step, StepError, ToolCall, ToolStatus, Usage
from turnout.outcomes.ordering import NEVER, failed_first, place, step_time, tool_order, unique

_Row = TypeVar("_Row", Step, ToolCall)
_Record = TypeVar("_Record")

# Later members win where two statuses of one call have no times: settled over unsettled, known over unknown.
_STATUS_RANK: dict[ToolStatus, int] = {
    status: rank
    for rank, status in enumerate(
        (
            ToolStatus.UNKNOWN,
            ToolStatus.STREAMING,
            ToolStatus.AWAITING_CLIENT,
            ToolStatus.AWAITING_APPROVAL,
            ToolStatus.APPROVED,
            ToolStatus.RUNNING,
            ToolStatus.OK,
            ToolStatus.DENIED,
            ToolStatus.ERROR,
        )
    )
}
_SETTLED = frozenset({ToolStatus.OK, ToolStatus.ERROR, ToolStatus.DENIED})

_STEP_BY_RULE = frozenset(
    {"started_at", "stream_complete", "refusal", "usage", "output", "attempts", "attempt_ends", "error", "tool_calls"}
)
_STEP_FIELDS = tuple(name for name in Step.__dataclass_fields__ if name not in _STEP_BY_RULE)
_TOOL_FIELDS = tuple(name for name in ToolCall.__dataclass_fields__ if name not in {"status", "started_at"})


def settle_steps(rows: tuple[Step, ...]) -> tuple[Step, ...]:
    """One row for each request, in order; the very same tuple where nothing has to be merged."""
    last = 0
    for row in rows:
        index = row.index
        calls = row.tool_calls
        if index is None or index <= last or len(row.attempt_ends) > 1 or (len(calls) > 1 and not _in_order(calls)):
            return _settled(rows)
        last = index
    return rows


def _in_order(calls: tuple[ToolCall, ...]) -> bool:
    places = [tool_order(call) for call in calls]
    distinct = {call.id for call in calls}
    return None not in distinct and len(distinct) == len(calls) and all(map(tuple.__lt__, places, places[1:]))


def _settled(rows: tuple[Step, ...]) -> tuple[Step, ...]:
    by_index: dict[int | None, list[Step]] = {}
    for row in _placed(dict.fromkeys(rows)):
        by_index.setdefault(row.index, []).append(row)
    unplaced = by_index.pop(None, [])
    placed = [row for index in sorted(by_index, key=place) for row in _attempts(by_index[index])]
    return (*placed, *_in_time(_merged_groups(unplaced, apart=True)))


def _placed(rows: Iterable[Step]) -> list[Step]:
    """Give a row without an index the index of the row that it shares an id with."""
    known = list(rows)
    index_of: dict[tuple[str, str], int] = {}
    for row in known:
        for identity in _identities(row) if row.index is not None else ():
            index_of[identity] = min(row.index or 0, index_of.get(identity, NEVER))
    found: list[Step] = []
    for row in known:
        places = [index_of[i] for i in _identities(row) if i in index_of] if row.index is None else []
        found.append(replace(row, index=min(places)) if places else row)
    return found


def _identities(row: Step) -> list[tuple[str, str]]:
    named = (("request", row.request_id), ("message", row.message_id))
    return [(kind, name) for kind, name in named if name]


def _attempts(rows: list[Step]) -> list[Step]:
    """The attempts of one step: rows that share an id are one; a row without any belongs to the last attempt."""
    attempts = _in_time(_merged_groups([row for row in rows if _identities(row)], apart=False))
    nameless = [row for row in rows if not _identities(row)]
    if nameless:
        attempts = _in_time([*attempts[:-1], _merge_steps([*attempts[-1:], *nameless])])
    return attempts


def _merged_groups(rows: list[Step], *, apart: bool) -> list[Step]:
    """Merge the rows that share an id, over any number of links; ``apart`` keeps unlike rows without an id as they are."""
    groups: list[tuple[set[tuple[str, str]], list[Step]]] = []
    for row in rows:
        names = set(_identities(row))
        if apart and not names:
            names = {("start", repr(row) if row.started_at is None else str(row.started_at))}
        linked = [group for group in groups if group[0] & names]
        groups = [group for group in groups if not group[0] & names]
        groups.append((names.union(*(g[0] for g in linked)), [row, *(r for g in linked for r in g[1])]))
    return [_merge_steps(group[1]) for group in groups]


def _in_time(rows: list[Step]) -> list[Step]:
    if len(rows) > 1 and all(step_time(row) is not None for row in rows):
        return sorted(rows, key=lambda row: (place(step_time(row)), place(row.ended_at), failed_first(row), repr(row)))
    return sorted(rows, key=lambda row: (failed_first(row), place(step_time(row)), repr(row)))


def _merge_steps(rows: list[Step]) -> Step:
    calls = settle_calls([call for row in rows for call in row.tool_calls])
    ends = unique(tuple(end for row in rows for end in row.attempt_ends), lambda end: place(end.at))
    if len(rows) == 1:
        return replace(rows[0], tool_calls=calls, attempt_ends=ends)
    by_key: dict[str, Any] = {name: _later(rows, name) for name in _STEP_FIELDS}
    return Step(
        started_at=min((row.started_at for row in rows if row.started_at is not None), default=None),
        stream_complete=any(row.stream_complete for row in rows) or _later(rows, "stream_complete"),
        refusal=_by_key(Refusal, rows, "refusal"),
        usage=greatest_of_each(Usage, [row.usage for row in rows if row.usage is not None]),
        output=greatest_of_each(Output, [row.output for row in rows if row.output is not None]),
        attempts=max((row.attempts for row in rows if row.attempts is not None), default=None),
        attempt_ends=ends,
        error=_by_key(StepError, rows, "error"),
        tool_calls=calls,
        **by_key,
    )


def settle_calls(calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    """Each tool call once; a call without an id is known by its name, arguments and start."""
    groups: dict[object, list[ToolCall]] = {}
    for call in dict.fromkeys(calls):
        groups.setdefault(call.id or (call.name, call.arguments_digest, call.started_at), []).append(call)
    merged = [group[0] if len(group) == 1 else _merge_calls(group) for group in groups.values()]
    return tuple(sorted(merged, key=lambda call: (tool_order(call), repr(call))))


def _merge_calls(rows: list[ToolCall]) -> ToolCall:
    by_key: dict[str, Any] = {name: _later(rows, name) for name in _TOOL_FIELDS}
    started = min((row.started_at for row in rows if row.started_at is not None), default=None)
    return ToolCall(status=_status(rows), started_at=started, **by_key)


def _status(rows: list[ToolCall]) -> ToolStatus | None:
    said = [(row.status in _SETTLED, _end(row), _STATUS_RANK[row.status], row.status) for row in rows if row.status]
    return max(said)[-1] if said else None


def _end(row: Step | ToolCall) -> int:
    return -1 if row.ended_at is None else row.ended_at


def _later(rows: Sequence[_Row], name: str) -> Any:
    """The recorded value of the row that ended later; without times the greater one, so that order never counts."""
    value_of = attrgetter(name)
    said = [(_end(row), _rank(value_of(row)), value_of(row)) for row in rows if value_of(row) is not None]
    return max(said, key=lambda entry: entry[:2])[2] if said else None


def _rank(value: object) -> tuple[float, str]:
    return (value, "") if isinstance(value, int | float) else (0, str(value))


def _by_key(record: type[_Record], rows: list[Step], name: str) -> _Record | None:
    """A record of several keys, each from the row that ended later of those that have it."""
    parts = [(_end(row), part) for row in rows if (part := getattr(row, name)) is not None]
    if not parts:
        return None
    keys = record.__dataclass_fields__  # type: ignore[attr-defined]
    chosen: dict[str, Any] = {}
    for key in keys:
        said = [(end, _rank(getattr(part, key)), getattr(part, key)) for end, part in parts]
        known = [entry for entry in said if entry[2] is not None]
        chosen[key] = max(known, key=lambda entry: entry[:2])[2] if known else None
    return record(**chosen)


def greatest_of_each(record: type[_Record], parts: Sequence[_Record]) -> _Record | None:
    """A record of counts with the maximum of each key."""
    if len(parts) < 2:  # noqa: PLR2004 - one is the maximum of itself
        return parts[0] if parts else None
    keys = record.__dataclass_fields__  # type: ignore[attr-defined]
    return record(**{key: greatest(getattr(part, key) for part in parts) for key in keys})


def greatest(values: Iterable[Any]) -> Any:
    """The greatest recorded value, or ``None`` where none is recorded."""
    known = [value for value in values if value is not None]
    return max(known, key=_rank) if known else None
