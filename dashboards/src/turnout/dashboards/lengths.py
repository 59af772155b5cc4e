"""What the length page shows: loads and charts of answers against their cap."""

from typing import Final

import altair as alt
import polars as pl

from turnout.dashboards import data, frames
from turnout.dashboards.scope import Scope
from turnout.outcomes.verdict import Flag, Outcome
from turnout.pipeline import charts
from turnout.pipeline.analysis.compare import Arm
from turnout.pipeline.wording import NOT_RECORDED, count, shortened

AT_CAP, BELOW = "used all of it", "stayed below"
BECAME: Final = "Each row has its own whole: cut model calls, cut turns, or continuations of cut turns."
_CAPS: Final = 3
_FINISHED: Final = ("completed", "yielded")


def by_cap(scope: Scope) -> pl.DataFrame:
    """The share cut off, by the model and the cap of the last step."""
    found = data.metric("length_cut", scope.filters, ("model", "cap"))
    return frames.shares(frames.paired(found, "model", "cap", _capped))


def became(scope: Scope) -> pl.DataFrame:
    """What happened to cut calls and cut turns, each as a share of its own whole."""
    flags = frames.arms(data.metric("flags", scope.filters), "flag")
    cut = frames.arm(data.metric("length_cut", scope.filters))
    continued = frames.only(data.metric("continued", scope.filters, ("outcome",)), "outcome", str(Outcome.LENGTH))
    after = frames.only(data.metric("after_continue", scope.filters), "continued_outcome", str(Outcome.LENGTH))
    finished = int(after.filter(pl.col("outcome").is_in(_FINISHED))["numerator"].sum())
    rows: frames.Arms = {
        "cut calls: the turn went on": frames.arm(data.metric("call_cut_recovered", scope.filters)),
        "cut inside tool arguments": Arm(_flagged(flags, Flag.TOOL_ARGUMENTS_CUT), cut.count),
        "cut turns: were continued": frames.arm(continued),
        "continuations: finished": Arm(finished, int(after["numerator"].sum())),
    }
    return frames.shares(rows, ordered=True)


def against_caps(scope: Scope) -> list[tuple[str, alt.LayerChart]]:
    """Output tokens of model calls against their cap, for the caps with the most calls."""
    found = data.metric("output_against_cap", scope.filters, ("model",))
    caps = found.group_by("model", "max_output_tokens").agg(pl.col("numerator").sum())
    first = caps.sort("numerator", "model", descending=[True, False]).head(_CAPS)
    return [
        (f"Output of {_capped(shortened(model or NOT_RECORDED), str(cap))}", _used(found, model, cap))
        for model, cap in first.select("model", "max_output_tokens").iter_rows()
    ]


def _used(found: pl.DataFrame, model: str | None, cap: int) -> alt.LayerChart:
    mine = frames.only(frames.only(found, "model", model), "max_output_tokens", cap)
    parts = ((BELOW, charts.PALE), (AT_CAP, charts.COLOURS[Outcome.LENGTH]))
    binned = frames.used_bins(mine, AT_CAP, BELOW)
    return charts.amounts(binned, parts, title="share of the cap used", counted="calls", number=".0%", limit=1.0)


def _flagged(flags: frames.Arms, flag: Flag) -> int:
    return flags[flag].count if flag in flags else 0


def _capped(model: str, cap: str) -> str:
    return f"{model}, cap {count(int(cap)) if cap.isdecimal() else cap}"
