"""One write: an upsert by turn id over the three tables, in one change.

Until the commit of `turns` nothing of the write is part of the lake. Every commit takes hold only on the version it was decided on;
otherwise the whole write is done again.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Final

import polars as pl

from turnout.outcomes.facts import Instant
from turnout.pipeline.analysis.price import Cost
from turnout.pipeline.frames import costs_of, frame_of, steps_frame, tool_calls_frame
from turnout.pipeline.lake.calls import calls_of, counted_once
from turnout.pipeline.lake.cubing import Cubing
from turnout.pipeline.lake.files import DataFile, at_places
from turnout.pipeline.lake.index import IdIndex
from turnout.pipeline.lake.lateness import Lateness, Merges
from turnout.pipeline.lake.lookup import stored_rows, tellers_of
from turnout.pipeline.lake.parquet import Namer, NewFile, by_date
from turnout.pipeline.lake.store import Store
from turnout.pipeline.lake.tables import Tables
from turnout.pipeline.lake.upsert import Fresh, Place, Plan, Stored, is_same, plan_upsert
from turnout.pipeline.positions import Position, Written
from turnout.pipeline.rows import ClassifiedTurn, Row, turn_row

Reached = Callable[[str], None]
"""Told the name of each point of a change that is passed; tests die there."""


NAMES: Final = ("turn_id", "root_turn_id", "parent_turn_id")
"""The columns of `turns` that rows are found by."""


class Writer:
    """Writes turns into the tables of one lake."""

    def __init__(
        self, store: Store, namer: Namer, reached: Reached, cubing: Cubing, merges: Merges | None = None
    ) -> None:
        self._merges = merges or Merges(Lateness())
        self.tables = Tables(store, namer, cubing)
        self.index = IdIndex(store)
        self.reached = reached

    def write(
        self,
        turns: Sequence[ClassifiedTurn],
        position: Position | None,
        supersedes: Mapping[str, str] | None = None,
        withdrawn: Mapping[str, str] | None = None,
        now: Instant = 0,
        *,
        patient: bool = False,
    ) -> Written:
        """Upsert turns; see `Lake.write`.

        Raises:
            ConflictError: when another writer committed meanwhile; nothing of this write is then part of the lake.
        """
        self.tables.settle()
        if position is not None and self._taken(position):
            return Written(0, 0, len({turn.facts.turn_id for turn in turns}))
        stored = self.around(turns, withdrawn or ())
        plan = plan_upsert(turns, stored, supersedes, withdrawn)
        sizes = {(file.date, file.group): file.size for file in self.tables.turns.files()} if plan.touched else {}
        left = self._to_be_left(plan, sizes, now) if patient else {}
        if left:
            rest = [turn for turn in turns if turn.facts.turn_id not in left]
            plan = plan_upsert(rest, stored, supersedes, withdrawn)
        if plan.rows or plan.gone or plan.marked or position is not None:
            self.change(plan, position)
        self._merges.note(((place[0], sizes[place]) for place in plan.touched), now)
        counts = (plan.new, len(plan.replaced), plan.unchanged, len(plan.withdrawn))
        return Written(*counts, tuple(left), min(left.values(), default=0))

    def stored(self, keys: Collection[str]) -> dict[str, Stored]:
        """The stored rows with these turn ids or roots and every segment of their roots, by turn id."""
        self.tables.turns.refresh()
        return self._rows(keys)

    def change(self, plan: Plan, position: Position | None = None) -> None:
        """Carry out a plan, in one change of the three tables.

        Raises:
            ConflictError: when another writer committed meanwhile; nothing of it is then part of the lake.
        """
        group = self.tables.namer()
        turns = [_told(fresh) for fresh in plan.rows]
        costs = costs_of(turns)
        makers = {"steps": partial(steps_frame, turns, costs), "tool_calls": partial(tool_calls_frame, turns)}
        for name, make in makers.items():  # one frame at a time is held
            added, removed = self._exchange(name, group, make(), plan)
            if added or removed:
                self.reached(f"{name} written")
                self.tables[name].commit(added, removed)
                self.reached(f"{name} committed")
        frame = frame_of("turns", [_turn_row(*one) for one in zip(plan.rows, turns, costs, strict=True)])
        added, removed = self._exchange("turns", group, frame, plan)
        for date, rows in by_date(frame):
            self.index.write((date, group), ids_of(rows.lazy()))
        self.reached("turns written")
        self.tables.turns.commit(added, removed, transactions=self._names(position))
        self.reached("turns committed")

    def around(self, turns: Sequence[ClassifiedTurn], going: Collection[str] = ()) -> dict[str, Stored]:
        """What a change must look at: the turns as they are stored and those that go, their parents and the children of all these."""
        every = [turn.facts for turn in turns]
        parents = {facts.parent_turn_id for facts in every if facts.parent_turn_id}
        named = {name for facts in every for name in (facts.turn_id, facts.root_turn_id) if name}
        keys = named.union(parents, going, *(facts.children_expected for facts in every))
        found = self._rows(keys)
        lost = {row.parent for row in found.values() if row.turn_id in going and row.parent}
        found |= self._rows(lost - keys)
        known = parents | lost
        started = (row.facts().children_expected for row in found.values() if {row.turn_id, row.root} & known)
        found |= self._rows(set[str]().union(*started) - keys - lost)
        telling = [turn for turn in turns if calls_of(turn.facts) and not _is_stored(turn, found)]
        touched = {turn.facts.turn_id for turn in telling} | set(going)
        before = (row.teller.calls for row in found.values() if row.turn_id in touched)
        return found | self._tellers(set[str]().union(*(calls_of(turn.facts) for turn in telling), *before))

    def _tellers(self, calls: set[str]) -> dict[str, Stored]:
        """The rows that tell of some calls, and those that tell of another call of such a row."""
        found: dict[str, Stored] = {}
        asked: set[str] = set()
        for _ in range(2):
            if calls - asked:
                files = self.tables.turns.files()
                found |= tellers_of(self.tables.store, self.index, files, calls - asked)
                asked |= calls
                calls = set[str]().union(*(row.teller.calls for row in found.values()))
        return found

    def _rows(self, keys: Collection[str]) -> dict[str, Stored]:
        return stored_rows(self.tables.store, self.index, self.tables.turns.files(), keys) if keys else {}

    def _to_be_left(self, plan: Plan, sizes: Mapping[Place, int], now: Instant) -> dict[str, Instant]:
        """The stored turns whose late evidence has to wait, and until when."""
        due = ((row.turn_id, self._merges.due(row.place[0], sizes[row.place], now)) for row in plan.replaced)
        return {turn_id: at for turn_id, at in due if at is not None}

    def _taken(self, position: Position) -> bool:
        taken = self.tables.turns.transaction(position.journal)
        return taken is not None and taken >= position.offset

    def _names(self, position: Position | None) -> dict[str, int]:
        return self.tables.names() | ({} if position is None else {position.journal: position.offset})

    def _exchange(
        self, name: str, group: str, rows: pl.DataFrame, plan: Plan
    ) -> tuple[list[NewFile], tuple[DataFile, ...]]:
        """The files of new rows beside the rewritten ones, and the files that they stand in the place of."""
        marks = {row.turn_id: mark for row, mark in plan.marked} if name == "turns" else {}
        places = plan.touched if name == "turns" else {row.place for row in plan.gone}
        files = self.tables[name].files()
        touched = at_places(files, self.tables.turns.files(), places) if places else ()
        gone = [row.turn_id for row in plan.gone]
        added = [self.tables.put(name, (date, group), part) for date, part in by_date(rows)]
        return added + self.tables.rewritten(name, touched, gone, marks), touched


NEEDED: Final = (*NAMES, "trace_id", "facts")
"""What `ids_of` looks at."""


def ids_of(rows: pl.LazyFrame) -> set[str]:
    """What the group of some rows of `turns` is found by: the ids of turns and roots, and of the calls that transcripts tell of."""
    calls = pl.col("facts").str.extract_all(_CALL).list.explode().str.slice(len(_CALL_KEY))
    told = rows.filter(pl.col("trace_id").is_null()).select(name=calls)
    names = (rows.select(name=pl.col(column)) for column in NAMES)
    found = pl.concat([*names, told]).unique().collect(engine="streaming")
    return set(found["name"].drop_nulls())


_CALL_KEY: Final = '"message_id":'
_CALL: Final = _CALL_KEY + r'"(?:[^"\\]|\\.)*"'


def _is_stored(turn: ClassifiedTurn, found: Mapping[str, Stored]) -> bool:
    row = found.get(turn.facts.turn_id)
    return row is not None and is_same(row, turn)


def _told(fresh: Fresh) -> ClassifiedTurn:
    """The turn as its rows tell it."""
    return fresh.turn if fresh.mark is None else counted_once(fresh.turn, fresh.mark.elsewhere)


def _turn_row(fresh: Fresh, told: ClassifiedTurn, costs: Sequence[Cost]) -> Row:
    row = turn_row(told, costs) | {"updated_at": fresh.changed_at // 1000}
    mark = fresh.mark
    return row if mark is None else row | {"last_segment": mark.last_segment, "flags": list(mark.flags)}
