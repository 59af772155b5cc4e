"""Cubes: what is answered from them is what the rows themselves say."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from sqlglot import exp

from turnout.outcomes.verdict import Outcome
from turnout.pipeline.counted import VIEWS
from turnout.pipeline.cubes import COUNT, CUBES, Cube, source_of
from turnout.pipeline.lake import Lake
from turnout.pipeline.lake.cubing import Cubing
from turnout.pipeline.query import METRICS, Filters, Metric, Warehouse, run
from turnout.pipeline.query.conditions import ALWAYS
from turnout.pipeline.schema import TABLES
from turnout.pipeline.spending import spending
from turnout.pipeline.testing import EXAMPLE, HOUR, NOON, Sketch, stored

DAY = datetime(2026, 1, 5, tzinfo=UTC)
CUBED = [metric for metric in METRICS if metric.reads is not None]
EVERYWHERE = ("hour", "day", "environment", "agent", "model", "attended")
"""What every metric can be grouped by quickly; of these, `agent` and `model` are in some cube each."""


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


def test_every_metric_is_answered_from_cubes() -> None:
    """None is left to read the rows of a long window."""
    assert list(METRICS) == CUBED


@pytest.mark.parametrize("metric", CUBED, ids=lambda metric: metric.name)
def test_a_metric_is_the_same_from_cubes_and_from_rows(both: tuple[Warehouse, Warehouse], metric: Metric) -> None:
    """Over everything and over a window that cuts files and hours in two, not grouped and by two dimensions."""
    cubed, raw = both
    windows = (
        Filters(),
        Filters(since=DAY + timedelta(hours=12, minutes=30), until=DAY + timedelta(hours=15, seconds=1)),
    )
    for window in windows:
        for by in ((), ("day", "model"), ("attended", "agent")):
            assert run(cubed, metric.name, window, by).equals(run(raw, metric.name, window, by))
        assert is_cubed(cubed, metric, window)
        assert not is_cubed(raw, metric, window)


@pytest.mark.parametrize("metric", CUBED, ids=lambda metric: metric.name)
def test_every_dimension_is_the_same_from_cubes_and_from_rows(
    both: tuple[Warehouse, Warehouse], metric: Metric
) -> None:
    """One by one, and the common ones are in a cube indeed."""
    cubed, raw = both
    for dimension in metric.dimensions:
        assert run(cubed, metric.name, by=(dimension,)).equals(run(raw, metric.name, by=(dimension,))), dimension
    assert [name for name in EVERYWHERE if not is_cubed(cubed, metric, Filters(), (name,))] == []


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
    known = {
        *TABLES[VIEWS[metric.view]],
        *(column for cube in CUBES if cube.view == metric.view for column in cube.columns),
    }
    read = {column.name for column in statement.find_all(exp.Column)} & known
    assert read == set(metric.reads or ())


@pytest.mark.parametrize("cube", CUBES, ids=lambda cube: cube.name)
def test_a_cube_counts_every_row_once(both: tuple[Warehouse, Warehouse], cube: Cube) -> None:
    """And its columns and sums are those of the counted view, type for type."""
    _, raw = both
    columns = ", ".join((*cube.columns, *(f"sum({name}) as {name}" for name in cube.sums)))
    expected = raw.sql(f"select {columns}, count(*) as n from {cube.view} group by all").cast(cube.schema)
    made = cube.rows(raw.sql(f"select * from {'turn_segments' if cube.table == 'turns' else cube.table}"))
    assert dict(made.schema) == dict(cube.schema)
    assert sorted(map(repr, rounded(made))) == sorted(map(repr, rounded(expected)))
    assert COUNT in ALWAYS


def rounded(frame: pl.DataFrame) -> list[tuple[object, ...]]:
    """Sums of fractions come in another order from either side."""
    return frame.with_columns(pl.selectors.float().round(9)).rows()


@pytest.mark.parametrize("cube", CUBES, ids=lambda cube: cube.name)
def test_a_cube_is_the_same_from_the_rows_and_from_the_cube_that_holds_it(
    both: tuple[Warehouse, Warehouse], cube: Cube
) -> None:
    """Where another cube knows all its columns it is counted from that."""
    _, raw = both
    rows = raw.sql(f"select * from {'turn_segments' if cube.table == 'turns' else cube.table}")
    source = source_of(cube, CUBES)
    if source is not None:
        assert sorted(map(repr, cube.together([source.rows(rows)]).rows())) == sorted(map(repr, cube.rows(rows).rows()))


@pytest.mark.parametrize("by", [(), ("model",), ("agent", "day"), ("service", "agent_version"), ("provider",)])
@pytest.mark.parametrize("filters", [Filters(), Filters(attended=True, outcome=("completed", "budget"))])
def test_spending_is_the_same_from_cubes_and_from_rows(
    both: tuple[Warehouse, Warehouse], by: tuple[str, ...], filters: Filters
) -> None:
    """Turns, prices and tokens of each group; a sum of fractions to the last digits."""
    cubed, raw = both
    ours, theirs = (
        spending(one, by, filters).sort(*by, nulls_last=True) if by else spending(one, by, filters) for one in both
    )
    assert cubed.cube_for("counted_turns", {"cost_usd", "outcome", *by}, filters)[0] is not None
    assert raw.cube_for("counted_turns", {"cost_usd", "outcome", *by}, filters)[0] is None
    assert_frame_equal(ours, theirs, rel_tol=1e-12)
