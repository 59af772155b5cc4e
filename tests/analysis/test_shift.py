"""The shift between two sets of values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from turnout.pipeline.analysis.intervals import Difference
from turnout.pipeline.analysis.shift import MOST_VALUES, histogram, quantile, shift

SOME = st.lists(st.integers(0, 40).map(float), min_size=1, max_size=40)


@given(SOME, SOME)
def test_the_shift_is_the_median_of_all_differences(one: list[float], other: list[float]) -> None:
    """On counts it equals the median over every pair, and lies in its interval."""
    got = shift(histogram(one), histogram(other))
    assert got.value == float(np.median(np.subtract.outer(one, other)))
    assert got.low is not None and got.high is not None and got.value is not None
    assert got.low <= got.value <= got.high


@pytest.mark.parametrize("seed", range(20))
def test_the_interval_leaves_zero_out_when_the_rank_test_says_so(seed: int) -> None:
    """Decisive agrees with scipy's Mann-Whitney test wherever that is not on the edge."""
    rng = np.random.default_rng(seed)
    one, other = rng.normal(rng.choice([0, 1]), 1, 60).round(1), rng.normal(0, 1, 50).round(1)
    p_value = float(stats.mannwhitneyu(one, other, use_continuity=False, method="asymptotic").pvalue)
    if abs(p_value - 0.05) > 0.02:
        assert shift(histogram(list(one)), histogram(list(other))).decisive is (p_value < 0.05)


def test_very_many_values_are_joined_without_moving_the_shift() -> None:
    """More distinct values than are kept move the shift by less than a bin."""
    rng = np.random.default_rng(7)
    one, other = rng.normal(10.5, 1, 3 * MOST_VALUES), rng.normal(10, 1, 3 * MOST_VALUES)
    got = shift(histogram(list(one)), histogram(list(other)))
    assert got.value == pytest.approx(float(np.median(np.subtract.outer(one, other))), abs=0.005)


def test_nothing_has_no_shift_and_no_quantile() -> None:
    """Of no values nothing is said."""
    empty = histogram([])
    assert shift(empty, histogram([1.0])) == Difference(None, None, None)
    assert quantile(empty, 0.5) is None


@given(SOME, st.sampled_from([0.01, 0.5, 0.9, 0.99]))
def test_quantiles_are_values_that_occur(values: list[float], share: float) -> None:
    """A quantile is the inverted distribution, as numpy computes it."""
    assert quantile(histogram(values), share) == float(np.quantile(values, share, method="inverted_cdf"))
