"""What a turn has used of its limits. PURE."""

from collections.abc import Iterator

from turnout.outcomes.decide import BudgetSpent
from turnout.outcomes.facts import Instant, Limits, TurnFacts
from turnout.outcomes.verdict import BudgetKind

_NANOS = 1_000_000_000


def spent(limits: Limits, facts: TurnFacts, now: Instant) -> BudgetSpent | None:
    """The first limit, in the order of the budget kinds, that the turn has used up."""
    used = dict(_used(facts, now))
    allowed = {
        BudgetKind.STEPS: limits.steps,
        BudgetKind.TOOL_CALLS: limits.tool_calls,
        BudgetKind.TOKENS: limits.total_tokens,
        BudgetKind.TIME: limits.seconds,
        BudgetKind.COST: limits.cost_usd,
    }
    for kind in BudgetKind:
        limit = allowed[kind]
        if limit is not None and used[kind] >= limit:
            return BudgetSpent(kind)
    return None


def calls_left(limits: Limits, facts: TurnFacts) -> int | None:
    """How many more tool calls may run; None without such a limit."""
    if limits.tool_calls is None:
        return None
    return max(0, limits.tool_calls - _calls(facts))


def _used(facts: TurnFacts, now: Instant) -> Iterator[tuple[BudgetKind, float]]:
    # A step is charged when the provider ended it; a request that failed or was cut is not.
    yield BudgetKind.STEPS, sum(1 for step in facts.steps if step.finish_reason or step.raw_finish_reason)
    yield BudgetKind.TOOL_CALLS, _calls(facts)
    yield BudgetKind.TOKENS, sum(_tokens(facts))
    yield BudgetKind.TIME, (now - (facts.started_at or now)) / _NANOS
    yield BudgetKind.COST, sum(step.cost_usd or 0.0 for step in facts.steps)


def _calls(facts: TurnFacts) -> int:
    return sum(len(step.tool_calls) for step in facts.steps)


def _tokens(facts: TurnFacts) -> Iterator[int]:
    for step in facts.steps:
        if step.usage is not None:
            yield (step.usage.input_tokens or 0) + (step.usage.output_tokens or 0)
