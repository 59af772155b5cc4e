"""Comparisons asked of a lake."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from turnout.outcomes.verdict import Outcome
from turnout.pipeline.comparisons import SideError, compare, side
from turnout.pipeline.query import Warehouse
from turnout.pipeline.query.filters import Filters
from turnout.pipeline.testing import Sketch, lake_of

NOW = datetime(2026, 1, 6, tzinfo=UTC)


def turns(version: str, agent: str, finished: int, cut: int, steps: int) -> list[Sketch]:
    """So many turns of one version that finished, and so many that their budget cut."""
    ends = [Outcome.COMPLETED] * finished + [Outcome.BUDGET] * cut
    return [
        Sketch(
            turn_id=f"{version}-{agent}-{number}",
            agent=agent,
            agent_version=version,
            outcome=outcome,
            steps=10 if outcome is Outcome.BUDGET else steps,
        )
        for number, outcome in enumerate(ends)
    ]


@pytest.fixture(name="warehouse")
def _warehouse(tmp_path: Path) -> Warehouse:
    """Version 2 has the harder agent more often, and is no worse at either."""
    sketches = [
        *turns("1", "easy", 36, 4, 2),
        *turns("1", "hard", 5, 5, 6),
        *turns("2", "easy", 9, 1, 3),
        *turns("2", "hard", 20, 20, 7),
    ]
    return Warehouse(lake_of(str(tmp_path / "lake"), sketches).root)


def test_a_harder_mix_is_adjusted_for(warehouse: Warehouse) -> None:
    """Unadjusted the second version is decisively worse; with the same mix it is not different."""
    one, two = Filters(agent_version=("1",)), Filters(agent_version=("2",))
    found = compare(warehouse, one, two, ["agent"])
    by_name = {outcome.row.outcome: outcome for outcome in found.outcomes}
    budget = by_name["budget"]
    assert (found.before_turns, found.after_turns, found.left_out) == (50, 50, 0)
    assert budget.row.difference.value == pytest.approx(21 / 50 - 9 / 50)
    assert budget.row.decisive
    assert budget.adjusted is not None
    assert budget.adjusted.value == pytest.approx(0)
    assert not budget.adjusted.decisive


def test_steps_are_compared_by_their_shift(warehouse: Warehouse) -> None:
    """The easy agent takes exactly one step more."""
    one, two = (Filters(agent_version=(version,), outcome=("completed",), agent=("easy",)) for version in "12")
    steps = compare(warehouse, one, two).values[0]
    assert (steps.measure, steps.before_n, steps.after_n) == ("steps", 36, 9)
    assert (steps.before_median, steps.after_median, steps.shift.value, steps.shift.decisive) == (2, 3, 1, True)


def test_without_adjusting_nothing_is_adjusted(warehouse: Warehouse) -> None:
    """No mix named, no adjusted figure."""
    found = compare(warehouse, Filters(agent_version=("1",)), Filters(agent_version=("2",)))
    assert (found.adjusted_for, found.left_out) == ((), None)
    assert {outcome.adjusted for outcome in found.outcomes} == {None}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("model=a", Filters(model=("a",))),
        ("agent-version=1.0,model=a", Filters(agent_version=("1.0",), model=("a",))),
        ("14d..7d", Filters(since=NOW - timedelta(days=14), until=NOW - timedelta(days=7))),
        ("7d..", Filters(since=NOW - timedelta(days=7))),
    ],
)
def test_a_side_is_a_value_or_a_window(text: str, expected: Filters) -> None:
    """Both sides are filters, written shortly."""
    assert side(text, Filters(), NOW) == expected


@pytest.mark.parametrize("text", ["model", "colour=red", "model="])
def test_another_side_is_refused(text: str) -> None:
    """What is no side gets one sentence with what would be."""
    with pytest.raises(SideError, match=r"expected NAME=VALUE or SINCE\.\.UNTIL"):
        side(text, Filters(), NOW)
