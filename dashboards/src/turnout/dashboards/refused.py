"""What the refusals page shows: loads by step and category, and what a person was left with."""

from typing import Final

import altair as alt
import polars as pl

from turnout.dashboards import data, frames
from turnout.dashboards.scope import Scope
from turnout.outcomes.verdict import Flag
from turnout.pipeline import charts
from turnout.pipeline.analysis.compare import Arm
from turnout.pipeline.findings import refusals_answered
from turnout.pipeline.wording import NOT_RECORDED

RETRIED: Final = (
    "**Retried after a refusal**: turns in which the same request was sent again after a refusal, of all turns."
)


ANSWERED: Final = "Of the refused model calls: answered later in the same turn, else by a later turn of the conversation that finished."


def by_step(scope: Scope) -> pl.DataFrame:
    """The share refused, by the step that the turn ended at."""
    found = frames.arms(data.metric("refused", scope.filters, ("step",)), "step")
    return frames.shares(frames.step_bins(found), ordered=True)


def categories(scope: Scope) -> pl.DataFrame:
    """What is refused, as a share of the refused calls; a category that was not recorded is its own row."""
    return frames.shares(frames.arms(data.metric("refusal_categories", scope.filters), "refusal_category"))


def over_time(scope: Scope, unit: str) -> alt.LayerChart | None:
    """Refused model calls by category over time; None where nothing was refused."""
    found = frames.bucketed(
        data.metric("refusal_categories", scope.filters, (unit, "refusal_category")), unit, "refusal_category"
    )
    if found.is_empty():
        return None
    names = frames.largest(found, len(charts.SERIES))
    colours = (
        *charts.SERIES[: len(names) - (NOT_RECORDED in names)],
        *([charts.PALE] if NOT_RECORDED in names else []),
    )
    return charts.parts_over_time(found, list(zip(names, colours, strict=True)), title="refused calls", of="category")


def answered(scope: Scope) -> pl.DataFrame:
    """What came after refused calls: an answer of the same model or of another, in the turn or later, or nothing."""
    found = frames.arms(data.asked(refusals_answered, scope.filters), "answered")
    return frames.shares(found)


def next_to(scope: Scope) -> pl.DataFrame:
    """Zero output, retries, and refusals that came again, each as a share of its own whole."""
    flags = frames.arms(data.metric("flags", scope.filters), "flag")
    everything = frames.arm(data.metric("outcomes", scope.filters))
    rows: frames.Arms = {
        "refused: nothing to see": frames.arm(data.metric("refused_without_output", scope.filters)),
        "refused again (conversation)": frames.arm(data.metric("refused_again", scope.filters)),
        "all: retried after a refusal": flags.get(Flag.RETRIED_AFTER_REFUSAL, Arm(0, everything.count)),
    }
    return frames.shares(rows, ordered=True)
