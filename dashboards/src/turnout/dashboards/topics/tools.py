"""Tools: which go with turns that end badly, how their calls end and how long they take, and loops."""

import streamlit as st

from turnout.dashboards import bar, components, data, tooling, words
from turnout.outcomes.verdict import Outcome
from turnout.pipeline import charts
from turnout.pipeline.tool_risks import loops, tool_calls, tool_risks

scope = bar.current("7d")
colour = charts.COLOURS[Outcome.ERROR]
components.headline(words.statement(data.both("tool_error", scope), scope.words, "of tool calls fail", colour))
risks = data.asked(tool_risks, scope.filters)
if risks:
    with st.container(key="split-risks"):
        components.chart("Which tools go with abnormal ends", tooling.risk_chart(risks[: tooling.SHOWN]))
        components.listing("The same in figures", tooling.RISK_COLUMNS, tooling.risk_rows(risks[: tooling.SHOWN]))
    st.caption(tooling.RISK)
else:
    components.nothing("Which tools go with abnormal ends", "No tool was called in this window.")
with st.container(key="grid-tools"):
    for title, dimension in (("Calls that fail, by tool", "tool"), ("Calls that fail, by model", "model")):
        components.chart(title, charts.shares(components.by("tool_error", scope, dimension), colour=colour))
    components.days("tool_error", scope, colour, "failed calls", "calls")
if components.wanted(scope, "calls", "Durations and loops"):
    calls = tooling.call_rows(data.asked(tool_calls, scope.filters))
    components.listing("How calls end, and how long they take", tooling.CALL_COLUMNS, calls)
    few, usual, many = tooling.IN_A_ROW
    longest = st.number_input("Equal calls in a row", few, many, usual, key="loop", bind="query-params", width=260)
    looped = tooling.loop_rows(data.asked(loops, scope.filters, length=int(longest)))
    components.listing("Loops", tooling.LOOP_COLUMNS, looped, tooling.LOOPS, empty=tooling.NO_LOOPS)
components.definitions(("tool_error", "tool_abnormal", "tool_denied", "tool_unsettled"), words.INTERVAL)
