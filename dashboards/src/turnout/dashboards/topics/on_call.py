"""On call: the one thing that changed, where it changed, and the latest turns that ended abnormally."""

import streamlit as st

from turnout.dashboards import bar, board, components, data, words
from turnout.dashboards.scope import bucket
from turnout.outcomes.verdict import ABNORMAL
from turnout.pipeline import charts
from turnout.pipeline.query.filters import Clock

live = st.session_state.get("until") in {None, ""}


@st.fragment(run_every=components.LIVE_SECONDS if live else None)
def watch() -> None:
    """Everything on the page, drawn again every few seconds."""
    with components.guarded():
        scope = bar.current("1h", Clock.ENDED)
        components.headline(board.headline(scope))
        components.sources(board.rhythms(scope))
        ends = board.ends(scope, bucket(scope.length))
        if not ends.is_empty():
            over_time = charts.ends_over_time(ends, window=scope.span, boundary=scope.since)
            traffic = charts.turns_over_time(board.totals(ends), window=scope.span, boundary=scope.since)
            components.chart(
                f"Abnormal turns by reason: the {scope.words} before, and the last {scope.words}", over_time
            )
            st.altair_chart(traffic, width="stretch")
            components.changes(scope)
            st.caption(words.PLACES_CAPTION)
            with st.container(key="grid-places"):
                for title, frame in board.places(scope):
                    components.chart(title, charts.shares(frame))
        listed = data.turns(scope.latest(ABNORMAL), components.LATEST)
        components.turn_list("Latest abnormal turns", listed, scope.now, "No turn ended abnormally.")


watch()
components.definitions(("abnormal", "outcomes"), words.INTERVAL, components.outcome_meanings())
