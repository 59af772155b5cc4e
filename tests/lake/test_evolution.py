"""A lake that an older turnout made is read and written by this one."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from turnout.pipeline.lake import Lake
from turnout.pipeline.query import Warehouse
from turnout.pipeline.schema import TABLES
from turnout.pipeline.testing import Sketch, lake_of, stored

Rows = Callable[[Lake, str], pl.DataFrame]

NEWER = {"turns": ["updated_at", "task_reward"], "steps": ["position"], "tool_calls": ["mutating"]}
"""Columns that the older lake does not know."""


def older(source: Lake, root: str, rows: Rows) -> None:
    """The same turns in a lake without the newer columns."""
    for table in ("steps", "tool_calls", "turns"):
        names = {} if table != "turns" else {"turnout.steps": 0, "turnout.tool_calls": 0}
        write_deltalake(
            f"{root}/{table}",
            rows(source, table).drop(NEWER[table]),
            partition_by=["date"],
            configuration={"delta.logRetentionDuration": "interval 6 hours"},
            commit_properties=CommitProperties(app_transactions=[Transaction(a, v) for a, v in names.items()]),
        )


def test_missing_columns_read_as_null_and_appear_with_the_first_write(tmp_path: Path, rows: Rows) -> None:
    """Old files stay as they are; new rows have every column; late evidence still finds the old row."""
    older(lake_of(str(tmp_path / "new"), [Sketch(turn_id="old"), Sketch(turn_id="late")]), str(tmp_path / "old"), rows)
    lake = Lake.open(str(tmp_path / "old"))
    before = Warehouse(lake.root).sql("select turn_id, updated_at from turns order by turn_id")
    assert before.rows() == [("late", None), ("old", None)]
    assert lake.write([stored(Sketch(turn_id="new")), stored(Sketch(turn_id="late", steps=3))]).replaced == 1
    after = Warehouse(lake.root)
    assert after.sql("select turn_id, updated_at is null from turns order by turn_id").rows() == [
        ("late", False),
        ("new", False),
        ("old", True),
    ]
    assert after.sql("select count(*), count(position) from steps").row(0) == (7, 5)
    for table in NEWER:
        handle = DeltaTable(f"{lake.root}/{table}")
        assert {field.name for field in handle.schema().fields} == set(TABLES[table])
        assert handle.metadata().configuration["turnout.schemaVersion"]
    assert lake.compact() == 2
    assert Warehouse(lake.root).sql("select count(*), count(position) from steps").row(0) == (7, 5)
