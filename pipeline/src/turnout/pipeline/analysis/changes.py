"""When a rate changed: change points by hour, against the day and hour of the week as they usually are. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import log

from turnout.pipeline.analysis.intervals import Share, wilson

FEWEST_HOURS = 6
"""Hours on either side of a change point: less is a spike, which the on-call page shows by itself."""

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


def change_points(hours: Sequence[Hour]) -> tuple[ChangePoint, ...]:
    """Split the hours where a split explains them so much better that its penalty is paid.

    The counts of an hour are taken as binomial around the usual rate of its day and hour of the week, times one factor a stretch.
    Splits are found by halving (binary segmentation), the best one first.
    """
    ordered = sorted((hour for hour in hours if hour.turns), key=lambda hour: hour.start)
    expected = _expected(ordered)
    cuts = sorted(_splits(ordered, expected, 0, len(ordered)))
    bounds = [0, *cuts, len(ordered)]
    return tuple(
        _change(ordered, expected, bounds[place - 1], bounds[place], bounds[place + 1])
        for place in range(1, len(bounds) - 1)
    )


def _expected(hours: Sequence[Hour]) -> list[float]:
    """How many would have ended so at the usual rate of that hour of the week, drawn to the whole where that has few turns."""
    everyone, everything = sum(hour.turns for hour in hours), sum(hour.ended for hour in hours)
    if not everyone:
        return []
    whole = everything / everyone
    usual: dict[tuple[int, int], tuple[int, int]] = {}
    for hour in hours:
        key = (hour.start.weekday(), hour.start.hour)
        turns, ended = usual.get(key, (0, 0))
        usual[key] = (turns + hour.turns, ended + hour.ended)
    weight = 200.0
    rates = {key: (ended + weight * whole) / (turns + weight) for key, (turns, ended) in usual.items()}
    return [hour.turns * rates[(hour.start.weekday(), hour.start.hour)] for hour in hours]


def _splits(hours: Sequence[Hour], expected: Sequence[float], first: int, end: int) -> list[int]:
    best, gain = None, PENALTY * log(max(2, len(hours)))
    whole = _fit(hours, expected, first, end)
    for cut in range(first + FEWEST_HOURS, end - FEWEST_HOURS + 1):
        gained = _fit(hours, expected, first, cut) + _fit(hours, expected, cut, end) - whole
        if gained > gain:
            best, gain = cut, gained
    if best is None:
        return []
    return [*_splits(hours, expected, first, best), best, *_splits(hours, expected, best, end)]


def _fit(hours: Sequence[Hour], expected: Sequence[float], first: int, end: int) -> float:
    """The Poisson log likelihood of a stretch at its own factor, up to what no split changes."""
    seen, usual = sum(hour.ended for hour in hours[first:end]), sum(expected[first:end])
    return seen * log(seen / usual) - seen if seen and usual else 0.0


def _change(hours: Sequence[Hour], expected: Sequence[float], first: int, cut: int, end: int) -> ChangePoint:
    factors = [
        sum(hour.ended for hour in hours[start:stop]) / sum(expected[start:stop]) if sum(expected[start:stop]) else 0.0
        for start, stop in ((first, cut), (cut, end))
    ]
    ratio = factors[1] / factors[0] if factors[0] else None
    return ChangePoint(hours[cut].start, _segment(hours[first:cut]), _segment(hours[cut:end]), ratio)


def _segment(hours: Sequence[Hour]) -> Segment:
    turns, ended = sum(hour.turns for hour in hours), sum(hour.ended for hour in hours)
    return Segment(hours[0].start, hours[-1].start, wilson(ended, turns), turns)
