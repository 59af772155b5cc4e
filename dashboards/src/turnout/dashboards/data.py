"""Cached loads from the lake: the only module of the pages that asks it anything.

Frames are kept by the version of the lake, so that a page asks again only when something has arrived or the window has moved.
"""

import os
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import polars as pl
import streamlit as st

from turnout.dashboards import frames
from turnout.dashboards.scope import Scope
from turnout.pipeline.analysis.incident import Cell
from turnout.pipeline.query import Filters, TurnDetail, Warehouse, run, series

LAKE: Final = "TURNOUT_LAKE"
DEFAULT_LAKE: Final = "./turnout-lake"

_KEPT: Final = timedelta(minutes=10)
_MANY: Final = 500
_RHYTHM: Final = timedelta(days=7)

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

_CHOICES: Final = {
    "service": ("outcomes", "service"),
    "environment": ("outcomes", "environment"),
    "agent": ("outcomes", "agent"),
    "agent_version": ("outcomes", "agent_version"),
    "model": ("call_error", "model"),
    "provider": ("call_error", "provider"),
    "tool": ("tool_unsettled", "tool"),
    "source": ("outcomes", "source"),
}
"""For each filter the metric and dimension that knows its values."""


def lake() -> str:
    """Where the lake is."""
    return os.environ.get(LAKE) or DEFAULT_LAKE


def version() -> int:
    """The version of the newest state, moving on to it; -1 for a lake without a turn.

    Raises:
        TurnoutError: when the lake cannot be read.
    """
    opened = _warehouse(lake())
    opened.refresh()
    return opened.snapshot.version


def metric(name: str, filters: Filters, by: Sequence[str] = ()) -> pl.DataFrame:
    """One metric of the registry."""
    return asked(run, name, filters, tuple(by))


def both(name: str, scope: Scope) -> Cell:
    """One metric that is not grouped, in both windows."""
    now, before = (metric(name, filters) for filters in (scope.filters, scope.before))
    return Cell(dimension="", value=None, now=frames.arm(now), before=frames.arm(before))


def ends_over_time(filters: Filters, bucket: timedelta) -> pl.DataFrame:
    """Turns by outcome in buckets of when they were over."""
    return asked(series.ends_over_time, filters, bucket)


def arrivals(now: datetime) -> pl.DataFrame:
    """Each source's rhythm over the last week."""
    since = now.replace(second=0, microsecond=0) - _RHYTHM
    return asked(series.arrivals, Filters(since=since))


def turns(filters: Filters, limit: int) -> pl.DataFrame:
    """The latest turns."""
    return asked(Warehouse.turns, filters, limit)


def turn(turn_id: str, near: datetime | None) -> TurnDetail | None:
    """One turn with everything that is stored of it."""
    version()
    return _warehouse(lake()).turn(turn_id, near)


def asked(ask: Callable[Concatenate[Warehouse, Given], Answer], *given: Given.args, **named: Given.kwargs) -> Answer:
    """What a function of the pipeline answers to the lake as it is now."""
    name = f"{ask.__module__}.{ask.__qualname__}"
    answer: Answer = _asked(lake(), version(), name, given, named, ask)
    return answer


def asked_slowly(
    ask: Callable[Concatenate[Warehouse, Given], Answer], *given: Given.args, **named: Given.kwargs
) -> Answer:
    """The same, kept for a minute whatever arrives meanwhile: for questions over weeks that a live page asks again and again."""
    name = f"{ask.__module__}.{ask.__qualname__}"
    answer: Answer = _asked_slowly(lake(), name, given, named, ask)
    return answer


def choices(name: str, now: datetime) -> list[str]:
    """The values that a filter can take, the most frequent first, over the last 30 days."""
    known = _choices(lake(), name, now.replace(minute=0, second=0, microsecond=0))
    return known.filter(pl.col(name).is_not_null())[name].to_list()


@st.cache_resource(max_entries=4, show_spinner=False)
def _warehouse(root: str) -> Warehouse:
    return Warehouse(root)


@st.cache_data(ttl=_KEPT, max_entries=_MANY, show_spinner=False)
def _asked(
    root: str, version: int, name: str, given: tuple[object, ...], named: dict[str, object], _ask: Callable[..., Any]
) -> Any:
    del version, name
    return _ask(_warehouse(root), *given, **named)


@st.cache_data(ttl=timedelta(minutes=1), max_entries=_MANY, show_spinner=False)
def _asked_slowly(
    root: str, name: str, given: tuple[object, ...], named: dict[str, object], _ask: Callable[..., Any]
) -> Any:
    del name
    return _ask(_warehouse(root), *given, **named)


@st.cache_data(ttl=timedelta(minutes=1), max_entries=_MANY, show_spinner=False)
def _choices(root: str, name: str, hour: datetime) -> pl.DataFrame:
    metric_name, dimension = _CHOICES[name]
    found = run(_warehouse(root), metric_name, Filters(since=hour - timedelta(days=30)), (dimension,))
    return (
        found.group_by(dimension)
        .agg(pl.col("denominator").max())
        .sort("denominator", dimension, descending=[True, False])
    )
