"""Which tools go with turns that end badly: counts from SQL, differences and Holm's correction from analysis."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from turnout.pipeline.analysis.compare import NOT_DECISIVE, two_share_test
from turnout.pipeline.analysis.intervals import LEVEL, Difference, Share, holm, newcombe, wilson
from turnout.pipeline.query.engine import resource
from turnout.pipeline.query.filters import Filters
from turnout.pipeline.query.metrics import run
from turnout.pipeline.query.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class ToolRisk:
    """Abnormal ends of the turns with a tool against those without it; ``p_value`` is Holm's over all tools.

    That a tool goes with bad ends does not say that it causes them: long turns call more tools and run into more limits.
    """

    tool: str
    turns_with: int
    turns_without: int
    with_it: Share
    without_it: Share
    difference: Difference
    p_value: float | None

    @property
    def decisive(self) -> bool:
        """Whether the interval leaves zero out and the corrected test agrees."""
        return self.difference.decisive and self.p_value is not None and self.p_value < 1 - LEVEL


def tool_risks(warehouse: Warehouse, filters: Filters | None = None) -> tuple[ToolRisk, ...]:
    """A row a tool, the largest difference first."""
    whole = run(warehouse, "abnormal", filters).row(0, named=True)
    rows = [
        {
            "tool": row["tool"],
            "turns_with": row["denominator"],
            "abnormal_with": row["numerator"],
            "turns": whole["denominator"],
            "abnormal_turns": whole["numerator"],
        }
        for row in run(warehouse, "tool_abnormal", filters).iter_rows(named=True)
    ]
    tests = [_test(row) for row in rows]
    adjusted = iter(holm([test for test in tests if test is not None]))
    found = [_risk(row, None if test is None else next(adjusted)) for row, test in zip(rows, tests, strict=True)]
    return tuple(sorted(found, key=lambda risk: (-(risk.difference.value or 0.0), risk.tool)))


def risk_frame(risks: Sequence[ToolRisk]) -> pl.DataFrame:
    """The same as rows."""
    rows = [
        {
            "tool": risk.tool,
            "turns_with": risk.turns_with,
            "turns_without": risk.turns_without,
            "with_it": risk.with_it.value,
            "without_it": risk.without_it.value,
            "difference": risk.difference.value,
            "low": risk.difference.low,
            "high": risk.difference.high,
            "p_value": risk.p_value,
            "decision": "decisive" if risk.decisive else NOT_DECISIVE,
        }
        for risk in risks
    ]
    return pl.DataFrame(rows, schema=_RISKS)


_RISKS: Final = {
    "tool": pl.String(),
    "turns_with": pl.Int64(),
    "turns_without": pl.Int64(),
    "with_it": pl.Float64(),
    "without_it": pl.Float64(),
    "difference": pl.Float64(),
    "low": pl.Float64(),
    "high": pl.Float64(),
    "p_value": pl.Float64(),
    "decision": pl.String(),
}


def tool_calls(warehouse: Warehouse, filters: Filters | None = None) -> pl.DataFrame:
    """A row a tool: calls by status, and quantiles of how long they took."""
    return warehouse.sql(resource("tools/calls.sql"), None, filters)


def loops(warehouse: Warehouse, filters: Filters | None = None, length: int = 3) -> pl.DataFrame:
    """A row a tool that was called at least ``length`` times in a row with the same arguments."""
    return warehouse.sql(resource("tools/loops.sql"), {"length": length}, filters)


def _test(row: dict[str, int]) -> float | None:
    return two_share_test(
        row["abnormal_with"],
        row["turns_with"],
        row["abnormal_turns"] - row["abnormal_with"],
        row["turns"] - row["turns_with"],
    )


def _risk(row: dict[str, int], p_value: float | None) -> ToolRisk:
    others, other_abnormal = row["turns"] - row["turns_with"], row["abnormal_turns"] - row["abnormal_with"]
    return ToolRisk(
        str(row["tool"]),
        row["turns_with"],
        others,
        wilson(row["abnormal_with"], row["turns_with"]),
        wilson(other_abnormal, others),
        newcombe(row["abnormal_with"], row["turns_with"], other_abnormal, others),
        p_value,
    )
