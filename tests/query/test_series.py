"""Frames that a page watches."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from turnout.outcomes.verdict import Outcome
from turnout.pipeline.query import Filters, Warehouse
from turnout.pipeline.query.series import arrivals, ends_over_time
from turnout.pipeline.testing import NOON, Sketch, lake_of

MINUTE = 60 * 1_000_000_000
START = datetime(2026, 1, 5, 12, tzinfo=UTC)


def sketch(name: str, minutes: int, source: str = "own", outcome: Outcome = Outcome.COMPLETED) -> Sketch:
    """A short turn that starts some minutes after noon."""
    return Sketch(turn_id=name, at=NOON + minutes * MINUTE, source=source, outcome=outcome)


def warehouse(folder: Path, sketches: Sequence[Sketch]) -> Warehouse:
    """A lake of these turns."""
    return Warehouse(lake_of(str(folder / "lake"), sketches).root)


def test_ends_are_counted_in_buckets_of_when_turns_were_over(tmp_path: Path) -> None:
    """Buckets start at round instants, and one in which nothing ended is left out."""
    turns = [sketch("a", 0), sketch("b", 1), sketch("c", 2, outcome=Outcome.REFUSED), sketch("d", 11)]
    found = ends_over_time(warehouse(tmp_path, turns), Filters(), timedelta(minutes=5))
    assert [(row[0], row[1] - row[0], row[2], row[3]) for row in found.iter_rows()] == [
        (START, timedelta(minutes=5), "completed", 2),
        (START, timedelta(minutes=5), "refused", 1),
        (START + timedelta(minutes=10), timedelta(minutes=5), "completed", 1),
    ]


@pytest.mark.parametrize("empty", [Filters(since=START + timedelta(days=3)), Filters(agent=("nobody",))])
def test_nothing_to_watch_is_an_empty_frame(tmp_path: Path, empty: Filters) -> None:
    """The columns stay."""
    lake = warehouse(tmp_path, [sketch("a", 0)])
    assert ends_over_time(lake, empty, timedelta(minutes=5)).columns == ["bucket", "bucket_end", "outcome", "turns"]
    assert arrivals(lake, empty).is_empty()


def test_a_source_has_a_rhythm_once_enough_minutes_had_a_turn(tmp_path: Path) -> None:
    """The last busy hour counts up to the last turn; the longest pause needs thirty minutes with a turn."""
    busy = [sketch(f"busy-{minute}", minute) for minute in [*range(30), 95, 96]]
    rare = [sketch("rare-0", 0, "rare"), sketch("rare-1", 300, "rare")]
    found = arrivals(warehouse(tmp_path, [*busy, *rare]), Filters())
    shown = found.select("source", "turns", "last_hour", "longest_pause").sort("source")
    assert list(shown.iter_rows()) == [("own", 32, 2, 66 * 60.0), ("rare", 2, 1, None)]
