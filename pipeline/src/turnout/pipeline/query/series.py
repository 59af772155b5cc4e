"""Frames that a page watches: ends over time, and the rhythm in which sources arrive."""

from datetime import timedelta

import polars as pl

from turnout.pipeline.query.engine import resource
from turnout.pipeline.query.filters import Filters
from turnout.pipeline.query.warehouse import Warehouse


def ends_over_time(warehouse: Warehouse, filters: Filters, bucket: timedelta) -> pl.DataFrame:
    """Count turns by outcome in buckets of when they were over: ``bucket``, ``bucket_end``, ``outcome``, ``turns``.

    Buckets in which nothing ended are left out; the first and the last may reach past the window of the filters.
    """
    seconds = int(bucket.total_seconds())
    return warehouse.sql(resource("pages/ends_over_time.sql"), {"seconds": seconds}, filters)


def arrivals(warehouse: Warehouse, filters: Filters) -> pl.DataFrame:
    """Tell each source's rhythm, the most recent first.

    Columns: ``source``, ``turns``, ``last_received``, ``last_ended``, ``last_hour`` (turns in the hour up to the last one) and
    ``longest_pause`` (seconds, to the minute; null where too few minutes have a turn).
    """
    return warehouse.sql(resource("pages/arrivals.sql"), filters=filters)
