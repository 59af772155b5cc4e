"""When a rate changed."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from turnout.pipeline.analysis.changes import Hour, change_points

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)


def hours(rates: list[float], seed: int, turns: int = 60) -> list[Hour]:
    """Hours from Monday on, each with its own true rate."""
    rng = np.random.default_rng(seed)
    return [
        Hour(MONDAY + timedelta(hours=place), turns, int(rng.binomial(turns, rate))) for place, rate in enumerate(rates)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_a_change_is_found_where_it_is(seed: int) -> None:
    """Twice the rate from one hour on is one change point, within a few hours of the truth."""
    (found,) = change_points(hours([0.06] * 200 + [0.14] * 136, seed))
    assert abs(found.at - (MONDAY + timedelta(hours=200))) <= timedelta(hours=6)
    assert found.ratio is not None
    assert found.ratio > 1.5
    assert found.before.rate.value is not None and found.after.rate.value is not None
    assert found.before.rate.value < found.after.rate.value


def test_a_steady_rate_rarely_has_a_change() -> None:
    """Of 60 fortnights without any change at most three are taken for one."""
    assert sum(bool(change_points(hours([0.08] * 336, seed))) for seed in range(60)) <= 3


@pytest.mark.parametrize("seed", range(5))
def test_the_rhythm_of_the_week_is_no_change(seed: int) -> None:
    """A rate that is higher every night, in every week, changes nowhere."""
    night = [0.2 if place % 24 < 6 else 0.05 for place in range(24 * 21)]
    assert change_points(hours(night, seed)) == ()


@pytest.mark.parametrize("given", [[], [Hour(MONDAY, 0, 0)], [Hour(MONDAY, 5, 5)]])
def test_too_little_has_no_change(given: list[Hour]) -> None:
    """Of no hours, or one, nothing is said."""
    assert change_points(given) == ()


def test_the_order_of_the_hours_does_not_count() -> None:
    """Hours in any order give the same change points."""
    given = hours([0.05] * 100 + [0.2] * 100, 3)
    assert change_points(given[::-1]) == change_points(given)
