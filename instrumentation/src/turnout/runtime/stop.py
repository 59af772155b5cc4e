"""The stop latch: the one place where a request to stop a turn is kept.

A latch belongs to one turn. Whoever waits on it is woken at once; whoever would send a request asks it first.
"""

import asyncio
from collections.abc import Callable
from typing import TypeAlias

from turnout.outcomes.decide import Aborted, StopLatched, StopRequest
from turnout.outcomes.facts import Requester, StopMode

StopListener: TypeAlias = Callable[[StopRequest, Requester], None]


class StopLatch:
    """Keeps the stop that counts: the first, unless an immediate one follows an ``after_step`` one."""

    def __init__(self) -> None:
        self._stop: StopRequest | None = None
        self._any = asyncio.Event()
        self._immediate = asyncio.Event()
        self._listeners: list[StopListener] = []
        self._heard: list[tuple[StopRequest, Requester]] = []
        self._closed = False

    @property
    def stop(self) -> StopRequest | None:
        """The latched stop of either mode; while there is one, no request goes out."""
        return self._stop

    @property
    def constraint(self) -> Aborted | StopLatched | None:
        """The latched stop as the fact that the decision reads."""
        if self._stop is None:
            return None
        return Aborted(self._stop) if self._stop.mode is StopMode.IMMEDIATE else StopLatched(self._stop)

    def request(self, stop: StopRequest, by: Requester = Requester.USER) -> bool:
        """Latch a stop; False when the turn is over, so that a late click never reaches another turn."""
        if self._closed:
            return False
        self._heard.append((stop, by))
        if self._stop is None or (self._stop.mode is StopMode.AFTER_STEP and stop.mode is StopMode.IMMEDIATE):
            self._stop = stop
        self._any.set()
        if self._stop.mode is StopMode.IMMEDIATE:
            self._immediate.set()
        for listener in self._listeners:
            listener(stop, by)
        return True

    def listen(self, listener: StopListener) -> None:
        """Tell ``listener`` every request, those already made included."""
        self._listeners.append(listener)
        for stop, by in self._heard:
            listener(stop, by)

    def close(self) -> StopRequest | None:
        """End the latch with its turn and hand out the stop that it consumed, once."""
        stop, self._stop, self._closed = self._stop, None, True
        return stop

    async def wait(self) -> None:
        """Wait for a stop of either mode."""
        await self._any.wait()

    async def wait_immediate(self) -> None:
        """Wait for a stop that cuts."""
        await self._immediate.wait()
