"""The converter as a process of its own; `turnout.pipeline.receive.apart` starts it and talks to it.

It holds the journal's lock together with the receiver, and ends at once when that is gone: no two converters are ever at work on one journal.
"""

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from socket import socket

import msgspec
import structlog

from turnout.pipeline.errors import TurnoutError
from turnout.pipeline.receive.below import ABANDONED, end_with_parent, ignore_signals, seldom_collect
from turnout.pipeline.receive.convert import Converter
from turnout.pipeline.receive.counters import Counters
from turnout.pipeline.receive.lakes import RemoteLake
from turnout.pipeline.receive.link import Answer, Closed, Link, Report, Setup
from turnout.pipeline.receive.memory import trim
from turnout.pipeline.receive.segment import Segment
from turnout.pipeline.receive.state import read_state

_log: structlog.stdlib.BoundLogger = structlog.get_logger("turnout.receive")

IDLE_SECONDS = 0.05
"""How long a converter rests when there is nothing to read."""

_FAULT_SECONDS = 1.0


@dataclass(slots=True)
class Told:
    """The journal as the receiver tells of it; what is done to it is asked of the receiver."""

    folder: Path
    last: int = 0
    size: int = 0
    released: int = 0
    _segments: list[Segment] = field(default_factory=list[Segment])

    def hear(self, answer: Answer) -> None:
        """Take in what is durable now."""
        self.last, self.size = answer.last, answer.size
        self._segments = [
            Segment(self.folder / f"{part.first:020d}.segment", part.size, part.last) for part in answer.parts
        ]

    def segments(self) -> list[Segment]:
        """List the segments as they were durable when the receiver last spoke, oldest first."""
        return self._segments

    def release(self, upto: int) -> None:
        """Let the receiver remove what is not needed; it is told with the next report."""
        self.released = upto

    def seal(self) -> None:
        """Leave it to the receiver, which closes the open segment when it stops."""


def main() -> None:
    """Convert until told to stop, or left alone; the arguments are the numbers of the socket and of what is kept open until the last process has ended."""
    ignore_signals()
    end_with_parent()
    link = Link(socket(fileno=int(sys.argv[1])))
    try:
        _run(link, link.receive(Setup))
    except Closed:
        os._exit(ABANDONED)  # without a word to the lake: whoever comes next goes on from the journal


def _run(link: Link, setup: Setup) -> None:
    told = Told(Path(setup.folder))
    counters = Counters(clock=lambda: setup.clock_start + time.monotonic_ns())
    lake = RemoteLake(setup.lake, [int(number) for number in sys.argv[2:]])
    with closing(lake), ThreadPoolExecutor(1, "turnout-write") as writing:
        try:
            converter = Converter(
                journal=told,
                journal_id=setup.journal_id,
                lake=lake,
                counters=counters,
                clock=counters.clock,
                pace=setup.pace,
                cadence=setup.cadence,
                reached=_asking(link) if setup.tells_points else _nothing,
                later=writing.submit,
            )
            told.hear(link.exchange(Report(held=_held(converter))))
            converter.resume()
        except (TurnoutError, OSError) as error:
            link.exchange(Report(fault=str(error)))
            return
        seldom_collect()
        _Loop(link, told, converter, counters).run()


def _held(converter: Converter) -> int:
    converter.lake.prepare()
    return max(converter.lake.position(converter.journal_id) or 0, read_state(converter.folder).position)


def _nothing(point: str) -> None:
    del point


def _asking(link: Link) -> Callable[[str], None]:
    """Tell the receiver of each point, and fail there if it says so."""

    def reached(point: str) -> None:
        try:
            answer = link.exchange(Report(reached=point))
        except Closed:
            os._exit(ABANDONED)
        if answer.error is not None:
            raise OSError(*answer.error)

    return reached


@dataclass(slots=True)
class _Loop:
    link: Link
    told: Told
    converter: Converter
    counters: Counters
    _counted: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])

    def run(self) -> None:
        """Step until all is read and nothing more will come."""
        answer = self._tell(Report(running=True))
        while True:
            busy = self._step()
            stopping = answer.stopping
            answer = self._tell(self._report(asked=answer.asks_settled))
            if answer.relieve:
                self.converter.relieve()
                trim()
            if stopping and not busy:
                break
            if not busy:
                time.sleep(IDLE_SECONDS)
        self._finish()

    def _step(self) -> bool:
        try:
            return self.converter.step()
        except Exception:  # noqa: BLE001 - what is acknowledged must go on being converted, whatever one part of it did
            _log.exception("conversion_failed")
            time.sleep(_FAULT_SECONDS)
            return False

    def _finish(self) -> None:
        fault = ""
        try:
            self.converter.finish()
        except (TurnoutError, OSError) as error:
            _log.exception("conversion_not_finished")  # the next start goes on from the journal
            fault = str(error)
        report = self._report(asked=False)
        self._tell(msgspec.structs.replace(report, finished=not fault, fault=fault))

    def _tell(self, report: Report) -> Answer:
        answer = self.link.exchange(report)
        self.told.hear(answer)
        return answer

    def _report(self, *, asked: bool) -> Report:
        converter, snapshot = self.converter, self.counters.snapshot()
        more: dict[str, dict[str, int]] = {}
        for (name, reason), count in snapshot.counts.items():
            if count != self._counted.get((name, reason), 0):
                more.setdefault(name, {})[reason] = count - self._counted.get((name, reason), 0)
        self._counted = dict(snapshot.counts)
        return Report(
            counts=more,
            gauges=dict(snapshot.gauges),
            queued=converter.queued,
            failing=converter.failing,
            open_groups=converter.open_groups(),
            settled=asked and converter.is_settled(),
            seen=self.told.last,
            released=self.told.released,
        )


if __name__ == "__main__":
    main()
