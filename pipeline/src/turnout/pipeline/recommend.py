"""One line that a product manager can paste: what a larger budget brings, and what it costs. Pure."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Final

from turnout.pipeline.analysis.budget import ENDS, NOT_ESTIMABLE, Candidate, End, Limit
from turnout.pipeline.analysis.compare import NOT_DECISIVE
from turnout.pipeline.analysis.intervals import Difference
from turnout.pipeline.analysis.survival import gain
from turnout.pipeline.budgets import Continued, Ends

_FINISHED = ENDS.index(End.FINISHED)
_NAMES: Final[Mapping[Limit, str]] = {
    Limit.STEPS: "steps",
    Limit.TOOL_CALLS: "tool calls",
    Limit.STEP_OUTPUT_TOKENS: "output tokens a step",
    Limit.TOTAL_TOKENS: "tokens",
    Limit.SECONDS: "seconds",
    Limit.COST_USD: "cost",
}


def recommendation(counted: Ends, before: Candidate, after: Candidate, cut: Continued | None = None) -> str:
    """Say what going from one candidate to a larger one does, with its interval, and what became of the turns that were cut.

    The gain's interval is at 95 %; where it holds zero the line says that it is not decisive. An estimate under independent censoring.
    """
    heading = f"{_NAMES[counted.limit]} {_amount(counted.limit, before.candidate)} → {_amount(counted.limit, after.candidate)}"
    if not (before.estimable and after.estimable):
        return f"{heading}: {NOT_ESTIMABLE}, the largest observed budget is {_amount(counted.limit, counted.largest)}"
    gained = gain(counted.counts, _FINISHED, before.candidate, after.candidate)
    parts = [_gained(gained), *_cost(before, after, gained)]
    return f"{heading}: {', '.join(parts)}{_continued(cut)}."


def recommendations(counted: Ends, rows: Sequence[Candidate], cut: Continued | None = None) -> list[str]:
    """A line for each candidate against the one before it; what became of the cut turns is said once, with the last that has figures."""
    pairs = list(pairwise(rows))
    last = max((number for number, (_, after) in enumerate(pairs) if after.estimable), default=None)
    return [
        recommendation(counted, before, after, cut if number == last else None)
        for number, (before, after) in enumerate(pairs)
    ]


def _amount(limit: Limit, value: float) -> str:
    """The amount without exponent: whole numbers in full, others to six significant digits."""
    digits = f"{Decimal(f'{value:.0f}' if value == int(value) else f'{value:.6g}'):f}"
    whole, _, part = digits.partition(".")
    part = part.rstrip("0")
    shown = f"{int(whole):,}.{part}" if part else f"{int(whole):,}"
    return f"${shown}" if limit is Limit.COST_USD else shown


def _gained(gained: Difference) -> str:
    assert gained.value is not None and gained.low is not None and gained.high is not None
    decided = "" if gained.decisive else f", {NOT_DECISIVE}"
    return (
        f"{100 * gained.value:+.1f} points finished (95 % {100 * gained.low:.1f} to {100 * gained.high:.1f}{decided})"
    )


def _cost(before: Candidate, after: Candidate, gained: Difference) -> list[str]:
    if before.mean_cost_usd is None or after.mean_cost_usd is None:
        return ["cost not recorded"]
    more = after.mean_cost_usd - before.mean_cost_usd
    parts = [f"{_dollars(more, sign=True)} a turn"]
    if gained.decisive and gained.value:
        parts.append(f"{_dollars(more / gained.value)} for each further finished turn")
    return parts


def _dollars(amount: float, *, sign: bool = False) -> str:
    digits = 2 if abs(amount) >= 0.1 else 4 if abs(amount) < 0.001 else 3  # noqa: PLR2004 - three figures are enough
    mark = "+" if sign and amount >= 0 else "-" if amount < 0 else ""
    return f"{mark}${abs(amount):.{digits}f}"


def _continued(cut: Continued | None) -> str:
    if cut is None or cut.cut == 0:
        return ""
    words = f"; {100 * cut.continued / cut.cut:.0f} % of the {cut.cut} cut turns were continued by hand"
    return (
        words if cut.continued == 0 else f"{words}, of which {100 * cut.finished / cut.continued:.0f} % then finished"
    )
