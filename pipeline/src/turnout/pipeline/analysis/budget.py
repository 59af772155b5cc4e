"""What another budget would have done: candidates on the curves of how turns end.

The time of a turn is the amount it had spent when it ended (steps charged, tool calls, largest output, tokens, seconds, dollars). A turn that this kind
of limit cut is right-censored there; every other end competes. All figures are estimates under independent censoring: turns with a
larger budget behave, past the smaller one, as the turns that it cut would have.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from turnout.pipeline.analysis.intervals import LEVEL, wilson
from turnout.pipeline.analysis.survival import EndCounts, Floats, Incidence, incidence


class Limit(StrEnum):
    """The kinds of budget that candidates can be computed for."""

    STEPS = "steps"
    TOOL_CALLS = "tool_calls"
    STEP_OUTPUT_TOKENS = "step_output_tokens"
    TOTAL_TOKENS = "total_tokens"
    SECONDS = "seconds"
    COST_USD = "cost_usd"


MEANINGS: Final[Mapping[Limit, str]] = {
    Limit.STEPS: "model calls with a finish reason, attempts of one step counted once",
    Limit.TOOL_CALLS: "tool calls of a turn",
    Limit.STEP_OUTPUT_TOKENS: (
        "output tokens of any one model call: what a turn needs is the largest of its calls, and a turn with a call that its cap cut off "
        "is only known to need more"
    ),
    Limit.TOTAL_TOKENS: "input and output tokens of all model calls of a turn",
    Limit.SECONDS: "seconds from the start of a turn to its end",
    Limit.COST_USD: "dollars that a turn cost",
}
"""What each kind of budget limits, in words."""


class End(StrEnum):
    """The competing ends of a turn; the order is that of the rows of `EndCounts.ends`."""

    FINISHED = "finished"
    REFUSED = "refused"
    ERROR = "error"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"
    OTHER = "other"


ENDS = tuple(End)
NOT_ESTIMABLE = "not estimable"
"""The words for a candidate that no observed budget reaches."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What turns spent, piece by piece of the limited amount.

    Piece ``i`` runs from ``starts[i]`` to ``stops[i]``. The means are over the turns that had not ended at its start (over all turns where
    that is 0) and have the figure recorded; NaN where none has.
    """

    starts: Floats
    stops: Floats
    steps: Floats
    tokens: Floats
    cost_usd: Floats
    seconds: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One row of ``turnout budget``; shares are ``None`` where the candidate is not estimable.

    ``cut`` is the overall survival: the share that this budget would have cut. ``at_risk`` counts the turns that were seen to reach it.
    Where ``finished`` is exactly 0 or 1 the log-log interval does not exist; shown is the Wilson interval among the turns whose end by
    then is known.
    """

    candidate: float
    n: int
    at_risk: int
    finished: float | None
    finished_low: float | None
    finished_high: float | None
    cut: float | None
    refused: float | None
    error: float | None
    stopped: float | None
    interrupted: float | None
    other: float | None
    mean_steps: float | None
    mean_tokens: float | None
    mean_cost_usd: float | None
    mean_seconds: float | None
    cost_of_one_more_finished_usd: float | None
    estimable: bool


def candidates(
    counts: EndCounts,
    progress: Progress,
    values: Sequence[float],
    *,
    largest_budget: float | None,
    level: float = LEVEL,
) -> tuple[Candidate, ...]:
    """Say for each candidate budget, in ascending order, how turns would have ended and what they would have spent.

    Args:
        counts: ends and cuts by amount spent, kinds in the order of `ENDS`.
        progress: what turns spent on the way.
        values: the candidate budgets.
        largest_budget: the largest limit recorded on any turn; ``None`` where no turn has one.
        level: of the intervals.
    """
    curve = incidence(counts, level)
    rows: list[Candidate] = []
    for value in sorted(set(values)):
        before = rows[-1] if rows else None
        rows.append(_row(counts, curve, progress, value, largest_budget, before))
    return tuple(rows)


