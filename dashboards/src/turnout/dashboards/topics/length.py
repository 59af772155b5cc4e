"""Length: answers cut off by their cap of output tokens, what became of them, and contexts that are full."""

import streamlit as st

from turnout.dashboards import bar, components, continuing, data, lengths, words
from turnout.outcomes.verdict import Outcome
from turnout.pipeline import charts
from turnout.pipeline.findings import continuations

scope = bar.current("7d")
colour = charts.COLOURS[Outcome.LENGTH]
cut = data.both("length_cut", scope)
components.headline(words.statement(cut, scope.words, "of turns have their answer cut off", colour))
lengths.another_cap(scope)
with st.container(key="grid-length"):
    components.days("length_cut", scope, colour, "cut off")
    components.chart("By model and cap of the last step", charts.shares(lengths.by_cap(scope), colour=colour))
    for title, drawn, at_cap in lengths.against_caps(scope):
        components.chart(title, drawn, at_cap)
    components.chart("By agent", charts.shares(components.by("length_cut", scope, "agent"), colour=colour))
    became = lengths.became(scope)
    components.chart("What became of them", charts.shares(became, colour=colour), lengths.BECAME)
    tools = lengths.by_tool(scope)
    if tools.is_empty():
        components.nothing("Cut off while a tool call was written, by tool", "No tool call was cut off in this window.")
    else:
        components.chart(
            "Cut off while a tool call was written, by tool", charts.shares(tools, colour=colour), lengths.TOOLS
        )
went_on = continuing.rows(data.asked(continuations, scope.filters), (Outcome.LENGTH, Outcome.CONTEXT_OVERFLOW))
components.listing("What is continued", continuing.COLUMNS, went_on, continuing.MEANING)
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
        "arguments_cut",
        "continued",
        "after_continue",
        "context_overflow",
    ),
    words.INTERVAL,
)
