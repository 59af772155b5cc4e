"""The bar of filters above every page; its widgets are bound to the address, so that a link carries them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import streamlit as st

from turnout.dashboards import data
from turnout.dashboards.scope import ATTENDED, NAMES, USUAL, WINDOWS, Scope, scope
from turnout.outcomes.verdict import Outcome
from turnout.pipeline.query.filters import Clock

_FIRST: Final = {"agent": "Agent", "model": "Model", "environment": "Environment"}
_MORE: Final = {
    "service": "Service",
    "agent_version": "Version",
    "provider": "Provider",
    "tool": "Tool",
    "source": "Source",
}


def chosen() -> Mapping[str, object]:
    """What the filters are set to, by name."""
    return {name: st.session_state.get(name) for name in NAMES}


def current(usual: str, clock: Clock = Clock.STARTED) -> Scope:
    """The scope of a page whose usual window is the given one."""
    return scope(chosen(), datetime.now(UTC), usual, clock)


def draw() -> None:
    """Draw the widgets; they stand in the app's own script, because widgets of a page lose their value with it."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="bar"):
        st.selectbox(
            "Window",
            (USUAL, *WINDOWS),
            key="window",
            bind="query-params",
            accept_new_options=True,
            help="How far back. Usual: the last hour on call, 7 days elsewhere. Others can be typed, as 3h or 10d.",
        )
        for name, label in _FIRST.items():
            _values(name, label)
    # Not in a popover: what a closed popover holds does not reach the browser, and its values would leave the address.
    with st.expander(_more_label()):
        first, second = st.columns(4), st.columns(4)
        for column, (name, label) in zip((*first, second[0]), _MORE.items(), strict=True):
            with column:
                _values(name, label)
        second[1].selectbox("Attended", tuple(ATTENDED), key="attended", bind="query-params")
        outcomes = list(map(str, Outcome))
        second[2].multiselect("Ended", outcomes, key="outcome", bind="query-params", placeholder="any (lists)")
        second[3].text_input(
            "Ends at (UTC)",
            key="until",
            bind="query-params",
            placeholder="now",
            help="ISO 8601, as 2026-01-05T10:00. A link with a fixed end shows the same turns tomorrow.",
        )


def _values(name: str, label: str) -> None:
    st.multiselect(
        label,
        data.choices(name, datetime.now(UTC)),
        key=name,
        bind="query-params",
        accept_new_options=True,
        placeholder="any",
    )


def _more_label() -> str:
    # From the address: the widgets below take their values from it only when they are drawn.
    hidden = [name for name in NAMES if name not in {"window", *_FIRST}]
    values = {name: ", ".join(st.query_params.get_all(name)) for name in hidden}
    found = [f"{name.replace('_', ' ')}: {value}" for name, value in values.items() if value]
    return f"More filters · {' · '.join(found)}" if found else "More filters"
