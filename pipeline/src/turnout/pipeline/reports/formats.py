"""A frame as the bytes of a file, by format."""

import io
import json
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import polars as pl

Encoder: TypeAlias = Callable[[pl.DataFrame], bytes]


def as_csv(frame: pl.DataFrame) -> bytes:
    """Comma-separated with a header; not recorded is an empty field."""
    return frame.write_csv().encode()


def as_parquet(frame: pl.DataFrame) -> bytes:
    """Parquet, typed."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def as_json(frame: pl.DataFrame) -> bytes:
    """One array of objects; not recorded is null."""
    return json.dumps(frame.with_columns(pl.col("day_utc").cast(pl.String)).to_dicts(), indent=1).encode()


ENCODERS: Final[Mapping[str, Encoder]] = {"csv": as_csv, "parquet": as_parquet, "json": as_json}
"""How each format is written, by the ending of its file."""
