"""The lake as its users see it: open, write, look up, take a snapshot."""

import random
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

import structlog

from turnout.outcomes.facts import Instant, TurnFacts
from turnout.pipeline.analysis.price import PRICE_LIST
from turnout.pipeline.cubes import Cube
from turnout.pipeline.lake import repricing, upkeep
from turnout.pipeline.lake.compaction import COLD, HOT, Target, places_of
from turnout.pipeline.lake.cubing import CubeFiles, Cubing
from turnout.pipeline.lake.delta import Table
from turnout.pipeline.lake.errors import ConflictError, LakeError
from turnout.pipeline.lake.files import DataFile, Snapshot
from turnout.pipeline.lake.index import IdIndex
from turnout.pipeline.lake.lateness import Lateness, Merges
from turnout.pipeline.lake.ledger import Entry, ledger_rows
from turnout.pipeline.lake.object_store import store_at
from turnout.pipeline.lake.parquet import Namer
from turnout.pipeline.lake.problems import Problem
from turnout.pipeline.lake.reading import Reader
from turnout.pipeline.lake.repricing import Repriced
from turnout.pipeline.lake.store import Store
from turnout.pipeline.lake.sweep import GRACE, Swept, sweep
from turnout.pipeline.lake.tables import append
from turnout.pipeline.lake.upsert import Place
from turnout.pipeline.lake.verify import verify
from turnout.pipeline.lake.writing import Reached, Writer
from turnout.pipeline.positions import Position, Written
from turnout.pipeline.rows import ClassifiedTurn

Clock = Callable[[], Instant]

_TRIES: Final = 20
_CUBING: Final = Cubing()
_FURTHEST: Final = 5
_COMPACT_EVERY: Final = 8
_KEEP_HOUSE_EVERY: Final = 200
_LATENESS: Final = Lateness()
_HOUSEKEEPING: Final = "turnout.pipeline.lake.housekeeping"
_log: structlog.stdlib.BoundLogger = structlog.get_logger("turnout.lake")
_T = TypeVar("_T")


