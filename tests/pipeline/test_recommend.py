"""The line that a product manager pastes."""

import numpy as np
import pytest

from turnout.pipeline.analysis.budget import ENDS, Limit, Progress, candidates
from turnout.pipeline.analysis.survival import EndCounts
from turnout.pipeline.budgets import Continued, Ends
from turnout.pipeline.recommend import recommendation, recommendations


def counted(*finished: int, cut: int, budget: float | None = None) -> Ends:
    """So many turns that finished at 1, 2, … steps, and so many that were cut at the last."""
    times = np.arange(1.0, len(finished) + 1)
    ends = np.zeros((len(ENDS), len(finished)), dtype=np.int64)
    ends[0] = finished
    cuts = np.zeros(len(finished), dtype=np.int64)
    cuts[-1] = cut
    return Ends(Limit.STEPS, EndCounts(times, ends, cuts), budget, 0)


def progress(pieces: int, cost: float) -> Progress:
    """Every step costs the same."""
    starts, ones = np.arange(float(pieces)), np.ones(pieces)
    return Progress(starts, starts + 1, ones, ones * 100, ones * cost, ones)


def lines(ends: Ends, values: list[float], cost: float = 0.01, cut: Continued | None = None) -> list[str]:
    """The lines over some candidates."""
    rows = candidates(ends.counts, progress(10, cost), values, largest_budget=ends.largest_budget)
    return recommendations(ends, rows, cut)


def test_a_decisive_gain_has_its_price_and_what_became_of_the_cut_turns() -> None:
    """Forty of a hundred turns finish in the second step, which costs $0.012 for each of the fifty that reach it."""
    ends = counted(50, 40, cut=10)
    assert lines(ends, [1, 2], 0.012, Continued(cut=10, continued=7, finished=4)) == [
        (
            "steps 1 → 2: +40.0 points finished (95 % 30.4 to 49.6), +$0.006 a turn, $0.015 for each further finished "
            "turn; 70 % of the 10 cut turns were continued by hand, of which 57 % then finished."
        )
    ]


def test_a_gain_that_may_be_none_is_not_decisive_and_has_no_price() -> None:
    """One turn of four is too little to say that the gain is one."""
    (line,) = lines(counted(2, 1, cut=1), [1, 2])
    assert "not decisive" in line
    assert "each further" not in line


def test_beyond_the_data_the_line_says_so() -> None:
    """No figure stands for a budget that nobody had; the cut turns are told with the last line that has figures."""
    got = lines(counted(5, 4, cut=3), [1, 2, 3], cut=Continued(cut=3, continued=0, finished=0))
    assert got[1] == "steps 2 → 3: not estimable, the largest observed budget is 2"
    assert got[0].endswith("; 0 % of the 3 cut turns were continued by hand.")


@pytest.mark.parametrize("cost", [float("nan")])
def test_without_costs_the_line_says_that_they_are_not_recorded(cost: float) -> None:
    """Unpriced is not free."""
    (line,) = lines(counted(50, 40, cut=10), [1, 2], cost)
    assert line.endswith("cost not recorded.")


def test_two_candidates_make_one_recommendation() -> None:
    """The single line is the same as that of the list."""
    ends = counted(50, 40, cut=10)
    rows = candidates(ends.counts, progress(10, 0.01), [1, 2], largest_budget=None)
    assert [recommendation(ends, rows[0], rows[1])] == lines(ends, [1, 2])


@pytest.mark.parametrize(
    ("limit", "before", "after", "heading"),
    [
        (Limit.STEPS, 30.0, 50.0, "steps 30 → 50"),
        (Limit.TOOL_CALLS, 8.0, 1200.0, "tool calls 8 → 1,200"),
        (Limit.STEP_OUTPUT_TOKENS, 4096.0, 8192.0, "output tokens a step 4,096 → 8,192"),
        (Limit.TOTAL_TOKENS, 20_000.0, 1_250_000.0, "tokens 20,000 → 1,250,000"),
        (Limit.SECONDS, 0.5, 90.0, "seconds 0.5 → 90"),
        (Limit.COST_USD, 0.011, 1.2, "cost $0.011 → $1.2"),
        (Limit.COST_USD, 0.00001234567, 0.1 + 0.2, "cost $0.0000123457 → $0.3"),
    ],
    ids=str,
)
def test_a_limit_is_named_with_its_amounts_as_people_write_them(
    limit: Limit, before: float, after: float, heading: str
) -> None:
    """Thousands apart, dollars as dollars, no column names and no exponents; the same for the largest observed budget."""
    times = np.array([before])
    ends = Ends(limit, EndCounts(times, np.zeros((len(ENDS), 1), dtype=np.int64), np.array([3])), None, 0)
    rows = candidates(ends.counts, progress(1, 0.01), [before, after], largest_budget=None)
    largest = heading.removesuffix(f" → {heading.split(' → ')[1]}").split(" ")[-1]
    assert recommendations(ends, rows) == [f"{heading}: not estimable, the largest observed budget is {largest}"]
