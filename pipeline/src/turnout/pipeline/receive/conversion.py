"""What the receiver asks of whoever converts: a thread (`in_thread`), or a process of its own (`apart`)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from turnout.outcomes.facts import Instant
from turnout.pipeline.assemble import Pace
from turnout.pipeline.receive.cadence import Cadence
from turnout.pipeline.receive.counters import Counters
from turnout.pipeline.receive.journal import Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is to be converted, how, and who is told."""

    lake: str
    journal: Journal
    journal_id: str
    counters: Counters
    clock: Callable[[], Instant]
    pace: Pace
    cadence: Cadence
    reached: Callable[[str], None]
    tells_points: bool = False
    """Whether anybody wants to know of the points of a commit."""


class Conversion(Protocol):
    """A converter at work."""

    @property
    def queued(self) -> int:
        """How many bytes of the journal are not read yet."""
        ...

    @property
    def failing(self) -> str:
        """Why nothing gets into the lake, while nothing does."""
        ...

    def start(self) -> None:
        """Take up where the last run ended, and go on from there.

        Raises:
            TurnoutError: when the lake or the state of the last run cannot be opened.
        """
        ...

    def stop(self) -> None:
        """Convert what was acknowledged, then end; nothing is appended any more."""
        ...

    def is_settled(self, *, quiet: bool) -> bool:
        """Whether all that was acknowledged is read and every turn that is over is in the lake; with ``quiet`` also that none is open."""
        ...

    def open_groups(self) -> int:
        """How many turns, or groups of them, may still be running."""
        ...

    def resident(self) -> int:
        """How much memory it holds besides this process."""
        ...

    def relieve(self) -> None:
        """Give memory back that is held for comfort only."""
        ...
