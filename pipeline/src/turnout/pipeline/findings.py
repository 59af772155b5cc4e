"""Tables that are more than one rate: each with its definition in words, by name, beside the metrics."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import polars as pl

from turnout.pipeline.query.engine import resource
from turnout.pipeline.query.filters import Filters
from turnout.pipeline.query.warehouse import Warehouse
from turnout.pipeline.tool_risks import loops, risk_frame, tool_calls, tool_risks
from turnout.pipeline.what_changed import frame, what_changed


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One table."""

    name: str
    title: str
    definition: str
    rows: Callable[[Warehouse, Filters | None], pl.DataFrame]


def continuations(warehouse: Warehouse, filters: Filters | None = None) -> pl.DataFrame:
    """A row an outcome that is no completion: how often such turns were continued, how long after, and how that ended.

    Columns: ``outcome``, ``turns``, ``continued``, ``rate``, ``low``, ``high``; ``p50_s``, ``p90_s``, ``p99_s`` (seconds from the end of the
    turn to the start of the one that continues it); ``then_finished``, ``then_cut``, ``then_refused``, ``then_failed``, ``then_other``.
    """
    columns = ("turn_id", "segment_of", "continues_turn_id", "outcome", "counted_at", "over_at")
    return warehouse.counted(resource("links/continuations.sql"), {}, filters, view="counted_links", columns=columns)


def refusals_answered(warehouse: Warehouse, filters: Filters | None = None) -> pl.DataFrame:
    """What became of refused model calls: ``answered`` and the figures of a share, the most frequent first."""
    return warehouse.sql(resource("links/refusals_answered.sql"), None, filters)


FINDINGS: Final = (
    Finding(
        name="what_changed",
        title="What changed",
        definition=(
            "From which hour on turns end in one way at another rate, held against the usual rate of their hour of the week, and the models, "
            "versions, tools, providers and environments that hold more of the change than of the turns."
        ),
        rows=lambda warehouse, filters: frame(what_changed(warehouse, filters)),
    ),
    Finding(
        name="continuations",
        title="What is continued",
        definition=(
            "For each way that a turn did not complete: how many were continued, how long after (quantiles of the seconds from its end), and "
            "how the first continuation ended."
        ),
        rows=continuations,
    ),
    Finding(
        name="refusals_answered",
        title="Refusals that were answered",
        definition=(
            "Refused model calls by what came after: a call of the same turn that was not refused, else a turn of the same conversation that "
            "finished, by the model that had refused or by another; or nothing."
        ),
        rows=refusals_answered,
    ),
    Finding(
        name="tool_risks",
        title="Tools that go with bad ends",
        definition=(
            "For each tool the share of abnormal ends of the turns with it and without it, Newcombe's interval of the difference, and the "
            "p-value after Holm's correction over all tools."
        ),
        rows=lambda warehouse, filters: risk_frame(tool_risks(warehouse, filters)),
    ),
    Finding(
        name="tool_calls",
        title="Tool calls",
        definition="For each tool its calls by how they ended, and quantiles of how long the settled ones took.",
        rows=tool_calls,
    ),
    Finding(
        name="loops",
        title="The same call again and again",
        definition="Tools that were called at least three times in a row with the same arguments, in how many turns, and how those ended.",
        rows=loops,
    ),
)
"""Every table, in the order of the list a person reads."""


def finding(name: str) -> Finding | None:
    """A table by name."""
    return next((one for one in FINDINGS if one.name == name), None)
