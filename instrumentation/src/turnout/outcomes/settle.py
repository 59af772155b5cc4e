"""One turn's evidence in canonical form: the same value whatever the order, doubling or splitting it came in.

`merge` gathers rows side by side, so it is commutative and associative; `settle` then weighs rows that speak of one thing:
recorded beats not recorded, a settled tool beats an unsettled one, true beats false for a complete stream, the maximum wins for
counts, and else the row that ended later.
"""

from collections.abc import Hashable
from typing import Any, TypeVar

from turnout.outcomes.facts import Limits, TaskResult, TurnFacts, Usage, YieldRecord
from turnout.outcomes.merging import greatest, greatest_of_each, settle_steps
from turnout.outcomes.ordering import claim_order, stop_order, unique
from turnout.outcomes.quick import replace

_Row = TypeVar("_Row", bound=Hashable)
_Record = TypeVar("_Record")

_GREATEST = (
    "root_turn_id",
    "parent_turn_id",
    "continues_turn_id",
    "conversation_id",
    "trace_id",
    "user_id",
    "service",
    "environment",
    "agent",
    "agent_version",
    "source",
    "attended",
    "ended_at",
    "last_seen_at",
    "cost_usd",
)


def settle(turn: TurnFacts) -> TurnFacts:
    """The canonical form of a turn's evidence; settling it again changes nothing."""
    steps = settle_steps(turn.steps)
    checks = unique(turn.finish_checks, lambda check: check.step or 0)
    stops = unique(turn.stop_requests, stop_order)
    claims = unique(turn.claims, claim_order)
    children = turn.children_expected
    if len(children) > 1:
        children = tuple(sorted(set(children)))
    kept = (turn.steps, turn.finish_checks, turn.stop_requests, turn.claims, turn.children_expected)
    if kept == (steps, checks, stops, claims, children):
        return turn
    return replace(
        turn, steps=steps, finish_checks=checks, stop_requests=stops, claims=claims, children_expected=children
    )


def merge(a: TurnFacts, b: TurnFacts) -> TurnFacts:
    """All the evidence of both sides about one turn; `settle` decides later between rows that speak of one thing.

    Where one side shows the turn closed (``open`` false), it is closed, however open it looked to the other.

    Raises:
        ValueError: when the two are about different turns.
    """
    if a.turn_id != b.turn_id:
        raise ValueError(f"two turns do not merge, got {a.turn_id!r} and {b.turn_id!r}, expected one turn_id")
    single: dict[str, Any] = {name: greatest((getattr(a, name), getattr(b, name))) for name in _GREATEST}
    starts = [start for start in (a.started_at, b.started_at) if start is not None]
    return TurnFacts(
        turn_id=a.turn_id,
        started_at=min(starts, default=None),
        open=False if a.open is False or b.open is False else a.open or b.open,
        limits=_greatest_of_each(Limits, a.limits, b.limits),
        steps=_together(a.steps, b.steps),
        finish_checks=_together(a.finish_checks, b.finish_checks),
        stop_requests=_together(a.stop_requests, b.stop_requests),
        yield_=_greatest_of_each(YieldRecord, a.yield_, b.yield_),
        claims=_together(a.claims, b.claims),
        usage=_greatest_of_each(Usage, a.usage, b.usage),
        task_result=_greatest_of_each(TaskResult, a.task_result, b.task_result),
        children_expected=tuple(sorted({*a.children_expected, *b.children_expected})),
        **single,
    )


def _together(a: tuple[_Row, ...], b: tuple[_Row, ...]) -> tuple[_Row, ...]:
    return tuple(sorted({*a, *b}, key=repr))


def _greatest_of_each(record: type[_Record], a: _Record | None, b: _Record | None) -> _Record | None:
    return greatest_of_each(record, [part for part in (a, b) if part is not None])
