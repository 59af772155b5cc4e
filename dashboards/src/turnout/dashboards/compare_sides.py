"""The widgets that choose what is compared; they stand in the address like the filters."""

import streamlit as st

from turnout.dashboards import data
from turnout.dashboards.comparing import DIMENSIONS, TITLES, WINDOW, WINDOWS, beginning
from turnout.dashboards.scope import Scope


def choose(scope: Scope) -> tuple[str, str | None, str | None, tuple[str, ...]]:
    """The dimension, both sides and what to hold the same."""
    what, first, second, mix = st.columns(4)
    dimension = what.selectbox(
        "Compare by",
        list(TITLES),
        format_func=lambda name: TITLES[name],
        key="compare",
        bind="query-params",
        on_change=_begin_again,
        args=(scope,),
    )
    values = _values(scope, dimension)
    a, b = (
        column.selectbox(
            name,
            values,
            index=values.index(usual) if usual in values else None,
            key=name.lower(),
            bind="query-params",
            accept_new_options=True,
            help="A stretch of time as SINCE..UNTIL: 14d..7d, or 2026-01-05..2026-01-06."
            if dimension == WINDOW
            else None,
        )
        for column, name, usual in zip((first, second), "AB", beginning(dimension, values), strict=True)
    )
    others = [name for name in DIMENSIONS if name != dimension]
    adjust = mix.multiselect(
        "With the same mix of",
        others,
        key="mix",
        bind="query-params",
        placeholder="as it is",
        format_func=lambda name: TITLES[name],
    )
    return dimension, a, b, tuple(adjust)


def _values(scope: Scope, dimension: str) -> list[str]:
    return list(WINDOWS) if dimension == WINDOW else data.choices(dimension, scope.now)


def _begin_again(scope: Scope) -> None:
    """Values of one dimension are none of another."""
    chosen = str(st.session_state["compare"])
    st.session_state["a"], st.session_state["b"] = beginning(chosen, _values(scope, chosen))
