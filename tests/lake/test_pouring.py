"""Files poured into one: all rows, sorted by time, whatever portion of them is in memory."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turnout.pipeline.cubes import CUBES
from turnout.pipeline.lake.cubing import FOLDER, CubeCounter, Cubing, path_of
from turnout.pipeline.lake.parquet import NewFile, complete
from turnout.pipeline.lake.pouring import Change, pour
from turnout.pipeline.lake.store import FolderStore
from turnout.pipeline.schema import TURNS
from turnout.pipeline.testing import NOON

NOON_US = NOON // 1000

times = st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=12)


def as_they_are(rows: pl.DataFrame) -> pl.DataFrame:
    return rows


def write(store: FolderStore, files: Sequence[Sequence[int | None]]) -> list[str]:
    """A file for each list of starting times, not sorted; each turn has an id of its own."""
    paths: list[str] = []
    for number, starts in enumerate(files):
        rows = [
            {
                "turn_id": f"{number}-{place}",
                "started_at": None if start is None else NOON_US + start,
                "received_at": NOON_US,
                "outcome": "completed",
                "last_segment": True,
            }
            for place, start in enumerate(starts)
        ]
        frame = pl.DataFrame(rows, schema=dict(TURNS)).drop("date")
        path = f"date=2026-01-05/in{number}.parquet"
        target = Path(store.root, "turns", path)
        target.parent.mkdir(parents=True, exist_ok=True)
        frame.write_parquet(target)
        paths.append(path)
    return paths


def none_of_them(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.head(0)


def but_the_first(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("turn_id") != "0-0")


def poured(store: FolderStore, sources: Sequence[str], chunk: int, change: Change = as_they_are) -> NewFile | None:
    counter = CubeCounter("turns", 1, Cubing(rows=1, share=1))
    return pour(store, "turns", sources, "date=2026-01-05/out.parquet", "2026-01-05", change, counter, chunk)


def read(store: FolderStore) -> pl.DataFrame:
    return pl.read_parquet(f"{store.root}/turns/date=2026-01-05/out.parquet", hive_partitioning=False)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=st.lists(times, min_size=1, max_size=4), chunk=st.integers(1, 20))
def test_every_row_is_there_once_and_sorted(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[int | None]], chunk: int
) -> None:
    """Rows without a time come first; the bounds and the cube are those of the rows."""
    store = FolderStore(str(tmp_path_factory.mktemp("pour")))
    sources = write(store, files)
    new = poured(store, sources, chunk)
    every = [start for starts in files for start in starts]
    if not every:
        assert new is None
        return
    assert new is not None
    rows = read(store)
    expected = sorted(start for start in every if start is not None)
    assert rows["started_at"].null_count() == every.count(None)
    assert rows["started_at"].drop_nulls().dt.timestamp("us").to_list() == [NOON_US + start for start in expected]
    assert sorted(rows["turn_id"]) == sorted(f"{n}-{p}" for n, starts in enumerate(files) for p in range(len(starts)))
    assert new.file.rows == len(every)
    cube = pl.read_parquet(
        store.local(FOLDER, path_of(CUBES[0], "date=2026-01-05/out.parquet")), hive_partitioning=False
    )
    assert cube["n"].sum() == len(every)
    assert sorted(map(repr, cube.rows())) == sorted(map(repr, CUBES[0].rows(rows).rows()))


def test_a_change_may_leave_rows_out(tmp_path: Path) -> None:
    """And where none is left there is no file."""
    store = FolderStore(str(tmp_path))
    sources = write(store, [[3, 1, 2]])
    new = poured(store, sources, 1, but_the_first)
    assert new is not None
    assert read(store)["turn_id"].to_list() == ["0-1", "0-2"]
    (tmp_path / "turns/date=2026-01-05/out.parquet").unlink()
    assert poured(store, sources, 2, none_of_them) is None


def test_an_older_file_gets_the_columns_that_it_lacks(tmp_path: Path) -> None:
    """Beside a file that has them."""
    store = FolderStore(str(tmp_path))
    sources = write(store, [[1], [2]])
    older = Path(store.root, "turns", sources[0])
    pl.read_parquet(older, hive_partitioning=False).drop("updated_at", "task_reward").write_parquet(older)
    assert poured(store, sources, 1) is not None
    assert read(store).columns == complete("turns", read(store)).columns
    assert read(store).height == 2
