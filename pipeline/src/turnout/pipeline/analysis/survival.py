"""Time to the end of a turn when a budget may cut it first: Kaplan-Meier and Aalen-Johansen on counts.

A turn cut by its budget is right-censored: how it would have ended is not known, only that it had not ended yet. Ends of several
kinds compete. Everything works on counts a time, so that ten million turns are as quick as the few hundred distinct times they have.
Ends at a time come before the cuts at that time, as everywhere in survival analysis.
"""

from dataclasses import dataclass
from math import sqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from turnout.pipeline.analysis.intervals import LEVEL, Difference, z_value

Floats: TypeAlias = NDArray[np.float64]
Counts: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class EndCounts:
    """How many turns ended, by kind, and how many were cut, at each distinct time.

    ``times`` has shape (t,), ascending; ``ends`` (kinds, t); ``cut`` (t,).
    """

    times: Floats
    ends: Counts
    cut: Counts

    @property
    def at_risk(self) -> Counts:
        """How many turns had neither ended nor been cut before each time, shape (t,)."""
        leaving = self.ends.sum(axis=0) + self.cut
        return np.cumsum(leaving[::-1])[::-1].astype(np.int64)


@dataclass(frozen=True, slots=True)
class Incidence:
    """Aalen-Johansen curves with log-log intervals.

    ``survival`` has shape (t,): the share that has not ended by each time, with Greenwood's variance. ``share``, its ``variance``,
    ``low`` and ``high`` have shape (kinds, t); ``low`` and ``high`` are NaN where the share is 0 or 1, because the log-log interval does
    not exist there.
    """

    times: Floats
    at_risk: Counts
    survival: Floats
    survival_variance: Floats
    share: Floats
    variance: Floats
    low: Floats
    high: Floats

    def place(self, time: float) -> int:
        """The index of the last distinct time not after ``time``; -1 where there is none."""
        return int(np.searchsorted(self.times, time, side="right")) - 1


def incidence(counts: EndCounts, level: float = LEVEL) -> Incidence:
    """Estimate the share that ended in each way by each time, under independent censoring.

    Aalen and Johansen 1978 for the estimate; the variance is Aalen's, in the form of Pintilie 2006 (eq. 4.5).
    """
    at_risk = counts.at_risk.astype(np.float64)
    all_ends = counts.ends.sum(axis=0).astype(np.float64)
    hazard = _divide(all_ends, at_risk)
    survival: Floats = np.cumprod(1.0 - hazard, dtype=np.float64)
    before: Floats = np.concatenate(([1.0], survival[:-1])) if len(survival) else survival
    share: Floats = np.cumsum(_divide(counts.ends.astype(np.float64), at_risk) * before, axis=1, dtype=np.float64)
    variance = _variance(counts.ends.astype(np.float64), all_ends, at_risk, before, share)
    low, high = _log_log(share, variance, level)
    greenwood = survival**2 * np.cumsum(_divide(all_ends, at_risk * (at_risk - all_ends)))
    return Incidence(counts.times, counts.at_risk, survival, greenwood, share, variance, low, high)


def gain(counts: EndCounts, kind: int, before: float, after: float, level: float = LEVEL) -> Difference:
    """How much larger the share of one end is at ``after`` than at ``before``, with its interval.

    The gain is the share that has not ended by ``before`` times the share of those that end so by ``after``; the variance of the
    product is that of independent factors (the martingale increments before and after are uncorrelated), the interval normal.
    """
    whole, rest = incidence(counts, level), incidence(_after(counts, before), level)
    place, rest_place = whole.place(before), rest.place(after)
    left = float(whole.survival[place]) if place >= 0 else 1.0
    left_variance = float(whole.survival_variance[place]) if place >= 0 else 0.0
    then = float(rest.share[kind, rest_place]) if rest_place >= 0 else 0.0
    then_variance = float(rest.variance[kind, rest_place]) if rest_place >= 0 else 0.0
    half = z_value(level) * sqrt(left**2 * then_variance + then**2 * left_variance)
    value = left * then
    return Difference(value, max(0.0, value - half), min(1.0, value + half))


def _after(counts: EndCounts, time: float) -> EndCounts:
    later = counts.times > time
    return EndCounts(counts.times[later], counts.ends[:, later], counts.cut[later])


def _divide(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.zeros(np.broadcast_shapes(above.shape, below.shape)), where=below > 0)


def _variance(ends: Floats, all_ends: Floats, at_risk: Floats, before: Floats, share: Floats) -> Floats:
    """Sum over earlier times of squares of (share now - share then), opened so that running sums do."""
    a = _divide(all_ends, (at_risk - 1) * (at_risk - all_ends))
    b = _divide(before**2 * (at_risk - ends) * ends, (at_risk - 1) * at_risk**2)
    c = _divide(before * (at_risk - ends) * ends, at_risk * (at_risk - all_ends) * (at_risk - 1))
    first = share**2 * np.cumsum(a) - 2 * share * np.cumsum(share * a, axis=1) + np.cumsum(share**2 * a, axis=1)
    third = share * np.cumsum(c, axis=1) - np.cumsum(share * c, axis=1)
    return np.maximum(first + np.cumsum(b, axis=1) - 2 * third, 0.0)


def _log_log(share: Floats, variance: Floats, level: float) -> tuple[Floats, Floats]:
    inside = (share > 0) & (share < 1)
    low, high = np.full_like(share, np.nan), np.full_like(share, np.nan)
    log_share = np.log(share[inside])
    spread = z_value(level) * np.sqrt(variance[inside]) / share[inside] / log_share
    theta = np.log(-log_share)
    # A spread without bound is the whole range: exp(-inf) is the zero that is meant.
    with np.errstate(over="ignore"):
        low[inside] = np.exp(-np.exp(theta - spread))
        high[inside] = np.exp(-np.exp(theta + spread))
    return np.minimum(low, high), np.maximum(low, high)
