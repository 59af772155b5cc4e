"""A lake filled with synthetic turns."""

from datetime import datetime
from pathlib import Path

from synthetic_turns import synthetic_turns
from turnout.pipeline.lake import Lake
from turnout.pipeline.rows import ClassifiedTurn, classified

NANOSECONDS = 1_000_000_000


def fill(root: Path, now: datetime, count: int = 3000, seed: int = 7) -> list[ClassifiedTurn]:
    """Write ``count`` turns that end before ``now``, each received when it ended; give back what was written."""
    moment = int(now.timestamp()) * NANOSECONDS
    turns = [
        classified(facts, min(moment, facts.ended_at or facts.last_seen_at or moment))
        for facts in synthetic_turns(now, count, seed)
    ]
    Lake.open(str(root), clock=lambda: moment).write(turns)
    return turns
