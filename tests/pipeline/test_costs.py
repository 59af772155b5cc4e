"""What a turn cost."""

import pytest

from turnout.outcomes.facts import Step, TurnFacts, Usage
from turnout.pipeline.analysis.price import PRICE_LIST, CostSource
from turnout.pipeline.costs import NOT_KNOWN, TurnCost, step_cost, turn_cost

USED = Usage(input_tokens=1_000_000, output_tokens=100_000)
PRICED = Step(index=1, model="gpt-4o", provider="openai", usage=USED)
UNLISTED = Step(index=2, model="a-model-nobody-lists", provider="openai", usage=USED)
REPORTED = Step(index=3, model="a-model-nobody-lists", usage=USED, cost_usd=0.25)
CUT = Step(index=4, model="gpt-4o", provider="openai", aborted=True)


@pytest.mark.parametrize(
    ("steps", "aggregate", "expected"),
    [
        pytest.param((REPORTED, REPORTED), None, TurnCost(0.5, CostSource.REPORTED, None), id="every call reported"),
        pytest.param((REPORTED,), 9.0, TurnCost(0.25, CostSource.REPORTED, None), id="calls before the aggregate"),
        pytest.param((PRICED,), 9.0, TurnCost(9.0, CostSource.REPORTED, None), id="an aggregate before a price"),
        pytest.param((), 9.0, TurnCost(9.0, CostSource.REPORTED, None), id="an aggregate alone"),
        pytest.param((PRICED, UNLISTED), None, NOT_KNOWN, id="a part is not the whole"),
        pytest.param((UNLISTED,), None, NOT_KNOWN, id="unpriced is not zero"),
        pytest.param((CUT,), None, NOT_KNOWN, id="nothing used is not recorded"),
        pytest.param((), None, NOT_KNOWN, id="no call"),
    ],
)
def test_the_cost_of_a_turn(steps: tuple[Step, ...], aggregate: float | None, expected: TurnCost) -> None:
    """The source's word comes first, then the price list; a part is never shown as the whole."""
    assert turn_cost(TurnFacts(turn_id="t", steps=steps, cost_usd=aggregate)) == expected


def test_priced_and_reported_calls_add_up() -> None:
    """A mixed turn is priced, and names the list; a call without usage adds nothing."""
    priced = step_cost(PRICED).usd
    assert priced is not None
    got = turn_cost(TurnFacts(turn_id="t", steps=(PRICED, REPORTED, CUT)))
    assert got == TurnCost(priced + 0.25, CostSource.PRICED, PRICE_LIST)
