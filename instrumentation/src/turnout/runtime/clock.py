"""Time as an argument: the loop asks a clock and never the system."""

import asyncio
import time
from typing import Protocol

from turnout.outcomes.facts import Instant


class Clock(Protocol):
    """What the loop needs of time."""

    def now(self) -> Instant:
        """Nanoseconds since the Unix epoch."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; retries and deadlines go by this."""
        ...


class SystemClock:
    """The clock of the machine."""

    def now(self) -> Instant:
        """Nanoseconds since the Unix epoch."""
        return time.time_ns()

    async def sleep(self, seconds: float) -> None:
        """Wait on the event loop."""
        await asyncio.sleep(seconds)
