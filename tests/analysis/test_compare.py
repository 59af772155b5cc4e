"""Two sets of turns side by side."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportions_ztest

from turnout.pipeline.analysis.compare import (
    Adjusted,
    Arm,
    Stratum,
    contributions,
    outcome_rows,
    ranked,
    standardised,
    two_share_test,
)
from turnout.pipeline.analysis.intervals import Difference

ARMS = st.integers(1, 300).flatmap(lambda total: st.builds(Arm, st.integers(0, total), st.just(total)))


@given(ARMS, ARMS)
def test_the_test_of_two_shares_is_that_of_statsmodels(one: Arm, other: Arm) -> None:
    """The pooled score test equals the oracle's wherever that has a spread to divide by."""
    got = two_share_test(one.count, one.total, other.count, other.total)
    if 0 < one.count + other.count < one.total + other.total:
        _, expected = proportions_ztest([one.count, other.count], [one.total, other.total])
        assert got == pytest.approx(expected, abs=1e-9)
    else:
        assert got == 1.0


def test_every_outcome_of_either_side_has_a_row() -> None:
    """An outcome that only one side has is compared with none of the other."""
    rows = outcome_rows({"completed": 90, "budget": 10}, {"completed": 60, "budget": 30, "error": 10})
    assert [(row.outcome, row.before.value, row.after.value, row.decisive) for row in rows] == [
        ("budget", 0.1, 0.3, True),
        ("completed", 0.9, 0.6, True),
        ("error", 0.0, 0.1, True),
    ]


def test_a_small_difference_is_not_decisive() -> None:
    """Two of a hundred more is within what chance does."""
    assert [row.decisive for row in outcome_rows({"a": 50, "b": 50}, {"a": 52, "b": 48})] == [False, False]


def test_an_empty_side_is_compared_with_nothing() -> None:
    """Without turns on one side there is no difference and no test."""
    (row,) = outcome_rows({}, {"completed": 3})
    assert (row.difference, row.p_value, row.decisive) == (Difference(None, None, None), None, False)


def test_a_harder_mix_does_not_make_a_side_worse() -> None:
    """With equal rates in every stratum the adjusted difference is zero, whatever the mix."""
    before: dict[Stratum, Arm] = {("easy",): Arm(10, 100), ("hard",): Arm(50, 100)}
    after: dict[Stratum, Arm] = {("easy",): Arm(1, 10), ("hard",): Arm(100, 200)}
    got = standardised(before, after)
    assert got.left_out == 0
    assert got.difference.value == pytest.approx(0)
    assert not got.difference.decisive


def test_strata_of_one_side_are_left_out_and_counted() -> None:
    """What the other side never did cannot be compared; its share of the turns is said."""
    before: dict[Stratum, Arm] = {("a",): Arm(10, 100), ("b",): Arm(1, 50)}
    after: dict[Stratum, Arm] = {("a",): Arm(20, 100)}
    got = standardised(before, after)
    assert got.difference.value == pytest.approx(0.1)
    assert got.left_out == pytest.approx(50 / 250)
    assert standardised({("b",): Arm(1, 2)}, {("a",): Arm(1, 2)}) == Adjusted(Difference(None, None, None), 1.0)


@given(st.dictionaries(st.sampled_from("abcd"), ARMS), st.dictionaries(st.sampled_from("abcd"), ARMS))
def test_contributions_sum_to_the_change(before: dict[str | None, Arm], after: dict[str | None, Arm]) -> None:
    """The parts of the values of a dimension add up to the change of the rate."""
    got = contributions("model", before, after)
    if not before or not after:
        assert got == ()
        return
    rate = [
        sum(arm.count for arm in arms.values()) / sum(arm.total for arm in arms.values()) for arms in (before, after)
    ]
    assert sum(row.added for row in got) == pytest.approx(rate[1] - rate[0], abs=1e-12)


def test_what_changed_most_comes_first() -> None:
    """One model went bad; it is named before the tool that shares its turns and before the rest."""
    models = contributions("model", {"a": Arm(5, 100), "b": Arm(5, 100)}, {"a": Arm(40, 100), "b": Arm(5, 100)})
    tools = contributions("tool", {"x": Arm(6, 150), "y": Arm(4, 50)}, {"x": Arm(30, 150), "y": Arm(15, 50)})
    assert next((row.dimension, row.value) for row in ranked([tools, models])) == ("model", "a")
