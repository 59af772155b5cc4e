"""How often what was received is written."""

from dataclasses import dataclass

from turnout.outcomes.facts import Instant
from turnout.pipeline.assemble import SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Cadence:
    """How often the lake is written, in nanoseconds."""

    light: Instant = SECOND // 4
    """At least so long after the last write."""
    loaded: Instant = 2 * SECOND
    """The same once more than ``load`` records came since."""
    load: int = 1000
    retry: Instant = SECOND
    """After a write that failed."""
    deaths: Instant = 5 * SECOND
    state_bytes: int = 256 * 1024 * 1024
    """How much of the journal is read between two state files: what a start after a crash reads again, at the most."""
