"""Budgets asked of a lake."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sksurv.nonparametric import cumulative_incidence_competing_risks

from turnout.outcomes.facts import Claim, Layer, Limits, TurnFacts, Usage
from turnout.outcomes.verdict import Outcome
from turnout.pipeline.analysis.budget import ENDS, End, Limit
from turnout.pipeline.budgets import (
    Continued,
    budget,
    chain_ends,
    continued,
    curve_points,
    ends,
    frame,
    strata,
    stratum_curves,
)
from turnout.pipeline.importers import KINDS
from turnout.pipeline.lake import Lake
from turnout.pipeline.query import Warehouse
from turnout.pipeline.query.filters import Filters
from turnout.pipeline.rows import classified
from turnout.pipeline.testing import NOON, Sketch, lake_of, sketched

TURNS = (
    Sketch(turn_id="f2", steps=2),
    Sketch(turn_id="f4", steps=4),
    Sketch(turn_id="y4", outcome=Outcome.YIELDED, steps=4),
    Sketch(turn_id="r2", outcome=Outcome.REFUSED, steps=2),
    Sketch(turn_id="l4", outcome=Outcome.LENGTH, steps=4),
    Sketch(turn_id="b5", outcome=Outcome.BUDGET, steps=5, limit_steps=5),
    Sketch(turn_id="f8", steps=8, attended=False),
    Sketch(turn_id="s3", outcome=Outcome.STOPPED, steps=3),
)


@pytest.fixture(name="warehouse")
def _warehouse(tmp_path: Path) -> Warehouse:
    """A lake of eight turns that a hand can count."""
    return Warehouse(lake_of(str(tmp_path / "lake"), TURNS).root)


def test_ends_are_counted_by_steps_and_kind(warehouse: Warehouse) -> None:
    """A cut by steps is no end; length is among the others; a hand-back is a finish."""
    counted = ends(warehouse, Limit.STEPS)
    kinds = {end: counted.counts.ends[place].tolist() for place, end in enumerate(ENDS)}
    assert counted.n == 8
    assert sum(kinds[End.FINISHED]) == 4
    assert (sum(kinds[End.REFUSED]), sum(kinds[End.STOPPED]), sum(kinds[End.OTHER])) == (1, 1, 1)
    assert counted.counts.cut.sum() == 1
    assert counted.largest_budget == 10


def test_candidates_of_a_small_lake(warehouse: Warehouse) -> None:
    """Three of eight ended by two steps, one of them stopped in its third; past the largest budget nothing is said."""
    _, rows = budget(warehouse, Limit.STEPS, [2, 4, 8, 11])
    assert [(row.candidate, row.at_risk, row.estimable) for row in rows] == [
        (2, 8, True),
        (4, 5, True),
        (8, 1, True),
        (11, 0, False),
    ]
    assert [row.finished for row in rows] == pytest.approx([1 / 8, 3 / 8, 5 / 8, None])
    assert [row.cut for row in rows] == pytest.approx([5 / 8, 2 / 8, 0, None])


def test_filters_choose_the_turns(warehouse: Warehouse) -> None:
    """Unattended turns can be looked at apart."""
    counted, rows = budget(warehouse, Limit.STEPS, [8], Filters(attended=False))
    assert (counted.n, rows[0].finished) == (1, 1.0)


def test_an_empty_lake_has_no_candidates(tmp_path: Path) -> None:
    """Nothing to count gives no row and the columns all the same."""
    counted, rows = budget(Warehouse(str(tmp_path / "none")), Limit.STEPS)
    assert (counted.n, rows) == (0, ())
    assert frame(rows).columns[:3] == ["candidate", "n", "at_risk"]


@pytest.mark.parametrize("limit", list(Limit))
def test_every_limit_has_candidates(warehouse: Warehouse, limit: Limit) -> None:
    """Whatever is limited, shares sum to one where they are estimable."""
    _, rows = budget(warehouse, limit)
    for row in rows:
        shares = [row.finished, row.cut, row.refused, row.error, row.stopped, row.interrupted, row.other]
        assert sum(share or 0.0 for share in shares) == pytest.approx(1.0)


def calls(
    turn_id: str, *outputs: int | None, cap: int | None = None, outcome: Outcome = Outcome.COMPLETED
) -> TurnFacts:
    """A turn whose model calls gave so many output tokens each; a cut one used all of its cap."""
    facts = sketched(Sketch(turn_id=turn_id, steps=len(outputs), outcome=outcome))
    steps = tuple(
        replace(step, usage=Usage(input_tokens=1, output_tokens=output), max_output_tokens=cap)
        for step, output in zip(facts.steps, outputs, strict=True)
    )
    return replace(facts, steps=steps)


def test_a_cap_of_output_tokens_a_step_would_have_cut_the_turns_with_a_larger_call(tmp_path: Path) -> None:
    """What a turn needs is its largest call; one that was cut is only known to need more, and one that does not say is left out."""
    turns = [
        calls("a", 10, 30),
        calls("b", 20, 5),
        calls("c", 3, 30, cap=30, outcome=Outcome.LENGTH),
        calls("d", 50, outcome=Outcome.REFUSED),
        calls("e", 5, None),
        calls("f", 60, 60, cap=60, outcome=Outcome.LENGTH),
    ]
    counted, rows = budget(stored(tmp_path / "lake", turns), Limit.STEP_OUTPUT_TOKENS, [10, 20, 30, 50, 61])
    assert (counted.n, counted.left_out, counted.largest_budget) == (5, 1, 60)
    assert counted.counts.cut.tolist() == [0, 1, 0, 1]
    assert [row.at_risk for row in rows] == [5, 5, 4, 2, 0]
    # After 20 tokens one of five has finished; at 30 one of the four left, and one is cut there; of the last two one is refused at 50.
    assert [row.finished for row in rows] == pytest.approx([0, 1 / 5, 2 / 5, 2 / 5, None])
    assert [row.refused for row in rows] == pytest.approx([0, 0, 0, 3 / 5 / 2, None])
    assert [row.cut for row in rows] == pytest.approx([1, 4 / 5, 3 / 5, 3 / 5 / 2, None])
    assert continued(stored(tmp_path / "same", turns), Limit.STEP_OUTPUT_TOKENS) == Continued(2, 0, 0)


@pytest.mark.parametrize("seed", range(3))
def test_a_curve_by_output_tokens_a_step_is_that_of_the_oracle(tmp_path: Path, seed: int) -> None:
    """Through the lake, with ties, it equals scikit-survival's on the largest call of each turn."""
    rng = np.random.default_rng(seed)
    kinds = [Outcome.LENGTH, Outcome.COMPLETED, Outcome.REFUSED, Outcome.ERROR, Outcome.STOPPED]
    drawn = [(kinds[rng.integers(0, 5)] if n > 4 else kinds[n], int(rng.integers(1, 12))) for n in range(60)]
    turns = [calls(f"t{n}", 1, most, outcome=outcome) for n, (outcome, most) in enumerate(drawn)]
    curve = ends(stored(tmp_path / "lake", turns), Limit.STEP_OUTPUT_TOKENS).curve()
    oracle: Any = cumulative_incidence_competing_risks
    events = np.array([kinds.index(outcome) for outcome, _ in drawn])
    _, share, interval = oracle(events, np.array([float(most) for _, most in drawn]), conf_type="log-log")
    # A call that failed or was stopped has no finish reason and still says what it used.
    rows = [ENDS.index(End(str(kind)) if kind is not Outcome.COMPLETED else End.FINISHED) for kind in kinds[1:]]
    np.testing.assert_allclose(curve.share[rows], share[1:], atol=1e-9)
    inside = (share[1:] > 0) & (share[1:] < 1)
    np.testing.assert_allclose(curve.low[rows][inside], interval[1:, 0][inside], atol=1e-9)


