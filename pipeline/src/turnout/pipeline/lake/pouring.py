"""Files into one file, sorted by time, a few thousand rows at a time: a merge or a rewrite of a large file needs little memory."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import polars as pl
from polars.io.plugins import register_io_source

from turnout.pipeline.lake.cubing import CubeCounter
from turnout.pipeline.lake.parquet import ROW_GROUP, NewFile, describe, write_options
from turnout.pipeline.lake.store import Store
from turnout.pipeline.schema import TABLES

Change: TypeAlias = Callable[[pl.DataFrame], pl.DataFrame]
"""What happens to rows on the way; it may leave some out."""

ORDER: Final = {"turns": "started_at", "steps": "turn_started_at", "tool_calls": "turn_started_at"}
"""The column that the rows of each table are sorted by."""


def pour(
    store: Store,
    table: str,
    sources: Iterable[str],
    path: str,
    date: str,
    change: Change,
    counter: CubeCounter,
    chunk: int | None = None,
) -> NewFile | None:
    """Write the rows of files into one new file, with its cubes, ready to be committed; None where no row is left.

    Args:
        store: where.
        table: whose files.
        sources: local paths.
        path: of the new file, within the table.
        date: that the file is of.
        change: what happens to the rows.
        counter: of its cubes.
        chunk: about how many rows are in memory at once; those of one row group where nothing is said.
    """
    local = [store.local(table, source) for source in sources]

    def changed() -> Iterator[pl.DataFrame]:
        for frame in _in_order(table, local, chunk or ROW_GROUP[table]):
            rows = change(frame)
            counter.add(rows)
            yield rows

    with store.writing(table, path) as target:
        _sink(table, changed, target)
        written = pl.scan_parquet(target, hive_partitioning=False, glob=False)
        new = describe(table, path, date, written, Path(target).stat().st_size)
    if not new.file.rows:
        return None
    counter.write(store, path)
    return new


def _in_order(table: str, paths: list[str], chunk: int) -> Iterator[pl.DataFrame]:
    """All rows, sorted by time, in frames of about so many; rows without a time come first."""
    column = ORDER[table]
    every = pl.scan_parquet(
        paths,
        schema=_columns(table),
        hive_partitioning=False,
        missing_columns="insert",
        extra_columns="ignore",
        glob=False,
    )
    times = every.select(column).collect()[column].drop_nulls().sort()
    cuts = times.gather_every(chunk).unique(maintain_order=True)[1:].to_list()
    moment = pl.col(column)
    for since, until in zip([None, *cuts], [*cuts, None], strict=True):
        wanted = moment.is_null() if since is None else moment >= since
        below = pl.lit(value=True) if until is None else moment < until
        condition = (below | wanted) if since is None and until is not None else (wanted & below)
        rows = (every if since is None and until is None else every.filter(condition)).collect()
        yield rows.sort(column, maintain_order=True, nulls_last=False)


def _sink(table: str, frames: Callable[[], Iterator[pl.DataFrame]], target: str) -> None:
    def source(
        with_columns: list[str] | None, predicate: Any, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        del with_columns, predicate, n_rows, batch_size
        return frames()

    register_io_source(source, schema=_columns(table)).sink_parquet(target, maintain_order=True, **write_options(table))


def _columns(table: str) -> pl.Schema:
    return pl.Schema({column: kind for column, kind in TABLES[table].items() if column != "date"})
