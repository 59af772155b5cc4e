"""The journal -> the lake: decode, assemble, classify, write, in that order, on one thread.

Exactly once over any crash, for three reasons. A write carries the journal position that it stands for, and is taken once. Storing a turn again that is
stored already changes nothing. And what is not yet stored is either behind the position, in the journal, or in the state file.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from turnout.outcomes.facts import Instant
from turnout.outcomes.verdict import Cause
from turnout.pipeline.assemble import SECOND, Assembler, Given, How, Pace
from turnout.pipeline.errors import TurnoutError
from turnout.pipeline.lake import Lake, Position
from turnout.pipeline.otlp import OtlpError, decode_request
from turnout.pipeline.receive.bodies import Signal
from turnout.pipeline.receive.counters import Count, Counters, Gauge, seconds
from turnout.pipeline.receive.deaths import gone
from turnout.pipeline.receive.journal import Journal, Stored
from turnout.pipeline.receive.reader import Reader
from turnout.pipeline.receive.state import read_state, write_state
from turnout.pipeline.rows import ClassifiedTurn
from turnout.pipeline.telemetry import Record

_log: structlog.stdlib.BoundLogger = structlog.get_logger("turnout.receive")

READ_BYTES = 4 * 1024 * 1024
"""How much of the journal is taken in one go."""

_CLOSED = {
    How.QUIET: Count.TURNS_QUIET,
    How.DIED: Count.TURNS_DIED,
    How.PRESSED: Count.TURNS_PRESSED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cadence:
    """How often the lake is written, in nanoseconds."""

    light: Instant = SECOND // 4
    """At least so long after the last write."""
    loaded: Instant = 2 * SECOND
    """The same once more than ``load`` records came since."""
    load: int = 1000
    retry: Instant = SECOND
    """After a write that failed."""
    deaths: Instant = 5 * SECOND
    state_bytes: int = 64 * 1024 * 1024
    """How much of the journal is read between two state files."""


def _nothing(point: str) -> None:
    del point


@dataclass(slots=True, kw_only=True)
class Converter:
    """Moves what is in the journal into the lake; `step` does a little of it."""

    journal: Journal
    journal_id: str
    lake: Lake
    counters: Counters
    clock: Callable[[], Instant]
    pace: Pace = field(default_factory=Pace)
    cadence: Cadence = field(default_factory=Cadence)
    reached: Callable[[str], None] = _nothing
    queued: int = 0
    """How many bytes of the journal were not read yet at the last step."""
    failing: str = ""
    """Why the lake could not be written, while it cannot be."""
    _assembler: Assembler = field(init=False)
    _reader: Reader = field(init=False)
    _unwritten: list[Given] = field(default_factory=list[Given])
    _wrote_at: Instant = 0
    _wrote_position: int = 0
    _looked_for_dead_at: Instant = 0
    _since_write: int = 0
    _since_state: int = 0
    _last_received: Instant = 0

    @property
    def folder(self) -> Path:
        """Where the journal and the state are."""
        return self.journal.folder

    @property
    def _is_behind(self) -> bool:
        """Whether the lake does not hold what was assembled."""
        return bool(self._unwritten or self._assembler.withdrawn)

    def resume(self) -> None:
        """Take up where the last run ended; what the lake holds already is only remembered."""
        state = read_state(self.folder)
        self._assembler = Assembler(self.pace)
        self._assembler.restore(state.groups)
        self._reader = Reader(self.journal, state.position)
        self._wrote_position = self.lake.position(self.journal_id) or 0
        while self._reader.position < self._wrote_position and (bodies := self._reader.next(1)):
            self._take(bodies)
        self._assembler.remember(self.lake.facts(self._assembler.names()))
        self._unwritten = self._assembler.advance(self._last_received)

    def step(self) -> bool:
        """Read some, look at what is due, write if it is time; says whether there was anything to read."""
        now = self.clock()
        bodies = [] if self.failing else self._reader.next(READ_BYTES)
        self._take(bodies)
        self._look_for_dead(now)
        if self._is_time(now, idle=not bodies):
            self._unwritten += self._assembler.advance(now)
            self._write(now)
            self._keep_state()
        self._measure(now)
        return bool(bodies)

    def is_settled(self) -> bool:
        """Whether everything in the journal was read, and every turn that is over is in the lake."""
        due = self._assembler.next_due
        fresh = any(group.fresh_at is not None for group in self._assembler.groups())
        overdue = due is not None and due <= self.clock()
        return not (fresh or overdue or self._is_behind or self._reader.position < self.journal.last)

    def relieve(self) -> None:
        """Give memory back that is held for comfort only."""
        self._assembler.let_go()

    def open_groups(self) -> int:
        """How many turns, or groups of them, may still be running."""
        return self._assembler.open_groups()

    def finish(self) -> None:
        """Write what is over, and keep the state, so that the next run need not read again; nothing may be appended any more."""
        now = self.clock()
        # A turn whose end was just seen is not waited for any longer; what is late is put to it after the next start.
        self._unwritten += self._assembler.advance(now + self.pace.patience)
        self._write(now)
        if not self._is_behind:
            write_state(self.folder, self._reader.position, self._assembler.groups())
            self.journal.seal()
            self.journal.release(self._reader.position)

    def _take(self, bodies: Sequence[Stored]) -> None:
        damaged = self._reader.damaged
        for stored in bodies:
            self._last_received = max(self._last_received, stored.body.received_at)
            records = self._decoded(stored)
            self._assembler.accept(records, stored.body.received_at)
            self._since_write += len(records)
            self._since_state += len(stored.body.payload)
            self.counters.add(Count.RECORDS_CONVERTED, len(records))
        self.counters.add(Count.REQUESTS_CONVERTED, len(bodies))
        self.counters.add(Count.DAMAGED, self._reader.damaged - damaged, "journal record")
        self._count_passed_over()

    def _decoded(self, stored: Stored) -> Sequence[Record]:
        body = stored.body
        try:
            decoded = decode_request(body.payload, body.encoding, "traces" if body.signal is Signal.TRACES else "logs")
        except OtlpError as error:
            self.counters.add(Count.DAMAGED, reason="request body")
            _log.warning("body_skipped", position=stored.position, why=str(error))
            return ()
        return decoded.records

    def _count_passed_over(self) -> None:
        assembler = self._assembler
        self.counters.add(Count.RECORDS_NOT_NEEDED, assembler.irrelevant)
        self.counters.add(Count.DAMAGED, assembler.failed, "group that no dialect could read")
        for scope, count in assembler.unrecognised.items():
            self.counters.add(Count.UNRECOGNISED, count, scope)
        assembler.irrelevant = assembler.failed = 0
        assembler.unrecognised.clear()

    def _look_for_dead(self, now: Instant) -> None:
        if now - self._looked_for_dead_at < self.cadence.deaths:
            return
        self._looked_for_dead_at = now
        for process in gone(self._assembler.processes()):
            self._assembler.died(process, now)

    def _is_time(self, now: Instant, *, idle: bool) -> bool:
        if self.failing:
            return now - self._wrote_at >= self.cadence.retry
        loaded = self._since_write > self.cadence.load
        if now - self._wrote_at < (self.cadence.loaded if loaded else self.cadence.light):
            return False
        due = self._assembler.next_due
        return self._is_behind or (due is not None and due <= now) or not idle

    def _write(self, now: Instant) -> None:
        self._count_passed_over()
        if not self._is_behind:
            return
        self._wrote_at, self._since_write = now, 0
        try:
            self._store(self._unwritten)
        except (TurnoutError, OSError) as error:
            if not self.failing:
                _log.error("lake_not_written", why=str(error))
            self.failing = str(error)
            self.counters.add(Count.COMMITS_FAILED)
            return
        self.failing = ""
        self._unwritten = []

    def _store(self, given: Sequence[Given]) -> None:
        """Write turns. Only a write that stands for new positions carries one, and only at the first try: a position is taken once."""
        position = self._reader.position
        fresh = position > self._wrote_position and not self.failing
        withdrawn, superseded = self._assembler.withdrawn, _superseded(given)
        self.reached("convert.before_write")
        written = self.lake.write(
            [turn for turn in _turns(given) if turn.facts.turn_id not in withdrawn],
            position=Position(self.journal_id, position) if fresh else None,
            supersedes=superseded,
            withdrawn={turn_id: superseded.get(turn_id, digest) for turn_id, digest in withdrawn.items()},
        )
        withdrawn.clear()
        self.reached("convert.after_write")
        self._wrote_position = max(self._wrote_position, position) if fresh else self._wrote_position
        self.counters.add(Count.COMMITS)
        self.counters.add(Count.TURNS_WRITTEN, written.new)
        self.counters.add(Count.TURNS_REPLACED, written.replaced)
        for one in given:
            self._count_turn(one)

    def _count_turn(self, given: Given) -> None:
        if given.how in _CLOSED:
            self.counters.add(_CLOSED[given.how])
        if given.turn.verdict.cause is Cause.UNKNOWN_FINISH_REASON and given.supersedes is None:
            steps = given.turn.facts.steps
            reason = (steps[-1].raw_finish_reason or steps[-1].finish_reason or "") if steps else ""
            self.counters.add(Count.UNKNOWN_FINISH_REASONS, reason=reason)

    def _keep_state(self) -> None:
        """Now and then, when nothing waits to be written, store the state and let the journal go."""
        if self._since_state < self.cadence.state_bytes or self._is_behind:
            return
        self._since_state = 0
        self.reached("convert.before_state")
        try:
            write_state(self.folder, self._reader.position, self._assembler.groups())
        except OSError as error:
            _log.error("state_not_written", why=str(error))
            return
        self.reached("convert.after_state")
        self.journal.release(self._reader.position)

    def _measure(self, now: Instant) -> None:
        self.queued = self._reader.remaining()
        behind = self._reader.position < self.journal.last
        put = self.counters.put
        put(Gauge.QUEUED_BYTES, self.queued)
        put(Gauge.LAG_SECONDS, max(0.0, seconds(now - self._last_received)) if behind else 0.0)
        put(Gauge.JOURNAL_BYTES, self.journal.size)
        put(Gauge.JOURNAL_POSITION, self.journal.last)
        put(Gauge.LAKE_POSITION, self._wrote_position)
        put(Gauge.RETAINED_RECORDS, self._assembler.records)


def _turns(given: Iterable[Given]) -> list[ClassifiedTurn]:
    """The newest form of each turn."""
    return list({one.turn.facts.turn_id: one.turn for one in given}.values())


def _superseded(given: Iterable[Given]) -> dict[str, str]:
    """What the lake holds of each turn: what was given before the oldest of these."""
    found: dict[str, str | None] = {}
    for one in given:
        found.setdefault(one.turn.facts.turn_id, one.supersedes)
    return {turn_id: digest for turn_id, digest in found.items() if digest is not None}
