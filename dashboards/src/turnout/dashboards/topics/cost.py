"""Cost: what turns cost, by model, agent and end, and what went into turns that did not finish."""

import streamlit as st

from turnout.dashboards import bar, components, costs, data
from turnout.pipeline.spending import spending

scope = bar.current("7d")
now, before = (data.asked(spending, (), filters) for filters in (scope.filters, scope.before))
components.headline(costs.headline(now, before, scope.words))
st.caption(costs.priced_by(data.asked(spending, ("price_list",), scope.filters)))
unit = components.unit(scope)
days = data.asked(spending, (unit,), scope.filters)
if days["cost_usd"].count():
    components.chart(f"Cost by {unit}", costs.over_time(days, unit))
for title, dimension in (("Model", "model"), ("Agent", "agent"), ("Version", "agent_version")):
    spent = data.asked(spending, (dimension,), scope.filters)
    components.listing(f"By {title.lower()}", costs.columns(title), costs.rows(spent, dimension))
ended = costs.rows(data.asked(spending, ("outcome",), scope.filters), "outcome")
named = [{**row, "value": costs.ended(str(row["value"]))} for row in ended]
components.listing("By how the turn ended", costs.columns("Ended"), named, costs.PRICED)
