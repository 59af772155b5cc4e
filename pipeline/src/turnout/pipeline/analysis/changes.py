"""When a rate changed: change points by hour, against the day and hour of the week as they usually are. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from math import log

from turnout.pipeline.analysis.intervals import Share, wilson

FEWEST_HOURS = 6
"""Hours on either side of a change point: less is a spike, which the on-call page shows by itself."""

WEEKS = 3
"""An hour of the week, or of the day, has a usual rate of its own once it has been seen so often."""

PENALTY = 3.0
"""What each change point must gain in log likelihood, times the logarithm of the hours: three figures a point (where, before, after)."""


@dataclass(frozen=True, slots=True)
class Hour:
    """One hour: turns, and how many of them ended in the way that is asked about; ``start`` is an aware instant."""

    start: datetime
    turns: int
    ended: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of hours with one rate."""

    first: datetime
    last: datetime
    rate: Share
    turns: int


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """From ``at`` on the rate is another one; ``ratio`` is that of observed to usual, after against before."""

    at: datetime
    before: Segment
    after: Segment
    ratio: float | None


def change_points(hours: Sequence[Hour], series: int = 1) -> tuple[ChangePoint, ...]:
    """Split the hours where a split explains them so much better that its penalty is paid.

    The counts of an hour are taken as binomial around the usual rate of its day and hour of the week, times one factor a stretch.
    Splits are found by halving (binary segmentation), the best one first.

    Args:
        hours: in any order.
        series: how many rates are looked at together; the more, the more each split must gain.
    """
    ordered = sorted((hour for hour in hours if hour.turns), key=lambda hour: hour.start)
    expected = _expected(ordered)
    whole = _Sums.of(ordered, expected)
    price = PENALTY * log(max(2, len(ordered))) + log(series)
    bounds = [0, *sorted(_splits(whole, 0, len(ordered), price)), len(ordered)]
    return tuple(
        _change(ordered, whole, bounds[place - 1], bounds[place], bounds[place + 1])
        for place in range(1, len(bounds) - 1)
    )


def _expected(hours: Sequence[Hour]) -> list[float]:
    """How many would have ended so at the usual rate of that hour of the week, drawn to the whole where that has few turns."""
    everyone, everything = sum(hour.turns for hour in hours), sum(hour.ended for hour in hours)
    if not everyone:
        return []
    whole = everything / everyone
    keys = _rhythm(hours)
    usual: dict[tuple[int, int], tuple[int, int]] = {}
    for key, hour in zip(keys, hours, strict=True):
        turns, ended = usual.get(key, (0, 0))
        usual[key] = (turns + hour.turns, ended + hour.ended)
    weight = 200.0
    rates = {key: (ended + weight * whole) / (turns + weight) for key, (turns, ended) in usual.items()}
    return [hour.turns * rates[key] for key, hour in zip(keys, hours, strict=True)]


def _rhythm(hours: Sequence[Hour]) -> list[tuple[int, int]]:
    """Which hours are held against each other: a usual rate that is known from one hour alone would hide every change in it."""
    days = (hours[-1].start - hours[0].start) / timedelta(days=1)
    if days >= WEEKS * 7 - 1:
        return [(hour.start.weekday(), hour.start.hour) for hour in hours]
    return [(0, hour.start.hour if days >= WEEKS else 0) for hour in hours]


@dataclass(frozen=True, slots=True)
class _Sums:
    """Running sums, so that a stretch of any length is two look-ups."""

    ended: Sequence[float]
    usual: Sequence[float]

    @classmethod
    def of(cls, hours: Sequence[Hour], expected: Sequence[float]) -> "_Sums":
        return cls([0, *accumulate(hour.ended for hour in hours)], [0, *accumulate(expected)])

    def factor(self, first: int, end: int) -> float:
        usual = self.usual[end] - self.usual[first]
        return (self.ended[end] - self.ended[first]) / usual if usual else 0.0

    def fit(self, first: int, end: int) -> float:
        """The Poisson log likelihood of a stretch at its own factor, up to what no split changes."""
        seen, factor = self.ended[end] - self.ended[first], self.factor(first, end)
        return seen * log(factor) - seen if seen and factor else 0.0


def _splits(sums: _Sums, first: int, end: int, price: float) -> list[int]:
    best, gain = None, price
    whole = sums.fit(first, end)
    for cut in range(first + FEWEST_HOURS, end - FEWEST_HOURS + 1):
        gained = sums.fit(first, cut) + sums.fit(cut, end) - whole
        if gained > gain:
            best, gain = cut, gained
    if best is None:
        return []
    return [*_splits(sums, first, best, price), best, *_splits(sums, best, end, price)]


def _change(hours: Sequence[Hour], sums: _Sums, first: int, cut: int, end: int) -> ChangePoint:
    before, after = sums.factor(first, cut), sums.factor(cut, end)
    ratio = after / before if before else None
    return ChangePoint(hours[cut].start, _segment(hours[first:cut]), _segment(hours[cut:end]), ratio)


def _segment(hours: Sequence[Hour]) -> Segment:
    turns, ended = sum(hour.turns for hour in hours), sum(hour.ended for hour in hours)
    return Segment(hours[0].start, hours[-1].start, wilson(ended, turns), turns)
