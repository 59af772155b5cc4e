"""Model calls that several turns tell of: each counts once over the whole lake. Pure.

A call that came as telemetry is its span, and an id alone never makes two spans one. A call in a transcript is the provider's message id: sessions
that were forked or taken up again copy earlier messages. It counts in the first turn that has it, by start and then by id; the rows of
the others do not hold its tokens and its cost.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from turnout.outcomes.facts import Instant, Step, TurnFacts
from turnout.outcomes.usage import usage_of
from turnout.pipeline.rows import ClassifiedTurn, facts_json

_GRAIN: Final = 1000
"""Rows keep microseconds; facts that come fresh are compared at the same grain."""


@dataclass(frozen=True, slots=True)
class Teller:
    """A turn, and the ids of the calls that it tells of."""

    turn_id: str
    started_at: Instant | None
    calls: frozenset[str]


def calls_of(facts: TurnFacts) -> frozenset[str]:
    """The message ids of what a turn used, where they say which call it was."""
    if facts.trace_id is not None:
        return frozenset()
    return frozenset(step.message_id for step in facts.steps if step.message_id and _used(step))


def teller_of(facts: TurnFacts) -> Teller:
    """What the rule needs to know of a turn."""
    return Teller(facts.turn_id, facts.started_at, calls_of(facts))


def elsewhere(tellers: Iterable[Teller]) -> Mapping[str, frozenset[str]]:
    """By turn id, the calls that count in another of these turns; turns all of whose calls count are left out."""
    ordered = sorted(tellers, key=lambda one: ((one.started_at or 0) // _GRAIN, one.turn_id))
    counted: set[str] = set()
    found: dict[str, frozenset[str]] = {}
    for one in ordered:
        repeated = one.calls & counted
        if repeated:
            found[one.turn_id] = repeated
        counted |= one.calls
    return found


def counted_once(turn: ClassifiedTurn, counted_elsewhere: Collection[str]) -> ClassifiedTurn:
    """A turn whose rows leave out the tokens and the cost of some calls; the facts that it is stored with stay whole."""
    if not counted_elsewhere:
        return turn
    steps = tuple(_unused(step) if step.message_id in counted_elsewhere else step for step in turn.facts.steps)
    facts = replace(turn.facts, steps=steps, usage=None, cost_usd=None)
    verdict = replace(turn.verdict, usage=usage_of(facts).usage)
    return ClassifiedTurn(facts, verdict, turn.received_at, facts_json(turn))


def _used(step: Step) -> bool:
    return step.usage is not None or step.cost_usd is not None


def _unused(step: Step) -> Step:
    return replace(step, usage=None, cost_usd=None)
