"""The converter in processes of its own, so that all processors are at work: started, told, listened to, and started again.

The receiver keeps the journal: it appends, and removes what the converter no longer needs. When the converter process dies, whatever the reason,
another one takes up from the journal, as after a crash of the whole.
"""

import os
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import Final

import structlog

from turnout.pipeline.errors import TurnoutError
from turnout.pipeline.receive.below import ALLOCATORS
from turnout.pipeline.receive.conversion import Work
from turnout.pipeline.receive.link import Answer, Closed, Link, Part, Report, Setup
from turnout.pipeline.receive.memory import family, resident_bytes

_log: structlog.stdlib.BoundLogger = structlog.get_logger("turnout.receive")

_MODULE: Final = "turnout.pipeline.receive.converting"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 10.0
_FINISH_SECONDS = 30.0


class ConverterError(TurnoutError):
    """The converter process cannot begin."""


@dataclass(slots=True)
class _Child:
    process: "subprocess.Popen[bytes]"
    link: Link
    alive: int
    """Reads as ended once the process and all below it are gone."""


class Apart:
    """A converter process and the thread that speaks with it."""

    def __init__(self, work: Work, clock_start: int) -> None:
        self._work = work
        self._clock_start = clock_start
        self._last = Report()
        self._fault = ""
        self._child: _Child | None = None
        self._begun = threading.Event()
        self._stopping = threading.Event()
        self._asked = threading.Event()
        self._relieve = threading.Event()
        self._thread = threading.Thread(target=self._attend, name="turnout-converter", daemon=True)

    @property
    def queued(self) -> int:
        """How many bytes of the journal are not read yet."""
        return self._last.queued

    @property
    def failing(self) -> str:
        """Why nothing gets into the lake, while nothing does."""
        return self._fault or self._last.failing

    def start(self) -> None:
        """Start the process and wait until it has taken up where the last run ended.

        Raises:
            ConverterError: when it cannot.
        """
        self._thread.start()
        self._begun.wait()
        if self._fault:
            self.stop()
            raise ConverterError(self._fault)

    def stop(self) -> None:
        """Let it convert what was acknowledged, then end."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def is_settled(self, *, quiet: bool) -> bool:
        """Whether all that was acknowledged is converted; with ``quiet`` also that no turn is open."""
        wanted = self._work.journal.last
        self._asked.set()
        report = self._last
        return report.settled and report.seen >= wanted and not (quiet and report.open_groups) and not self._fault

    def open_groups(self) -> int:
        """How many turns, or groups of them, may still be running."""
        return self._last.open_groups

    def resident(self) -> int:
        """How much memory the process holds."""
        child = self._child
        return 0 if child is None else sum(map(resident_bytes, family(child.process.pid)))

    def relieve(self) -> None:
        """Give memory back that is held for comfort only."""
        self._relieve.set()

    # --- the thread

    def _attend(self) -> None:
        """Keep a converter at work until it has finished; one that died is followed by another, ever later."""
        pause = _FIRST_PAUSE
        while True:
            started = time.monotonic()
            finished = self._attend_one()
            first = not self._begun.is_set()
            if finished or first or self._stopping.is_set():
                break
            pause = _FIRST_PAUSE if time.monotonic() - started > _LONGEST_PAUSE else min(2 * pause, _LONGEST_PAUSE)
            _log.error("converter_ended", why=self._fault, again_in_seconds=pause)
            self._stopping.wait(pause)
        self._begun.set()

    def _attend_one(self) -> bool:
        """Run one converter process; says whether it finished all."""
        child = self._child = _started(self._work.journal.lock)
        finished = False
        try:
            child.link.send(self._setup())
            while not finished:
                finished = self._hear(child, child.link.receive(Report))
        except Closed:
            pass
        finally:
            child.link.close()
            status = _ended(child)
            self._child = None
        if not finished and not self._fault:
            self._fault = f"the converter process ended by itself, got exit status {status}, expected it to go on; another is started"
        return finished

    def _setup(self) -> Setup:
        work = self._work
        return Setup(
            lake=work.lake,
            folder=str(work.journal.folder),
            journal_id=work.journal_id,
            pace=work.pace,
            cadence=work.cadence,
            clock_start=self._clock_start,
            tells_points=work.tells_points,
        )

    def _hear(self, child: _Child, report: Report) -> bool:
        """Take in a report and answer it; says whether it was the last."""
        if report.reached:
            child.link.send(self._answer(self._reached(report.reached)))
            return False
        if report.held is not None:
            self._work.journal.skip(report.held)
        elif report.running:
            self._fault = ""
            self._begun.set()
        else:
            self._take(report)
            self._fault = report.fault
        if report.finished:
            self._work.journal.seal()
            self._work.journal.release(report.released)
        child.link.send(self._answer(None))
        return report.finished

    def _take(self, report: Report) -> None:
        self._work.counters.add_all(report.counts)
        self._work.counters.put_all(report.gauges)
        if report.released > self._last.released:
            self._work.journal.release(report.released)
        self._last = report

    def _reached(self, point: str) -> tuple[int, str] | None:
        try:
            self._work.reached(point)
        except OSError as error:
            return error.errno or 0, error.strerror or str(error)
        return None

    def _answer(self, error: tuple[int, str] | None) -> Answer:
        journal = self._work.journal
        # In this order: once stopping is said, what is durable is all; and up to the last position all is in the segments.
        stopping = self._stopping.is_set()
        asks, relieve = self._asked.is_set(), self._relieve.is_set()
        self._asked.clear()
        self._relieve.clear()
        last, segments = journal.last, journal.segments()
        return Answer(
            parts=tuple(Part(one.first, one.size, one.last) for one in segments if one.last),
            last=last,
            size=journal.size,
            stopping=stopping,
            asks_settled=asks,
            relieve=relieve,
            error=error,
        )


def _started(lock: int) -> _Child:
    ours, theirs = socket.socketpair()
    alive, held = os.pipe()
    with theirs:
        kept = (str(lock), str(held))
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-m", _MODULE, str(theirs.fileno()), *kept],
            stdin=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(), lock, held),
            env=ALLOCATORS | os.environ,
        )
    os.close(held)
    return _Child(process, Link(ours), alive)


def _ended(child: _Child) -> int:
    """Wait until the process, which has hung up, and all below it are gone: no two are ever at work on one journal."""
    try:
        status = child.process.wait(_FINISH_SECONDS)
    except subprocess.TimeoutExpired:
        child.process.kill()
        status = child.process.wait()
    os.read(child.alive, 1)
    os.close(child.alive)
    return status
