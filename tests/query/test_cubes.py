"""Cubes: what is answered from them is what the rows themselves say."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from turnout.outcomes.verdict import Outcome
from turnout.pipeline.cubes import COUNT, CUBES, Cube
from turnout.pipeline.lake import Lake
from turnout.pipeline.lake.cubing import Cubing
from turnout.pipeline.query import METRICS, Filters, Metric, Warehouse, run
from turnout.pipeline.query.conditions import ALWAYS
from turnout.pipeline.schema import TABLES
from turnout.pipeline.testing import EXAMPLE, HOUR, NOON, Sketch, stored

DAY = datetime(2026, 1, 5, tzinfo=UTC)
CUBED = [metric for metric in METRICS if metric.reads is not None]


def lake(root: str, cubing: Cubing) -> Warehouse:
    """The example and more of every outcome, in seven files over two days."""
    lake = Lake.open(root, cubing=cubing)
    lake.write([stored(sketch) for sketch in EXAMPLE])
    for hour in range(5):
        more = [
            Sketch(turn_id=f"{outcome}-{hour}", outcome=outcome, at=NOON + hour * HOUR, attended=hour % 2 == 0)
            for outcome in Outcome
        ]
        lake.write([stored(sketch) for sketch in more])
    return Warehouse(root)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Warehouse, Warehouse]:
    """The same turns with a cube for every file, and without any."""
    folder = tmp_path_factory.mktemp("cubes")
    return lake(str(folder / "cubed"), Cubing(rows=1, share=1)), lake(str(folder / "raw"), Cubing(rows=10**9))


def is_cubed(warehouse: Warehouse, metric: Metric, filters: Filters, by: Sequence[str] = ()) -> bool:
    """Whether the warehouse finds a cube for this."""
    cube, _ = warehouse.cube_for(metric.view, {*(metric.reads or ()), *by}, filters)
    return cube is not None


@pytest.mark.parametrize("metric", CUBED, ids=lambda metric: metric.name)
def test_a_metric_is_the_same_from_cubes_and_from_rows(both: tuple[Warehouse, Warehouse], metric: Metric) -> None:
    """By any dimension, over everything and over a window that cuts files and hours in two."""
    cubed, raw = both
    windows = (
        Filters(),
        Filters(since=DAY + timedelta(hours=12, minutes=30), until=DAY + timedelta(hours=15, seconds=1)),
    )
    for window in windows:
        for by in ((), ("hour",), ("day", "model"), ("attended",), metric.dimensions[-1:]):
            assert run(cubed, metric.name, window, by).equals(run(raw, metric.name, window, by))
        assert is_cubed(cubed, metric, window)
        assert not is_cubed(raw, metric, window)


chosen = st.fixed_dictionaries(
    {},
    optional={
        "outcome": st.sampled_from([("budget",), ("completed", "refused")]),
        "agent": st.sampled_from([("coder",), ("not recorded",)]),
        "model": st.sampled_from([("claude-a",), ("claude-a", "claude-b")]),
        "provider": st.just(("anthropic",)),
        "tool": st.just(("search",)),
        "attended": st.booleans(),
        "since": st.integers(0, 60).map(lambda half: DAY + half * timedelta(minutes=30)),
        "until": st.integers(0, 60).map(lambda half: DAY + half * timedelta(minutes=30)),
    },
)


@settings(max_examples=60, deadline=None)
@given(metric=st.sampled_from(CUBED), filters=chosen)
def test_filters_let_the_same_through_from_cubes_and_from_rows(
    both: tuple[Warehouse, Warehouse], metric: Metric, filters: Mapping[str, object]
) -> None:
    """Whichever filters and windows; where a cube cannot tell, the rows are read."""
    cubed, raw = both
    narrowed = Filters(**filters)  # type: ignore[arg-type]
    assert run(cubed, metric.name, narrowed).equals(run(raw, metric.name, narrowed))


@pytest.mark.parametrize("metric", CUBED, ids=lambda metric: metric.name)
def test_a_metric_declares_what_its_sql_reads(metric: Metric) -> None:
    """Columns that are not declared would be missing from a cube."""
    statement = sqlglot.parse_one(metric.statement, read="duckdb")
    view = {"counted_turns": "turns", "counted_steps": "steps", "counted_tool_calls": "tool_calls"}[metric.view]
    known = {*TABLES[view], *(column for cube in CUBES if cube.table == view for column in cube.columns)}
    read = {column.name for column in statement.find_all(exp.Column)} & known
    assert read == set(metric.reads or ())


@pytest.mark.parametrize("cube", CUBES, ids=lambda cube: cube.name)
def test_a_cube_counts_every_row_once(both: tuple[Warehouse, Warehouse], cube: Cube) -> None:
    """And its columns are those of the counted view, type for type."""
    _, raw = both
    view = f"counted_{cube.table}"
    columns = ", ".join(cube.columns)
    expected = raw.sql(f"select {columns}, count(*) as n from {view} group by all")
    made = cube.rows(raw.sql(f"select * from {'turn_segments' if cube.table == 'turns' else cube.table}"))
    assert dict(made.schema) == dict(cube.schema) == dict(expected.schema)
    assert sorted(map(repr, made.rows())) == sorted(map(repr, expected.rows()))
    assert COUNT in ALWAYS
