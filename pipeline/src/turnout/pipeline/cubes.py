"""Cubes: rows of a table counted together by the hour and a few columns, so that a long window is answered from thousands of rows instead of millions.

A cube belongs to one file of rows and counts exactly these; cubes of several files add up. What a metric may be answered from is
decided in the query room; that both ways give the same is held by a test.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from turnout.pipeline.schema import INSTANT, TABLES

COUNT: Final = "n"
"""The column that says how many rows are counted together."""

_BINS: Final = 20


@dataclass(frozen=True, slots=True)
class Cube:
    """One cube of a table; ``columns`` are those of the table's counted view."""

    name: str
    table: str
    columns: tuple[str, ...]

    @property
    def schema(self) -> pl.Schema:
        """The types of its columns and of the count."""
        kinds = {**TABLES[self.table], **_DERIVED_TYPES}
        return pl.Schema({column: kinds[column] for column in self.columns} | {COUNT: pl.Int64()})

    def rows(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Count the rows of one file of its table; of `turns` those that its view shows, the last segments."""
        derived = _DERIVED[self.table]
        shown = frame.filter("last_segment") if self.table == "turns" else frame
        columns = [derived[column].alias(column) if column in derived else pl.col(column) for column in self.columns]
        counted = shown.select(columns).group_by(self.columns).agg(pl.len().cast(pl.Int64).alias(COUNT))
        return counted.cast(self.schema).sort("hour")

    def together(self, parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """One cube of what several count."""
        if len(parts) == 1:
            return parts[0]
        return (
            pl.concat(parts).group_by(self.columns).agg(pl.col(COUNT).sum()).select(*self.columns, COUNT).sort("hour")
        )


_DERIVED_TYPES: Final[Mapping[str, pl.DataType]] = {
    "hour": INSTANT,
    "has_steps": pl.Boolean(),
    "has_finish_reason": pl.Boolean(),
    "has_error": pl.Boolean(),
    "used_from": pl.Float64(),
}

# The same as in the counted views.
_DERIVED: Final[Mapping[str, Mapping[str, pl.Expr]]] = {
    "turns": {
        "hour": pl.coalesce("started_at", "received_at").dt.truncate("1h"),
        "has_steps": pl.col("steps") > 0,
        "has_finish_reason": pl.col("last_raw_finish_reason").is_not_null()
        | pl.col("last_finish_reason").is_not_null(),
    },
    "steps": {
        "hour": pl.col("turn_started_at").dt.truncate("1h"),
        "has_error": pl.col("error_type").is_not_null() | pl.col("error_status").is_not_null(),
        "used_from": pl.when(pl.col("max_output_tokens") > 0).then(
            pl.min_horizontal(
                pl.lit(1.0), (_BINS * pl.col("output_tokens") / pl.col("max_output_tokens")).floor() / _BINS
            )
        ),
    },
    "tool_calls": {"hour": pl.col("turn_started_at").dt.truncate("1h")},
}

CUBES: Final = (
    Cube(
        "ends",
        "turns",
        (
            "hour",
            "agent",
            "model",
            "models",
            "attended",
            "outcome",
            "budget_kind",
            "cause",
            "resumable",
            "evidence",
            "abnormal",
            "can_continue",
            "flags",
            "has_steps",
            "has_finish_reason",
            "usage_complete",
        ),
    ),
    Cube("spending", "turns", ("hour", "model", "attended", "outcome", "budget_kind", "limit_steps", "steps_charged")),
    Cube("tools_used", "turns", ("hour", "attended", "outcome", "abnormal", "tools")),
    Cube(
        "calls",
        "steps",
        (
            "hour",
            "agent",
            "model",
            "provider",
            "attended",
            "outcome",
            "finish_class",
            "finish_reason",
            "raw_finish_reason",
            "refused",
            "refusal_category",
            "is_last",
            "has_error",
        ),
    ),
    Cube("caps", "steps", ("hour", "agent", "model", "attended", "max_output_tokens", "used_from")),
    Cube("tool_ends", "tool_calls", ("hour", "agent", "tool", "model", "attended", "status")),
)
"""Every cube; of several that can answer, the first is taken."""
