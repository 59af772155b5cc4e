"""Two sets of facts about one turn that were made from different records of it -> the facts of both. Pure.

`turnout.outcomes.settle.merge` adds up evidence whose steps are named by their index. Telemetry that tells turns by spans gives its steps
no index: it counts them by time, among the spans at hand. Two such counts speak of one step where its times agree, so both
are counted anew before they are merged, and each tool call goes to the step that it followed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from turnout.outcomes.facts import Instant, Step, ToolCall, TurnFacts
from turnout.outcomes.settle import merge

_Identity: TypeAlias = tuple[Instant, Instant, str]
_Numbers: TypeAlias = Mapping[_Identity, int]


def combine(one: TurnFacts, other: TurnFacts) -> TurnFacts:
    """Everything that both say of one turn; a recorded end of either closes what only looked open to the other."""
    if _counted_by_time(one) and _counted_by_time(other):
        numbers = _numbers([*one.steps, *other.steps])
        one, other = _renumbered(one, numbers), _renumbered(other, numbers)
    merged = merge(one, other)
    ended = any(side.ended_at is not None and not side.open for side in (one, other))
    return replace(merged, open=None) if merged.open and ended else merged


def _counted_by_time(turn: TurnFacts) -> bool:
    """Whether the turn is named by its span, so that the indexes of its steps are only their order."""
    return turn.trace_id is not None and turn.turn_id.startswith(f"{turn.trace_id}:")


def _numbers(steps: Iterable[Step]) -> _Numbers:
    known = sorted({identity for step in steps if (identity := _identity(step)) is not None})
    return {identity: number for number, identity in enumerate(known, 1)}


def _identity(step: Step) -> _Identity | None:
    """What tells a request from another; None for a step that only holds tool calls whose request is not here."""
    if step.started_at is None or replace(step, index=None, started_at=None, ended_at=None, tool_calls=()) == Step():
        return None
    return (step.started_at, step.ended_at or 0, step.message_id or "")


def _renumbered(turn: TurnFacts, numbers: _Numbers) -> TurnFacts:
    if not numbers:
        return turn
    rows: list[Step] = []
    fresh: dict[int | None, int] = {}
    for step in turn.steps:
        identity = _identity(step)
        if identity is not None:
            fresh[step.index] = numbers[identity]
            rows.append(replace(step, index=numbers[identity], tool_calls=()))
        rows += [Step(index=_home(call, identity, numbers), tool_calls=(call,)) for call in step.tool_calls]
    checks = tuple(replace(check, step=fresh.get(check.step, check.step)) for check in turn.finish_checks)
    stops = tuple(replace(stop, step=fresh.get(stop.step, stop.step)) for stop in turn.stop_requests)
    return replace(turn, steps=tuple(rows), finish_checks=checks, stop_requests=stops)


def _home(call: ToolCall, held_by: _Identity | None, numbers: _Numbers) -> int:
    """The step that a tool call followed: the latest that had started; the one that holds it where no time is known."""
    if call.started_at is None:
        return 1 if held_by is None else numbers[held_by]
    before = [number for (start, _, _), number in numbers.items() if start <= call.started_at]
    return max(before, default=1)
