"""The counted views as Polars frames: what the SQL of the same names shows of a file's rows, so that a cube counts exactly that."""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import polars as pl

from turnout.pipeline.schema import INSTANT, TABLES

Shown: TypeAlias = Callable[[pl.LazyFrame], pl.LazyFrame]

BINS: Final = 20
"""Into how many parts a cap of output tokens is divided."""

VIEWS: Final[Mapping[str, str]] = {
    "counted_turns": "turns",
    "counted_links": "turns",
    "counted_tools_used": "turns",
    "counted_steps": "steps",
    "counted_progress": "steps",
    "counted_tool_calls": "tool_calls",
}
"""Every counted view, and the table whose rows it shows."""


def shown(view: str, rows: pl.LazyFrame) -> pl.LazyFrame:
    """The rows that a counted view shows of rows of its table; its own columns are `column`."""
    return _SHOWN.get(view, _all_of_them)(rows)


def column(view: str, name: str) -> pl.Expr:
    """A column of a counted view, worked out on rows that it shows."""
    derived = _DERIVED[view].get(name)
    return pl.col(name) if derived is None else derived.alias(name)


def types(view: str) -> Mapping[str, pl.DataType]:
    """The types of the columns that a counted view may have."""
    return {**TABLES[VIEWS[view]], **_TYPES}


_TYPES: Final[Mapping[str, pl.DataType]] = {
    "hour": INSTANT,
    "counted_at": INSTANT,
    "over_at": INSTANT,
    "tool": pl.String(),
    "step": pl.Int64(),
    "has_steps": pl.Boolean(),
    "has_finish_reason": pl.Boolean(),
    "has_error": pl.Boolean(),
    "used_from": pl.Float64(),
    "cap": pl.Int64(),
    "position": pl.Int64(),
    "priced": pl.Int64(),
    "unpriced": pl.Int64(),
    "tokens": pl.Int64(),
    "tokens_known": pl.Int64(),
    "cost_usd": pl.Float64(),
    "cost_usd_known": pl.Int64(),
    "seconds": pl.Float64(),
    "seconds_known": pl.Int64(),
}

_TURNS: Final[Mapping[str, pl.Expr]] = {
    "hour": pl.coalesce("started_at", "received_at").dt.truncate("1h"),
    "counted_at": pl.coalesce("started_at", "received_at"),
    "over_at": pl.coalesce("ended_at", "last_seen_at", "started_at", "received_at"),
    "tool": pl.col("last_tool"),
    "step": pl.col("last_step"),
    "has_steps": pl.col("steps") > 0,
    "has_finish_reason": pl.col("last_raw_finish_reason").is_not_null() | pl.col("last_finish_reason").is_not_null(),
    "priced": pl.col("cost_usd").is_not_null(),
    "unpriced": pl.col("cost_usd").is_null() & pl.col("input_tokens").is_not_null(),
}
_DERIVED: Final[Mapping[str, Mapping[str, pl.Expr]]] = {
    "counted_turns": _TURNS,
    "counted_links": _TURNS,
    "counted_tools_used": {**_TURNS, "tool": pl.col("tools")},
    "counted_progress": {"hour": pl.col("turn_started_at").dt.truncate("1h")},
    "counted_steps": {
        "hour": pl.col("turn_started_at").dt.truncate("1h"),
        "cap": pl.col("max_output_tokens"),
        "has_error": pl.col("error_type").is_not_null() | pl.col("error_status").is_not_null(),
        "used_from": pl.when(pl.col("max_output_tokens") > 0).then(
            pl.min_horizontal(
                pl.lit(1.0), (BINS * pl.col("output_tokens") / pl.col("max_output_tokens")).floor() / BINS
            )
        ),
    },
    "counted_tool_calls": {"hour": pl.col("turn_started_at").dt.truncate("1h")},
}


def _all_of_them(rows: pl.LazyFrame) -> pl.LazyFrame:
    return rows


def _turns(rows: pl.LazyFrame) -> pl.LazyFrame:
    return rows.filter("last_segment")


def _links(rows: pl.LazyFrame) -> pl.LazyFrame:
    unfinished = (pl.col("outcome") != "completed") | pl.col("continues_turn_id").is_not_null()
    return rows.filter(pl.col("last_segment") & unfinished)


def _tools_used(rows: pl.LazyFrame) -> pl.LazyFrame:
    used = rows.filter(pl.col("last_segment") & (pl.col("tools").list.len() > 0))
    return used.explode("tools", empty_as_null=False, keep_nulls=False)


def _progress(rows: pl.LazyFrame) -> pl.LazyFrame:
    """A row for each step of a turn that was charged: its place among them, and what it took."""
    charged = rows.filter(pl.coalesce("finish_reason", "raw_finish_reason").is_not_null())
    # Numbers are grouped and sorted in a quarter of the time that ids take.
    numbered = charged.with_columns(turn=pl.col("turn_id").rank("dense"))
    steps = numbered.group_by("turn", "step").agg(
        pl.col("turn_started_at", "environment", "agent", "attended", "outcome").first(),
        pl.col("started_at").min(),
        pl.col("ended_at").max(),
        total("cost_usd"),
        total(pl.col("input_tokens") + pl.col("output_tokens")).alias("tokens"),
    )
    ordered = steps.sort("turn", "step", nulls_last=True).with_row_index("row")
    first = pl.col("turn") != pl.col("turn").shift(1)
    last = pl.col("turn") != pl.col("turn").shift(-1)
    start = pl.when(first.fill_null(value=True)).then(pl.col("row")).forward_fill()
    follows = pl.when(~last.fill_null(value=True)).then(pl.col("started_at").shift(-1))
    spent = (pl.coalesce(follows, "ended_at") - pl.col("started_at")).dt.total_microseconds() / 1_000_000
    timed = ordered.with_columns(position=(pl.col("row") - start + 1).cast(pl.Int64), seconds=spent)
    recorded = (pl.col(name).is_not_null().alias(f"{name}_known") for name in ("tokens", "cost_usd", "seconds"))
    return timed.with_columns(*recorded)


def total(values: pl.Expr | str) -> pl.Expr:
    """A sum as in SQL: of what nobody recorded there is none."""
    every = pl.col(values) if isinstance(values, str) else values
    return pl.when(every.count() > 0).then(every.sum())


_SHOWN: Final[Mapping[str, Shown]] = {
    "counted_turns": _turns,
    "counted_links": _links,
    "counted_tools_used": _tools_used,
    "counted_progress": _progress,
}
