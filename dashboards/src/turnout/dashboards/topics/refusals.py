"""Refusals: who refuses what, what a person saw of it, and whether it was tried again."""

import streamlit as st

from turnout.dashboards import bar, components, data, refused, words
from turnout.outcomes.verdict import Outcome
from turnout.pipeline import charts

scope = bar.current("7d")
colour = charts.COLOURS[Outcome.REFUSED]
components.headline(words.statement(data.both("refused", scope), scope.words, "of turns are refused", colour))
with st.container(key="grid-refusals"):
    for title, dimension in (("By model", "model"), ("By agent", "agent"), ("By the last tool", "tool")):
        components.chart(title, charts.shares(components.by("refused", scope, dimension), colour=colour))
    components.chart("By the step it ended at", charts.shares(refused.by_step(scope), colour=colour))
    components.chart("Categories of refused model calls", charts.shares(refused.categories(scope), colour=colour))
    components.chart("What was seen of it, and what came next", charts.shares(refused.next_to(scope), colour=colour))
    components.days("refused", scope, colour, "refused")
listed = data.turns(scope.listed((Outcome.REFUSED,)), components.LATEST)
components.turn_list("Latest refused turns", listed, scope.now, "None in this window.")
components.definitions(
    ("refused", "refusal_categories", "refused_without_output", "refused_again", "call_refused"),
    refused.RETRIED,
    words.INTERVAL,
)
