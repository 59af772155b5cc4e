"""Candidates on hand-countable turns, against direct counts, and under simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawn_turns import Turns, drawn
from turnout.pipeline.analysis.budget import ENDS, Candidate, End, Progress, candidates, largest_estimable
from turnout.pipeline.analysis.intervals import wilson

CUT = 0
FINISHED, REFUSED = ENDS.index(End.FINISHED) + 1, ENDS.index(End.REFUSED) + 1


def unit_progress(pieces: int, tokens: float = 10.0, cost: float = 0.5) -> Progress:
    """Steps that all cost the same."""
    starts = np.arange(pieces, dtype=np.float64)
    return Progress(
        starts=starts,
        stops=starts + 1,
        steps=np.ones(pieces),
        tokens=np.full(pieces, tokens),
        cost_usd=np.full(pieces, cost),
        seconds=np.full(pieces, np.nan),
    )


def test_a_small_table_is_what_a_hand_counts() -> None:
    """Four turns finish at 1, 2, 2 and 3 steps, one is refused at 2, one is cut at 2."""
    turns = Turns([1, 2, 2, 3, 2, 2], [FINISHED, FINISHED, FINISHED, FINISHED, REFUSED, CUT])
    got = candidates(turns.counts(), unit_progress(3), [1, 2, 3], largest_budget=3)
    sixth = 1 / 6
    assert [row.finished for row in got] == pytest.approx([sixth, 3 * sixth, 5 * sixth])
    assert [row.refused for row in got] == pytest.approx([0, sixth, sixth])
    assert [row.cut for row in got] == pytest.approx([5 * sixth, 2 * sixth, 0])
    assert [row.at_risk for row in got] == [6, 5, 1]
    assert [row.mean_steps for row in got] == pytest.approx([1, 1 + 5 * sixth, 1 + 7 * sixth])
    assert [row.mean_tokens for row in got] == pytest.approx([10, 10 + 50 * sixth, 10 + 70 * sixth])
    assert [row.mean_seconds for row in got] == [None, None, None]
    assert [row.cost_of_one_more_finished_usd for row in got] == [
        None,
        pytest.approx((0.5 * 5 * sixth) / (2 * sixth)),
        pytest.approx((0.5 * 2 * sixth) / (2 * sixth)),
    ]


def test_beyond_the_largest_budget_nothing_is_said() -> None:
    """A candidate that no observed budget reaches has no share at all."""
    got = candidates(Turns([2, 3], [FINISHED, CUT]).counts(), unit_progress(3), [3, 4], largest_budget=3)
    assert [(row.candidate, row.estimable, row.finished, row.cut) for row in got] == [
        (3, True, 0.5, 0.5),
        (4, False, None, None),
    ]


@pytest.mark.parametrize(
    ("turns", "budget", "largest"),
    [
        pytest.param(Turns([2, 9], [FINISHED, CUT]), 20.0, 9.0, id="cut before the recorded budget"),
        pytest.param(Turns([2, 9], [FINISHED, FINISHED]), 20.0, 20.0, id="all ended within the budget"),
        pytest.param(Turns([2, 9], [FINISHED, FINISHED]), None, np.inf, id="all ended, no budget recorded"),
        pytest.param(Turns([], []), 20.0, 0.0, id="no turns"),
    ],
)
def test_how_far_the_data_speak(turns: Turns, budget: float | None, largest: float) -> None:
    """The last time that is seen bounds the curve when it is a cut; else the recorded budget does."""
    assert largest_estimable(turns.counts(), budget) == largest


def test_uncut_turns_give_direct_counts() -> None:
    """Without cuts the curve is the share that had ended, with no statistics in between."""
    turns = drawn(3, 200)
    turns.events[turns.events == CUT] = FINISHED
    values = [1, 5, 9, 14]
    got = candidates(turns.counts(), unit_progress(14), values, largest_budget=None)
    direct = [float(((turns.times <= value) & (turns.events == FINISHED)).mean()) for value in values]
    assert [row.finished for row in got] == pytest.approx(direct)


def test_a_cap_does_not_move_the_curve_below_it() -> None:
    """Cutting every turn at 7 leaves the estimate below 7 as it was."""
    turns = drawn(5, 300)
    turns.events[turns.events == CUT] = FINISHED
    longer = turns.times > 7
    capped = Turns(list(np.minimum(turns.times, 7.0)), list(np.where(longer, CUT, turns.events)))
    values = [1, 3, 6]
    whole = candidates(turns.counts(), unit_progress(14), values, largest_budget=None)
    cut = candidates(capped.counts(), unit_progress(7), values, largest_budget=7)
    assert [row.finished for row in cut] == pytest.approx([row.finished for row in whole])


def test_where_the_log_log_interval_ends_wilson_stands() -> None:
    """At a share of exactly 1 the interval is that of the count whose end is known."""
    (row,) = candidates(Turns([1, 1, 1], [FINISHED] * 3).counts(), unit_progress(1), [1], largest_budget=1)
    expected = wilson(3, 3)
    assert (row.finished, row.finished_low, row.finished_high) == (1.0, expected.low, expected.high)


def shares(row: Candidate) -> list[float]:
    """Every share of a row, the cut one too."""
    found = [row.finished, row.cut, row.refused, row.error, row.stopped, row.interrupted, row.other]
    return [share for share in found if share is not None]


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(0, len(ENDS))), min_size=1, max_size=60))
def test_shares_sum_to_one_and_hold_their_interval(turns: list[tuple[int, int]]) -> None:
    """For any turns, at any candidate, the shares are shares and the interval holds the estimate."""
    counts = Turns([float(time) for time, _ in turns], [event for _, event in turns]).counts()
    for row in candidates(counts, unit_progress(20), range(1, 21), largest_budget=None):
        if row.estimable:
            assert sum(shares(row)) == pytest.approx(1, abs=1e-9)
            assert all(-1e-12 <= share <= 1 + 1e-12 for share in shares(row))
            assert row.finished is not None and row.finished_low is not None and row.finished_high is not None
            assert row.finished_low - 1e-9 <= row.finished <= row.finished_high + 1e-9


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(0, len(ENDS))), min_size=1, max_size=40))
def test_doubling_the_turns_changes_no_share(turns: list[tuple[int, int]]) -> None:
    """Twice the same evidence narrows intervals and moves no estimate."""
    times, events = [float(time) for time, _ in turns], [event for _, event in turns]
    once = candidates(Turns(times, events).counts(), unit_progress(20), range(1, 21), largest_budget=None)
    twice = candidates(Turns(times * 2, events * 2).counts(), unit_progress(20), range(1, 21), largest_budget=None)
    assert [shares(row) for row in once] == [pytest.approx(shares(row), abs=1e-9) for row in twice]


def test_the_intervals_cover_a_known_truth() -> None:
    """Over 2,000 draws with a known curve and random budgets, 95 % intervals hold it 93 to 97 times of 100."""
    rng = np.random.default_rng(20260105)
    draws, size, value = 2000, 300, 6
    truth = 0.8 * (1 - 0.85**value)
    held = 0
    for _ in range(draws):
        ended = rng.geometric(0.15, size).astype(float)
        budget = rng.integers(4, 16, size).astype(float)
        kind = np.where(rng.random(size) < 0.8, FINISHED, REFUSED)
        turns = Turns(list(np.minimum(ended, budget)), list(np.where(ended <= budget, kind, CUT)))
        (row,) = candidates(turns.counts(), unit_progress(1), [value], largest_budget=15)
        assert row.at_risk >= 50 and row.finished_low is not None and row.finished_high is not None
        held += row.finished_low <= truth <= row.finished_high
    assert 0.93 <= held / draws <= 0.97