def largest_estimable(counts: EndCounts, largest_budget: float | None) -> float:
    """The largest candidate that the data speak of; infinite where every turn ended by itself and no limit is recorded."""
    if len(counts.times) == 0:
        return 0.0
    last = float(counts.times[-1])
    if counts.cut[-1] > 0:
        return last
    return np.inf if largest_budget is None else max(last, largest_budget)


def _row(
    counts: EndCounts,
    curve: Incidence,
    progress: Progress,
    value: float,
    largest_budget: float | None,
    before: Candidate | None,
) -> Candidate:
    n = int(counts.ends.sum() + counts.cut.sum())
    at_risk = int(counts.at_risk[np.searchsorted(counts.times, value)]) if n and value <= counts.times[-1] else 0
    if n == 0 or value > largest_estimable(counts, largest_budget):
        return _unknown(value, n, at_risk)
    place = curve.place(value)
    shares = {end: float(curve.share[row, place]) if place >= 0 else 0.0 for row, end in enumerate(ENDS)}
    low, high = _finished_interval(counts, curve, place)
    cost = _mean(curve, progress, progress.cost_usd, value)
    return Candidate(
        candidate=value,
        n=n,
        at_risk=at_risk,
        finished=shares[End.FINISHED],
        finished_low=low,
        finished_high=high,
        cut=_survival(curve, value),
        refused=shares[End.REFUSED],
        error=shares[End.ERROR],
        stopped=shares[End.STOPPED],
        interrupted=shares[End.INTERRUPTED],
        other=shares[End.OTHER],
        mean_steps=_mean(curve, progress, progress.steps, value),
        mean_tokens=_mean(curve, progress, progress.tokens, value),
        mean_cost_usd=cost,
        mean_seconds=_mean(curve, progress, progress.seconds, value),
        cost_of_one_more_finished_usd=_price_of_one(before, shares[End.FINISHED], cost),
        estimable=True,
    )


def _unknown(value: float, n: int, at_risk: int) -> Candidate:
    return Candidate(
        candidate=value,
        n=n,
        at_risk=at_risk,
        finished=None,
        finished_low=None,
        finished_high=None,
        cut=None,
        refused=None,
        error=None,
        stopped=None,
        interrupted=None,
        other=None,
        mean_steps=None,
        mean_tokens=None,
        mean_cost_usd=None,
        mean_seconds=None,
        cost_of_one_more_finished_usd=None,
        estimable=False,
    )


def _survival(curve: Incidence, value: float) -> float:
    place = curve.place(value)
    return float(curve.survival[place]) if place >= 0 else 1.0


def _finished_interval(counts: EndCounts, curve: Incidence, place: int) -> tuple[float | None, float | None]:
    row = ENDS.index(End.FINISHED)
    if place >= 0 and not np.isnan(curve.low[row, place]):
        return float(curve.low[row, place]), float(curve.high[row, place])
    cut_earlier = int(counts.cut[:place].sum()) if place > 0 else 0
    known = int(counts.ends.sum() + counts.cut.sum()) - cut_earlier
    finished = known if place >= 0 and curve.share[row, place] > 0 else 0
    share = wilson(finished, known)
    return share.low, share.high


def _mean(curve: Incidence, progress: Progress, means: Floats, value: float) -> float | None:
    """The expected amount up to a budget: each piece's mean, weighted by the share that reaches the piece."""
    within = progress.stops <= value
    # Every turn takes the first piece, those that ended without spending anything too.
    reached = np.array([_survival(curve, start) if start > 0 else 1.0 for start in progress.starts[within]])
    known = ~np.isnan(means[within])
    if not known.any() or (~known & (reached > 0)).any():
        return None
    return float(np.sum(reached[known] * means[within][known]))


def _price_of_one(before: Candidate | None, finished: float, cost: float | None) -> float | None:
    """Dollars for each further finished turn against the budget before; ``None`` where none finishes in addition."""
    if before is None or before.finished is None or before.mean_cost_usd is None or cost is None:
        return None
    more = finished - before.finished
    return (cost - before.mean_cost_usd) / more if more > 0 else None
