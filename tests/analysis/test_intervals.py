"""Intervals of shares against statsmodels."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from turnout.pipeline.analysis.intervals import Difference, Share, holm, newcombe, wilson

TOTALS = st.integers(1, 5000)


@st.composite
def counted(draw: st.DrawFn) -> tuple[int, int]:
    """A count and the total that it is of."""
    total = draw(TOTALS)
    return draw(st.integers(0, total)), total


@given(counted())
def test_wilson_is_that_of_statsmodels(pair: tuple[int, int]) -> None:
    """The interval equals the oracle's and holds the share."""
    count, total = pair
    got = wilson(count, total)
    low, high = proportion_confint(count, total, method="wilson")
    assert (got.low, got.high) == pytest.approx((low, high), abs=1e-9)
    assert got.value is not None and got.low is not None and got.high is not None
    assert 0 <= got.low <= got.value <= got.high <= 1


@given(counted(), counted())
def test_newcombe_is_that_of_statsmodels(one: tuple[int, int], two: tuple[int, int]) -> None:
    """The interval of a difference equals the oracle's."""
    got = newcombe(*one, *two)
    low, high = confint_proportions_2indep(*one, *two, compare="diff", method="newcomb")
    assert (got.low, got.high) == pytest.approx((low, high), abs=1e-9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_that_of_statsmodels(p_values: list[float]) -> None:
    """Adjusted p-values equal the oracle's, in the order given."""
    oracle: Any = multipletests
    assert holm(p_values) == pytest.approx(tuple(oracle(p_values, method="holm")[1]), abs=1e-12)


def test_nothing_counted_is_not_zero() -> None:
    """Of no turns there is no share, and no difference to it."""
    assert wilson(0, 0) == Share(None, None, None)
    assert newcombe(0, 0, 1, 2) == Difference(None, None, None)
    assert not newcombe(0, 0, 1, 2).decisive


@pytest.mark.parametrize(
    ("counts", "decisive"),
    [((90, 100, 50, 100), True), ((50, 100, 90, 100), True), ((50, 100, 52, 100), False)],
)
def test_a_difference_is_decisive_when_its_interval_leaves_zero_out(
    counts: tuple[int, int, int, int], decisive: bool
) -> None:
    """Either sign counts; an interval over zero does not."""
    assert newcombe(*counts).decisive is decisive
