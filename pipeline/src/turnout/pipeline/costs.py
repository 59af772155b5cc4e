"""What a turn cost: as its source reports it, else by the price list; never a guess for what neither knows. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from turnout.outcomes.facts import Step, TurnFacts
from turnout.outcomes.usage import inclusive
from turnout.pipeline.analysis.price import PRICE_LIST, UNPRICED, Cost, CostSource, price_call


def step_cost(step: Step) -> Cost:
    """One call's cost: reported, else priced at the time it started."""
    if step.cost_usd is not None:
        return Cost(step.cost_usd, CostSource.REPORTED)
    return price_call(inclusive(step), step.model, step.provider, step.started_at)


@dataclass(frozen=True, slots=True)
class TurnCost:
    """A turn's cost, where it comes from, and the price list where any of it does."""

    usd: float | None
    source: CostSource | None
    price_list: str | None


NOT_KNOWN = TurnCost(None, None, None)


def turn_cost(turn: TurnFacts, of_steps: Sequence[Cost] | None = None) -> TurnCost:
    """The sum over a turn's calls, the source's own figures first; its figure for the whole turn where it does not give one for each call.

    A call that used tokens and has no price leaves the whole turn unpriced: a part of a cost, taken for the whole, would make the turn look
    cheap. A call of which no usage is recorded adds nothing; the verdict says that usage is incomplete.

    Args:
        turn: the turn.
        of_steps: what each of its calls cost, in order, where that has been worked out already.
    """
    every = map(step_cost, turn.steps) if of_steps is None else of_steps
    pairs = zip(turn.steps, every, strict=True)
    costs = [cost for step, cost in pairs if step.usage is not None or step.cost_usd is not None]
    if costs and all(cost.source is CostSource.REPORTED for cost in costs):
        return TurnCost(_sum(costs), CostSource.REPORTED, None)
    if turn.cost_usd is not None:
        return TurnCost(turn.cost_usd, CostSource.REPORTED, None)
    if not costs or UNPRICED in costs:
        return NOT_KNOWN
    return TurnCost(_sum(costs), CostSource.PRICED, PRICE_LIST)


def _sum(costs: Iterable[Cost]) -> float:
    return sum(cost.usd or 0.0 for cost in costs)
