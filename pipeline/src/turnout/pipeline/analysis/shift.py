"""How far one set of values lies from another: Hodges-Lehmann's shift, on counts a value.

Steps, tokens, cost and duration are skewed; a mean follows its outliers. The shift is the median of all differences between a value
of one set and a value of the other, its interval that of the Mann-Whitney test (normal approximation with the correction for ties).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from turnout.pipeline.analysis.intervals import LEVEL, Difference, z_value

MOST_VALUES = 2000
"""Distinct values kept a set; more are joined to means of neighbours, which moves the shift by less than the width of a bin."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Distinct values, ascending, shape (v,), and how many turns have each, shape (v,)."""

    values: NDArray[np.float64]
    counts: NDArray[np.int64]

    @property
    def total(self) -> int:
        """How many turns there are."""
        return int(self.counts.sum())


def histogram(values: Sequence[float]) -> Histogram:
    """Count single values."""
    distinct, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    return Histogram(distinct, counts.astype(np.int64))


def quantile(values: Histogram, share: float) -> float | None:
    """The smallest value that at least ``share`` of the turns do not exceed; ``None`` of nothing."""
    if values.total == 0:
        return None
    reached = np.cumsum(values.counts) >= share * values.total - 1e-9
    return float(values.values[int(np.argmax(reached))])


def shift(one: Histogram, other: Histogram, level: float = LEVEL) -> Difference:
    """How much larger ``one`` is than ``other``, with its interval (Hodges and Lehmann 1963)."""
    if one.total == 0 or other.total == 0:
        return Difference(None, None, None)
    spread = _rank_spread(one, other)
    left, right = _joined(one), _joined(other)
    differences = np.subtract.outer(left.values, right.values).ravel()
    weights = np.multiply.outer(left.counts, right.counts).ravel()
    order = np.argsort(differences, kind="stable")
    ranks = np.cumsum(weights[order])
    pairs = int(ranks[-1])
    half = z_value(level) * spread
    return Difference(
        _median(differences[order], ranks, pairs),
        _at(differences[order], ranks, np.floor(pairs / 2 - half)),
        _at(differences[order], ranks, np.ceil(pairs / 2 + half)),
    )


def _rank_spread(one: Histogram, other: Histogram) -> float:
    """The standard deviation of the Mann-Whitney count, with the correction for ties."""
    n, m = one.total, other.total
    both = np.concatenate([one.values, other.values])
    _, place = np.unique(both, return_inverse=True)
    ties = np.bincount(place, weights=np.concatenate([one.counts, other.counts]))
    total = n + m
    if total < 2:  # noqa: PLR2004 - of one turn there is no spread
        return 0.0
    corrected = total + 1 - float((ties**3 - ties).sum()) / (total * (total - 1))
    return sqrt(max(0.0, n * m / 12 * corrected))


def _joined(values: Histogram) -> Histogram:
    if len(values.values) <= MOST_VALUES:
        return values
    bins = (np.cumsum(values.counts) - 1) * MOST_VALUES // values.total
    counts = np.bincount(bins, weights=values.counts)
    sums = np.bincount(bins, weights=values.counts * values.values)
    kept = counts > 0
    return Histogram(sums[kept] / counts[kept], counts[kept].astype(np.int64))


def _median(ordered: NDArray[np.float64], ranks: NDArray[np.int64], pairs: int) -> float:
    low, high = _at(ordered, ranks, (pairs + 1) // 2), _at(ordered, ranks, pairs // 2 + 1)
    return (low + high) / 2


def _at(ordered: NDArray[np.float64], ranks: NDArray[np.int64], rank: float) -> float:
    """The difference of a rank, counted from 1; ranks outside are the ends."""
    place = int(np.searchsorted(ranks, max(1.0, rank), side="left"))
    return float(ordered[min(place, len(ordered) - 1)])
