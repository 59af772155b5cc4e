"""The bar of filters above every page; its widgets are bound to the address, so that a link carries them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from turnout.dashboards import data
from turnout.dashboards.scope import ATTENDED, NAMES, USUAL, WINDOWS, Scope, scope
from turnout.outcomes.verdict import Outcome
from turnout.pipeline.query.filters import VALUES, Clock

_KNOWN: Final = "known_filters"
_PAGE: Final = "page_of_last_run"
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


def keep(page: str) -> None:
    """Carry the filters over a change of the page, also one that comes before the browser knows which parameters are filters.

    The browser sends along only the parameters of widgets that it has drawn: a page that is changed at once arrives without any. Must run
    before whatever takes time, because only the first run of a session sees the address as it was opened.
    """
    known = st.session_state.setdefault(_KNOWN, {})
    changed = st.session_state.get(_PAGE) not in {None, page}
    st.session_state[_PAGE] = page
    known |= {name: st.session_state[name] for name in NAMES if name in st.session_state}
    asked = {name: _of_address(name) for name in NAMES if name in st.query_params}
    known |= {name: value for name, value in asked.items() if value is not None and name not in st.session_state}
    context = get_script_run_ctx()
    # Back and forward show an address as it was, without the filters that were chosen later.
    if changed and not (context is not None and context.is_history_navigation):
        for name, value in known.items():
            if value and name not in asked:
                st.session_state[name] = value


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


def _of_address(name: str) -> str | list[str] | None:
    """A filter as its widget holds it; what no widget would take is None."""
    if name in VALUES:
        return st.query_params.get_all(name)
    value = st.query_params[name]
    return None if name == "attended" and value not in ATTENDED else value


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