@pytest.mark.parametrize("limit", list(Limit))
def test_means_are_what_a_hand_sums(tmp_path: Path, limit: Limit) -> None:
    """Turns that all end by themselves spend, at the largest candidate, what they spent."""
    turns = [replace(sketched(Sketch(turn_id=f"t{steps}", steps=steps)), limits=None) for steps in (1, 2, 4)]
    counted, rows = budget(stored(tmp_path / "lake", turns), limit)
    last = rows[-1]
    spent = (last.mean_steps, last.mean_tokens, last.mean_cost_usd, last.mean_seconds)
    assert counted.n == 3
    assert spent == pytest.approx((7 / 3, 7 / 3 * 150, 7 / 3 * 0.01, 7 / 3))


def runs() -> list[TurnFacts]:
    """The handed mini-swe-agent runs."""
    if "TURNOUT_TEST_DATA" not in os.environ:
        pytest.skip("TURNOUT_TEST_DATA is not set")
    folder = Path(os.environ["TURNOUT_TEST_DATA"]) / "transcripts/mini-swe-agent"
    importer = KINDS["mini-swe-agent"]
    found = [one for path in sorted(folder.rglob("*.traj.json")) for one in importer.read(path)]
    return [one for one in found if isinstance(one, TurnFacts)]


def capped(turn: TurnFacts, cap: int) -> TurnFacts:
    """The same run under a step limit."""
    if len(turn.steps) <= cap:
        return replace(turn, limits=Limits(steps=cap))
    steps = sorted(turn.steps, key=lambda step: step.index or 0)[:cap]
    return replace(
        turn, limits=Limits(steps=cap), steps=tuple(steps), claims=(Claim(by=Layer.RUNTIME, reason="step_limit"),)
    )


