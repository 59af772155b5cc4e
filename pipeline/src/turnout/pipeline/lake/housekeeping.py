"""Merging and cleaning a lake in a process of its own, so that a writer needs neither the time nor the memory for it."""

import sys
from datetime import UTC, datetime, timedelta

from turnout.pipeline.lake.compaction import COLD, WARM
from turnout.pipeline.lake.lake import Lake


def keep_house(root: str, now: datetime) -> None:
    """Merge what has gathered, more so on dates that are over, clean the logs and delete files whose grace is over."""
    lake = Lake.open(root)
    lake.compact(WARM)
    lake.compact(COLD, before=f"{now - timedelta(days=1):%Y-%m-%d}")
    lake.sweep()


if __name__ == "__main__":
    keep_house(sys.argv[1], datetime.now(UTC))
