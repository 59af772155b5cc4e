"""The warehouse: one consistent state of a lake, to be asked in SQL or by filters."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import accumulate
from math import ceil
from threading import RLock
from typing import Final

import polars as pl

from turnout.outcomes.facts import TurnFacts
from turnout.outcomes.verdict import Verdict
from turnout.pipeline.codec import decode_turn
from turnout.pipeline.cubes import CUBES, Cube
from turnout.pipeline.lake import DataFile, Lake, Snapshot
from turnout.pipeline.lake.cubing import FOLDER as CUBES_FOLDER
from turnout.pipeline.lake.files import at_places, ended_within, micros, started_within
from turnout.pipeline.query.conditions import ALWAYS, columns_of, narrowed
from turnout.pipeline.query.engine import Engine, cube_files, resource
from turnout.pipeline.query.errors import QueryError
from turnout.pipeline.query.filters import Clock, Filters
from turnout.pipeline.rows import verdict_of
from turnout.pipeline.schema import TABLES

ORDERS: Final[Mapping[str, str]] = {"latest": "over_at desc, turn_id", "oldest": "over_at, turn_id"}
"""The orders that turns can be listed in."""

_ENOUGH: Final = 40
"""So many rows for each one that is wanted are looked at first, in the hope that they hold it."""

_NEAR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class TurnDetail:
    """One turn with everything that is stored of it; ``segments`` are all stretches of the same root, oldest first."""

    row: Mapping[str, object]
    facts: TurnFacts
    verdict: Verdict
    steps: pl.DataFrame
    tool_calls: pl.DataFrame
    segments: pl.DataFrame


class Warehouse:
    """Answers questions over one snapshot of a lake; `refresh` moves on to the newest. Threads may share it."""

    def __init__(self, root: str) -> None:
        """Open a lake for reading; one that is not there is empty.

        Raises:
            LakeError: when it cannot be read or was made by a newer turnout.
        """
        self._lake = Lake.open(root)
        self._guard = RLock()
        self._snapshot = self._lake.snapshot()
        self._engine = Engine(
            [self._lake.folder(table) for table in (*TABLES, CUBES_FOLDER)], uniform=self._snapshot.uniform
        )

    @property
    def root(self) -> str:
        """Where the lake is."""
        return self._lake.root

    @property
    def snapshot(self) -> Snapshot:
        """The state that questions are answered from."""
        return self._snapshot

    def refresh(self) -> bool:
        """Move on to the newest state; true when it differs from the one before."""
        with self._guard:
            before = self._snapshot
            self._snapshot = self._lake.snapshot()
            return self._snapshot != before

    def sql(
        self, statement: str, parameters: Mapping[str, object] | None = None, filters: Filters | None = None
    ) -> pl.DataFrame:
        """The rows of one statement that reads the views turns, turn_segments, steps, tool_calls and ledger.

        Args:
            statement: one ``select``, with parameters as ``$name``.
            parameters: by name.
            filters: narrow the views ``counted_turns``, ``counted_steps`` and ``counted_tool_calls`` to what they let through.

        Raises:
            QueryError: when it is no such statement.
        """
        chosen = filters or Filters()
        whole = narrowed(statement, chosen)
        return self._engine.frame(whole.text, {**(parameters or {}), **whole.parameters}, self._files_for(chosen))

    def counted(
        self,
        statement: str,
        parameters: Mapping[str, object],
        filters: Filters | None,
        *,
        view: str,
        columns: Collection[str],
    ) -> pl.DataFrame:
        """The rows of a statement that counts by ``n``, from cubes where the view has one with all that is asked.

        Args:
            statement: one ``select`` over one counted view.
            parameters: by name.
            filters: as for `sql`.
            view: the counted view.
            columns: those that the statement reads, besides ``n``.
        """
        chosen = filters or Filters()
        cube, cubes = self.cube_for(view, columns, chosen)
        if cube is None:
            return self.sql(statement, parameters, filters)
        whole = narrowed(statement, chosen, {view: cube})
        rest = [file for file in self._files(chosen)[cube.table] if file not in cubes]
        paths = {cube.table: self._paths(cube.table, rest), cube_files(cube): list(cubes.values())}
        return self._engine.frame(whole.text, {**parameters, **whole.parameters}, paths)

    def part(self, most: int, filters: Filters | None = None) -> "Warehouse":
        """The same lake with about so many of the turns that the filters may let through, of files spread evenly over their time."""
        snapshot = self._snapshot
        turns = sorted(_within(snapshot, filters or Filters()), key=lambda file: file.first)
        whole = sum(file.rows for file in turns)
        if whole <= most:
            return self
        wanted = max(1, ceil(len(turns) * most / whole))
        chosen = [turns[place * len(turns) // wanted] for place in range(wanted)]
        places = {(file.date, file.group) for file in chosen}
        every = snapshot.files("turns")
        tables = {
            table: at_places(files, every, places) for table, files in snapshot.tables.items() if table != "ledger"
        }
        found = copy(self)
        found._snapshot = replace(snapshot, tables={**snapshot.tables, **tables})  # noqa: SLF001 - a copy of its own class
        return found

    def most_turns(self, filters: Filters | None = None) -> int:
        """How many turns the filters let through at most, without reading any."""
        return sum(file.rows for file in _within(self._snapshot, filters or Filters()))

    def cube_for(
        self, view: str, columns: Collection[str], filters: Filters
    ) -> tuple[Cube | None, Mapping[DataFile, str]]:
        """The first cube that knows these columns and stands for some of the files, and where its own files are."""
        asked = {*columns, *columns_of(view, filters)}
        for cube in CUBES:
            if cube.view == view and asked <= {*cube.columns, *cube.sums, *ALWAYS}:
                inside = (file for file in self._files(filters)[cube.table] if _inside(file, filters))
                cubes = self._lake.cubes(cube, inside)
                if cubes:
                    return cube, cubes
        return None, {}

    def turns(
        self,
        filters: Filters | None = None,
        limit: int | None = 100,
        order: str = "latest",
        *,
        abnormal: bool = False,
    ) -> pl.DataFrame:
        """Turns with all their columns but the facts, the last segment of each root.

        Args:
            filters: which turns.
            limit: how many at most; ``None`` for all.
            order: one of `ORDERS`.
            abnormal: abnormal ends alone.
        """
        # The order is one of ours, never a caller's text.
        only = "where abnormal\n" if abnormal else ""
        statement = f"{resource('pages/turns.sql')}{only}order by {ORDERS[order]}"
        if limit is None or order != "latest":
            return self.sql(statement if limit is None else f"{statement}\nlimit {int(limit)}", filters=filters)
        return self._latest(f"{statement}\nlimit {int(limit)}", filters or Filters(), limit)

    def turn(self, turn_id: str, near: datetime | None = None) -> TurnDetail | None:
        """One turn by id; None where the lake does not know it.

        Args:
            turn_id: of any segment.
            near: about when it started; saves the search through the rest.
        """
        snapshot = self._snapshot
        turns = snapshot.files("turns")
        closest = () if near is None else tuple(started_within(turns, micros(near - _NEAR), micros(near + _NEAR)))
        for some in (closest, turns) if closest else (turns,):
            files = self._lake.find([turn_id], snapshot, some)
            places = self._engine.frame(
                resource("pages/turn_place.sql"), {"turn_id": turn_id}, {"turns": self._paths("turns", files)}
            )
            if turn_id in places["turn_id"]:
                return self._detail(snapshot, places, turn_id)
        return None

    def require(self, turn_id: str) -> TurnDetail:
        """One turn by id.

        Raises:
            QueryError: when the lake does not know it.
        """
        found = self.turn(turn_id)
        if found is None:
            raise QueryError(
                f"turn: got {turn_id!r}, expected the id of a turn in lake {self.root}; `turnout turns` lists them"
            )
        return found

    def freshness(self) -> pl.DataFrame:
        """By source: ``turns``, ``last_received`` and ``last_ended``, the most recent first."""
        return self.sql(resource("pages/freshness.sql"))

    def _detail(self, snapshot: Snapshot, places: pl.DataFrame, turn_id: str) -> TurnDetail:
        place = places.row(by_predicate=pl.col("turn_id") == turn_id, named=True)
        here = {(place["date"], place["file_group"])}
        turns = snapshot.files("turns")
        about = {
            table: self._paths(table, at_places(snapshot.files(table), turns, here))
            for table in ("turns", "steps", "tool_calls")
        }
        started = {"turn_id": turn_id, "started": place["started_at"]}
        found = self._engine.frame(resource("pages/turn.sql"), started, about)
        row = found.row(0, named=True)
        one = {"turn_id": turn_id, "started": row["started_at"] or row["received_at"]}
        root = str(row["root_turn_id"])
        files = self._lake.find([root], snapshot)
        # Where no other row of the one file that may know the root has it, the turn is its only segment.
        alone = root == turn_id and places.height == 1 and len(files) == 1
        whole = {"turns": self._paths("turns", files)}
        return TurnDetail(
            row=row,
            facts=decode_turn(str(row["facts"]).encode()).turn,
            verdict=verdict_of(row),
            steps=self._engine.frame(resource("pages/turn_steps.sql"), one, about),
            tool_calls=self._engine.frame(resource("pages/turn_tool_calls.sql"), one, about),
            segments=found.drop("facts")
            if alone
            else self._engine.frame(resource("pages/turn_segments.sql"), {"root": root}, whole),
        )

    def _latest(self, statement: str, filters: Filters, limit: int) -> pl.DataFrame:
        """The latest turns, from as few of the newest files as hold them for sure."""
        files = sorted(_within(self._snapshot, filters), key=lambda file: file.ended, reverse=True)
        whole = narrowed(statement, filters)
        count = _holding(files, _ENOUGH * limit)
        while True:
            paths = self._paths("turns", files[:count])
            rows = self._engine.frame(whole.text, whole.parameters, {"turns": paths})
            if count >= len(files) or _certain(rows, limit, files[count].ended):
                return rows
            count *= 4

    def _files_for(self, filters: Filters) -> dict[str, list[str]]:
        return {table: self._paths(table, files) for table, files in self._files(filters).items()}

    def _files(self, filters: Filters) -> dict[str, tuple[DataFile, ...]]:
        """The files of each table that may hold what the filters let through."""
        snapshot = self._snapshot
        turns = _within(snapshot, filters)
        places = {(file.date, file.group) for file in turns}
        every = snapshot.files("turns")
        children = {table: at_places(snapshot.files(table), every, places) for table in ("steps", "tool_calls")}
        return {"turns": turns, "ledger": snapshot.files("ledger"), **children}

    def _paths(self, table: str, files: Iterable[DataFile]) -> list[str]:
        return self._lake.local(table, files)


def _within(snapshot: Snapshot, filters: Filters) -> tuple[DataFile, ...]:
    """The files of `turns` that may hold rows of the window."""
    since = None if filters.since is None else micros(filters.since)
    until = None if filters.until is None else micros(filters.until)
    within = started_within if filters.clock is Clock.STARTED else ended_within
    return tuple(within(snapshot.files("turns"), since, until))


def _inside(file: DataFile, filters: Filters) -> bool:
    """Whether every turn of a file lies in the window, whatever hour it is."""
    since = None if filters.since is None else micros(filters.since)
    until = None if filters.until is None else micros(filters.until)
    anytime = since is None and until is None
    started = (since is None or file.first >= since) and (until is None or file.last < until)
    return anytime or (filters.clock is Clock.STARTED and started)


def _holding(files: Sequence[DataFile], rows: int) -> int:
    """How many of the first files hold so many rows; all where none do."""
    held = accumulate(file.rows for file in files)
    return next((count for count, total in enumerate(held, 1) if total >= rows), max(1, len(files)))


def _certain(rows: pl.DataFrame, limit: int, rest_ended: int) -> bool:
    """Whether no row of the files that were not read can belong among the latest."""
    return rows.height == limit and micros(rows["over_at"][-1]) > rest_ended
