"""What the budget page shows of one kind of turns: loads, sentences and charts."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import altair as alt
import polars as pl
import streamlit as st

from turnout.dashboards import data, frames, markup, words
from turnout.dashboards.scope import Scope
from turnout.outcomes.verdict import Outcome
from turnout.pipeline import charts
from turnout.pipeline.analysis.budget import NOT_ESTIMABLE, Candidate
from turnout.pipeline.analysis.censoring import PaceTest
from turnout.pipeline.budgets import Ends, frame
from turnout.pipeline.query import Filters
from turnout.pipeline.recommend import recommendation
from turnout.pipeline.wording import NOT_RECORDED, count, percent, share, span

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
_ROWS: Final = (1, 2, 3, 5, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500)


def kinds(outcomes: pl.DataFrame) -> list[bool | None]:
    """Which kinds of turns there are: with somebody there, unattended, not recorded."""
    present = set(outcomes["attended"].to_list())
    return [kind for kind in (True, False, None) if kind in present]


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


def curve(scope: Scope, attended: bool | None) -> None:
    """What other step limits would have done, as a curve and a table."""
    if attended is None or scope.filters.attended not in {None, attended}:
        return
    mine = replace(scope.filters, attended=attended)
    counted, candidates = data.budget(mine)
    if not counted.n:
        return
    more, rows = data.budget_more(mine), frame(candidates)
    limits = frames.limits(_mine("steps_charged", scope, attended), 6)
    st.markdown("##### What another step limit would have done")
    left_out = f" {count(counted.left_out)} turns without recorded steps are left out." if counted.left_out else ""
    st.caption(f"{count(counted.n)} turns. {words.ESTIMATE}{left_out}")
    _recommend(counted, candidates, limits, more, key="limit_attended" if attended else "limit_unattended")
    chains = more.chains if more.continued.continued else None
    st.altair_chart(charts.budget_curve(rows, title="step limit", limits=limits, chains=chains), width="stretch")
    if chains is not None:
        st.caption(words.CHAINS)
    shown = rows.filter(pl.col("candidate").is_in([float(row) for row in (*_ROWS, *limits)]))
    with st.expander("The same in figures"):
        st.html(markup.table(_COLUMNS, [_figures(row) for row in shown.iter_rows(named=True)]))
    with st.expander(_pace_title(more.tests)):
        st.caption(words.PACE)
        st.altair_chart(charts.curves(more.strata, title="step limit"), width="stretch")
        st.html(markup.table(_PACE_COLUMNS, [_pace(test) for test in more.tests]))


def _recommend(
    counted: Ends, candidates: Sequence[Candidate], limits: Sequence[int], more: data.BudgetMore, key: str
) -> None:
    """The line to paste: from the limit that most turns have to the one that is chosen."""
    estimable = [row.candidate for row in candidates if row.estimable]
    if len(estimable) < len(("from", "to")):
        return
    current = float(limits[0]) if limits else estimable[len(estimable) // 2]
    options = [f"{value:g}" for value in estimable]
    last = options[-1]
    chosen = st.select_slider("Another limit", options, value=last, key=key, bind="query-params")
    low, high = sorted((current, float(chosen)))
    ends = {row.candidate: row for row in candidates}
    if low == high or low not in ends or high not in ends:
        st.caption("Choose another limit than the one in use.")
        return
    st.code(recommendation(counted, ends[low], ends[high], more.continued), language=None, wrap_lines=True)


def _pace_title(tests: Sequence[PaceTest]) -> str:
    differing = [test for test in tests if test.differs]
    if differing:
        names = ", ".join(test.stratum or NOT_RECORDED for test in differing)
        return f"By agent · Turns under different limits differ before either is spent: {names}"
    return "By agent, and whether turns under different limits can be compared"


def _pace(test: PaceTest) -> dict[str, markup.Cell]:
    return {
        "agent": test.stratum or NOT_RECORDED,
        "limits": " and ".join(f"{budget:g}" for budget in test.budgets),
        "turns": count(test.turns),
        "p": f"{test.p_value:.2g}",
        "says": "different turns: look at each limit apart" if test.differs else "no sign of a difference",
    }


_PACE_COLUMNS: Final = (
    markup.Column("agent", "Agent"),
    markup.Column("limits", "Limits", "tight"),
    markup.Column("turns", "Turns", "number"),
    markup.Column("p", "Log-rank p (Holm)", "number"),
    markup.Column("says", ""),
)
_COLUMNS: Final = (
    markup.Column("candidate", "Step limit", "number"),
    markup.Column("finished", "Would finish (95 %)", "number"),
    markup.Column("cut", "Would be cut", "number"),
    markup.Column("at_risk", "Seen to get so far", "number"),
    markup.Column("steps", "Steps a turn", "number"),
    markup.Column("cost", "Cost a turn", "number"),
    markup.Column("more", "Cost of one more finished", "number"),
)


def _figures(row: dict[str, object]) -> dict[str, markup.Cell]:
    if not row["estimable"]:
        return {"candidate": f"{row['candidate']:g}", "finished": NOT_ESTIMABLE}
    return {
        "candidate": f"{row['candidate']:g}",
        "finished": f"{percent(_number(row['finished']))} ({span(_number(row['finished_low']), _number(row['finished_high']))})",
        "cut": percent(_number(row["cut"])),
        "at_risk": count(int(str(row["at_risk"]))),
        "steps": _amount(row["mean_steps"], "", 1),
        "cost": _amount(row["mean_cost_usd"], "$", 4),
        "more": _amount(row["cost_of_one_more_finished_usd"], "$", 2),
    }


def _amount(value: object, unit: str, digits: int) -> str:
    number = _number(value)
    return "" if number is None else f"{unit}{number:.{digits}f}"


def _number(value: object) -> float | None:
    return value if isinstance(value, float) else None


def _steps(spent: pl.DataFrame, limit: int) -> alt.LayerChart:
    folded = frames.parts(
        spent, {**NAMES, str(Outcome.STOPPED): OTHER, str(Outcome.UNKNOWN): OTHER}, OTHER, "steps_charged"
    )
    parts = (PARTS[0], PARTS[1], (OTHER, charts.PALE))
    return charts.amounts(frames.bins(folded, "steps_charged"), parts, title="steps", limit=limit)


def _mine(name: str, scope: Scope, attended: bool | None, *by: str) -> pl.DataFrame:
    filters: Filters = scope.filters
    return frames.only(data.metric(name, filters, ("attended", *by)), "attended", attended)
