"""What a turn has used, what is left, and that the loop counts as the record does."""

from dataclasses import replace

import pytest

from turnout.outcomes.budget import spent as spent_by_the_record
from turnout.outcomes.decide import BudgetSpent
from turnout.outcomes.facts import Limits, Step, ToolCall, TurnFacts, Usage
from turnout.outcomes.reading import read
from turnout.outcomes.verdict import BudgetKind
from turnout.runtime.budget import calls_left, left, spent, within

SECOND = 1_000_000_000
FACTS = TurnFacts(
    turn_id="t",
    started_at=0,
    ended_at=6 * SECOND,
    steps=(
        Step(index=1, finish_reason="tool-calls", tool_calls=(ToolCall(id="a"), ToolCall(id="b")), cost_usd=0.2),
        Step(index=2, raw_finish_reason="tool_use", usage=Usage(input_tokens=80, output_tokens=20), cost_usd=0.3),
        Step(index=3, aborted=True),
    ),
)
USED = Limits(steps=2, tool_calls=2, total_tokens=100, seconds=6.0, cost_usd=0.5)
MORE = Limits(steps=3, tool_calls=3, total_tokens=101, seconds=6.1, cost_usd=0.51)
KINDS = {
    BudgetKind.STEPS: "steps",
    BudgetKind.TOOL_CALLS: "tool_calls",
    BudgetKind.TOKENS: "total_tokens",
    BudgetKind.TIME: "seconds",
    BudgetKind.COST: "cost_usd",
}


@pytest.mark.parametrize(("kind", "name"), KINDS.items(), ids=list(KINDS))
def test_a_limit_is_spent_when_it_is_reached(kind: BudgetKind, name: str) -> None:
    """Reached is spent, one more is not; the record counts the same."""
    reached = Limits(**{name: getattr(USED, name)})
    not_yet = Limits(**{name: getattr(MORE, name)})
    assert spent(reached, FACTS, 6 * SECOND) == BudgetSpent(kind)
    assert spent(not_yet, FACTS, 6 * SECOND) is None
    with_limits = [replace(FACTS, limits=limits) for limits in (reached, not_yet)]
    assert [spent_by_the_record(read(facts)) for facts in with_limits] == [[kind], []]


def test_of_several_the_first_kind_is_named() -> None:
    """In the order of the kinds."""
    assert spent(USED, FACTS, 6 * SECOND) == BudgetSpent(BudgetKind.STEPS)


def test_without_limits_nothing_is_spent() -> None:
    """A limit that is not there cannot be reached."""
    assert spent(Limits(), FACTS, 10**18) is None


def test_cache_tokens_count_where_the_provider_leaves_them_out() -> None:
    """A total of tokens means the same for every provider."""
    usage = Usage(input_tokens=10, output_tokens=5, cache_read_tokens=85)
    facts = TurnFacts(turn_id="t", steps=(Step(index=1, usage=usage, cache_in_input=False),))
    assert spent(Limits(total_tokens=100), facts, 0) == BudgetSpent(BudgetKind.TOKENS)


def test_calls_left() -> None:
    """Down to none, and never below."""
    assert [calls_left(Limits(tool_calls=n), FACTS) for n in (1, 2, 5)] == [0, 0, 3]
    assert calls_left(Limits(), FACTS) is None


def test_what_several_turns_leave() -> None:
    """Sums over the turns, and None when a limit is used up."""
    total = Limits(steps=5, tool_calls=9, total_tokens=1000, seconds=20.0, cost_usd=2.0)
    rest = left(total, [FACTS, FACTS])
    assert rest is not None
    assert (rest.steps, rest.tool_calls, rest.total_tokens, rest.seconds) == (1, 5, 800, 8.0)
    assert rest.cost_usd == pytest.approx(1.0)
    assert left(Limits(steps=4), [FACTS, FACTS]) is None
    assert left(Limits(), [FACTS]) == Limits()


def test_the_tighter_of_two() -> None:
    """Limit by limit; one that only one of them has counts."""
    assert within(Limits(steps=5, seconds=9.0), Limits(steps=3, tool_calls=7)) == Limits(
        steps=3, tool_calls=7, seconds=9.0
    )
