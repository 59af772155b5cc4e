"""The kinds of limit in words, and the candidates that a page offers for each. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, inf, log10
from typing import Final

import numpy as np

from turnout.pipeline.analysis.budget import Limit
from turnout.pipeline.budgets import Ends
from turnout.pipeline.wording import count

EVERY: Final = 120
"""Up to so many whole numbers each one is a candidate."""

_MANY: Final = 40
_BEYOND: Final = (1.5, 2.0)
_FIGURES: Final = 2
_WHOLE: Final = 10


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of limit: its name, what it limits, and the format of its amounts on an axis."""

    title: str
    unit: str
    number: str
    whole: bool = False


KINDS: Final[Mapping[str, Kind]] = {
    "steps": Kind("Steps", "steps a turn", "d", whole=True),
    "tool_calls": Kind("Tool calls", "tool calls a turn", "d", whole=True),
    "step_output_tokens": Kind("Output tokens a step", "output tokens a step", ",d"),
    "total_tokens": Kind("Tokens", "tokens a turn", "~s"),
    "seconds": Kind("Seconds", "seconds a turn", "~s"),
    "cost_usd": Kind("Cost", "dollars a turn", "$~g"),
}
"""Every kind of limit by its name on the command line."""


def kind(limit: Limit) -> Kind:
    """The words of a limit."""
    return KINDS[str(limit)]


def amount(limit: Limit, value: float) -> str:
    """An amount of one kind, as ``30``, ``400 000`` or ``$0.65``."""
    if value == inf:
        return "no end"
    if limit is Limit.COST_USD:
        return f"${value:.3g}"
    return count(round(value)) if value >= _WHOLE or value == round(value) else f"{value:.2g}"


def offered(counted: Ends, in_use: Sequence[float]) -> list[float]:
    """Candidates for a slider: every whole number where there are few, else round amounts; limits in use; two past what is known."""
    if not counted.n:
        return []
    last = float(counted.counts.times[-1])
    if kind(counted.limit).whole and last <= EVERY:
        inner = [float(value) for value in range(1, int(last) + 1)]
    else:
        inner = sorted({_rounded(value) for value in _spread(counted)})
    known = [value for value in (*inner, *in_use) if 0 < value <= counted.largest]
    reach = max(known, default=last)
    past = [_rounded(factor * reach) for factor in _BEYOND] if counted.largest < inf else []
    return sorted({*known, *past})


def start(candidates: Sequence[float], largest: float, in_use: Sequence[float]) -> tuple[float, float] | None:
    """The two candidates that a page begins with: the limit that most turns have, and the next larger one in use or known."""
    known = [value for value in candidates if value <= largest]
    if len(known) < len(("from", "to")):
        return None
    first = next((value for value in in_use if value in known and value < known[-1]), known[(len(known) - 1) // 2])
    larger = sorted(value for value in in_use if first < value <= known[-1])
    return first, larger[0] if larger else known[-1]


def _spread(counted: Ends) -> list[float]:
    """Amounts that turns spent: quantiles, and equal distances."""
    leaving = np.cumsum(counted.counts.ends.sum(axis=0) + counted.counts.cut)
    places = np.searchsorted(leaving, np.linspace(1 / _MANY, 1, _MANY) * leaving[-1])
    times = counted.counts.times
    # The few that spent most stand between the last quantiles: there equal distances show more.
    return [*times[np.minimum(places, len(leaving) - 1)].tolist(), *np.linspace(0, times[-1], _MANY // 2).tolist()]


def _rounded(value: float) -> float:
    """To two figures."""
    if value <= 0:
        return 0.0
    size = 10.0 ** (floor(log10(value)) - _FIGURES + 1)
    return round(round(value / size) * size, 10)
