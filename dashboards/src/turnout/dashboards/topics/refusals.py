"""Refusals: who refuses what, what a person saw of it, and whether anything answered in the end."""

import streamlit as st

from turnout.dashboards import bar, components, data, refused, words
from turnout.outcomes.verdict import Outcome
from turnout.pipeline import charts
from turnout.pipeline.findings import finding

scope = bar.current("7d")
colour = charts.COLOURS[Outcome.REFUSED]
unit = components.unit(scope)
components.headline(words.statement(data.both("refused", scope), scope.words, "of turns are refused", colour))
with st.container(key="grid-refusals"):
    components.days("refused", scope, colour, "refused")
    categories = refused.over_time(scope, unit)
    if categories is None:
        components.nothing("Refused model calls by category", "No model call was refused in this window.")
    else:
        components.chart(f"Refused model calls by category, by {unit}", categories)
    components.chart("Categories of refused model calls", charts.shares(refused.categories(scope), colour=colour))
    components.days(
        "refused_without_output", scope, colour, "nothing to see", "refused turns", "Refused with nothing to see, "
    )
    if components.wanted(scope, "answered", "Refused calls that were answered"):
        answered = charts.shares(refused.answered(scope), colour=colour)
        components.chart("Refused calls that were answered", answered, refused.ANSWERED)
    components.chart("What was seen of it, and what came next", charts.shares(refused.next_to(scope), colour=colour))
    for title, dimension in (("By model", "model"), ("By agent", "agent"), ("By the last tool", "tool")):
        components.chart(title, charts.shares(components.by("refused", scope, dimension), colour=colour))
    components.chart("By the step it ended at", charts.shares(refused.by_step(scope), colour=colour))
listed = data.turns(scope.listed((Outcome.REFUSED,)), components.LATEST)
components.turn_list("Latest refused turns", listed, scope.now, "None in this window.")
told = finding("refusals_answered")
components.definitions(
    ("refused", "refusal_categories", "refused_without_output", "refused_again", "call_refused"),
    refused.RETRIED,
    *([f"**{told.title}**: {told.definition}"] if told else []),
    words.INTERVAL,
)
