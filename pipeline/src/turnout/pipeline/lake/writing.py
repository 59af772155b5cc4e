"""One write: steps and tool calls first, the `turns` commit last, naming the versions of the others.

Until that commit nothing of the write is part of the lake. What a writer left behind that died before it is taken away by the next
write. Every commit takes hold only on the version it was decided on; otherwise the whole write is done again.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from turnout.pipeline.lake.compaction import HOT, Target, mergers, places_of
from turnout.pipeline.lake.delta import Table
from turnout.pipeline.lake.files import DataFile
from turnout.pipeline.lake.lookup import Lookup
from turnout.pipeline.lake.parquet import Namer, NewFile, by_date, describe, encode, name_of
from turnout.pipeline.lake.reading import NAMED
from turnout.pipeline.lake.store import FolderStore
from turnout.pipeline.lake.upsert import Fresh, Place, Plan, Stored, plan_upsert
from turnout.pipeline.rows import ClassifiedTurn, Row, step_rows, tool_call_rows, turn_row
from turnout.pipeline.schema import TABLES

_COMPACT_EVERY: Final = 8
_TIDY_EVERY: Final = 100
_CHILDREN: Final[Mapping[str, Callable[[ClassifiedTurn], list[Row]]]] = {
    "steps": step_rows,
    "tool_calls": tool_call_rows,
}
_ORDER: Final = {"turns": "started_at", "steps": "turn_started_at", "tool_calls": "turn_started_at"}


Reached = Callable[[str], None]
"""Told the name of each point of a write that is passed; tests die there."""


@dataclass(frozen=True, slots=True)
class Position:
    """Up to where a journal has been taken in; each journal counts for itself."""

    journal: str
    offset: int


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did, in turns."""

    new: int
    replaced: int
    unchanged: int


