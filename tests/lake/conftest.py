"""What tests of the lake share."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from turnout.pipeline.lake import Lake

Rows = Callable[[Lake, str], pl.DataFrame]


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path / "lake")


@pytest.fixture
def rows() -> Rows:
    """The rows of a table in the lake's newest snapshot, read from the files themselves."""

    def read(lake: Lake, table: str) -> pl.DataFrame:
        snapshot = lake.snapshot()
        frames = [
            pl.read_parquet(f"{lake.root}/{table}/{file.path}", hive_partitioning=False).with_columns(
                date=pl.lit(file.date)
            )
            for file in snapshot.files(table)
        ]
        return pl.concat(frames) if frames else pl.DataFrame()

    return read
