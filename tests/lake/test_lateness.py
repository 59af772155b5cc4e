"""Late evidence is merged into a large file at most once a minute for each date, by the lake's own clock."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import pytest

from turnout.outcomes.facts import Instant, TurnFacts
from turnout.pipeline.lake import Lake, Position, Written
from turnout.pipeline.lake.lateness import Lateness
from turnout.pipeline.rows import ClassifiedTurn, classified
from turnout.pipeline.testing import HOUR, NOON, SECOND, Sketch, sketched

Rows = Callable[[Lake, str], pl.DataFrame]
MINUTE = 60 * SECOND


@dataclass
class Clock:
    now: Instant = NOON

    def __call__(self) -> Instant:
        return self.now


def known(name: str, steps: int, day: int = 0) -> ClassifiedTurn:
    """As much of a turn of five steps as was told so far."""
    whole: TurnFacts = sketched(Sketch(turn_id=name, steps=5, at=NOON + day * 24 * HOUR))
    return classified(replace(whole, steps=whole.steps[:steps]), NOON)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lake(root: str, clock: Clock) -> Lake:
    """A lake in which every file is large, with two turns on one date and one on the next."""
    made = Lake.open(root, clock=clock, lateness=Lateness(large=0))
    made.write([known("a", 1), known("b", 1), known("c", 1, day=1)], patient=True)
    return made


def steps(lake: Lake, rows: Rows) -> dict[str, int]:
    return dict(rows(lake, "turns").select("turn_id", "steps").rows())


def test_the_second_merge_in_a_minute_is_left_to_the_caller(lake: Lake, clock: Clock, rows: Rows) -> None:
    """The answer names what was left and until when; what is new and the other date are written, and so is the position."""
    assert lake.write([known("a", 2)], patient=True) == Written(0, 1, 0)
    clock.now += 10 * SECOND
    late = [known("a", 3), known("b", 2), known("c", 2, day=1), known("new", 1), known("a", 2)]
    written = lake.write(late[:4], patient=True, position=Position("j", 1))
    assert written == Written(1, 1, 0, left=("a", "b"), until=NOON + MINUTE)
    assert steps(lake, rows) == {"a": 2, "b": 1, "c": 2, "new": 1}
    assert lake.position("j") == 1
    version = lake.snapshot().version
    clock.now = NOON + MINUTE - 1
    assert lake.write(late[:2], patient=True).left == ("a", "b")
    assert lake.write(late[4:], patient=True) == Written(0, 0, 1)
    assert lake.snapshot().version == version
    clock.now += 1
    assert lake.write(late[:2], patient=True) == Written(0, 2, 0)
    assert steps(lake, rows) == {"a": 3, "b": 2, "c": 2, "new": 1}
    assert list(lake.verify()) == []


def test_who_cannot_wait_need_not(lake: Lake, rows: Rows) -> None:
    """An import, or a receiver that ends."""
    for told in (2, 3, 4):
        assert lake.write([known("a", told)]) == Written(0, 1, 0)
    assert steps(lake, rows)["a"] == 4


def test_small_files_are_merged_into_at_once(tmp_path: Path, clock: Clock) -> None:
    """That costs next to nothing."""
    lake = Lake.open(str(tmp_path / "small"), clock=clock)
    for told in (1, 2, 3):
        assert lake.write([known("a", told)], patient=True).left == ()


def test_a_clock_that_was_set_back_keeps_nothing_waiting(lake: Lake, clock: Clock) -> None:
    """A minute that would take an hour is no minute."""
    lake.write([known("a", 2)], patient=True)
    clock.now -= HOUR
    assert lake.write([known("a", 3)], patient=True) == Written(0, 1, 0)
