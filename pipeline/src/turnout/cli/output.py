"""Frames to standard output, in the format that was asked for."""

import json
import sys
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from itertools import accumulate
from math import isfinite
from typing import Any

import click
import polars as pl
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from turnout.pipeline.errors import TurnoutError
from turnout.pipeline.wording import NOTHING

_PIPE_WIDTH = 160
_GAP = 3
_WIDEST = 50
"""A trace id and a span id stay whole; what is longer may be broken."""


class OutputError(TurnoutError):
    """Rows that cannot be written the way that was asked for."""


def chosen(format_: str | None) -> str:
    """The format that was named, else the one that suits where the output goes."""
    return format_ or ("table" if sys.stdout.isatty() else "jsonl")


def write(
    frame: pl.DataFrame, format_: str | None, *, shown: Sequence[str] | None = None, missing: str = NOTHING
) -> None:
    """Write rows.

    Args:
        frame: the rows.
        format_: one of `turnout.cli.options.FORMATS`, or ``None`` to choose by where the output goes.
        shown: the columns of a table for a person; every other format has all of them.
        missing: what a table shows where nothing is recorded.
    """
    match chosen(format_):
        case "table":
            table(frame.select(shown) if shown is not None else frame, missing)
        case "json":
            click.echo(json.dumps(list(_rows(frame)), indent=2))
        case "jsonl":
            for row in _rows(frame):
                click.echo(json.dumps(row))
        case "csv":
            click.echo(_flat(frame).write_csv(), nl=False)
        case _:
            _write_parquet(frame)


def table(frame: pl.DataFrame, missing: str = NOTHING, title: str | None = None) -> None:
    """Draw rows as a table, numbers to the right; words stay whole, so a terminal shows as many columns as fit."""
    rows = [[_cell(value, missing) for value in row] for row in frame.iter_rows()]
    widths = [
        min(_WIDEST, max(len(name), *map(_longest if kind == pl.String else len, cells), 0))
        for (name, kind), *cells in zip(frame.schema.items(), *rows, strict=True)
    ]
    screen = console(sum(width + _GAP for width in widths))
    fitting = sum(1 for end in accumulate(width + _GAP for width in widths) if end <= screen.width + _GAP) or 1
    drawn = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    for (name, kind), width in list(zip(frame.schema.items(), widths, strict=True))[:fitting]:
        drawn.add_column(name, justify="right" if kind.is_numeric() else "left", overflow="fold", min_width=width)
    for row in rows:
        drawn.add_row(*map(Text, row[:fitting]))
    screen.print(drawn)
    if fitting < frame.width:
        named = ", ".join(frame.columns[fitting : fitting + 3])
        more = f" and {frame.width - fitting - 3} more" if frame.width - fitting > 3 else ""  # noqa: PLR2004
        click.echo(f"turnout: no room here for {named}{more}; a wider terminal or another --format has all", err=True)


def console(needed: int = 0) -> Console:
    """A console on standard output; as wide as a table needs where the width of the output is not known."""
    width = None if sys.stdout.isatty() else max(_PIPE_WIDTH, needed)
    return Console(width=width, highlight=False, soft_wrap=False)


def jsonable(value: Any) -> Any:
    """A value as JSON can hold it: instants, dates and times as ISO 8601, bytes in hex, what is no number as null."""
    match value:
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case date() | time():
            return value.isoformat()
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case float():
            return value if isfinite(value) else None
        case bytes():
            return value.hex()
        case dict():
            return {key: jsonable(item) for key, item in value.items()}
        case list() | tuple() | pl.Series():
            return [jsonable(item) for item in value]
        case _:
            return value


def _rows(frame: pl.DataFrame) -> Iterator[dict[str, Any]]:
    return ({name: jsonable(value) for name, value in row.items()} for row in frame.iter_rows(named=True))


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Lists, instants and what is nested as text, so that a flat file can hold them."""
    return frame.with_columns(_flattened(column) for column in frame)


def _flattened(column: pl.Series) -> pl.Series:
    match column.dtype:
        case pl.List(inner=inner) if not inner.is_nested() and inner != pl.Binary:
            return column.cast(pl.List(pl.String)).list.join("|")
        case pl.Datetime():
            return column.dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ")
        case pl.Binary():
            return column.bin.encode("hex")
        case kind if kind.is_nested():
            texts = [None if value is None else json.dumps(jsonable(value)) for value in column]
            return pl.Series(column.name, texts, pl.String)
        case _:
            return column


def _write_parquet(frame: pl.DataFrame) -> None:
    if sys.stdout.isatty():
        raise OutputError("parquet: got a terminal, expected a file or pipe to write bytes to; add > FILE.parquet")
    frame.write_parquet(sys.stdout.buffer)


def _longest(text: str) -> int:
    return max(map(len, text.split()), default=0)


def _cell(value: Any, missing: str) -> str:
    match value:
        case None:
            return missing
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"  # noqa: PLR2004
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S}"
        case list():
            return ", ".join(map(str, value)) or missing
        case _:
            return str(value)
