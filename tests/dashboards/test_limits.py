"""The limits that the budget page offers, and how they read."""

from math import inf

import numpy as np
import pytest

from turnout.dashboards.budget_words import beyond, left_out, pace
from turnout.dashboards.limits import KINDS, amount, offered, start
from turnout.pipeline.analysis.budget import ENDS, Limit
from turnout.pipeline.analysis.censoring import PaceTest
from turnout.pipeline.analysis.survival import EndCounts
from turnout.pipeline.budgets import Ends


def counted(limit: Limit, times: list[float], cut: list[int], largest: float | None, missing: int = 0) -> Ends:
    """Turns that finished, one at each time, and some that were cut there."""
    ends = np.zeros((len(ENDS), len(times)), dtype=np.int64)
    ends[0] = 1
    return Ends(limit, EndCounts(np.array(times), ends, np.array(cut)), largest, missing)


def test_every_kind_of_limit_has_words() -> None:
    """A limit that the command knows can be asked for on the page."""
    assert set(KINDS) == set(map(str, Limit))


@pytest.mark.parametrize(
    ("limit", "value", "words"),
    [
        (Limit.STEPS, 30.0, "30"),
        (Limit.TOTAL_TOKENS, 400_000.0, "400\N{THIN SPACE}000"),
        (Limit.COST_USD, 0.65, "$0.65"),
        (Limit.SECONDS, 4.29, "4.3"),
        (Limit.SECONDS, inf, "no end"),
    ],
)
def test_an_amount_reads_as_its_kind(limit: Limit, value: float, words: str) -> None:
    """Thousands apart, dollars with their sign."""
    assert amount(limit, value) == words


def test_few_steps_are_offered_one_by_one_and_two_limits_past_what_is_known() -> None:
    """Past the largest limit in use stand candidates that say "not estimable"."""
    found = offered(counted(Limit.STEPS, [1, 2, 4], [0, 0, 3], 4.0), [4.0])
    assert found == [1, 2, 3, 4, 6, 8]


def test_other_amounts_are_round() -> None:
    """Two figures are enough to choose by; where no limit is on record nothing lies past the data."""
    times = [float(value) for value in range(1001, 9000, 37)]
    found = offered(counted(Limit.TOTAL_TOKENS, times, [0] * len(times), None), [])
    assert all(float(f"{value:.1e}") == value for value in found)
    assert max(found) <= 9000
    assert len(found) > 20


@pytest.mark.parametrize(
    ("candidates", "largest", "in_use", "found"),
    [
        ([1, 2, 3, 4], 4.0, [2.0, 4.0], (2.0, 4.0)),
        ([1, 2, 3, 4], 4.0, [2.0], (2.0, 4.0)),
        ([1, 2, 3, 4, 8], 4.0, [], (2.0, 4.0)),
        ([1], 1.0, [], None),
        ([], 0.0, [], None),
    ],
)
def test_a_page_begins_with_the_limit_that_most_turns_have(
    candidates: list[float], largest: float, in_use: list[float], found: tuple[float, float] | None
) -> None:
    """From there to the next larger one in use, else to the last that is known."""
    assert start(candidates, largest, in_use) == found


def test_where_the_estimate_ends_is_said_in_the_same_words() -> None:
    """Not estimable beyond the largest limit; chains reach further."""
    short = counted(Limit.STEPS, [1, 2, 4], [0, 0, 3], 4.0, missing=2)
    long = counted(Limit.STEPS, [1, 9], [0, 0], None)
    assert beyond(short, None).startswith("Beyond 4 steps a turn: not estimable")
    assert "up to 9 together" in beyond(short, long)
    assert beyond(long, None).startswith("No turn has a limit of this kind on record")
    assert left_out(short) == " 2 turns without a record of steps a turn are left out."


@pytest.mark.parametrize(
    ("tests", "words"),
    [
        ((), "cannot be tested by agent"),
        ((PaceTest("coder", (10.0, 20.0), 10.0, 80, 0.4),), "no sign against the estimate"),
        (
            (PaceTest("coder", (10.0, 20.0), 10.0, 80, 0.001),),
            "Careful: turns under different limits finish at a different pace",
        ),
    ],
)
def test_the_assumption_is_told_in_words(tests: tuple[PaceTest, ...], words: str) -> None:
    """Tested and kept, tested and broken, or not to be tested."""
    assert words in pace(Limit.STEPS, tests, "agent")
