"""Metrics computed: found by name, run over a warehouse, answered from a cube where one holds what they read."""

from collections.abc import Sequence
from typing import Final

import polars as pl

from turnout.pipeline.query.catalogue import METRICS
from turnout.pipeline.query.dimensions import EVERYTHING
from turnout.pipeline.query.errors import QueryError
from turnout.pipeline.query.filters import Filters
from turnout.pipeline.query.metric import Good, Metric
from turnout.pipeline.query.warehouse import Warehouse

__all__ = ["FIGURES", "METRICS", "Good", "Metric", "metric", "run"]

FIGURES: Final = ("numerator", "denominator", "rate", "low", "high")
"""The columns of every metric after those that it is grouped by; ``low`` and ``high`` are the 95 % Wilson interval."""


def run(warehouse: Warehouse, name: str, filters: Filters | None = None, by: Sequence[str] = ()) -> pl.DataFrame:
    """Compute one metric.

    Args:
        warehouse: where.
        name: of the metric.
        filters: over which turns.
        by: its dimensions to group by, in the order of the columns.

    Returns:
        The ``by`` columns, the metric's own parts, then `FIGURES`; sorted by the first ones, not recorded last.

    Raises:
        QueryError: for a metric or dimension that does not exist.
    """
    wanted = metric(name)
    for dimension in by:
        if dimension not in (*wanted.dimensions, *wanted.parts):
            raise QueryError(
                f"metric {name}: cannot be grouped by {dimension!r}, expected some of {', '.join(wanted.dimensions)}"
            )
    groups = [dimension for dimension in dict.fromkeys(by) if dimension not in wanted.parts]
    parameters = {"by": groups or [EVERYTHING]}
    if wanted.reads is None:
        rows = warehouse.sql(wanted.statement, parameters, filters)
    else:
        columns = {*wanted.reads, *groups}
        rows = warehouse.counted(wanted.statement, parameters, filters, view=wanted.view, columns=columns)
    keys = [*groups, *wanted.parts]
    return rows.select(*keys, *FIGURES).sort(keys, nulls_last=True) if keys else _one_row(rows.select(FIGURES))


def metric(name: str) -> Metric:
    """A metric by name.

    Raises:
        QueryError: when there is none of that name.
    """
    found = next((metric for metric in METRICS if metric.name == name), None)
    if found is None:
        raise QueryError(f"metric: got {name!r}, expected one of {', '.join(metric.name for metric in METRICS)}")
    return found


def _one_row(rows: pl.DataFrame) -> pl.DataFrame:
    """Nothing to count is a row of zeros, not no row."""
    nothing = {"numerator": 0, "denominator": 0, "rate": None, "low": None, "high": None}
    return rows if rows.height else pl.DataFrame([nothing], schema=rows.schema)
