"""What the tools page shows: which tools go with turns that end badly, how calls end, and loops."""

from collections.abc import Sequence
from typing import Final

import altair as alt
import polars as pl

from turnout.dashboards import markup, words
from turnout.pipeline import charts
from turnout.pipeline.analysis.compare import NOT_DECISIVE
from turnout.pipeline.tool_risks import ToolRisk
from turnout.pipeline.wording import NOTHING, count, difference, share

RISK: Final = (
    "Turns with the tool against turns without it. The word is that of Holm's correction over all tools. A tool that goes with bad ends "
    "need not cause them: long turns call more tools and run into more limits."
)
LOOPS: Final = "The same tool with the same arguments so many times in a row. Needs a digest of the arguments."
NO_LOOPS: Final = (
    "No tool was called so often in a row with the same arguments, or no digest of the arguments is recorded."
)
SHOWN: Final = 30
"""So many tools are drawn, the worst first."""

IN_A_ROW: Final = (2, 3, 20)
"""How many equal calls in a row can be asked for: at least, usually, at most."""

_SHORTEST: Final = 0.01

RISK_COLUMNS: Final = (
    markup.Column("tool", "Tool"),
    markup.Column("with", "Abnormal with it", "number"),
    markup.Column("without", "Abnormal without it", "number wide"),
    markup.Column("difference", "Difference", "number"),
    markup.Column("decision", "", "tight"),
)
CALL_COLUMNS: Final = (
    markup.Column("tool", "Tool"),
    markup.Column("errors", "Errors of all calls", "number"),
    markup.Column("denied", "Denied", "number"),
    markup.Column("unsettled", "Not settled", "number"),
    markup.Column("p50", "Median", "number"),
    markup.Column("p90", "90 %", "number"),
    markup.Column("p99", "99 %", "number"),
)
LOOP_COLUMNS: Final = (
    markup.Column("tool", "Tool"),
    markup.Column("turns", "Turns with a loop", "number"),
    markup.Column("abnormal", "Of them abnormal", "number"),
    markup.Column("longest", "Longest", "number"),
)


def risk_rows(risks: Sequence[ToolRisk]) -> list[dict[str, markup.Cell]]:
    """A row a tool, the worst first."""
    return [_risk(risk) for risk in risks]


def risk_chart(risks: Sequence[ToolRisk]) -> alt.LayerChart:
    """The differences with their intervals: red where a tool decisively goes with more abnormal ends, green with fewer."""
    rows = [
        {
            "label": risk.tool,
            "value": risk.difference.value,
            "low": risk.difference.low,
            "high": risk.difference.high,
            "colour": _tint(risk),
        }
        for risk in risks
    ]
    schema = {"label": pl.String(), **dict.fromkeys(("value", "low", "high"), pl.Float64()), "colour": pl.String()}
    return charts.differences(pl.DataFrame(rows, schema=schema), {}, title="points more abnormal ends, with the tool")


def _tint(risk: ToolRisk) -> str:
    if not risk.decisive:
        return charts.PALE
    return words.ALARM if (risk.difference.value or 0) > 0 else words.CALM


def call_rows(calls: pl.DataFrame) -> list[dict[str, markup.Cell]]:
    """A row a tool, the most called first."""
    return [
        {
            "tool": str(row["tool"] or NOTHING),
            "errors": share(row["errors"], row["calls"]),
            "denied": count(row["denied"]),
            "unsettled": count(row["unsettled"]),
            **{name: _seconds(row[f"{name}_s"]) for name in ("p50", "p90", "p99")},
        }
        for row in calls.iter_rows(named=True)
    ]


def loop_rows(loops: pl.DataFrame) -> list[dict[str, markup.Cell]]:
    """A row a tool that looped."""
    return [
        {
            "tool": str(row["tool"] or NOTHING),
            "turns": count(row["turns"]),
            "abnormal": share(row["abnormal_turns"], row["turns"]),
            "longest": f"{row['longest']} calls",
        }
        for row in loops.iter_rows(named=True)
    ]


def _risk(risk: ToolRisk) -> dict[str, markup.Cell]:
    return {
        "tool": risk.tool,
        "with": _share(risk.with_it.value, risk.turns_with),
        "without": _share(risk.without_it.value, risk.turns_without),
        "difference": difference(risk.difference),
        "decision": markup.Marked("decisive", _tint(risk)) if risk.decisive else NOT_DECISIVE,
    }


def _share(value: float | None, total: int) -> str:
    return share(round((value or 0.0) * total), total)


def _seconds(value: float | None) -> str:
    if value is None:
        return NOTHING
    if value < _SHORTEST:
        return f"<{_SHORTEST:g} s"
    return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"  # noqa: PLR2004 - two figures
