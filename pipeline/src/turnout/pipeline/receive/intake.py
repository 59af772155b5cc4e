"""What both transports do with a request: check it, count it, put it in the journal, and only then say yes."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from turnout.outcomes.facts import Instant
from turnout.pipeline.receive.access import Access, Token, allow
from turnout.pipeline.receive.bodies import Body, Encoding, Signal
from turnout.pipeline.receive.checking import Checked, check
from turnout.pipeline.receive.commit import GroupCommit
from turnout.pipeline.receive.counters import Count, Counters
from turnout.pipeline.receive.journal import JournalError
from turnout.pipeline.receive.memory import Memory
from turnout.pipeline.receive.refusals import Refused, Why

QUEUE_BYTES = 4 * 1024 * 1024 * 1024
"""The most that may wait in the journal for the lake, by default."""

_RETRY_FULL = 5

_RECORDS = {
    Signal.TRACES: Count.SPANS_RECEIVED,
    Signal.LOGS: Count.LOG_RECORDS_RECEIVED,
    Signal.METRICS: Count.DATA_POINTS_RECEIVED,
}


@dataclass(frozen=True, slots=True)
class Intake:
    """The door of the receiver; ``queued`` says how many bytes wait for the lake."""

    commit: GroupCommit
    counters: Counters
    memory: Memory
    access: Access
    clock: Callable[[], Instant]
    queued: Callable[[], int]
    queue_bytes: int = QUEUE_BYTES

    def admit(self, authorization: str) -> Token | None:
        """Find the sender, or refuse; before its body is read."""
        return self.access.admit(authorization)

    async def accept(self, signal: Signal, encoding: Encoding, payload: bytes, sender: Token | None) -> Checked:
        """Take one inflated request; it is on disk when this returns."""
        body, checked = self.examine(signal, encoding, payload, sender)
        if body is not None:
            await self._durable(asyncio.wrap_future(self.commit.submit(body)))
        self._count(body, checked, signal)
        return checked

    def accept_blocking(self, signal: Signal, encoding: Encoding, payload: bytes, sender: Token | None) -> Checked:
        """Take one inflated request from a thread."""
        body, checked = self.examine(signal, encoding, payload, sender)
        if body is not None:
            self._durable_blocking(self.commit.submit(body))
        self._count(body, checked, signal)
        return checked

    def examine(
        self, signal: Signal, encoding: Encoding, payload: bytes, sender: Token | None
    ) -> tuple[Body | None, Checked]:
        """Check a request; the body is None where nothing of it is kept."""
        self.counters.add(Count.REQUESTS_RECEIVED, reason=signal)
        self.counters.add(Count.BYTES_RECEIVED, len(payload), signal)
        if self.queued() > self.queue_bytes:
            raise Refused(
                Why.BUSY, "the receiver has a full queue: got more than the lake takes; send again later", _RETRY_FULL
            )
        checked = check(signal, encoding, payload)
        allow(sender, checked.services)
        if signal is Signal.METRICS or checked.records == checked.rejected:
            return None, checked
        return Body(signal, encoding, self.clock(), payload), checked

    def refused(self, refusal: Refused) -> None:
        """Count a request that was not accepted."""
        self.counters.add(Count.REQUESTS_REFUSED, reason=refusal.why)

    async def _durable(self, position: "asyncio.Future[int]") -> None:
        try:
            await position
        except JournalError as error:
            raise _full(error) from error

    def _durable_blocking(self, position: "Future[int]") -> None:
        try:
            position.result()
        except JournalError as error:
            raise _full(error) from error

    def _count(self, body: Body | None, checked: Checked, signal: Signal) -> None:
        self.counters.add(_RECORDS[signal], checked.records)
        self.counters.add(Count.RECORDS_DROPPED, checked.rejected, checked.reason)
        self.counters.heard(checked.services)
        if body is not None:
            self.counters.add(Count.REQUESTS_JOURNALED)
            self.counters.add(Count.BYTES_JOURNALED, len(body.payload))


def _full(error: JournalError) -> Refused:
    return Refused(Why.UNAVAILABLE, str(error), _RETRY_FULL)
