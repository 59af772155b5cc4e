"""Signs that turns under different budgets are different turns."""

import numpy as np
import pytest
from lifelines.statistics import multivariate_logrank_test

from drawn_turns import Turns
from turnout.pipeline.analysis.censoring import log_rank, pace_tests, until
from turnout.pipeline.analysis.survival import EndCounts


def geometric(seed: int, pace: float, size: int = 300, budget: float = 12) -> Turns:
    """Turns that finish at a steady pace, cut at a budget."""
    rng = np.random.default_rng(seed)
    ended = rng.geometric(pace, size).astype(float)
    return Turns(list(np.minimum(ended, budget)), list(np.where(ended <= budget, rng.choice([1, 1, 2], size), 0)))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("groups", [2, 3])
def test_the_test_is_that_of_lifelines(seed: int, groups: int) -> None:
    """The p-value equals the oracle's on tied times, other ends taken as cuts."""
    drawn = [geometric(10 * seed + number, 0.15 + 0.03 * number, 80) for number in range(groups)]
    times = np.concatenate([turns.times for turns in drawn])
    finished = np.concatenate([turns.events == 1 for turns in drawn])
    labels = np.repeat(np.arange(groups), 80)
    expected = multivariate_logrank_test(times, labels, finished).p_value
    assert log_rank([turns.counts() for turns in drawn], 0) == pytest.approx(expected, abs=1e-9)


def test_watching_up_to_a_time_cuts_what_comes_later() -> None:
    """Ends at the time itself are not seen any more: a budget of that size would have cut there."""
    got = until(Turns([1, 3, 5, 7], [1, 1, 1, 0]).counts(), 5)
    assert (got.times.tolist(), got.ends[0].tolist(), got.cut.tolist()) == ([1, 3, 5], [1, 1, 0], [0, 0, 2])


def test_different_turns_under_different_budgets_are_found() -> None:
    """A slower stratum under the larger budget shows; one at the same pace does not."""
    strata: dict[str | None, dict[float, EndCounts]] = {
        "same": {8.0: geometric(1, 0.2, budget=8).counts(), 12.0: geometric(2, 0.2).counts()},
        "harder": {8.0: geometric(3, 0.3, budget=8).counts(), 12.0: geometric(4, 0.12).counts()},
    }
    first, second = pace_tests(strata, 0)
    assert (first.stratum, first.budgets, first.up_to, first.differs) == ("harder", (8.0, 12.0), 8.0, True)
    assert (second.stratum, second.differs) == ("same", False)


def test_one_budget_or_few_turns_are_not_compared() -> None:
    """There is nothing to test without two budgets of some turns each."""
    few = geometric(1, 0.2, 5).counts()
    assert pace_tests({"a": {8.0: geometric(1, 0.2).counts()}, "b": {8.0: few, 12.0: few}}, 0) == ()
