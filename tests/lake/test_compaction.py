"""Which files are merged, and that merging changes no row."""

from collections.abc import Callable

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from turnout.pipeline.lake import DataFile, Lake
from turnout.pipeline.lake.compaction import COLD, HOT, MEBIBYTE, Target, mergers
from turnout.pipeline.testing import HOUR, NOON, Sketch, stored

Rows = Callable[[Lake, str], pl.DataFrame]


def files(sizes: list[int], date: str = "2026-01-05") -> list[DataFile]:
    return [
        DataFile(path=f"date={date}/g{n:03}.s.parquet", date=date, rows=1, size=size, first=n, last=n, ended=n)
        for n, size in enumerate(sizes)
    ]


def merged(sizes: list[int], target: Target) -> list[list[int]]:
    """The numbers of the files in each merger."""
    return [[int(group[1:]) for _, group in places] for places in mergers(files(sizes), target)]


def test_while_turns_come_in_eight_of_a_size_are_merged() -> None:
    """Seven wait; a large file is not rewritten for the sake of small ones."""
    assert merged([1000] * 7, HOT) == []
    assert merged([1000] * 8, HOT) == [[0, 1, 2, 3, 4, 5, 6, 7]]
    assert merged([1000] * 4 + [2 * MEBIBYTE] + [1000] * 4, HOT) == [[0, 1, 2, 3, 5, 6, 7, 8]]


def test_once_a_date_is_over_all_that_fit_are_merged() -> None:
    """Neighbours in time, up to the size of the target."""
    assert merged([1000, 9 * MEBIBYTE], COLD) == [[0, 1]]
    assert merged([60 * MEBIBYTE] * 5, COLD) == [[0, 1], [2, 3]]
    assert merged([200 * MEBIBYTE], COLD) == []


def test_dates_are_never_mixed() -> None:
    """A merger holds groups of one date."""
    mixed = files([10] * 4, "2026-01-05") + files([10] * 4, "2026-01-06")
    assert [{date for date, _ in places} for places in mergers(mixed, COLD)] == [{"2026-01-05"}, {"2026-01-06"}]


@given(sizes=st.lists(st.integers(1, 40 * MEBIBYTE), max_size=30), target=st.sampled_from([HOT, COLD]))
def test_a_merger_stays_below_its_size_and_no_file_is_in_two(sizes: list[int], target: Target) -> None:
    """And each merger makes fewer files."""
    found = merged(sizes, target)
    assert all(len(batch) >= 2 and sum(sizes[n] for n in batch) <= target.size for batch in found)
    every = [n for batch in found for n in batch]
    assert len(every) == len(set(every))


def test_merged_rows_are_the_same_and_sorted_by_time(root: str, rows: Rows) -> None:
    """One file a date and table, rows by start."""
    lake = Lake.open(root)
    for number in (5, 2, 4, 1, 3):
        lake.write([stored(Sketch(turn_id=f"t{number}", at=NOON + number * HOUR))])
    before = {table: rows(lake, table).sort(pl.all()).to_dicts() for table in ("turns", "steps", "tool_calls")}
    assert lake.compact() == 5
    assert {table: rows(lake, table).sort(pl.all()).to_dicts() for table in before} == before
    assert rows(lake, "turns")["turn_id"].to_list() == ["t1", "t2", "t3", "t4", "t5"]
    assert [len(lake.snapshot().files(table)) for table in before] == [1, 1, 1]
    assert lake.compact() == 0


def test_many_small_writes_leave_few_files(root: str, rows: Rows) -> None:
    """Merging goes on by itself while turns come in, and late evidence still finds its row."""
    lake = Lake.open(root)
    for number in range(40):
        lake.write([stored(Sketch(turn_id=f"t{number}"))])
    assert len(lake.snapshot().files("turns")) <= 8
    assert lake.write([stored(Sketch(turn_id="t3", steps=4))]).replaced == 1
    assert Lake.open(root).write([stored(Sketch(turn_id=f"t{n}")) for n in range(4, 40)]).unchanged == 36
    assert rows(lake, "turns")["turn_id"].is_unique().all()
    assert rows(lake, "steps").filter(turn_id="t3").height == 4
