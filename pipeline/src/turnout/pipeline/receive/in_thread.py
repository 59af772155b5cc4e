"""A converter on a thread of the receiver's process."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import structlog

from turnout.pipeline.errors import TurnoutError
from turnout.pipeline.lake import Lake
from turnout.pipeline.receive.conversion import Work
from turnout.pipeline.receive.convert import Converter
from turnout.pipeline.receive.judging import JudgingLake
from turnout.pipeline.receive.state import read_state

_log: structlog.stdlib.BoundLogger = structlog.get_logger("turnout.receive")

_IDLE_SECONDS = 0.05


class InThread:
    """A converter on a thread of this process."""

    def __init__(self, work: Work) -> None:
        self._writing = ThreadPoolExecutor(1, "turnout-write")
        lake = Lake.open(work.lake)
        lake.prepare()
        work.journal.skip(max(lake.position(work.journal_id) or 0, read_state(work.journal.folder).position))
        self._converter = Converter(
            journal=work.journal,
            journal_id=work.journal_id,
            lake=JudgingLake(lake),
            counters=work.counters,
            clock=work.clock,
            pace=work.pace,
            cadence=work.cadence,
            reached=work.reached,
            later=self._writing.submit,
        )
        self._stepping = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._convert, name="turnout-convert", daemon=True)

    @property
    def queued(self) -> int:
        """How many bytes of the journal are not read yet."""
        return self._converter.queued

    @property
    def failing(self) -> str:
        """Why nothing gets into the lake, while nothing does."""
        return self._converter.failing

    def start(self) -> None:
        """Take up where the last run ended, and go on from there."""
        self._converter.resume()
        self._thread.start()

    def stop(self) -> None:
        """Convert what was acknowledged, then end."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self._writing.shutdown()

    def is_settled(self, *, quiet: bool) -> bool:
        """Whether all that was acknowledged is converted; with ``quiet`` also that no turn is open."""
        with self._stepping:
            return self._converter.is_settled() and not (quiet and self._converter.open_groups())

    def open_groups(self) -> int:
        """How many turns, or groups of them, may still be running."""
        with self._stepping:
            return self._converter.open_groups()

    def resident(self) -> int:
        """Nothing besides this process."""
        return 0

    def relieve(self) -> None:
        """Give memory back that is held for comfort only."""
        with self._stepping:
            self._converter.relieve()

    def _convert(self) -> None:
        """Step until stopped and nothing acknowledged is left to read; errors of the lake are waited out, never fatal."""
        while True:
            stopping = self._stopping.is_set()
            with self._stepping:
                busy = self._step()
            if stopping and not busy:
                break
            if busy:
                time.sleep(0)  # whoever waits for the lock gets it
            else:
                self._stopping.wait(_IDLE_SECONDS)
        self._finish()

    def _step(self) -> bool:
        try:
            return self._converter.step()
        except Exception:  # noqa: BLE001 - what is acknowledged must go on being converted, whatever one part of it did
            _log.exception("conversion_failed")
            self._stopping.wait(1.0)
            return False

    def _finish(self) -> None:
        try:
            with self._stepping:
                self._converter.finish()
        except (TurnoutError, OSError):
            _log.exception("conversion_not_finished")  # the next start goes on from the journal
