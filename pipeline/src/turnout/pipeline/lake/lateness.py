"""When late evidence is merged: into a large file at most once in a while for each date, so that a trickle of it does not rewrite the file each time."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from turnout.outcomes.facts import Instant
from turnout.pipeline.lake.compaction import MEBIBYTE

_SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Lateness:
    """The rule: files of turns of at least ``large`` bytes are merged into at most once in ``every`` nanoseconds a date."""

    every: Instant = 60 * _SECOND
    large: int = 4 * MEBIBYTE


@dataclass(slots=True)
class Merges:
    """When this writer last merged into large files, by date."""

    rule: Lateness
    _merged_at: dict[str, Instant] = field(default_factory=dict[str, Instant])

    def due(self, date: str, size: int, now: Instant) -> Instant | None:
        """When a file may be merged into next; None for at once. A clock that was set back keeps nothing waiting."""
        merged = self._merged_at.get(date)
        if size < self.rule.large or merged is None or not merged <= now < merged + self.rule.every:
            return None
        return merged + self.rule.every

    def note(self, files: Iterable[tuple[str, int]], now: Instant) -> None:
        """Remember that files were merged into, by date and size."""
        for date, size in files:
            if size >= self.rule.large:
                self._merged_at[date] = now
