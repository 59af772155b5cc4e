"""What turns cost, by any dimension, and how much of it went into turns that did not finish."""

from collections.abc import Sequence
from typing import Final

import polars as pl

from turnout.pipeline.query.dimensions import EVERYTHING
from turnout.pipeline.query.engine import resource
from turnout.pipeline.query.filters import Filters
from turnout.pipeline.query.warehouse import Warehouse

_SUMS: Final = ("priced", "unpriced", "cost_usd", "input_tokens", "cache_read_tokens", "output_tokens")


def spending(warehouse: Warehouse, by: Sequence[str] = (), filters: Filters | None = None) -> pl.DataFrame:
    """A row a group, the dearest first.

    Returns:
        The ``by`` columns; ``turns``, ``priced``, ``unpriced`` (used tokens and have no price), ``finished``; ``cost_usd``,
        ``finished_cost_usd``, ``unfinished_cost_usd``, ``cost_a_turn_usd`` (of the priced turns), ``cost_a_finished_usd`` (all that was
        spent, for each turn that finished); tokens. Costs are null where nothing is priced.
    """
    rows = warehouse.counted(
        resource("cost/spent.sql"),
        {"by": list(by) or [EVERYTHING]},
        filters,
        view="counted_turns",
        columns=("outcome", *_SUMS, *by),
    )
    cost, finished = pl.col("cost_usd"), pl.col("finished_cost_usd").fill_null(0.0)
    return (
        rows.with_columns(
            unfinished_cost_usd=pl.when(cost.is_not_null()).then(cost - finished),
            cost_a_turn_usd=pl.when(pl.col("priced") > 0).then(cost / pl.col("priced")),
            cost_a_finished_usd=pl.when(pl.col("finished") > 0).then(cost / pl.col("finished")),
        )
        .drop(EVERYTHING, strict=False)
        .sort("cost_usd", *by, descending=[True, *(False for _ in by)], nulls_last=True)
    )
