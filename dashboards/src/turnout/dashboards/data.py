"""Cached loads from the lake: the only module of the pages that asks it anything.

Frames are kept by the version of the lake, so that a page asks again only when something has arrived or the window has moved.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import polars as pl
import streamlit as st

from turnout.dashboards import frames
from turnout.dashboards.scope import Scope
from turnout.pipeline.analysis.budget import ENDS, Candidate, End, Limit
from turnout.pipeline.analysis.censoring import PaceTest, pace_tests
from turnout.pipeline.analysis.incident import Cell
from turnout.pipeline.budgets import Continued, Ends, chain_ends, continued, curve_points, stratum_curves
from turnout.pipeline.budgets import budget as read_budget
from turnout.pipeline.budgets import ends as read_budget_ends
from turnout.pipeline.budgets import strata as read_strata
from turnout.pipeline.comparisons import Comparison
from turnout.pipeline.comparisons import compare as read_comparison
from turnout.pipeline.query import Filters, TurnDetail, Warehouse, run
from turnout.pipeline.query.series import arrivals as read_arrivals
from turnout.pipeline.query.series import ends_over_time as read_ends
from turnout.pipeline.spending import spending as read_spending
from turnout.pipeline.tool_risks import ToolRisk
from turnout.pipeline.tool_risks import loops as read_loops
from turnout.pipeline.tool_risks import tool_calls as read_tool_calls
from turnout.pipeline.tool_risks import tool_risks as read_tool_risks

LAKE: Final = "TURNOUT_LAKE"
DEFAULT_LAKE: Final = "./turnout-lake"

_KEPT: Final = timedelta(minutes=10)
_MANY: Final = 500
_RHYTHM: Final = timedelta(days=7)
_SMOOTH: Final = 120

_STRATUM: Final = "agent"

FINISHED: Final = ENDS.index(End.FINISHED)


@dataclass(frozen=True, slots=True)
class BudgetMore:
    """What became of cut turns, the curve of chains, the curves by agent, and the test of the assumption behind them."""

    continued: Continued
    chains: pl.DataFrame
    strata: pl.DataFrame
    tests: tuple[PaceTest, ...]


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
    return _metric(lake(), version(), name, filters, tuple(by))


def both(name: str, scope: Scope) -> Cell:
    """One metric that is not grouped, in both windows."""
    now, before = (metric(name, filters) for filters in (scope.filters, scope.before))
    return Cell(dimension="", value=None, now=frames.arm(now), before=frames.arm(before))


def ends_over_time(filters: Filters, bucket: timedelta) -> pl.DataFrame:
    """Turns by outcome in buckets of when they were over."""
    return _ends(lake(), version(), filters, bucket)


def arrivals(now: datetime) -> pl.DataFrame:
    """Each source's rhythm over the last week."""
    since = now.replace(second=0, microsecond=0) - _RHYTHM
    return _arrivals(lake(), version(), Filters(since=since))


def turns(filters: Filters, limit: int) -> pl.DataFrame:
    """The latest turns."""
    return _turns(lake(), version(), filters, limit)


def turn(turn_id: str, near: datetime | None) -> TurnDetail | None:
    """One turn with everything that is stored of it."""
    version()
    return _warehouse(lake()).turn(turn_id, near)


def budget(filters: Filters) -> tuple[Ends, tuple[Candidate, ...]]:
    """What other step limits would have done: the counts, and a row a candidate."""
    return _budget(lake(), version(), filters)


def budget_more(filters: Filters) -> BudgetMore:
    """What stands beside the curve."""
    return _budget_more(lake(), version(), filters)


def tool_risks(filters: Filters) -> tuple[ToolRisk, ...]:
    """Which tools go with abnormal ends."""
    return _tool_risks(lake(), version(), filters)


def tool_calls(filters: Filters) -> pl.DataFrame:
    """How the calls of each tool ended."""
    return _tool_calls(lake(), version(), filters)


def loops(filters: Filters) -> pl.DataFrame:
    """Tools that were called the same way several times in a row."""
    return _loops(lake(), version(), filters)


def spending(filters: Filters, by: tuple[str, ...]) -> pl.DataFrame:
    """What turns cost."""
    return _spending(lake(), version(), filters, by)


def comparison(before: Filters, after: Filters, adjust: tuple[str, ...]) -> Comparison:
    """Two sets of turns side by side."""
    return _comparison(lake(), version(), before, after, adjust)


