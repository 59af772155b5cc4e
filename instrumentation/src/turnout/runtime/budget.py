"""What a turn has used of its limits. PURE."""

from collections.abc import Iterator, Mapping, Sequence

from turnout.outcomes.decide import BudgetSpent
from turnout.outcomes.facts import Instant, Limits, TurnFacts
from turnout.outcomes.usage import total_tokens, usage_of
from turnout.outcomes.verdict import BudgetKind

_NANOS = 1_000_000_000


def spent(limits: Limits, facts: TurnFacts, now: Instant) -> BudgetSpent | None:
    """The first limit, in the order of the budget kinds, that the turn has used up."""
    used = dict(_used(facts, now))
    allowed = _allowed(limits)
    for kind in BudgetKind:
        limit = allowed[kind]
        if limit is not None and used[kind] >= limit:
            return BudgetSpent(kind)
    return None


def is_last_step(limits: Limits, facts: TurnFacts) -> bool:
    """Whether the next step is the last one that the limit allows."""
    return limits.steps is not None and limits.steps - _steps(facts) == 1


def calls_left(limits: Limits, facts: TurnFacts) -> int | None:
    """How many more tool calls may run; None without such a limit."""
    if limits.tool_calls is None:
        return None
    return max(0, limits.tool_calls - _calls(facts))


def _used(facts: TurnFacts, now: Instant) -> Iterator[tuple[BudgetKind, float]]:
    """What is counted, as the classifier counts it: a request that failed or was cut is no charged step."""
    yield BudgetKind.STEPS, _steps(facts)
    yield BudgetKind.TOOL_CALLS, _calls(facts)
    yield BudgetKind.TOKENS, total_tokens(usage_of(facts).usage) or 0
    yield BudgetKind.TIME, 0.0 if facts.started_at is None else (now - facts.started_at) / _NANOS
    yield BudgetKind.COST, sum(step.cost_usd or 0.0 for step in facts.steps)


def _steps(facts: TurnFacts) -> int:
    return sum(1 for step in facts.steps if step.finish_reason or step.raw_finish_reason)


def _calls(facts: TurnFacts) -> int:
    return sum(len(step.tool_calls) for step in facts.steps)


def left(total: Limits, turns: Sequence[TurnFacts]) -> Limits | None:
    """What several turns together leave of a total; None where one of its limits is used up."""
    used: dict[BudgetKind, float] = dict.fromkeys(BudgetKind, 0.0)
    for facts in turns:
        until = facts.ended_at if facts.ended_at is not None else facts.started_at
        for kind, amount in _used(facts, until if until is not None else 0):
            used[kind] += amount
    rest = {kind: limit - used[kind] for kind, limit in _allowed(total).items() if limit is not None}
    return None if any(amount <= 0 for amount in rest.values()) else _limits(rest)


def within(limits: Limits, other: Limits) -> Limits:
    """The tighter of two budgets, limit by limit."""
    both = [_allowed(limits), _allowed(other)]
    known = {kind: [limit for each in both if (limit := each[kind]) is not None] for kind in BudgetKind}
    return _limits({kind: min(values) for kind, values in known.items() if values})


def _allowed(limits: Limits) -> dict[BudgetKind, float | None]:
    return {
        BudgetKind.STEPS: limits.steps,
        BudgetKind.TOOL_CALLS: limits.tool_calls,
        BudgetKind.TOKENS: limits.total_tokens,
        BudgetKind.TIME: limits.seconds,
        BudgetKind.COST: limits.cost_usd,
    }


def _limits(amounts: Mapping[BudgetKind, float]) -> Limits:
    def whole(kind: BudgetKind) -> int | None:
        return int(amounts[kind]) if kind in amounts else None

    return Limits(
        steps=whole(BudgetKind.STEPS),
        tool_calls=whole(BudgetKind.TOOL_CALLS),
        total_tokens=whole(BudgetKind.TOKENS),
        seconds=amounts.get(BudgetKind.TIME),
        cost_usd=amounts.get(BudgetKind.COST),
    )
