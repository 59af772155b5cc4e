"""The budget curve by steps is the same from cubes, from rows, and by the statement for any limit."""

from pathlib import Path

import pytest

from turnout.outcomes.verdict import Outcome
from turnout.pipeline.analysis.budget import Limit
from turnout.pipeline.budgets import ends, strata
from turnout.pipeline.lake import Lake
from turnout.pipeline.lake.cubing import Cubing
from turnout.pipeline.query import Filters, Warehouse
from turnout.pipeline.query.engine import resource
from turnout.pipeline.testing import EXAMPLE, HOUR, NOON, Sketch, stored


@pytest.fixture(params=[Cubing(rows=1, share=1), Cubing(rows=10**9)], ids=["cubes", "rows"])
def warehouse(tmp_path: Path, request: pytest.FixtureRequest) -> Warehouse:
    lake = Lake.open(str(tmp_path / "lake"), cubing=request.param)
    lake.write([stored(sketch) for sketch in EXAMPLE])
    lake.write(
        [
            stored(Sketch(turn_id=f"{outcome}{steps}", outcome=outcome, steps=steps, limit_steps=30, at=NOON + HOUR))
            for outcome in Outcome
            for steps in (1, 4, 7)
        ]
    )
    return Warehouse(lake.root)


@pytest.mark.parametrize(
    "filters", [Filters(), Filters(attended=True), Filters(agent=("coder",)), Filters(tool=("bash",))]
)
def test_ends_by_steps_are_those_of_the_statement_for_any_limit(warehouse: Warehouse, filters: Filters) -> None:
    """Counts, largest budget and the turns left out."""
    counted = ends(warehouse, Limit.STEPS, filters)
    rows = warehouse.sql(resource("budget/ends.sql"), {"limit": "steps", "kind": "steps"}, filters)
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
