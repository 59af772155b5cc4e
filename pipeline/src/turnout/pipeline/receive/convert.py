"""The journal -> the lake: decode, assemble, classify, write, in that order, on one thread.

Exactly once over any crash, for three reasons. A write carries the journal position that it stands for, and is taken once. Storing a turn again that is
stored already changes nothing. And what is not yet stored is either behind the position, in the journal, or in the state file.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from turnout.outcomes.facts import Instant
from turnout.pipeline.assemble import Assembler, Pace
from turnout.pipeline.otlp import OtlpError, decode_request
from turnout.pipeline.receive.bodies import Signal
from turnout.pipeline.receive.cadence import Cadence
from turnout.pipeline.receive.counters import Count, Counters, Gauge, seconds
from turnout.pipeline.receive.deaths import gone
from turnout.pipeline.receive.journal import Stored
from turnout.pipeline.receive.lakes import WritableLake
from turnout.pipeline.receive.reader import JournalView, Reader
from turnout.pipeline.receive.state import read_state, write_state
from turnout.pipeline.receive.storing import Later, Storing, at_once
from turnout.pipeline.telemetry import Record

_log: structlog.stdlib.BoundLogger = structlog.get_logger("turnout.receive")

__all__ = ["READ_BYTES", "Cadence", "Converter"]

READ_BYTES = 4 * 1024 * 1024
"""How much of the journal is taken in one go."""

_MOST_UNWRITTEN = 30_000
"""Records that are read while a write is under way: what they become is held until the next."""


def _nothing(point: str) -> None:
    del point


@dataclass(slots=True, kw_only=True)
class Converter:
    """Moves what is in the journal into the lake; `step` does a little of it. ``later`` says where the lake is written."""

    journal: JournalView
    journal_id: str
    lake: WritableLake
    counters: Counters
    clock: Callable[[], Instant]
    pace: Pace = field(default_factory=Pace)
    cadence: Cadence = field(default_factory=Cadence)
    reached: Callable[[str], None] = _nothing
    later: Later = at_once
    queued: int = 0
    """How many bytes of the journal were not read yet at the last step."""
    _assembler: Assembler = field(init=False)
    _reader: Reader = field(init=False)
    _storing: Storing = field(init=False)
    _wrote_at: Instant = 0
    _looked_for_dead_at: Instant = 0
    _since_write: int = 0
    _since_state: int = 0
    _last_received: Instant = 0

    @property
    def failing(self) -> str:
        """Why the lake could not be written, while it cannot be."""
        return self._storing.failing

    @property
    def folder(self) -> Path:
        """Where the journal and the state are."""
        return self.journal.folder

    def __post_init__(self) -> None:
        """Begin with nothing assembled and nothing to write."""
        self._assembler = Assembler(self.pace)
        self._reader = Reader(self.journal, 0)
        self._storing = Storing(
            lake=self.lake,
            journal_id=self.journal_id,
            counters=self.counters,
            reached=self.reached,
            later=self.later,
        )

    def resume(self) -> None:
        """Take up where the last run ended; what the lake holds already is only remembered."""
        state = read_state(self.folder)
        self._assembler.restore(state.groups)
        self._reader = Reader(self.journal, state.position)
        self._storing.position = self.lake.position(self.journal_id) or 0
        while self._reader.position < self._storing.position and (bodies := self._reader.next(1)):
            self._take(bodies)
            if self._assembler.records > self.pace.records:
                self._recall()
        self._recall()

    def _recall(self) -> None:
        """Give the turns of what was read again, but those that the lake holds as they are."""
        self._assembler.remember(self.lake.facts(self._assembler.names()))
        self._advance(self._last_received)

    def step(self) -> bool:
        """Read some, look at what is due, write if it is time; says whether there was anything to read."""
        now = self.clock()
        self._storing.end(wait=self._since_write > _MOST_UNWRITTEN)
        bodies = [] if self.failing else self._reader.next(READ_BYTES)
        self._take(bodies)
        self._look_for_dead(now)
        # While there is more to read it is as late as it was when that was received: what belongs together may still be unread.
        self._advance(self._last_received if self._is_lagging else now)
        if self._is_time(now):
            self._write(now)
            self._keep_state(now)
        self._measure(now)
        return bool(bodies)

    def is_settled(self) -> bool:
        """Whether everything in the journal was read, and every turn that is over is in the lake."""
        due = self._assembler.next_due
        fresh = any(group.fresh_at is not None for group in self._assembler.groups())
        overdue = due is not None and due <= self.clock()
        return not (fresh or overdue or self._storing.is_behind or self._is_lagging)

    def relieve(self) -> None:
        """Give memory back that is held for comfort only."""
        self._assembler.let_go()

    def open_groups(self) -> int:
        """How many turns, or groups of them, may still be running."""
        return self._assembler.open_groups()

    def finish(self) -> None:
        """Write what is over, and keep the state, so that the next run need not read again; nothing may be appended any more."""
        # A turn whose end was just seen is not waited for any longer; what is late is put to it after the next start.
        self._flush(self.clock() + self.pace.patience)
        if not self._storing.is_behind:
            write_state(self.folder, self._reader.position, self._assembler.groups())
            self.journal.seal()
            self.journal.release(self._reader.position)

    @property
    def _is_lagging(self) -> bool:
        return self._reader.position < self.journal.last

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

    def _advance(self, now: Instant) -> None:
        given = self._assembler.advance(now)
        withdrawn = self._assembler.withdrawn
        if given or withdrawn:
            self._storing.take(given, withdrawn)
            withdrawn.clear()

    def _is_time(self, now: Instant) -> bool:
        if self.failing:
            return now - self._wrote_at >= self.cadence.retry
        loaded = self._since_write > self.cadence.load
        if now - self._wrote_at < (self.cadence.loaded if loaded else self.cadence.light):
            return False
        return self._storing.is_waiting_at(now) or self._is_state_due

    def _write(self, now: Instant, *, patient: bool = True) -> None:
        self._count_passed_over()
        if self._storing.begin(self._reader.position, now, patient=patient):
            self._wrote_at, self._since_write = now, 0
            self._storing.end()

    def _flush(self, now: Instant) -> None:
        """Write all that is over by now, and wait for it."""
        self._storing.end(wait=True)
        self._advance(now)
        self._write(now, patient=False)
        self._storing.end(wait=True)

    @property
    def _is_state_due(self) -> bool:
        return self._since_state >= self.cadence.state_bytes

    def _keep_state(self, now: Instant) -> None:
        """Now and then, with nothing left to be written, store the state and let the journal go."""
        if not self._is_state_due or self.failing:
            return
        self._flush(self._last_received if self._is_lagging else now)
        if self._storing.is_behind:
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
        put = self.counters.put
        put(Gauge.QUEUED_BYTES, self.queued)
        put(Gauge.LAG_SECONDS, max(0.0, seconds(now - self._last_received)) if self._is_lagging else 0.0)
        put(Gauge.JOURNAL_BYTES, self.journal.size)
        put(Gauge.JOURNAL_POSITION, self.journal.last)
        put(Gauge.LAKE_POSITION, self._storing.position)
        put(Gauge.RETAINED_RECORDS, self._assembler.records)
