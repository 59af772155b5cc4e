"""Compare: two versions, models, agents or windows, with intervals, as they are and with the same mix."""

import streamlit as st

from turnout.dashboards import bar, comparing, components, data
from turnout.dashboards.words import CALM, Headline, Line
from turnout.pipeline.comparisons import with_value

scope = bar.current("14d")
what, first, second, mix = st.columns(4)
dimension = what.selectbox("Compare", comparing.DIMENSIONS, key="compare", bind="query-params")
values = data.choices(dimension, scope.now)
older, newer = (min(1, len(values) - 1), 0) if values else (None, None)
a, b = (
    column.selectbox(name, values, index=place, key=key, bind="query-params", accept_new_options=True)
    for column, name, key, place in ((first, "A", "a", older), (second, "B", "b", newer))
)
others = [name for name in comparing.DIMENSIONS if name != dimension]
adjust = mix.multiselect("Same mix of", others, key="mix", bind="query-params", placeholder="as it is")
if a is None or b is None or a == b:
    st.info("Choose two different values to compare.")
else:
    before, after = (with_value(scope.filters, dimension, value) for value in (a, b))
    found = data.comparison(before, after, tuple(adjust))
    lines = (Line(comparing.sizes(found)),)
    components.headline(Headline(comparing.heading(found, a, b), lines, CALM))
    outcomes = comparing.outcome_rows(found.outcomes)
    components.listing("How turns end", comparing.OUTCOME_COLUMNS, outcomes, comparing.METHOD)
    components.listing("What turns spend", comparing.VALUE_COLUMNS, comparing.value_rows(found.values))
