"""Intervals and corrections for shares: Wilson, Newcombe, Holm."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

LEVEL = 0.95
"""The confidence level of every interval that the product shows."""


def z_value(level: float = LEVEL) -> float:
    """The two-sided standard normal quantile of a level."""
    return NormalDist().inv_cdf(0.5 + level / 2)


@dataclass(frozen=True, slots=True)
class Share:
    """A share with its interval; all ``None`` where there was nothing to count."""

    value: float | None
    low: float | None
    high: float | None


def wilson(count: int, total: int, level: float = LEVEL) -> Share:
    """The Wilson score interval of ``count`` of ``total`` (Wilson 1927)."""
    if total == 0:
        return Share(None, None, None)
    z = z_value(level)
    share = count / total
    scale = 1 + z * z / total
    centre = (share + z * z / (2 * total)) / scale
    half = z * sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / scale
    return Share(share, max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half)))


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of two shares with its interval; decisive when the interval leaves zero out."""

    value: float | None
    low: float | None
    high: float | None

    @property
    def decisive(self) -> bool:
        """Whether zero lies outside the interval."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


def newcombe(count: int, total: int, other_count: int, other_total: int, level: float = LEVEL) -> Difference:
    """The interval of ``count/total - other_count/other_total`` by Newcombe's hybrid score method (1998, method 10)."""
    one, two = wilson(count, total, level), wilson(other_count, other_total, level)
    if one.value is None or two.value is None:
        return Difference(None, None, None)
    assert one.low is not None and one.high is not None and two.low is not None and two.high is not None
    gap = one.value - two.value
    low = gap - sqrt((one.value - one.low) ** 2 + (two.high - two.value) ** 2)
    high = gap + sqrt((one.high - one.value) ** 2 + (two.value - two.low) ** 2)
    return Difference(gap, low, high)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm's step-down adjusted p-values, in the order given."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return tuple(adjusted)
