"""Virtual time: an event loop that never waits, and the clock that goes by it.

For tests and for histories that are written faster than they would have happened. Whatever goes on outside the event loop
(processes, threads, sockets) does not know virtual time.
"""

import asyncio
import selectors
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from turnout.outcomes.facts import Instant

T = TypeVar("T")

_NANOS = 1_000_000_000


class _InstantSelector(selectors.BaseSelector):
    """Instead of waiting for a timeout it moves the time on."""

    def __init__(self) -> None:
        self.elapsed = 0.0
        self._real = selectors.DefaultSelector()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._real.select(None if timeout is None else 0)
        if not ready and timeout:
            self.elapsed += timeout
        return ready

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def close(self) -> None:
        self._real.close()

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes as fast as its work allows."""

    def __init__(self) -> None:
        self._instant = _InstantSelector()
        super().__init__(self._instant)

    def time(self) -> float:
        """Seconds of virtual time."""
        return self._instant.elapsed


class VirtualClock:
    """The clock of a `VirtualLoop`: ``start`` plus the loop's own time."""

    def __init__(self, start: Instant) -> None:
        self._start = start

    def now(self) -> Instant:
        """Nanoseconds since the Unix epoch."""
        return self._start + round(asyncio.get_running_loop().time() * _NANOS)

    async def sleep(self, seconds: float) -> None:
        """Let virtual time pass."""
        await asyncio.sleep(seconds)


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
