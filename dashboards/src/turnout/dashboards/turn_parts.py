"""What the page of one turn draws."""

from collections.abc import Sequence
from typing import Final

import streamlit as st

from turnout.dashboards import bar, data, markup, telling
from turnout.dashboards.components import LATEST, turn_list
from turnout.dashboards.scope import Scope, address
from turnout.outcomes.facts import TurnFacts
from turnout.outcomes.verdict import Outcome
from turnout.pipeline.charts import COLOURS
from turnout.pipeline.query import TurnDetail
from turnout.pipeline.wording import label

_SEVERAL: Final = 2
_LAST_STEPS: Final = 20


def turn_id() -> str:
    """The turn that the address names."""
    return st.query_params.get("turn", "")


def find_turn(wanted: str, scope: Scope) -> None:
    """No turn, or one that the lake does not know: a place to name one, and the latest."""
    if wanted:
        st.warning(f"No turn {wanted} in this lake. A turn is here some seconds after it ends.")
    st.text_input("Turn id", key="named_turn", on_change=_open_named, placeholder="as a log line or a trace names it")
    listed = data.turns(scope.listed(()), LATEST)
    turn_list("Latest turns", listed, scope.now, "None in this window.")


def sentences(title: str, lines: Sequence[str]) -> None:
    """A list of sentences, left out where there are none."""
    if lines:
        with st.container(gap="small"):
            st.markdown(f"##### {title}")
            st.markdown("\n".join(f"- {line}" for line in lines))


def rows(title: str, columns: Sequence[markup.Column], found: Sequence[dict[str, markup.Cell]]) -> None:
    """A table, left out where it is empty."""
    if found:
        with st.container(gap="small"):
            st.markdown(f"##### {title}")
            st.html(markup.table(columns, found))


def facts(title: str, pairs: Sequence[tuple[str, markup.Cell]]) -> None:
    """Names and values under a title."""
    with st.container(gap="small"):
        st.markdown(f"##### {title}")
        st.html(markup.facts(pairs))


def continued(turn: TurnFacts) -> list[tuple[str, markup.Cell]]:
    """The turn that this one goes on from."""
    if turn.continues_turn_id is None:
        return []
    return [
        ("Continues", markup.Link(turn.continues_turn_id, address("turn", bar.chosen(), turn=turn.continues_turn_id)))
    ]


def steps(found: Sequence[dict[str, markup.Cell]]) -> None:
    """Every step; of a long turn the last ones first, where it ended."""
    early, last = found[:-_LAST_STEPS], found[-_LAST_STEPS:]
    if early:
        with st.expander(f"The first {len(early)} steps"):
            st.html(markup.table(telling.STEPS, early))
    rows(f"The last {len(last)} steps" if early else "Steps", telling.STEPS, last)


def segments(found: TurnDetail) -> None:
    """All stretches of the same turn, where recoveries broke it into several."""
    if found.segments.height < _SEVERAL:
        return
    columns = (markup.Column("turn", "Stretch"), markup.Column("outcome", "How"))
    lines: list[dict[str, markup.Cell]] = [
        {
            "turn": markup.Link(turn, address("turn", bar.chosen(), turn=turn)),
            "outcome": markup.Marked(label(outcome), COLOURS[Outcome(outcome)]),
        }
        for turn, outcome in found.segments.select("turn_id", "outcome").iter_rows()
    ]
    rows("Stretches of this turn between recoveries; the last one is what a person sees", columns, lines)


def _open_named() -> None:
    st.query_params["turn"] = st.session_state["named_turn"].strip()
