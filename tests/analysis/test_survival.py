"""The curves against implementations that nobody here wrote."""

from typing import Any

import numpy as np
import pytest
from lifelines import KaplanMeierFitter
from scipy import stats
from sksurv.nonparametric import cumulative_incidence_competing_risks

from drawn_turns import Turns, drawn
from turnout.pipeline.analysis.budget import ENDS
from turnout.pipeline.analysis.survival import gain, incidence


@pytest.mark.parametrize("size", [12, 60, 700])
@pytest.mark.parametrize("seed", range(5))
def test_shares_and_intervals_are_those_of_scikit_survival(seed: int, size: int) -> None:
    """Aalen-Johansen with log-log intervals, on tied times, equals the oracle's to 1e-9."""
    turns = drawn(seed, size)
    got = incidence(turns.counts())
    oracle: Any = cumulative_incidence_competing_risks
    times, share, interval = oracle(turns.events, turns.times, conf_type="log-log")
    inside = (share[1:] > 0) & (share[1:] < 1)
    np.testing.assert_array_equal(got.times, times)
    np.testing.assert_allclose(got.share, share[1:], atol=1e-9)
    np.testing.assert_allclose(got.low[inside], interval[1:, 0][inside], atol=1e-9)
    np.testing.assert_allclose(got.high[inside], interval[1:, 1][inside], atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_survival_is_that_of_scipy_and_lifelines(seed: int) -> None:
    """The share that has not ended is Kaplan and Meier's, every kind of end taken together."""
    turns = drawn(seed, 300)
    got = incidence(turns.counts())
    ended = turns.events > 0
    data = stats.CensoredData(uncensored=turns.times[ended], right=turns.times[~ended])
    np.testing.assert_allclose(got.survival, stats.ecdf(data).sf.evaluate(got.times), atol=1e-9)
    fitted = KaplanMeierFitter().fit(turns.times, ended)
    np.testing.assert_allclose(got.survival, fitted.predict(got.times).to_numpy(), atol=1e-9)


@pytest.mark.parametrize(
    "turns",
    [
        pytest.param(Turns([4, 4, 7], [0, 0, 0]), id="all cut"),
        pytest.param(Turns([5], [1]), id="one turn that finished"),
        pytest.param(Turns([5], [0]), id="one turn that was cut"),
        pytest.param(Turns([3, 3, 3, 3], [1, 0, 2, 0]), id="ends and cuts at one time"),
    ],
)
def test_small_data_are_those_of_lifelines(turns: Turns) -> None:
    """The oracle takes ends at a time before the cuts at that time too, and a curve without any end stays at one."""
    got = incidence(turns.counts())
    fitted = KaplanMeierFitter().fit(turns.times, turns.events > 0)
    np.testing.assert_allclose(got.survival, np.atleast_1d(fitted.predict(got.times)), atol=1e-9)


@pytest.mark.parametrize(
    ("turns", "survival"),
    [
        pytest.param(Turns([4, 4, 7], [0, 0, 0]), [1.0, 1.0], id="all cut"),
        pytest.param(Turns([5], [1]), [0.0], id="one turn that finished"),
        pytest.param(Turns([5], [0]), [1.0], id="one turn that was cut"),
        pytest.param(Turns([], []), [], id="no turn"),
    ],
)
def test_small_data_have_a_curve(turns: Turns, survival: list[float]) -> None:
    """Where nothing or only cuts are known the curve says so and does not fail."""
    got = incidence(turns.counts())
    assert got.survival.tolist() == survival
    assert got.share.shape == (len(ENDS), len(survival))


def test_at_zero_and_one_there_is_no_log_log_interval() -> None:
    """A share of exactly 0 or 1 has NaN on both sides."""
    got = incidence(Turns([2, 3], [1, 1]).counts())
    assert np.isnan(got.low[0]).tolist() == [False, True]
    assert np.isnan(got.low[1:]).all()


@pytest.mark.parametrize("seed", range(5))
def test_a_gain_is_the_difference_of_two_shares(seed: int) -> None:
    """The product form and the plain difference of the curve agree."""
    counts = drawn(seed, 300).counts()
    curve = incidence(counts)
    got = gain(counts, 0, 4, 9)
    assert got.value == pytest.approx(curve.share[0, curve.place(9)] - curve.share[0, curve.place(4)])
    assert got.low is not None and got.high is not None and got.value is not None
    assert got.low <= got.value <= got.high


def test_the_interval_of_a_gain_covers_a_known_truth() -> None:
    """Over 1,000 draws with random budgets the interval holds the true gain 93 to 97 times of 100."""
    rng = np.random.default_rng(20260106)
    truth, held, draws = 0.8 * (0.85**4 - 0.85**9), 0, 1000
    for _ in range(draws):
        ended, budget = rng.geometric(0.15, 300).astype(float), rng.integers(6, 16, 300).astype(float)
        kind = np.where(rng.random(300) < 0.8, 1, 2)
        turns = Turns(list(np.minimum(ended, budget)), list(np.where(ended <= budget, kind, 0)))
        got = gain(turns.counts(), 0, 4, 9)
        assert got.low is not None and got.high is not None
        held += got.low <= truth <= got.high
    assert 0.93 <= held / draws <= 0.97
