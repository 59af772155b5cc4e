"""What the budget page shows of one kind of turns: loads, sentences and charts."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import altair as alt
import polars as pl
import streamlit as st

from turnout.dashboards import budget_words, components, data, frames, markup, words
from turnout.dashboards.limits import amount, kind, offered, start
from turnout.dashboards.scope import Scope
from turnout.outcomes.verdict import Outcome
from turnout.pipeline import charts
from turnout.pipeline.analysis.budget import Limit
from turnout.pipeline.budget_strata import limits_in_use, pace
from turnout.pipeline.budgets import (
    budget,
    chain_ends,
    continued,
    curve_points,
    ends,
    frame,
    stratum_curves,
)
from turnout.pipeline.query import Filters
from turnout.pipeline.recommend import recommendation
from turnout.pipeline.wording import NOT_RECORDED, count, share

FINISHED, CUT, STOPPED = "finished", "cut by a limit", "stopped"
OTHER, ANY_OTHER = "another abnormal end", "any other end"
NAMES: Final = {
    str(Outcome.COMPLETED): FINISHED,
    str(Outcome.YIELDED): FINISHED,
    str(Outcome.BUDGET): CUT,
    str(Outcome.STOPPED): STOPPED,
    str(Outcome.UNKNOWN): NOT_RECORDED,
}
PARTS: Final = (
    (FINISHED, charts.COLOURS[Outcome.COMPLETED]),
    (CUT, charts.STRONG),
    (OTHER, charts.COLOURS[Outcome.ERROR]),
    (STOPPED, charts.COLOURS[Outcome.STOPPED]),
    (NOT_RECORDED, charts.COLOURS[Outcome.UNKNOWN]),
)
_HISTOGRAMS: Final = 2
_ROWS: Final = 24
_SHOWN: Final = (1, 2, 3, 5, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500)


def kinds(outcomes: pl.DataFrame) -> list[bool | None]:
    """Which kinds of turns there are: with somebody there, unattended, not recorded."""
    present = set(outcomes["attended"].to_list())
    return [kind for kind in (True, False, None) if kind in present]


def apart(attended: bool | None, present: Sequence[bool | None]) -> bool:
    """Whether a filter can tell these turns from the others; turns of which it is not recorded can be asked for only alone."""
    return attended is not None or list(present) == [None]


def sentence(scope: Scope, attended: bool | None) -> str:
    """How many were cut, went on, and finished then."""
    cut = frames.arm(_mine("budget_cut", scope, attended))
    words_of = [f"**{share(cut.count, cut.total)}** were cut by a limit."]
    if attended and cut.count:
        continued = frames.arm(frames.only(_mine("continued", scope, attended, "outcome"), "outcome", "budget"))
        words_of.append(f"Of those, {share(continued.count, continued.total)} were continued;")
        after = frames.only(_mine("after_continue", scope, attended), "continued_outcome", "budget")
        finished = int(after.filter(pl.col("outcome").is_in(["completed", "yielded"]))["numerator"].sum())
        words_of.append(f"{share(finished, int(after['numerator'].sum()))} of the continuations finished.")
    return " ".join(words_of)


def now(scope: Scope, attended: bool | None, mine: pl.DataFrame) -> None:
    """How turns end under their limits today, and where they are cut."""
    components.chart("How turns end, by their step limit", *by_limit(mine))
    for limit, drawn in steps_against_limits(scope, attended):
        components.chart(f"Steps spent under a limit of {limit}", drawn)
    for name, title in (("agent", "By agent"), ("model", "By model")):
        components.chart(f"{title}: cut by a limit", charts.shares(cut_by(scope, attended, name)))


def by_limit(mine: pl.DataFrame) -> tuple[alt.LayerChart, str]:
    """How turns end under each step limit."""
    folded = frames.parts(mine, NAMES, OTHER, "limit_steps").sort("limit_steps", nulls_last=True)
    name = pl.when(pl.col("limit_steps").is_null()).then(pl.lit("no limit recorded"))
    labelled = folded.with_columns(label=name.otherwise(pl.format("{} steps", "limit_steps")))
    cut = {
        row["label"]: f"cut: {share(row['cut'], row['turns'])}"
        for row in labelled.group_by("label")
        .agg(cut=pl.col("turns").filter(pl.col("part") == CUT).sum(), turns=pl.col("turns").sum())
        .iter_rows(named=True)
    }
    return charts.stacked(labelled, PARTS, cut), ""


def steps_against_limits(scope: Scope, attended: bool | None) -> list[tuple[int, alt.LayerChart]]:
    """Steps that turns spent, for the limits with the most turns."""
    spent = _mine("steps_charged", scope, attended, "outcome")
    return [
        (limit, _steps(frames.only(spent, "limit_steps", limit), limit)) for limit in frames.limits(spent, _HISTOGRAMS)
    ]


def cut_by(scope: Scope, attended: bool | None, dimension: str) -> pl.DataFrame:
    """The share cut by a limit in each place."""
    return frames.shares(frames.arms(_mine("budget_cut", scope, attended, dimension), dimension))


def curve(scope: Scope, attended: bool | None, limit: Limit) -> None:
    """What other limits of one kind would have done: the line to paste, the curve, two of them side by side, and all in figures."""
    mine, key = replace(scope.filters, attended=attended), words.KEYS[attended]
    unit, in_use = kind(limit).unit, data.asked(limits_in_use, limit, mine)
    counted = data.asked(ends, limit, mine)
    offers = offered(counted, in_use)
    begin = start(offers, counted.largest, in_use)
    if begin is None:
        st.info(f"Too few turns have a record of {unit} to say what another limit would have done.")
        return
    candidates = data.asked(budget, limit, tuple(offers), mine)[1]
    chosen = _chosen(limit, offers, begin, key)
    pair = [one for one in candidates if one.candidate in chosen]
    continued_of = data.asked(continued, limit, mine)
    chains = data.asked(chain_ends, mine, limit) if continued_of.continued else None
    if len(pair) == len(chosen):
        st.code(recommendation(counted, pair[0], pair[1], continued_of), language=None, wrap_lines=True)
    else:
        st.caption("Choose two different limits, to read what one brings over the other.")
    with st.container(key=f"split-{key}"):
        drawn = charts.budget_curve(
            frame(candidates),
            title=f"limit on {unit}",
            limits=in_use,
            chains=None if chains is None else curve_points(chains),
            chosen=chosen,
            number=kind(limit).number,
        )
        with st.container(gap="small"):
            st.altair_chart(drawn, width="stretch")
            st.caption(f"{budget_words.beyond(counted, chains)} {words.ESTIMATE}")
            st.caption(f"{count(counted.n)} turns.{budget_words.left_out(counted)}")
        st.html(markup.table(budget_words.pair_columns(limit, pair), budget_words.pair_rows(pair)))
    with st.expander("Every limit in figures"):
        shown = candidates if len(candidates) <= _ROWS else [one for one in candidates if _told(one.candidate, in_use)]
        st.html(markup.table(budget_words.columns(limit), budget_words.rows(limit, shown)))


def strata_of(scope: Scope, attended: bool | None, limit: Limit) -> None:
    """The curve of each agent and model, and whether turns under different limits can be compared at all."""
    mine, name = replace(scope.filters, attended=attended), kind(limit).unit
    for dimension, by in (("agent", "agent"), ("model", "model")):
        tests = data.asked(pace, dimension, limit, mine)
        with st.container(gap="small"):
            st.markdown(f"##### By {by}: would finish")
            drawn = charts.curves(
                data.asked(stratum_curves, dimension, mine, limit), title=name, number=kind(limit).number
            )
            st.altair_chart(drawn, width="stretch")
            st.caption(budget_words.pace(limit, tests, by))
            if tests:
                with st.expander(f"The test by {by}"):
                    st.caption(words.PACE)
                    st.html(markup.table(budget_words.PACE_COLUMNS, budget_words.pace_rows(limit, tests)))


def _chosen(limit: Limit, offers: Sequence[float], begin: tuple[float, float], key: str) -> tuple[float, float]:
    """Two candidates: from the one in use to another."""
    texts = [f"{value:g}" for value in offers]
    chosen = st.select_slider(
        f"From one limit to another ({kind(limit).unit})",
        texts,
        value=(f"{begin[0]:g}", f"{begin[1]:g}"),
        format_func=lambda text: amount(limit, float(text)),
        key=f"{limit}_{key}",
        bind="query-params",
    )
    low, high = (float(text) for text in chosen)
    return low, high


def _told(candidate: float, in_use: Sequence[float]) -> bool:
    return candidate in _SHOWN or candidate in in_use


def _steps(spent: pl.DataFrame, limit: int) -> alt.LayerChart:
    folded = frames.parts(
        spent, {**NAMES, str(Outcome.STOPPED): OTHER, str(Outcome.UNKNOWN): OTHER}, OTHER, "steps_charged"
    )
    parts = (PARTS[0], PARTS[1], (OTHER, charts.PALE))
    return charts.amounts(frames.bins(folded, "steps_charged"), parts, title="steps", limit=limit)


def _mine(name: str, scope: Scope, attended: bool | None, *by: str) -> pl.DataFrame:
    filters: Filters = scope.filters
    return frames.only(data.metric(name, filters, ("attended", *by)), "attended", attended)
