"""Which tools go with turns that end badly."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportions_ztest

from turnout.outcomes.verdict import Outcome
from turnout.pipeline.lake import Lake
from turnout.pipeline.query import Warehouse
from turnout.pipeline.rows import classified
from turnout.pipeline.testing import NOON, Sketch, lake_of, sketched
from turnout.pipeline.tool_risks import loops, tool_calls, tool_risks


def some(tool: str, finished: int, cut: int) -> list[Sketch]:
    """Turns with one tool, so many that finished and so many that their budget cut."""
    ends = [Outcome.COMPLETED] * finished + [Outcome.BUDGET] * cut
    return [
        Sketch(turn_id=f"{tool}-{number}", tool=tool, outcome=outcome, steps=10 if outcome is Outcome.BUDGET else 2)
        for number, outcome in enumerate(ends)
    ]


@pytest.fixture(name="warehouse")
def _warehouse(tmp_path: Path) -> Warehouse:
    """One bad tool and two good ones."""
    sketches = [*some("grep", 45, 5), *some("deploy", 20, 20), *some("cite", 28, 2)]
    return Warehouse(lake_of(str(tmp_path / "lake"), sketches).root)


def test_risks_are_those_of_the_oracle(warehouse: Warehouse) -> None:
    """Differences, intervals and Holm's p-values equal statsmodels' on hand-counted turns."""
    found = tool_risks(warehouse)
    counts = {"deploy": (20, 40, 7, 80), "grep": (5, 50, 22, 70), "cite": (2, 30, 25, 90)}
    assert [risk.tool for risk in found] == ["deploy", "cite", "grep"]
    assert [risk.decisive for risk in found] == [True, True, True]
    oracle: Any = multipletests
    raw = [proportions_ztest(counts[risk.tool][::2], counts[risk.tool][1::2])[1] for risk in found]
    assert [risk.p_value for risk in found] == pytest.approx(list(oracle(raw, method="holm")[1]))
    for risk in found:
        low, high = confint_proportions_2indep(*counts[risk.tool], compare="diff", method="newcomb")
        assert (risk.difference.low, risk.difference.high) == pytest.approx((low, high), abs=1e-9)


def test_calls_are_counted_by_how_they_ended(warehouse: Warehouse) -> None:
    """Every call is in exactly one column."""
    for row in tool_calls(warehouse).iter_rows(named=True):
        assert row["calls"] == row["ok"] + row["errors"] + row["denied"] + row["unsettled"]


def test_a_loop_is_the_same_call_again_and_again(tmp_path: Path) -> None:
    """Three equal calls in a row are one; the same three with another between them are none."""
    turns = []
    for turn_id, digests in (("loop", "aaab"), ("mixed", "abaa"), ("blank", "----")):
        facts = sketched(Sketch(turn_id=turn_id, steps=5))
        steps = sorted(facts.steps, key=lambda step: step.index or 0)
        marked = [
            replace(
                step,
                tool_calls=tuple(
                    replace(call, arguments_digest=None if digest == "-" else digest) for call in step.tool_calls
                ),
            )
            for step, digest in zip(steps, [*digests, "z"], strict=True)
        ]
        turns.append(classified(replace(facts, steps=tuple(marked)), NOON))
    lake = Lake.open(str(tmp_path / "lake"), clock=lambda: NOON)
    lake.write(turns)
    found = loops(Warehouse(lake.root))
    assert found.rows() == [("bash", 1, 0, 3)]
