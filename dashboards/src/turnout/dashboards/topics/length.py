"""Length: answers cut off by their cap of output tokens, what became of them, and contexts that are full."""

import streamlit as st

from turnout.dashboards import bar, components, data, lengths, words
from turnout.outcomes.verdict import Outcome
from turnout.pipeline import charts

scope = bar.current("7d")
colour = charts.COLOURS[Outcome.LENGTH]
cut = data.both("length_cut", scope)
components.headline(words.statement(cut, scope.words, "of turns have their answer cut off", colour))
with st.container(key="grid-length"):
    components.chart("By model and cap of the last step", charts.shares(lengths.by_cap(scope), colour=colour))
    components.chart("By agent", charts.shares(components.by("length_cut", scope, "agent"), colour=colour))
    became = lengths.became(scope)
    components.chart("What became of them", charts.shares(became, colour=colour), lengths.BECAME)
    for title, drawn in lengths.against_caps(scope):
        components.chart(title, drawn)
    components.days("length_cut", scope, colour, "cut off")
full = data.both("context_overflow", scope)
overflow = charts.COLOURS[Outcome.CONTEXT_OVERFLOW]
components.headline(words.statement(full, scope.words, "of turns run out of context, a different end", overflow))
with st.container(key="grid-context"):
    for title, dimension in (("Context full, by model", "model"), ("Context full, by agent", "agent")):
        components.chart(title, charts.shares(components.by("context_overflow", scope, dimension), colour=overflow))
listed = data.turns(scope.listed((Outcome.LENGTH, Outcome.CONTEXT_OVERFLOW)), components.LATEST)
components.turn_list("Latest turns cut off or out of context", listed, scope.now, "None in this window.")
components.definitions(
    (
        "length_cut",
        "call_cut",
        "call_cut_recovered",
        "output_against_cap",
        "continued",
        "after_continue",
        "context_overflow",
    ),
    words.INTERVAL,
)
