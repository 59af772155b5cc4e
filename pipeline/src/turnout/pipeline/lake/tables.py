"""The three tables that hold turns, opened together for one writer.

A change commits the children first and `turns` last, naming their versions. Whatever a dead writer left behind between the two is
taken away before the next change.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Final

import polars as pl

from turnout.pipeline.lake.cubing import CubeCounter, Cubing
from turnout.pipeline.lake.delta import Table
from turnout.pipeline.lake.files import DataFile
from turnout.pipeline.lake.parquet import Namer, NewFile, describe, encode, name_of
from turnout.pipeline.lake.pouring import ORDER, Change, pour
from turnout.pipeline.lake.reading import NAMED
from turnout.pipeline.lake.store import Store
from turnout.pipeline.lake.upsert import Mark, Place

CHILDREN: Final = ("steps", "tool_calls")


def _as_they_are(rows: pl.DataFrame) -> pl.DataFrame:
    return rows


class Tables:
    """Handles on `turns`, `steps` and `tool_calls`, and the ways to read and write their files."""

    def __init__(self, store: Store, namer: Namer, cubing: Cubing) -> None:
        """Open them; made empty, or given the columns that an older turnout did not know."""
        self._cubing = cubing
        store.prepare()
        self.store = store
        self.namer = namer
        self._tables = {name: Table.make(name, store) for name in (*CHILDREN, "turns")}
        self._add_columns()

    @property
    def turns(self) -> Table:
        """The table whose commits decide what the lake holds."""
        return self._tables["turns"]

    def __getitem__(self, name: str) -> Table:
        return self._tables[name]

    def settle(self) -> None:
        """Bring the handles up to date, and take away what a write left behind that never came to its `turns` commit."""
        for table in self._tables.values():
            table.refresh()
        for name, application in NAMED.items():
            named = self.turns.transaction(application) or 0
            if self._tables[name].version != named:
                self._tables[name].return_to(named)

    def names(self) -> dict[str, int]:
        """The versions that a `turns` commit names."""
        return {application: self._tables[name].version for name, application in NAMED.items()}

    def put(self, name: str, place: Place, frame: pl.DataFrame) -> NewFile:
        """Write new rows of one group, sorted by time, and their cubes, ready to be committed."""
        date, group = place
        path = name_of(date, group, self.namer())
        counter = CubeCounter(name, frame.height, self._cubing)
        counter.add(frame)
        new = put(self.store, name, path, date, frame.sort(ORDER[name], maintain_order=True))
        counter.write(self.store, path)
        return new

    def pour(self, name: str, place: Place, files: Sequence[DataFile], change: Change = _as_they_are) -> NewFile | None:
        """Write the rows of files anew as one file of one group, ready to be committed; None where no row is left."""
        date, group = place
        path = name_of(date, group, self.namer())
        counter = CubeCounter(name, sum(file.rows for file in files), self._cubing)
        return pour(self.store, name, [file.path for file in files], path, date, change, counter)

    def rewritten(
        self, name: str, files: Sequence[DataFile], gone: Collection[str], marks: Mapping[str, Mark]
    ) -> list[NewFile]:
        """The files without the rows of turns that are gone, and with new marks; one without rows is left out."""
        change = partial(without, gone=gone, marks=marks)
        new = [self.pour(name, (file.date, file.group), [file], change) for file in files]
        return [file for file in new if file is not None]

    def tidy(self) -> None:
        """Make checkpoints and drop what of the logs has outlived its retention."""
        for table in self._tables.values():
            table.tidy()

    def _add_columns(self) -> None:
        if any(table.lacks_columns for table in self._tables.values()):
            self.settle()
            for table in self._tables.values():
                table.add_columns()
            self.turns.commit(transactions=self.names())


def without(rows: pl.DataFrame, gone: Collection[str], marks: Mapping[str, Mark]) -> pl.DataFrame:
    """The rows of a file but those of turns that are gone, with new marks."""
    kept = rows.filter(~pl.col("turn_id").is_in(list(gone)))
    if not marks:
        return kept
    last = {turn_id: mark.last_segment for turn_id, mark in marks.items()}
    number = {turn_id: place for place, turn_id in enumerate(marks)}
    flags = pl.Series([list(mark.flags) for mark in marks.values()], dtype=pl.List(pl.String))
    at = pl.col("turn_id").replace_strict(number, default=None, return_dtype=pl.UInt32)
    return kept.with_columns(
        last_segment=pl.col("turn_id").replace_strict(last, default=pl.col("last_segment"), return_dtype=pl.Boolean),
        flags=pl.when(at.is_null()).then(pl.col("flags")).otherwise(pl.lit(flags).gather(at)),
    )


def put(store: Store, table: str, path: str, date: str, frame: pl.DataFrame) -> NewFile:
    """Write one file, ready to be committed."""
    data = encode(table, frame)
    store.put(table, path, data)
    return describe(table, path, date, frame.lazy(), len(data))


def append(store: Store, table: Table, frame: pl.DataFrame, namer: Namer) -> None:
    """Add rows to a table that stands for itself."""
    table.commit([put(store, table.name, name_of("", namer(), namer()), "", frame)])