def choices(name: str, now: datetime) -> list[str]:
    """The values that a filter can take, the most frequent first, over the last 30 days."""
    known = _choices(lake(), name, now.replace(minute=0, second=0, microsecond=0))
    return known.filter(pl.col(name).is_not_null())[name].to_list()


@st.cache_resource(max_entries=4, show_spinner=False)
def _warehouse(root: str) -> Warehouse:
    return Warehouse(root)


@st.cache_data(ttl=_KEPT, max_entries=_MANY, show_spinner=False)
def _metric(root: str, version: int, name: str, filters: Filters, by: tuple[str, ...]) -> pl.DataFrame:
    del version
    return run(_warehouse(root), name, filters, by)


@st.cache_data(ttl=_KEPT, max_entries=_MANY, show_spinner=False)
def _ends(root: str, version: int, filters: Filters, bucket: timedelta) -> pl.DataFrame:
    del version
    return read_ends(_warehouse(root), filters, bucket)


@st.cache_data(ttl=_KEPT, max_entries=_MANY, show_spinner=False)
def _arrivals(root: str, version: int, filters: Filters) -> pl.DataFrame:
    del version
    return read_arrivals(_warehouse(root), filters)


@st.cache_data(ttl=_KEPT, max_entries=_MANY, show_spinner=False)
def _turns(root: str, version: int, filters: Filters, limit: int) -> pl.DataFrame:
    del version
    return _warehouse(root).turns(filters, limit)


@st.cache_data(ttl=_KEPT, max_entries=_MANY, show_spinner=False)
def _budget(root: str, version: int, filters: Filters) -> tuple[Ends, tuple[Candidate, ...]]:
    del version
    opened = _warehouse(root)
    counted = read_budget_ends(opened, Limit.STEPS, filters)
    last = int(counted.counts.times[-1]) if counted.n else 0
    every = range(1, last + 1) if last <= _SMOOTH else ()
    return counted, read_budget(opened, Limit.STEPS, every, filters)[1]


@st.cache_data(ttl=_KEPT, max_entries=_MANY, show_spinner=False)
def _budget_more(root: str, version: int, filters: Filters) -> BudgetMore:
    del version
    opened = _warehouse(root)
    tests = pace_tests(read_strata(opened, _STRATUM, filters), FINISHED)
    return BudgetMore(
        continued(opened, Limit.STEPS, filters),
        curve_points(chain_ends(opened, filters)),
        stratum_curves(opened, _STRATUM, filters),
        tests,
    )


@st.cache_data(ttl=_KEPT, max_entries=_MANY, show_spinner=False)
def _tool_risks(root: str, version: int, filters: Filters) -> tuple[ToolRisk, ...]:
    del version
    return read_tool_risks(_warehouse(root), filters)


@st.cache_data(ttl=_KEPT, max_entries=_MANY, show_spinner=False)
def _tool_calls(root: str, version: int, filters: Filters) -> pl.DataFrame:
    del version
    return read_tool_calls(_warehouse(root), filters)


@st.cache_data(ttl=_KEPT, max_entries=_MANY, show_spinner=False)
def _loops(root: str, version: int, filters: Filters) -> pl.DataFrame:
    del version
    return read_loops(_warehouse(root), filters)


@st.cache_data(ttl=_KEPT, max_entries=_MANY, show_spinner=False)
def _spending(root: str, version: int, filters: Filters, by: tuple[str, ...]) -> pl.DataFrame:
    del version
    return read_spending(_warehouse(root), by, filters)


@st.cache_data(ttl=_KEPT, max_entries=_MANY, show_spinner=False)
def _comparison(root: str, version: int, before: Filters, after: Filters, adjust: tuple[str, ...]) -> Comparison:
    del version
    return read_comparison(_warehouse(root), before, after, adjust)


@st.cache_data(ttl=timedelta(minutes=1), max_entries=_MANY, show_spinner=False)
def _choices(root: str, name: str, hour: datetime) -> pl.DataFrame:
    metric_name, dimension = _CHOICES[name]
    found = run(_warehouse(root), metric_name, Filters(since=hour - timedelta(days=30)), (dimension,))
    return (
        found.group_by(dimension)
        .agg(pl.col("denominator").max())
        .sort("denominator", dimension, descending=[True, False])
    )
