"""Frames -> the bytes of Parquet files, with the bounds that let a reader skip them."""

import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from turnout.pipeline.lake.files import DataFile, data_file
from turnout.pipeline.schema import TABLES

BOUNDED: Final[Mapping[str, tuple[str, ...]]] = {
    "turns": ("started_at", "ended_at", "last_seen_at", "updated_at"),
    "steps": ("turn_started_at",),
    "tool_calls": ("turn_started_at",),
    "ledger": ("recorded_at",),
}
"""The columns of each table whose bounds are kept for each file."""

ROW_GROUP: Final[Mapping[str, int]] = {"turns": 8192, "steps": 122_880, "tool_calls": 122_880, "ledger": 8192}
"""How many rows of each table make a row group: few of those with the facts inside, which are wide, so that a rewrite needs little memory."""


@dataclass(frozen=True, slots=True)
class NewFile:
    """A Parquet file to be committed, with Delta's JSON of its row count and bounds."""

    file: DataFile
    stats: str


def complete(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Every column of the schema but the date, in its order; what an older file does not know is null."""
    columns = {column: kind for column, kind in TABLES[table].items() if column != "date"}
    missing = [pl.lit(None, kind).alias(column) for column, kind in columns.items() if column not in frame.columns]
    return frame.with_columns(missing).select(list(columns))


def encode(table: str, frame: pl.DataFrame) -> bytes:
    """The Parquet bytes of one file; the partition column is in the path alone."""
    buffer = io.BytesIO()
    frame.drop("date", strict=False).write_parquet(buffer, **write_options(table))
    return buffer.getvalue()


def write_options(table: str) -> dict[str, Any]:
    """How the Parquet files of a table are written."""
    return {
        "compression": "zstd",
        "compression_level": 1,
        "statistics": True,
        "row_group_size": ROW_GROUP[table],
    }


def describe(table: str, path: str, date: str, rows: pl.LazyFrame, size: int) -> NewFile:
    """What the commit of a file says about it: rows, and bounds of the columns that queries cut by."""
    columns = BOUNDED[table]
    found = rows.select(
        pl.len().alias("num_records"),
        *(pl.col(column).min().alias(f"min.{column}") for column in columns),
        *(pl.col(column).max().alias(f"max.{column}") for column in columns),
        *(pl.col(column).null_count().alias(f"null_count.{column}") for column in columns),
    )
    bounds = found.collect().row(0, named=True)
    row = {"path": path, "partition.date": date, "size_bytes": size, **bounds}
    stats = {
        "numRecords": bounds["num_records"],
        "minValues": _spelled(bounds, "min.", columns),
        "maxValues": _spelled(bounds, "max.", columns),
        "nullCount": {column: bounds[f"null_count.{column}"] for column in columns},
    }
    return NewFile(data_file(table, row), json.dumps(stats))


def by_date(frame: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """The rows of each date, dates in order."""
    for (date,), rows in sorted(frame.partition_by("date", as_dict=True).items()):
        yield str(date), rows


def name_of(date: str, group: str, suffix: str) -> str:
    """The path of a file within its table."""
    return f"date={date}/{group}.{suffix}.parquet" if date else f"{group}.{suffix}.parquet"


Namer = Callable[[], str]
"""Gives a new unique name at each call."""


def _spelled(bounds: Mapping[str, Any], prefix: str, columns: tuple[str, ...]) -> dict[str, str]:
    moments = {column: bounds[prefix + column] for column in columns}
    return {column: f"{moment:%Y-%m-%dT%H:%M:%S.%fZ}" for column, moment in moments.items() if moment is not None}
