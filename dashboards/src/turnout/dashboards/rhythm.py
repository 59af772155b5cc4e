"""Who has gone silent: the rhythm of each source against the time since it was last heard of. Pure, given the time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import polars as pl

from turnout.pipeline.analysis.incident import silent
from turnout.pipeline.wording import NOT_RECORDED, duration

_HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Rhythm:
    """One source: seconds since its last telemetry, the usual gap in its last busy hour, and its longest pause of the week."""

    source: str
    age: float
    gap: float | None
    longest_pause: float | None

    @property
    def quiet(self) -> bool:
        """Whether it is quiet for longer than its last busy hour explains."""
        return silent(self.age, self.gap)

    @property
    def unusual(self) -> bool:
        """Whether it is quiet as it has not been all week."""
        return self.quiet and self.longest_pause is not None and self.age > self.longest_pause

    @property
    def words(self) -> str:
        """The age, and what is usual where it is quiet."""
        if self.unusual:
            return f"silent for {duration(self.age)}"
        if self.quiet and self.gap is not None:
            return f"{duration(self.age)} ago, lately every {duration(self.gap)}"
        return f"{duration(self.age)} ago"


def rhythms(arrivals: pl.DataFrame, now: datetime) -> tuple[Rhythm, ...]:
    """The rhythm of every source, the one heard of last first."""
    return tuple(
        Rhythm(
            source=row["source"] or NOT_RECORDED,
            age=max(0.0, (now - row["last_received"]).total_seconds()),
            gap=_HOUR / row["last_hour"] if row["last_hour"] > 1 else None,
            longest_pause=row["longest_pause"],
        )
        for row in arrivals.iter_rows(named=True)
    )


def silences(found: Sequence[Rhythm]) -> tuple[str, ...]:
    """Sentences about silence: of every source that has not been so quiet all week, else of all sources together."""
    unusual = [each for each in found if each.unusual]
    return tuple(_unusual(each) for each in unusual) or _together(found)


def _together(found: Sequence[Rhythm]) -> tuple[str, ...]:
    """Silence of all sources at once, against the rhythm that they had together in the last busy hour."""
    age = min((each.age for each in found), default=0.0)
    gaps = [each.gap for each in found if each.gap is not None and each.age - age < _HOUR]
    if not gaps:
        return ()
    gap = 1 / sum(1 / each for each in gaps)
    if not silent(age, gap):
        return ()
    usual = f"a turn arrived every {duration(gap)} until then"
    return (f"Silence: no telemetry from any source for {duration(age)}; {usual}",)


def _unusual(each: Rhythm) -> str:
    pause = duration(each.longest_pause or 0)
    return f"Silence from {each.source}: nothing for {duration(each.age)}; its longest pause of the week was {pause}"
