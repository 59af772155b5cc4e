"""What is continued: how often, how long after, and how that ended, for each way that a turn did not complete."""

from collections.abc import Iterable
from typing import Final

import polars as pl

from turnout.dashboards import markup
from turnout.outcomes.verdict import Outcome
from turnout.pipeline.charts import COLOURS
from turnout.pipeline.wording import NOTHING, count, duration, label, share

MEANING: Final = (
    "A turn counts once, by its first continuation. The wait is from the end of the turn to the start of the one that continues it; the "
    "last columns say how that one ended."
)
CUT_SHORT: Final = (Outcome.BUDGET, Outcome.LENGTH, Outcome.CONTEXT_OVERFLOW, Outcome.INTERRUPTED, Outcome.ERROR)
"""Ends after which there is work left to continue."""

COLUMNS: Final = (
    markup.Column("outcome", "Ended", "tight"),
    markup.Column("continued", "Were continued", "number"),
    markup.Column("p50", "Median wait", "number"),
    markup.Column("p90", "90 % within", "number wide"),
    markup.Column("finished", "Then finished", "number"),
    markup.Column("cut", "Cut again", "number"),
    markup.Column("failed", "Failed or died", "number"),
    markup.Column("refused", "Refused", "number wide"),
    markup.Column("other", "Stopped, not recorded", "number wide"),
)


def rows(found: pl.DataFrame, outcomes: Iterable[str]) -> list[dict[str, markup.Cell]]:
    """A row a way to end, those with the most turns first."""
    wanted = set(outcomes)
    return [_row(row) for row in found.iter_rows(named=True) if row["outcome"] in wanted]


def _row(row: dict[str, int | float | str]) -> dict[str, markup.Cell]:
    outcome, continued = Outcome(str(row["outcome"])), int(row["continued"])
    return {
        "outcome": markup.Marked(label(outcome), COLOURS[outcome]),
        "continued": share(continued, int(row["turns"])),
        "p50": _wait(row["p50_s"]),
        "p90": _wait(row["p90_s"]),
        "finished": share(int(row["then_finished"]), continued) if continued else NOTHING,
        **{name: count(int(row[f"then_{name}"])) for name in ("cut", "failed", "refused", "other")},
    }


def _wait(seconds: object) -> str:
    return duration(max(0.0, seconds)) if isinstance(seconds, float) else NOTHING
