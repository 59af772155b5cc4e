"""Reading a lake: empty, while it is written, by time."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from turnout.pipeline.lake import DataFile, Lake
from turnout.pipeline.lake.files import ended_within, started_within
from turnout.pipeline.testing import HOUR, NOON, Sketch, stored

Rows = Callable[[Lake, str], pl.DataFrame]
NOON_US = NOON // 1000
HOUR_US = HOUR // 1000


def test_a_lake_that_is_not_there_is_empty_and_stays_away(root: str) -> None:
    """Reading makes no folder and no table."""
    snapshot = Lake.open(root).snapshot()
    assert (snapshot.version, snapshot.files("turns"), snapshot.files("ledger")) == (-1, (), ())
    assert not Path(root).exists()


def test_a_prepared_lake_is_empty(root: str) -> None:
    """Tables without a row read like no tables."""
    lake = Lake.open(root)
    lake.prepare()
    snapshot = lake.snapshot()
    assert (snapshot.files("turns"), snapshot.files("steps"), snapshot.files("tool_calls")) == ((), (), ())


def test_a_reader_keeps_its_snapshot_while_rows_are_replaced_and_merged(root: str) -> None:
    """Files of a snapshot stay readable after later writes took them out of the lake."""
    lake = Lake.open(root)
    for number in range(3):
        lake.write([stored(Sketch(turn_id=f"t{number}"))])
    snapshot = lake.snapshot()
    lake.compact()
    lake.write([stored(Sketch(turn_id="t0", steps=4))])
    for table, height in (("turns", 3), ("steps", 6), ("tool_calls", 3)):
        paths = [f"{lake.root}/{table}/{file.path}" for file in snapshot.files(table)]
        assert pl.read_parquet(paths, hive_partitioning=False).height == height


def test_a_second_reader_sees_each_commit(root: str) -> None:
    """A handle that was opened before goes on to the newest state."""
    reader, writer = Lake.open(root), Lake.open(root)
    assert reader.snapshot().version == -1
    for number in range(1, 4):
        writer.write([stored(Sketch(turn_id=f"t{number}"))])
        assert sum(file.rows for file in reader.snapshot().files("turns")) == number


def test_files_are_known_by_when_their_turns_started_and_ended(root: str) -> None:
    """Bounds are exact where every turn has its times, and the whole date where one has not."""
    lake = Lake.open(root)
    lake.write([stored(Sketch(turn_id="a", steps=2)), stored(Sketch(turn_id="b", at=NOON + HOUR, steps=3))])
    (file,) = lake.snapshot().files("turns")
    assert (file.first, file.last) == (NOON_US, NOON_US + HOUR_US)
    assert file.ended == NOON_US + HOUR_US + 3_000_000
    (steps,) = lake.snapshot().files("steps")
    assert (steps.first, steps.last, steps.rows, steps.group) == (file.first, file.last, 5, file.group)


def data_file(first: int, last: int, ended: int) -> DataFile:
    return DataFile(
        path="date=2026-01-05/g.s.parquet", date="2026-01-05", rows=1, size=1, first=first, last=last, ended=ended
    )


@pytest.mark.parametrize(
    ("since", "until", "started", "ended"),
    [
        (None, None, True, True),
        (10, None, True, True),
        (20, 21, True, True),
        (21, None, False, True),
        (31, None, False, False),
        (None, 10, False, False),
        (None, 11, True, True),
        (25, 28, False, True),
    ],
)
def test_a_window_takes_the_files_that_may_hold_its_turns(
    since: int | None, until: int | None, started: bool, ended: bool
) -> None:
    """Starts lie in [10, 20], ends reach 30; a window is closed at its start and open at its end."""
    files = (data_file(10, 20, 30),)
    assert (list(started_within(files, since, until)) == list(files)) is started
    assert (list(ended_within(files, since, until)) == list(files)) is ended