def stored(root: Path, turns: list[TurnFacts]) -> Warehouse:
    """A lake of these turns."""
    lake = Lake.open(str(root), clock=lambda: NOON)
    lake.write([classified(turn, NOON) for turn in turns])
    return Warehouse(lake.root)


def test_real_runs_without_a_cap_are_counted_directly(tmp_path: Path) -> None:
    """All of them finished, so the curve is the share that had by then."""
    turns = runs()
    values = [5.0, 20.0, 40.0, 60.0, 100.0]
    counted, rows = budget(stored(tmp_path / "lake", turns), Limit.STEPS, values)
    direct = [sum(len(turn.steps) <= value for turn in turns) / len(turns) for value in values]
    assert counted.n == len(turns)
    assert [row.finished for row in rows] == pytest.approx(direct)


def test_a_cap_on_real_runs_leaves_the_curve_below_it(tmp_path: Path) -> None:
    """Cut at 40 steps, the estimate below 40 is the uncapped one."""
    turns = runs()
    values = [10.0, 25.0, 39.0]
    _, whole = budget(stored(tmp_path / "whole", turns), Limit.STEPS, values)
    _, cut = budget(stored(tmp_path / "cut", [capped(turn, 40) for turn in turns]), Limit.STEPS, values)
    assert [row.finished for row in cut] == pytest.approx([row.finished for row in whole])
    assert [row.estimable for row in cut] == [True, True, True]


def test_chains_reach_past_the_budget_of_a_turn(tmp_path: Path) -> None:
    """A cut turn and the one that continues it are one chain with the steps of both."""
    sketches = [
        Sketch(turn_id="cut", outcome=Outcome.BUDGET, steps=5, limit_steps=5),
        Sketch(turn_id="more", continues="cut", steps=3, limit_steps=5),
        Sketch(turn_id="alone", steps=2, limit_steps=5),
        Sketch(turn_id="left", outcome=Outcome.BUDGET, steps=5, limit_steps=5),
    ]
    warehouse = Warehouse(lake_of(str(tmp_path / "lake"), sketches).root)
    chained = chain_ends(warehouse)
    points = curve_points(chained)
    assert (chained.n, chained.counts.times.tolist(), chained.counts.cut.tolist()) == (3, [2, 5, 8], [0, 1, 0])
    assert points["candidate"].to_list() == [2, 5, 8]
    assert points["finished"].to_list() == pytest.approx([1 / 3, 1 / 3, 1.0])
    assert continued(warehouse, Limit.STEPS) == Continued(cut=2, continued=1, finished=1)


def test_strata_are_counted_by_limit(tmp_path: Path) -> None:
    """Each agent has its own curve, and its turns are kept apart by their limit for the test of the assumption."""
    sketches = [
        Sketch(turn_id="a1", agent="a", steps=2, limit_steps=5),
        Sketch(turn_id="a2", agent="a", steps=3, limit_steps=9),
        Sketch(turn_id="b1", agent=None, outcome=Outcome.BUDGET, steps=5, limit_steps=5),
        Sketch(turn_id="b2", agent=None, steps=4, limit_steps=None),
    ]
    warehouse = Warehouse(lake_of(str(tmp_path / "lake"), sketches).root)
    found = strata(warehouse, "agent")
    assert {name: sorted(by_limit) for name, by_limit in found.items()} == {"a": [5.0, 9.0], None: [5.0]}
    curves = stratum_curves(warehouse, "agent")
    assert curves.filter(pl.col("stratum") == "a")["finished"].to_list() == pytest.approx([0.5, 1.0])
    assert curves.filter(pl.col("stratum").is_null())["turns"].unique().to_list() == [2]
