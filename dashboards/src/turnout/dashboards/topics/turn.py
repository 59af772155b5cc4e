"""One turn: how it ended, which rule says so from what, what the person saw, and everything recorded of it."""

import streamlit as st

from turnout.dashboards import bar, components, data, markup, telling
from turnout.dashboards.scope import near
from turnout.outcomes.explain import explain
from turnout.outcomes.record import turn_record
from turnout.outcomes.verdict import Outcome
from turnout.pipeline.charts import COLOURS

wanted = components.turn_id()
found = data.turn(wanted, near(st.query_params.get("date", ""))) if wanted else None
if found is None:
    components.find_turn(wanted, bar.current("7d"))
    st.stop()
facts, verdict = found.facts, found.verdict
words = explain(facts, verdict)
seen = f"{words.person_saw} {words.continue_words}"
st.html(markup.headline(words.headline, [[words.rule_words], [seen]], COLOURS[Outcome(verdict.outcome)]))
with st.container(key="grid-turn"):
    components.sentences(f"Evidence for rule `{verdict.rule}`", words.evidence)
    components.sentences("Claims that disagree", verdict.conflicts)
    components.rows("Who said what about the end", telling.CLAIMS, telling.claim_rows(facts))
components.segments(found)
cost = found.row["cost_usd"]
components.facts("Spent, of its limits", telling.spent(facts, verdict, cost if isinstance(cost, float) else None))
components.facts("About it", [*telling.about(facts), *components.continued(facts), *telling.identities(facts)])
components.steps(telling.step_rows(facts))
with st.expander("Everything that is stored of it; no prompt, answer or tool argument is among it"):
    st.json(turn_record(facts))
