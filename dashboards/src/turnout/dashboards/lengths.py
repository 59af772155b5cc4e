"""What the length page shows: loads and charts of answers against their cap."""

from typing import Final

import altair as alt
import polars as pl
import streamlit as st

from turnout.dashboards import data, frames, words
from turnout.dashboards.budget_words import left_out
from turnout.dashboards.limits import amount, kind, offered
from turnout.dashboards.scope import Scope
from turnout.outcomes.verdict import Flag, Outcome
from turnout.pipeline import charts
from turnout.pipeline.analysis.budget import Candidate, Limit
from turnout.pipeline.analysis.compare import Arm
from turnout.pipeline.budget_strata import limits_in_use
from turnout.pipeline.budgets import budget, ends, frame
from turnout.pipeline.wording import NOT_RECORDED, count, percent, share, shortened, span

AT_CAP, BELOW = "used all of it", "stayed below"
BECAME: Final = "Each row has its own whole: cut model calls, cut turns, or continuations of cut turns."
TOOLS: Final = "Of all calls of the tool, those whose arguments the cap cut off; tools without any are left out."
_CAPS: Final = 3
_FINISHED: Final = ("completed", "yielded")


def another_cap(scope: Scope) -> None:
    """What a cap of N output tokens a step would have cut: a slider, a sentence and the curve."""
    limit = Limit.STEP_OUTPUT_TOKENS
    in_use = data.asked(limits_in_use, limit, scope.filters)
    counted = data.asked(ends, limit, scope.filters)
    offers = [value for value in offered(counted, in_use) if value <= counted.largest]
    st.markdown("##### What another cap would have cut")
    if len(offers) < len(("one", "another")):
        st.info("Too few turns have a record of the output tokens of all their model calls.")
        return
    candidates = data.asked(budget, limit, tuple(offers), scope.filters)[1]
    usual = in_use[0] if in_use and in_use[0] in offers else offers[-1]
    texts = {amount(limit, value): value for value in offers}
    chosen = st.select_slider(
        "A cap of so many output tokens a step", list(texts), value=amount(limit, usual), key="cap", bind="query-params"
    )
    one = next(one for one in candidates if one.candidate == texts[chosen])
    st.markdown(would_cut(one, chosen))
    drawn = charts.budget_curve(
        frame(candidates),
        title=f"cap on {kind(limit).unit}",
        limits=in_use,
        chosen=[one.candidate],
        number=",d",
        height=200,
    )
    st.altair_chart(drawn, width="stretch")
    st.caption(
        f"{count(counted.n)} turns; a turn needs the largest output of its calls.{left_out(counted)} {words.ESTIMATE}"
    )


def would_cut(one: Candidate, cap: str) -> str:
    """What a cap would have done, in a sentence."""
    return (
        f"A cap of **{cap}** would have cut **{percent(one.cut)}** of the turns; {percent(one.finished)} "
        f"({span(one.finished_low, one.finished_high)}) would have finished under it. "
        f"{count(one.at_risk)} of {count(one.n)} turns were seen to need so much."
    )


def by_tool(scope: Scope) -> pl.DataFrame:
    """Tool calls whose arguments were cut off while they were written, by tool; tools without any stay out, the rest together."""
    found = frames.arms(data.metric("arguments_cut", scope.filters, ("tool",)), "tool")
    return frames.shares({tool: counted for tool, counted in found.items() if counted.count})


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


def against_caps(scope: Scope) -> list[tuple[str, alt.LayerChart, str]]:
    """Output tokens of model calls against their cap, for the caps with the most calls."""
    found = data.metric("output_against_cap", scope.filters, ("model",))
    caps = found.group_by("model", "max_output_tokens").agg(pl.col("numerator").sum())
    first = caps.sort("numerator", "model", descending=[True, False]).head(_CAPS)
    return [
        (
            f"Output of {_capped(shortened(model or NOT_RECORDED), str(cap))}",
            *_used(frames.only(frames.only(found, "model", model), "max_output_tokens", cap)),
        )
        for model, cap in first.select("model", "max_output_tokens").iter_rows()
    ]


def _used(mine: pl.DataFrame) -> tuple[alt.LayerChart, str]:
    parts = ((BELOW, charts.PALE), (AT_CAP, charts.COLOURS[Outcome.LENGTH]))
    binned = frames.used_bins(mine, AT_CAP, BELOW)
    at_cap = int(mine.filter(pl.col("used_from") >= 1)["numerator"].sum())
    words_of = f"{share(at_cap, int(mine['numerator'].sum()))} of the calls used all of it."
    drawn = charts.amounts(binned, parts, title="share of the cap used", counted="calls", number=".0%", limit=1.0)
    return drawn, words_of


def _flagged(flags: frames.Arms, flag: Flag) -> int:
    return flags[flag].count if flag in flags else 0


def _capped(model: str, cap: str) -> str:
    return f"{model}, cap {count(int(cap)) if cap.isdecimal() else cap}"
