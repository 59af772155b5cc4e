"""Budget: what limits cut, with and without somebody there, and what other limits would have done."""

import streamlit as st

from turnout.dashboards import bar, budgets, components, data, frames, words
from turnout.outcomes.verdict import Outcome
from turnout.pipeline import charts

scope = bar.current("7d")
components.headline(
    words.statement(data.both("budget_cut", scope), scope.words, "of turns are cut by a limit", charts.STRONG)
)
outcomes = data.metric("outcomes", scope.filters, ("attended", "limit_steps"))
for attended in budgets.kinds(outcomes):
    title, meaning = words.ATTENDED[attended]
    mine = frames.only(outcomes, "attended", attended)
    with st.container(border=True):
        st.markdown(f"#### {title}")
        st.markdown(f"{meaning} {budgets.sentence(scope, attended)}")
        with st.container(key=f"grid-{attended}"):
            components.chart("How turns end, by their step limit", *budgets.by_limit(mine))
            for limit, drawn in budgets.steps_against_limits(scope, attended):
                components.chart(f"Steps spent under a limit of {limit}", drawn)
            for name, label in (("agent", "By agent"), ("model", "By model")):
                components.chart(f"{label}: cut by a limit", charts.shares(budgets.cut_by(scope, attended, name)))
        budgets.curve(scope, attended)
listed = data.turns(scope.listed((Outcome.BUDGET,)), components.LATEST)
components.turn_list("Latest turns that a limit cut", listed, scope.now, "None in this window.")
components.definitions(("budget_cut", "steps_charged", "continued", "after_continue"), words.INTERVAL, words.ESTIMATE)
