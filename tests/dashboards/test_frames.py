"""Frames of metrics as frames that charts draw."""

import polars as pl
import pytest

from turnout.dashboards import frames
from turnout.dashboards.frames import NO_TOOL
from turnout.pipeline.analysis.compare import Arm


def metric(**columns: list[object]) -> pl.DataFrame:
    """A frame with the figures of a metric; the rates are left to whoever computes them."""
    return pl.DataFrame(columns)


def rows(frame: pl.DataFrame) -> list[tuple[object, ...]]:
    """Labels and counts."""
    return list(frame.select("label", "numerator", "denominator").iter_rows())


def test_shares_show_the_largest_first_and_keep_what_is_not_recorded_apart() -> None:
    """Eight rows, the rest in one, and not recorded is never part of it."""
    found: frames.Arms = {f"model-{n:02d}": Arm(n, 100 - n) for n in range(12)}
    shown = rows(frames.shares({None: Arm(3, 500), **found}))
    assert shown[0] == ("model-00", 0, 100)
    assert shown[7:] == [("model-07", 7, 93), ("4 others", 38, 362), ("not recorded", 3, 500)]


def test_one_row_too_many_is_shown_rather_than_folded() -> None:
    """A row "1 others" would take as much room as the value itself."""
    found: frames.Arms = {f"model-{n:02d}": Arm(0, 100 - n) for n in range(9)}
    assert len(rows(frames.shares(found))) == 9


def test_ordered_shares_keep_their_order_and_every_row() -> None:
    """Steps read from first to last."""
    found: frames.Arms = {f"step {n}": Arm(0, n) for n in range(12)}
    assert [row[0] for row in rows(frames.shares(found, ordered=True))] == list(found)


def test_a_share_of_nothing_has_no_rate() -> None:
    """Nothing counted is not a rate of zero."""
    (row,) = frames.shares({"a": Arm(0, 0)}).iter_rows(named=True)
    assert (row["rate"], row["low"], row["high"]) == (None, None, None)


def test_compared_shares_put_what_rose_most_first() -> None:
    """A value of either window has a row; the before of the others is that of the same others."""
    now: frames.Arms = {"a": Arm(1, 50), "b": Arm(30, 40), None: Arm(0, 2)}
    before: frames.Arms = {"a": Arm(1, 50), "c": Arm(5, 9)}
    found = frames.compared(now, before)
    both = list(found.select("label", "numerator", "denominator", "numerator_before", "denominator_before").iter_rows())
    assert both == [
        ("b", 30, 40, 0, 0),
        ("a", 1, 50, 1, 50),
        ("c", 0, 0, 5, 9),
        ("not recorded", 0, 2, 0, 0),
    ]


def test_compared_others_are_the_same_values_in_both_windows() -> None:
    """What is folded now is folded before."""
    now: frames.Arms = {f"m{n:02d}": Arm(20 - n, 100) for n in range(12)}
    before: frames.Arms = {f"m{n:02d}": Arm(n, 100) for n in range(12)}
    last = frames.compared(now, before).row(8, named=True)
    assert (last["label"], last["numerator"], last["numerator_before"]) == (
        "4 others",
        12 + 11 + 10 + 9,
        8 + 9 + 10 + 11,
    )


def test_steps_fall_into_bins_that_double() -> None:
    """No step lies in two bins or in none; not recorded stays apart."""
    found: frames.Arms = {str(step): Arm(1, 2) for step in (1, 2, 3, 4, 16, 17, 64, 65, 900)}
    assert frames.step_bins({**found, None: Arm(0, 7)}) == {
        "step 1": Arm(1, 2),
        "step 2": Arm(1, 2),
        "steps 3 to 4": Arm(2, 4),
        "steps 9 to 16": Arm(1, 2),
        "steps 17 to 32": Arm(1, 2),
        "steps 33 to 64": Arm(1, 2),
        "step 65 or later": Arm(2, 4),
        None: Arm(0, 7),
    }


def test_a_reason_that_did_not_occur_counts_zero_of_all() -> None:
    """Every abnormal outcome has a row, so that a new one cannot hide."""
    found = metric(outcome=["completed", "refused"], numerator=[8, 2], denominator=[10, 10])
    assert frames.reasons(found) == {
        "budget": Arm(0, 10),
        "context_overflow": Arm(0, 10),
        "error": Arm(0, 10),
        "interrupted": Arm(0, 10),
        "length": Arm(0, 10),
        "refused": Arm(2, 10),
    }
    assert frames.reasons(found.clear())["refused"] == Arm(0, 0)


def test_an_outcome_by_place_counts_places_where_it_did_not_occur() -> None:
    """The denominator of a place is all its turns."""
    found = metric(
        model=["a", "a", "b", None],
        outcome=["completed", "refused", "completed", "refused"],
        numerator=[3, 1, 5, 2],
        denominator=[4, 4, 5, 2],
    )
    assert frames.of_outcome(found, "model", "refused") == {"a": Arm(1, 4), "b": Arm(0, 5), None: Arm(2, 2)}


def test_a_turn_without_a_tool_is_no_gap_in_the_record() -> None:
    """It says so, in place of "not recorded"."""
    found = metric(tool=["bash", None], numerator=[1, 2], denominator=[3, 4])
    assert frames.arms(found, "tool") == {"bash": Arm(1, 3), NO_TOOL: Arm(2, 4)}


def test_outcomes_fold_into_parts() -> None:
    """What has no part of its own goes to the other one."""
    found = metric(limit_steps=[10, 10, 10], outcome=["completed", "yielded", "error"], numerator=[3, 1, 2])
    folded = frames.parts(found, {"completed": "finished", "yielded": "finished"}, "other", "limit_steps")
    assert list(folded.iter_rows()) == [(10, "finished", 4), (10, "other", 2)]


@pytest.mark.parametrize(("largest", "expected"), [(1, [30]), (2, [12, 30]), (5, [12, 30, 50])])
def test_the_limits_with_the_most_turns_are_shown(largest: int, expected: list[int]) -> None:
    """In ascending order; not recorded is no limit."""
    found = metric(limit_steps=[50, 30, 12, 30, None], numerator=[1, 4, 6, 5, 99])
    assert frames.limits(found, largest) == expected


def test_only_finds_what_is_not_recorded_too() -> None:
    """Null equals null here."""
    found = metric(attended=[True, None, False], numerator=[1, 2, 3])
    assert frames.only(found, "attended", None)["numerator"].to_list() == [2]
    assert frames.only(found, "attended", value=False)["numerator"].to_list() == [3]
