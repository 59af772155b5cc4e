"""What holds for every metric over any lake: rates are shares, intervals hold them, and twice the same lake is the same lake."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnout.outcomes.verdict import Outcome
from turnout.pipeline.query import METRICS, Filters, Warehouse, run
from turnout.pipeline.testing import HOUR, NOON, Sketch, lake_of

SHARES = {"outcomes", "abnormal_by_cause", "refusal_categories", "call_finish_reasons"}
"""The metrics whose parts are all the ways that one thing can be, so that they sum to one."""

SKETCHES = st.lists(
    st.builds(
        Sketch,
        turn_id=st.just(""),
        outcome=st.sampled_from(Outcome),
        at=st.integers(0, 5).map(lambda hour: NOON + hour * HOUR),
        agent=st.sampled_from(["coder", "helper", None]),
        model=st.sampled_from(["claude-a", "claude-b", None]),
        environment=st.sampled_from(["prod", "staging"]),
        attended=st.sampled_from([True, False, None]),
        steps=st.integers(1, 3),
        limit_steps=st.sampled_from([3, 10, None]),
        tool=st.sampled_from(["bash", "search", None]),
        conversation=st.sampled_from(["c", "d", None]),
        refusal_category=st.sampled_from(["cyber", None]),
    ),
    max_size=12,
)


def named(sketches: Sequence[Sketch], prefix: str) -> list[Sketch]:
    """The turns with ids, each second one continuing the one before, and conversations of their own."""
    ids = [f"{prefix}{number}" for number in range(len(sketches))]
    before = dict(pairwise(reversed(ids)))
    return [
        replace(
            sketch,
            turn_id=turn_id,
            continues=before.get(turn_id) if number % 2 else None,
            conversation=None if sketch.conversation is None else f"{prefix}{sketch.conversation}",
        )
        for number, (turn_id, sketch) in enumerate(zip(ids, sketches, strict=True))
    ]


@settings(max_examples=8, deadline=None)
@given(SKETCHES)
def test_rates_are_shares_and_twice_the_lake_has_the_same(sketches: list[Sketch]) -> None:
    """Rates lie in [0, 1] and in their intervals; doubling every turn doubles counts, moves no rate and widens no interval."""
    doubled = [replace(sketch, service=prefix) for prefix in "ab" for sketch in named(sketches, prefix)]
    with TemporaryDirectory() as folder:
        warehouse = Warehouse(lake_of(str(Path(folder) / "lake"), doubled).root)
        once = {metric.name: run(warehouse, metric.name, Filters(service=("a",))) for metric in METRICS}
        twice = {metric.name: run(warehouse, metric.name) for metric in METRICS}
    for name, rows in once.items():
        known = rows.filter(pl.col("rate").is_not_null())
        assert known.select((pl.col("rate").is_between(0, 1)).all()).item(), name
        assert known.select((pl.col("low") <= pl.col("rate")).all() & (pl.col("rate") <= pl.col("high")).all()).item()
        counts = pl.col("numerator", "denominator")
        assert rows.with_columns(counts * 2).drop("low", "high").equals(twice[name].drop("low", "high")), name
        assert (twice[name]["high"] - twice[name]["low"] <= rows["high"] - rows["low"] + 1e-12).all(), name
    for name in SHARES:
        total = once[name]["rate"].sum()
        assert once[name].height == 0 or total == pytest.approx(1), name
