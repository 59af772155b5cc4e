"""Budget curves are the same from cubes, from rows, and by the statement for any limit."""

from collections.abc import Sequence

import pytest
from polars.testing import assert_frame_equal

from turnout.outcomes.verdict import Outcome
from turnout.pipeline.analysis.budget import Limit
from turnout.pipeline.budgets import Ends, budget, chain_ends, continued, ends, frame, strata
from turnout.pipeline.lake import Lake
from turnout.pipeline.lake.cubing import Cubing
from turnout.pipeline.query import Filters, Warehouse
from turnout.pipeline.query.engine import resource
from turnout.pipeline.testing import EXAMPLE, HOUR, NOON, Sketch, stored

FROM_CUBES, FROM_ROWS = Cubing(rows=1, share=1), Cubing(rows=10**9)


def lake_of_all_ends(root: str, cubing: Cubing) -> Warehouse:
    lake = Lake.open(root, cubing=cubing)
    lake.write([stored(sketch) for sketch in EXAMPLE])
    lake.write(
        [
            stored(Sketch(turn_id=f"{outcome}{steps}", outcome=outcome, steps=steps, limit_steps=30, at=NOON + HOUR))
            for outcome in Outcome
            for steps in (1, 4, 7)
        ]
    )
    lake.write(
        [
            stored(Sketch(turn_id=f"after-{outcome}", continues=f"{outcome}7", outcome=outcome, at=NOON + 2 * HOUR))
            for outcome in Outcome
        ]
    )
    return Warehouse(lake.root)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Warehouse]:
    folder = tmp_path_factory.mktemp("budgets")
    return [
        lake_of_all_ends(str(folder / name), cubing) for name, cubing in (("cubes", FROM_CUBES), ("rows", FROM_ROWS))
    ]


@pytest.fixture(params=[0, 1], ids=["cubes", "rows"])
def warehouse(both: Sequence[Warehouse], request: pytest.FixtureRequest) -> Warehouse:
    chosen: int = request.param
    return both[chosen]


def told(counted: Ends) -> tuple[object, ...]:
    """Everything that counts say, to be compared."""
    counts = counted.counts
    return (
        counts.times.tolist(),
        counts.ends.tolist(),
        counts.cut.tolist(),
        counted.largest_budget,
        counted.left_out,
    )


@pytest.mark.parametrize("limit", list(Limit))
@pytest.mark.parametrize(
    "filters", [Filters(), Filters(attended=True), Filters(agent=("coder",)), Filters(tool=("bash",))]
)
def test_cubes_and_rows_say_the_same_of_every_limit(both: Sequence[Warehouse], limit: Limit, filters: Filters) -> None:
    """Ends, chains, what became of the cut turns, and every figure of every candidate."""
    cubed, raw = both
    assert told(ends(cubed, limit, filters)) == told(ends(raw, limit, filters))
    assert told(chain_ends(cubed, filters, limit)) == told(chain_ends(raw, filters, limit))
    assert continued(cubed, limit, filters) == continued(raw, limit, filters)
    ours, theirs = (frame(budget(one, limit, (), filters)[1]) for one in both)
    assert_frame_equal(ours, theirs, rel_tol=1e-9)


@pytest.mark.parametrize(
    "filters", [Filters(), Filters(attended=True), Filters(agent=("coder",)), Filters(tool=("bash",))]
)
def test_ends_by_steps_are_those_of_the_statement_for_any_limit(warehouse: Warehouse, filters: Filters) -> None:
    """Counts, largest budget and the turns left out."""
    counted = ends(warehouse, Limit.STEPS, filters)
    rows = warehouse.sql(resource("budget/ends.sql"), {"limit": "steps", "kind": "steps", "digits": 0}, filters)
    known = rows.drop_nulls("spent")
    assert counted.n == sum(known["turns"])
    assert counted.n + counted.left_out == sum(rows["turns"])
    assert counted.largest_budget == known["largest_budget"].max()
    assert counted.counts.times.tolist() == known["spent"].unique().sort().to_list()


def test_strata_by_a_dimension_of_a_cube_and_by_another(warehouse: Warehouse) -> None:
    """Each turn with a step limit is in one stratum."""
    limited = warehouse.sql(
        "select count(*) from turns where limit_steps is not null and steps_charged is not null"
    ).item()
    for by in ("model", "agent"):
        found = strata(warehouse, by)
        assert (
            sum(int(counts.ends.sum() + counts.cut.sum()) for of in found.values() for counts in of.values()) == limited
        )
