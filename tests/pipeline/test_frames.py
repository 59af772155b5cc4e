"""The frames of the tables, made by columns, hold exactly what is said row by row."""

from collections.abc import Sequence

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from turn_strategies import turns as drawn
from turnout.pipeline.frames import frame_of, steps_frame, tool_calls_frame
from turnout.pipeline.rows import ClassifiedTurn, Row, classified, step_rows, tool_call_rows, turn_row
from turnout.pipeline.schema import TABLES


def by_rows(table: str, rows: Sequence[Row]) -> pl.DataFrame:
    """A frame as Polars makes it of the rows themselves."""
    return pl.DataFrame(rows, schema=dict(TABLES[table]), orient="row")


@settings(max_examples=100, deadline=None)
@given(st.lists(st.builds(classified, drawn, st.integers(0, 2**61)), max_size=4))
def test_columns_and_rows_say_the_same(turns: list[ClassifiedTurn]) -> None:
    """Whatever is recorded and whatever is not, of no turn, one or several."""
    rows = [turn_row(turn) for turn in turns]
    assert_frame_equal(frame_of("turns", rows), by_rows("turns", rows))
    assert_frame_equal(steps_frame(turns), by_rows("steps", [row for turn in turns for row in step_rows(turn)]))
    calls = [row for turn in turns for row in tool_call_rows(turn)]
    assert_frame_equal(tool_calls_frame(turns), by_rows("tool_calls", calls))
