"""Two processes that write one lake at once both have their way."""

import subprocess
import sys
from collections.abc import Callable

import polars as pl

from turnout.pipeline.lake import Lake

Rows = Callable[[Lake, str], pl.DataFrame]

WRITER = """
import sys
from turnout.pipeline.lake import Lake, Position
from turnout.pipeline.testing import Sketch, stored

root, name = sys.argv[1:]
lake = Lake.open(root)
for number in range(12):
    turns = [stored(Sketch(turn_id=f"{name}-{number}")), stored(Sketch(turn_id=f"both-{number}"))]
    lake.write(turns, position=Position(name, number))
"""


def test_both_commit_everything_once(root: str, rows: Rows) -> None:
    """Each with its own journal; a turn that both bring is there once."""
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, root, name]) for name in ("one", "two")]
    assert [writer.wait() for writer in writers] == [0, 0]
    lake = Lake.open(root)
    turns, steps = rows(lake, "turns"), rows(lake, "steps")
    assert turns["turn_id"].sort().to_list() == sorted(
        f"{name}-{number}" for name in ("one", "two", "both") for number in range(12)
    )
    assert steps.group_by("turn_id").len()["len"].unique().to_list() == [2]
    assert (lake.position("one"), lake.position("two")) == (11, 11)
