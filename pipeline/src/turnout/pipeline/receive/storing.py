"""What was assembled, on its way into the lake: gathered, written in one go, taken back when that failed.

A write may go on while more is assembled; what was given meanwhile is part of the next one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeAlias

import structlog

from turnout.outcomes.facts import Instant
from turnout.pipeline.assemble import Given, How
from turnout.pipeline.errors import TurnoutError
from turnout.pipeline.positions import Position
from turnout.pipeline.receive.counters import Count, Counters
from turnout.pipeline.receive.lakes import Shipped, Taken, WritableLake

_log: structlog.stdlib.BoundLogger = structlog.get_logger("turnout.receive")

_CLOSED = {
    How.QUIET: Count.TURNS_QUIET,
    How.DIED: Count.TURNS_DIED,
    How.PRESSED: Count.TURNS_PRESSED,
}

Later: TypeAlias = Callable[[Callable[[], Taken]], "Future[Taken]"]
"""Does some work, at once or on another thread."""


def at_once(work: Callable[[], Taken]) -> "Future[Taken]":
    """Do it before anything else."""
    done: Future[Taken] = Future()
    try:
        done.set_result(work())
    except Exception as error:  # noqa: BLE001 - whoever asks for the result hears of it
        done.set_exception(error)
    return done


@dataclass(frozen=True, slots=True)
class _Write:
    """One write under way; ``position`` is None where it stands for no new one."""

    given: Sequence[Given]
    withdrawn: Mapping[str, str]
    position: int | None
    taken: "Future[Taken]"


@dataclass(slots=True, kw_only=True)
class Storing:
    """Turns that the lake does not hold yet; ``position`` is how far of the journal it does."""

    lake: WritableLake
    journal_id: str
    counters: Counters
    reached: Callable[[str], None]
    later: Later = at_once
    position: int = 0
    failing: str = ""
    """Why the lake could not be written, while it cannot be."""
    _waiting: list[Given] = field(default_factory=list[Given])
    _withdrawn: dict[str, str] = field(default_factory=dict[str, str])
    _left: list[Given] = field(default_factory=list[Given])
    """Late evidence that the lake takes later. It is in the journal until then: no state is kept meanwhile."""
    _left_until: Instant = 0
    _write: _Write | None = None

    @property
    def is_behind(self) -> bool:
        """Whether the lake does not hold what was assembled."""
        return bool(self._left or self._waiting or self._withdrawn or self._write)

    def is_waiting_at(self, now: Instant) -> bool:
        """Whether there is anything that the lake would take now."""
        due = bool(self._left) and now >= self._left_until
        return due or bool(self._waiting or self._withdrawn or self._write)

    def take(self, given: Iterable[Given], withdrawn: Mapping[str, str]) -> None:
        """Add what the assembler gave, and what it took back since."""
        for one in given:
            self._waiting.append(one)
            self._withdrawn.pop(one.turn_id, None)
        self._withdrawn |= withdrawn

    def begin(self, position: int, now: Instant, *, patient: bool) -> bool:
        """Write what waits, which is all of the journal up to a position; says whether there was anything and no other write is under way.

        Args:
            position: of the journal.
            now: the time.
            patient: late evidence may be left until it costs less.
        """
        if self._write is not None:
            return False
        self._sort_out_left(now, patient=patient)
        if not (self._waiting or self._withdrawn):
            return False
        given, withdrawn, self._waiting, self._withdrawn = self._waiting, self._withdrawn, [], {}
        # Only a write that stands for new positions carries one, and only at the first try: a position is taken once.
        stands_for = position if position > self.position and not self.failing else None
        try:
            taken = self.later(lambda: self._store(given, withdrawn, stands_for, patient=patient))
        except BaseException:
            self._waiting, self._withdrawn = given, withdrawn
            raise
        self._write = _Write(given, withdrawn, stands_for, taken)
        return True

    def end(self, *, wait: bool = False) -> None:
        """See to the write that is under way, if it is over; with ``wait`` until it is."""
        write = self._write
        if write is None or not (wait or write.taken.done()):
            return
        self._write = None
        try:
            taken = write.taken.result()
        except (TurnoutError, OSError) as error:
            self._take_back(write)
            if not self.failing:
                _log.error("lake_not_written", why=str(error))
            self.failing = str(error)
            self.counters.add(Count.COMMITS_FAILED)
        except BaseException:
            self._take_back(write)
            raise
        else:
            self.failing = ""
            self._count(write, taken)

    def _sort_out_left(self, now: Instant, *, patient: bool) -> None:
        """What was left waits on, and with it whatever came for the same turns; until it is time, or one of them is withdrawn."""
        ids = {one.turn_id for one in self._left}
        if not patient or now >= self._left_until or ids & self._withdrawn.keys():
            self._waiting, self._left = [*self._left, *self._waiting], []
        elif ids:
            self._left += [one for one in self._waiting if one.turn_id in ids]
            self._waiting = [one for one in self._waiting if one.turn_id not in ids]

    def _store(
        self, given: Sequence[Given], withdrawn: Mapping[str, str], position: int | None, *, patient: bool
    ) -> Taken:
        superseded = _superseded(given)
        self.reached("convert.before_write")
        taken = self.lake.write(
            [Shipped(one.packed, one.received_at) for one in _newest(given) if one.turn_id not in withdrawn],
            position=None if position is None else Position(self.journal_id, position),
            supersedes=superseded,
            withdrawn={turn_id: superseded.get(turn_id, digest) for turn_id, digest in withdrawn.items()},
            # What is withdrawn goes in the commit of what stands for it.
            patient=patient and not withdrawn,
        )
        self.reached("convert.after_write")
        return taken

    def _take_back(self, write: _Write) -> None:
        """As if it had never begun; what was given again since is no longer withdrawn."""
        fresh = {one.turn_id for one in self._waiting}
        withdrawn = {turn_id: digest for turn_id, digest in write.withdrawn.items() if turn_id not in fresh}
        self._withdrawn = withdrawn | self._withdrawn
        self._waiting = [*write.given, *self._waiting]

    def _count(self, write: _Write, taken: Taken) -> None:
        done = taken.written
        for one in _newest(write.given):
            if one.turn_id in taken.digests:
                one.told.learn(taken.digests[one.turn_id])
        self.position = max(self.position, write.position or 0)
        self.counters.add(Count.COMMITS)
        self.counters.add(Count.TURNS_WRITTEN, done.new)
        self.counters.add(Count.TURNS_REPLACED, done.replaced)
        self.counters.add(Count.DAMAGED, taken.failed, "turn that could not be judged")
        left = set(done.left)
        for one in write.given:
            if one.turn_id in left:
                self._left.append(one)
            else:
                self._count_turn(one, taken)
        self._left_until = done.until or self._left_until

    def _count_turn(self, given: Given, taken: Taken) -> None:
        if given.how in _CLOSED:
            self.counters.add(_CLOSED[given.how])
        if given.turn_id in taken.unknown and given.supersedes is None:
            self.counters.add(Count.UNKNOWN_FINISH_REASONS, reason=taken.unknown[given.turn_id])


def _newest(given: Iterable[Given]) -> list[Given]:
    """The newest form of each turn."""
    return list({one.turn_id: one for one in given}.values())


def _superseded(given: Iterable[Given]) -> dict[str, str]:
    """What the lake holds of each turn: what was given before the oldest of these."""
    found: dict[str, str | None] = {}
    for one in given:
        found.setdefault(one.turn_id, one.supersedes)
    return {turn_id: digest for turn_id, digest in found.items() if digest is not None}