class Writer:
    """Writes turns into the tables of one lake."""

    def __init__(self, store: FolderStore, namer: Namer, reached: Reached) -> None:
        store.prepare()
        self._reached = reached
        self._store = store
        self._namer = namer
        self._tables = {name: Table.make(name, store) for name in (*_CHILDREN, "turns")}
        self._lookup = Lookup(store)
        self._commits = 0

    def write(
        self, turns: Sequence[ClassifiedTurn], position: Position | None, supersedes: Mapping[str, str] | None = None
    ) -> Written:
        """Upsert turns; see `Lake.write`.

        Raises:
            ConflictError: when another writer committed meanwhile; nothing of this write is then part of the lake.
        """
        for table in self._tables.values():
            table.refresh()
        if position is not None and self._taken(position):
            return Written(0, 0, len({turn.facts.turn_id for turn in turns}))
        self._undo_unfinished()
        plan = plan_upsert(turns, self._stored(turns), supersedes)
        if plan.written or plan.marked or position is not None:
            self._store_plan(plan, position)
            self._tidy()
        return Written(plan.new, len(plan.replaced), plan.unchanged)

    def stored(self, keys: Collection[str]) -> dict[str, Stored]:
        """The stored rows with these turn ids or roots, by turn id."""
        self._tables["turns"].refresh()
        return self._lookup.rows(self._tables["turns"].files(), keys)

    def _stored(self, turns: Iterable[ClassifiedTurn]) -> dict[str, Stored]:
        ids = {turn.facts.turn_id for turn in turns}
        roots = {turn.facts.root_turn_id for turn in turns if turn.facts.root_turn_id}
        return self._lookup.rows(self._tables["turns"].files(), ids | roots)

    def _taken(self, position: Position) -> bool:
        taken = self._tables["turns"].transaction(position.journal)
        return taken is not None and taken >= position.offset

    def _undo_unfinished(self) -> None:
        """Take away what a write left behind that never came to its `turns` commit."""
        for name, application in NAMED.items():
            named = self._tables["turns"].transaction(application) or 0
            if self._tables[name].version != named:
                self._tables[name].return_to(named)

    def _store_plan(self, plan: Plan, position: Position | None) -> None:
        group = self._namer()
        gone = {row.turn_id: row.place for row in plan.replaced}
        for name, rows_of in _CHILDREN.items():
            rows = [row for fresh in plan.written for row in rows_of(fresh.turn)]
            self._commit(name, group, _frame(name, rows), gone)
        frame = _frame("turns", [_turn_row(fresh) for fresh in plan.written])
        marks = {row.turn_id: (row.place, last) for row, last in plan.marked}
        names = self._names()
        if position is not None:
            names[position.journal] = position.offset
        self._commit("turns", group, frame, gone, marks, names)
        for date, part in by_date(frame):
            self._lookup.note((date, group), pl.concat([part["turn_id"], part["root_turn_id"]]))

    def _commit(
        self,
        name: str,
        group: str,
        rows: pl.DataFrame,
        gone: Mapping[str, Place],
        marks: Mapping[str, tuple[Place, bool]] | None = None,
        names: Mapping[str, int] | None = None,
    ) -> None:
        """One commit of one table: new rows in files of their own, and the touched files without the rows that are gone."""
        marked = marks or {}
        places = set(gone.values()) | {place for place, _ in marked.values()}
        touched = [file for file in self._tables[name].files() if (file.date, file.group) in places] if places else []
        added = [self._put(name, name_of(date, group, self._namer()), date, part) for date, part in by_date(rows)]
        for file in touched:
            rest = without(self._read(name, file), gone, {turn_id: last for turn_id, (_, last) in marked.items()})
            if rest.height:
                added.append(self._put(name, name_of(file.date, file.group, self._namer()), file.date, rest))
        if added or touched or names:
            self._reached(f"{name} written")
            self._tables[name].commit(added, touched, transactions=names)
            self._reached(f"{name} committed")

    def _put(self, name: str, path: str, date: str, frame: pl.DataFrame) -> NewFile:
        return put(self._store, name, path, date, frame.sort(_ORDER[name], maintain_order=True))

    def _read(self, name: str, file: DataFile) -> pl.DataFrame:
        return pl.read_parquet(self._store.local(name, file.path), hive_partitioning=False)

    def compact(self, target: Target) -> int:
        """Put groups of files together; says how many groups were merged.

        Raises:
            ConflictError: when another writer committed meanwhile.
        """
        for table in self._tables.values():
            table.refresh()
        self._undo_unfinished()
        merged = 0
        for places in list(mergers(self._tables["turns"].files(), target)):
            self._merge(places)
            merged += len(places)
        return merged

    def tidy_logs(self) -> None:
        """Make checkpoints and drop what of the logs has outlived its retention."""
        for table in self._tables.values():
            table.tidy()

    def _merge(self, places: Sequence[Place]) -> None:
        """One set of groups of one date becomes one group, in all three tables."""
        date, group = places[0][0], self._namer()
        for name in (*_CHILDREN, "turns"):
            held = places_of(self._tables[name].files())
            old = [held[place] for place in places if place in held]
            if not old:
                continue
            rows = pl.concat([self._read(name, file) for file in old], how="diagonal_relaxed")
            new = self._put(name, name_of(date, group, self._namer()), date, rows)
            names = self._names() if name == "turns" else None
            self._reached(f"{name} merged")
            self._tables[name].commit([new], old, transactions=names, rearranged=True)
            if name == "turns":
                self._lookup.note((date, group), pl.concat([rows["turn_id"], rows["root_turn_id"]]))

    def _names(self) -> dict[str, int]:
        return {application: self._tables[name].version for name, application in NAMED.items()}

    def _tidy(self) -> None:
        self._commits += 1
        if self._commits % _COMPACT_EVERY == 0:
            self.compact(HOT)
        if self._commits % _TIDY_EVERY == 0:
            self.tidy_logs()


def without(rows: pl.DataFrame, gone: Collection[str], marks: Mapping[str, bool]) -> pl.DataFrame:
    """The rows of a file but those of turns that are gone, with new marks of the last segment."""
    kept = rows.filter(~pl.col("turn_id").is_in(list(gone)))
    if not marks:
        return kept
    mark = pl.col("turn_id").replace_strict(dict(marks), default=None, return_dtype=pl.Boolean)
    return kept.with_columns(last_segment=pl.coalesce(mark, pl.col("last_segment")))


def put(store: FolderStore, table: str, path: str, date: str, frame: pl.DataFrame) -> NewFile:
    """Write one file, ready to be committed."""
    data = encode(table, frame)
    store.put(table, path, data)
    return describe(table, path, date, frame, len(data))


def append(store: FolderStore, table: Table, frame: pl.DataFrame, namer: Namer) -> None:
    """Add rows to a table that stands for itself."""
    table.commit([put(store, table.name, name_of("", namer(), namer()), "", frame)])


def _turn_row(fresh: Fresh) -> Row:
    return turn_row(fresh.turn) | {"last_segment": fresh.last_segment, "updated_at": fresh.changed_at // 1000}


def _frame(name: str, rows: Sequence[Row]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict(TABLES[name]), orient="row")
