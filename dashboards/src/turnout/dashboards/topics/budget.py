"""Budget: what limits cut, with and without somebody there, and what other limits would have done."""

import streamlit as st

from turnout.dashboards import bar, budgets, components, continuing, data, frames, words
from turnout.dashboards.limits import KINDS
from turnout.outcomes.verdict import Outcome
from turnout.pipeline import charts
from turnout.pipeline.analysis.budget import Limit
from turnout.pipeline.findings import continuations

scope = bar.current("7d")
components.headline(
    words.statement(data.both("budget_cut", scope), scope.words, "of turns are cut by a limit", charts.STRONG)
)
titles = {KINDS[str(one)].title: one for one in Limit}
chosen = st.segmented_control(
    "Limit on", list(titles), default="Steps", required=True, key="limit", bind="query-params"
)
limit = titles[chosen or "Steps"]
outcomes = data.metric("outcomes", scope.filters, ("attended", "limit_steps"))
present = budgets.kinds(outcomes)
for attended in present:
    title, meaning = words.ATTENDED[attended]
    with st.container(border=True):
        st.markdown(f"#### {title}")
        st.markdown(f"{meaning} {budgets.sentence(scope, attended)}")
        if budgets.apart(attended, present):
            budgets.curve(scope, attended, limit)
            with st.expander("Does the estimate hold? Agents and models apart, and a test"):
                budgets.strata_of(scope, attended, limit)
for attended in present:
    with st.container(border=True):
        st.markdown(f"#### {words.ATTENDED[attended][0]}: what limits do now")
        with st.container(key=f"grid-{attended}"):
            budgets.now(scope, attended, frames.only(outcomes, "attended", attended))
went_on = continuing.rows(data.asked(continuations, scope.filters), continuing.CUT_SHORT)
components.listing("What is continued", continuing.COLUMNS, went_on, continuing.MEANING)
listed = data.turns(scope.listed((Outcome.BUDGET,)), components.LATEST)
components.turn_list("Latest turns that a limit cut", listed, scope.now, "None in this window.")
components.definitions(("budget_cut", "steps_charged", "continued", "after_continue"), words.INTERVAL, words.ESTIMATE)