class Lake:
    """One lake, for writers and readers; several processes may hold the same one."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        namer: Namer,
        reached: Reached,
        cubing: Cubing,
        keep_house_every: int,
        lateness: Lateness,
    ) -> None:
        self._cubing = cubing
        self._merges = Merges(lateness)
        self._store = store
        self._clock = clock
        self._namer = namer
        self._reached = reached
        self._reader = Reader(store)
        self._index = IdIndex(store)
        self._cubes = CubeFiles(store)
        self._writer: Writer | None = None
        self._writes = 0
        self._keep_house_every = keep_house_every
        self._housekeeper: subprocess.Popen[bytes] | None = None

    @classmethod
    def open(
        cls,
        root: str,
        clock: Clock = time.time_ns,
        namer: Namer = lambda: uuid.uuid4().hex[:16],
        reached: Reached = lambda _: None,
        cubing: Cubing = _CUBING,
        keep_house_every: int = _KEEP_HOUSE_EVERY,
        lateness: Lateness = _LATENESS,
    ) -> "Lake":
        """Name a lake; nothing is made before the first write, and a lake that is not there reads as empty.

        Args:
            root: a folder, or the URL of an object store.
            clock: nanoseconds since the epoch, for the ledger.
            namer: unique names for files.
            reached: told of each point of a write that is passed.
            cubing: which files get cubes.
            keep_house_every: after so many writes a process of its own merges and cleans.
            lateness: how often late evidence is merged into large files for those who can wait.
        """
        return cls(store_at(root), clock, namer, reached, cubing, keep_house_every, lateness)

    def close(self) -> None:
        """Wait for the process that keeps house, where one is at work."""
        if self._housekeeper is not None:
            self._housekeeper.wait()

    @property
    def root(self) -> str:
        """Where the lake is."""
        return self._store.root

    def folder(self, table: str) -> str:
        """The local folder in which `local` gives the files of a table."""
        return self._store.folder(table)

    def local(self, table: str, files: Iterable[DataFile]) -> list[str]:
        """Local paths with the bytes of some files of a table.

        Raises:
            LakeError: when one is not there any more.
        """
        try:
            return [self._store.local(table, file.path) for file in files]
        except OSError as error:
            raise LakeError(f"lake {self.root}: a file of {table} is gone, got {error}; ask again") from error

    def prepare(self) -> None:
        """Make the tables if they are missing.

        Raises:
            LakeError: when the lake cannot be written, or was made by a newer turnout.
        """
        with self._store.lock():
            self._writing()

    def write(
        self,
        turns: Sequence[ClassifiedTurn],
        *,
        position: Position | None = None,
        supersedes: Mapping[str, str] | None = None,
        withdrawn: Mapping[str, str] | None = None,
        patient: bool = False,
    ) -> Written:
        """Store turns by turn id: evidence adds up, and what is there already changes nothing.

        Args:
            turns: in any order, doubled or not.
            position: everything of a journal up to there is in the lake with this write; a position that was written before writes nothing.
            supersedes: by turn id, the digest of stored facts in whose place these stand, because they were made from the same evidence and more;
                evidence does not add up with itself where a step has moved.
            withdrawn: by turn id, the digest of stored facts that are no turn, because their evidence is in the turns given here or already there;
                a row with other facts stays, for it knows more.
            patient: the caller keeps what the answer says was left, to give it again: late evidence for a large file that was merged into
                less than a minute ago.

        Raises:
            LakeError: when the lake cannot be written.
        """
        written = self._alone(
            lambda writer: writer.write(turns, position, supersedes, withdrawn, self._clock(), patient=patient)
        )
        self._look_after()
        return written

    def position(self, journal: str) -> int | None:
        """Up to where a journal is in the lake."""
        turns = Table.find("turns", self._store)
        return None if turns is None else turns.transaction(journal)

    def facts(self, turn_ids: Iterable[str]) -> dict[str, TurnFacts]:
        """The stored facts of turns, by id; ids that the lake does not know are left out."""
        wanted = list(dict.fromkeys(turn_ids))
        if Table.find("turns", self._store) is None:
            return {}
        stored = self._writing().stored(wanted)
        return {turn_id: stored[turn_id].facts() for turn_id in wanted if turn_id in stored}

    def record(self, entries: Sequence[Entry]) -> None:
        """Add lines to the ledger.

        Raises:
            LakeError: when the lake cannot be written.
        """
        frame = ledger_rows(entries, self._clock())
        with self._store.lock():
            append(self._store, Table.make("ledger", self._store), frame, self._namer)

    def compact(self, target: Target = COLD, before: str | None = None) -> int:
        """Put small groups of files together; says how many were merged.

        Args:
            target: how far to go.
            before: only dates (YYYY-MM-DD) before this one.

        Raises:
            LakeError: when the lake cannot be written.
        """
        merges = self._alone(lambda writer: upkeep.plan_merges(writer.tables, target, before))
        return sum(self._alone(partial(upkeep.install, merged=self._merge(places))) for places in merges)

    def retain(self, first_dates: Mapping[str, str]) -> int:
        """Take out of each table what is of dates before its first date (YYYY-MM-DD, by table); says how many turns went.

        Raises:
            LakeError: when the lake cannot be written.
        """
        return self._alone(lambda writer: upkeep.retain(writer.tables, first_dates))

    def forget(self, *, conversation_id: str | None = None, user_id: str | None = None) -> int:
        """Take out every turn of a conversation and of a person; says how many went. The files go with the next `sweep`.

        Raises:
            LakeError: when the lake cannot be written.
        """
        gone = 0
        for column, value in (("conversation_id", conversation_id), ("user_id", user_id)):
            if value is not None:
                gone += self._alone(partial(upkeep.forget, column=column, value=value))
        return gone

    def reclassify(self) -> int:
        """Decide the turns again that another version of the classifier decided, from their stored facts; says how many.

        Raises:
            LakeError: when the lake cannot be written.
        """
        total = 0
        while decided := self._alone(upkeep.reclassify):
            total += decided
        return total

    def reprice(self) -> Repriced:
        """Ask today's price list for the cost of every turn whose source did not report it; noted in the ledger.

        Raises:
            LakeError: when the lake cannot be written.
        """
        total = Repriced()
        for place in self._alone(lambda writer: repricing.due(writer.tables)):
            total += self._alone(partial(_reprice, place=place))
        found: dict[str, object] = {"changed": total.changed, "unpriced": total.unpriced}
        self.record([Entry("reprice", PRICE_LIST, found)])
        return total

    def verify(self) -> Iterator[Problem]:
        """Count everything again and give what does not add up; reads the whole lake, one group of files at a time."""
        return verify(self._store)

    def sweep(self, grace: Instant = GRACE) -> Swept:
        """Delete files that no version has needed for a grace, and drop old logs."""
        with self._store.lock():
            self._writing().tables.tidy()
            return sweep(self._store, self._clock(), grace)

    def find(
        self, turn_ids: Iterable[str], snapshot: Snapshot, among: Iterable[DataFile] | None = None
    ) -> tuple[DataFile, ...]:
        """The files of `turns` that may hold these turns, or turns of these roots; of some of them where they are named."""
        files = snapshot.files("turns")
        some = places_of(files if among is None else among)
        return tuple(some[place] for place in sorted(self._index.places(turn_ids, some, whole=len(some) == len(files))))

    def cubes(self, cube: Cube, files: Iterable[DataFile]) -> dict[DataFile, str]:
        """The local paths of the cubes of those files that have this one."""
        return self._cubes.of(cube, files)

    def snapshot(self) -> Snapshot:
        """One consistent state: whole turns only, never two rows for one segment."""
        return self._reader.snapshot()

    def _look_after(self) -> None:
        """Merge and clean up now and then; what could not be done now is done another time."""
        self._writes += 1
        try:
            if self._writes % _COMPACT_EVERY == 0:
                self.compact(HOT)
        except LakeError as error:
            _log.warning("lake_not_looked_after", lake=self.root, reason=str(error))
        if self._writes % self._keep_house_every == 0 and (
            self._housekeeper is None or self._housekeeper.poll() is not None
        ):
            # Our own interpreter and module; it ends by itself.
            self._housekeeper = subprocess.Popen([sys.executable, "-m", _HOUSEKEEPING, self.root])  # noqa: S603

    def _merge(self, places: Sequence[Place]) -> upkeep.Merged:
        return upkeep.merge(self._writing(), places)

    def _alone(self, change: Callable[[Writer], _T]) -> _T:
        """Change the lake while other writers wait; where they cannot be made to, do it again until it takes hold."""
        with self._store.lock():
            for attempt in range(_TRIES):
                began = time.monotonic()
                try:
                    return change(self._writing())
                except ConflictError:
                    # Only where writers cannot be kept waiting: they move apart by as much as a try takes there, and further from try to try.
                    took = time.monotonic() - began
                    time.sleep(min(attempt + 1, _FURTHEST) * random.uniform(0, took))  # noqa: S311 - not for secrets
        raise LakeError(f"lake {self.root}: {_TRIES} changes in a row lost against other writers; run fewer of them")

    def _writing(self) -> Writer:
        if self._writer is None:
            self._writer = Writer(self._store, self._namer, self._reached, self._cubing, self._merges)
        return self._writer


def _reprice(writer: Writer, place: Place) -> Repriced:
    return repricing.reprice(writer.tables, place)
