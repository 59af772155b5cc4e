"""What a person may do to a turn while it runs, beside stopping it: say something, and hold it at the step boundary."""

import asyncio
from dataclasses import dataclass, field

from turnout.runtime.messages import Origin, UserMessage
from turnout.runtime.race import race_abort
from turnout.runtime.stop import StopLatch


class Inbox:
    """Messages that arrive during the turn; the next request takes them along."""

    def __init__(self) -> None:
        self._messages: list[UserMessage] = []
        self._closed = False

    @property
    def waiting(self) -> bool:
        """Whether a message waits to be read."""
        return bool(self._messages)

    def put(self, text: str) -> bool:
        """Leave a message; False when the turn is over, so that it belongs to the next one."""
        if not self._closed:
            self._messages.append(UserMessage(text, Origin.STEERING))
        return not self._closed

    def take(self) -> tuple[UserMessage, ...]:
        """Everything that waits, once."""
        taken, self._messages = tuple(self._messages), []
        return taken

    def close(self) -> tuple[UserMessage, ...]:
        """End the inbox with its turn; what nobody read is for the next turn."""
        self._closed = True
        return self.take()


class PauseGate:
    """Holds a turn at its next step boundary until it is opened again."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()

    @property
    def paused(self) -> bool:
        """Whether the turn may not cross."""
        return not self._open.is_set()

    def pause(self) -> None:
        """Hold the turn at the next boundary."""
        self._open.clear()

    def resume(self) -> None:
        """Let it go on."""
        self._open.set()

    async def opened(self) -> None:
        """Wait until the turn may cross."""
        await self._open.wait()


@dataclass(frozen=True, slots=True)
class Controls:
    """What may be done to one turn from outside."""

    stop: StopLatch = field(default_factory=StopLatch)
    inbox: Inbox = field(default_factory=Inbox)
    gate: PauseGate = field(default_factory=PauseGate)


async def cross_step_boundary(controls: Controls) -> None:
    """Pause between two steps for as long as the gate says, or until a stop; nothing else happens here."""
    if controls.gate.paused:
        await race_abort(controls.gate.opened(), controls.stop, soft=True)
