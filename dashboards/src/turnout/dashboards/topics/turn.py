"""One turn: how it ended, which rule says so from what, what the person saw, and everything recorded of it."""

import streamlit as st

from turnout.dashboards import bar, data, markup, telling, turn_parts
from turnout.dashboards.scope import near
from turnout.outcomes.explain import explain
from turnout.outcomes.record import turn_record
from turnout.outcomes.verdict import Outcome
from turnout.pipeline.charts import COLOURS

wanted = turn_parts.turn_id()
found = data.turn(wanted, near(st.query_params.get("date", ""))) if wanted else None
if found is None:
    turn_parts.find_turn(wanted, bar.current("7d"))
    st.stop()
facts, verdict = found.facts, found.verdict
words = explain(facts, verdict)
seen = f"{words.person_saw} {words.continue_words}"
st.html(markup.headline(words.headline, [[words.rule_words], [seen]], COLOURS[Outcome(verdict.outcome)]))
with st.container(key="grid-turn"):
    turn_parts.sentences(f"Evidence for rule `{verdict.rule}`", words.evidence)
    turn_parts.sentences("Claims that disagree", verdict.conflicts)
    turn_parts.rows("Who said what about the end", telling.CLAIMS, telling.claim_rows(facts))
turn_parts.segments(found)
cost = found.row["cost_usd"]
turn_parts.facts("Spent, of its limits", telling.spent(facts, verdict, cost if isinstance(cost, float) else None))
turn_parts.facts("About it", [*telling.about(facts), *turn_parts.continued(facts), *telling.identities(facts)])
turn_parts.steps(telling.step_rows(facts))
with st.expander("Everything that is stored of it; no prompt, answer or tool argument is among it"):
    st.json(turn_record(facts))
