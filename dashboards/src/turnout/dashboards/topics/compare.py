"""Compare: two versions, models, agents or windows, with intervals, as they are and with the same mix."""

import streamlit as st

from turnout.dashboards import bar, compare_sides, comparing, components, data
from turnout.dashboards.words import CALM, Headline, Line
from turnout.pipeline.comparisons import compare

scope = bar.current("14d")
dimension, a, b, adjust = compare_sides.choose(scope)
if a is None or b is None or a == b:
    st.info("Choose two different values to compare.")
else:
    found = data.asked(compare, *comparing.sides(scope, dimension, a, b), adjust)
    lines = (Line(comparing.sizes(found, dimension, scope.words)),)
    components.headline(Headline(comparing.heading(found, a, b), lines, CALM))
    if found.outcomes:
        columns = comparing.OUTCOME_COLUMNS if adjust else comparing.OUTCOME_COLUMNS[:-1]
        with st.container(key="split-compare"):
            components.chart("How turns end: B less A", comparing.outcome_chart(found.outcomes))
            components.listing("The same in figures", columns, comparing.outcome_rows(found.outcomes))
        st.caption(comparing.METHOD)
        components.listing(
            "What turns spend", comparing.VALUE_COLUMNS, comparing.value_rows(found.values), comparing.SHIFT
        )
