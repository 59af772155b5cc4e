"""A writer that dies at any point of a write leaves a whole lake behind, and the next one goes on."""

import os
import subprocess
import sys
from collections.abc import Callable

import polars as pl
import pytest

from turnout.outcomes.verdict import Outcome
from turnout.pipeline.lake import Lake, Position, Written
from turnout.pipeline.testing import EXAMPLE, NOON, SECOND, Sketch, stored

Rows = Callable[[Lake, str], pl.DataFrame]

POINTS = (
    "steps written",
    "steps committed",
    "tool_calls written",
    "tool_calls committed",
    "turns written",
    "turns committed",
)
MERGE_POINTS = ("steps merged", "turns merged", "steps exchanged", "tool_calls exchanged")

DYING = """
import os, sys
from turnout.pipeline.lake import Lake, Position
from turnout.pipeline.lake.compaction import COLD
from turnout.pipeline.testing import EXAMPLE, Sketch, stored

root, wanted = sys.argv[1:]

def reached(point):
    if point == wanted:
        os.kill(os.getpid(), 9)

lake = Lake.open(root, reached=reached)
if wanted.endswith(("merged", "exchanged")):
    lake.compact(COLD)
lake.write([stored(sketch) for sketch in EXAMPLE], position=Position("journal", 1))
"""


def die_at(point: str, root: str) -> int:
    """Run a writer of the example that kills itself at a point; its exit status."""
    return subprocess.run([sys.executable, "-c", DYING, root, point], check=False, env=os.environ).returncode


def whole(lake: Lake, rows: Rows) -> None:
    """Every turn has its steps, no step is without its turn, and no segment is there twice."""
    turns, steps = rows(lake, "turns"), rows(lake, "steps")
    assert turns["turn_id"].is_unique().all()
    assert (
        steps.group_by("turn_id").len().sort("turn_id").rows()
        == turns.select("turn_id", "steps").sort("turn_id").rows()
    )


@pytest.mark.parametrize("point", POINTS)
def test_a_writer_killed_at_a_point_of_its_write_leaves_nothing_or_everything(
    root: str, rows: Rows, point: str
) -> None:
    """Before the commit of `turns` nothing of the write is there, after it everything; writing again ends the same."""
    before = stored(Sketch(turn_id="before"))
    Lake.open(root).write([before, stored(Sketch(turn_id="t04", outcome=Outcome.UNKNOWN))])
    assert die_at(point, root) == -9
    lake = Lake.open(root)
    done = point == "turns committed"
    assert lake.position("journal") == (1 if done else None)
    assert rows(lake, "turns").height == (17 if done else 2)
    whole(lake, rows)
    again = lake.write([stored(sketch) for sketch in EXAMPLE], position=Position("journal", 1))
    assert again == (Written(0, 0, 16) if done else Written(15, 1, 0))
    whole(lake, rows)
    assert rows(lake, "turns").height == 17
    assert rows(lake, "tool_calls").filter(turn_id="t01").height == 1


@pytest.mark.parametrize("point", MERGE_POINTS)
def test_a_writer_killed_while_it_merges_files_changes_no_row(root: str, rows: Rows, point: str) -> None:
    """Half a merge is no merge; the next one completes it."""
    lake = Lake.open(root)
    for number in range(3):
        lake.write([stored(Sketch(turn_id=f"t{number}", at=NOON + number * SECOND))])
    before = {table: rows(lake, table).sort(pl.all()) for table in ("turns", "steps", "tool_calls")}
    assert die_at(point, root) == -9
    for _ in range(2):
        after = {table: rows(Lake.open(root), table).sort(pl.all()) for table in before}
        assert {table: frame.to_dicts() for table, frame in after.items()} == {
            table: frame.to_dicts() for table, frame in before.items()
        }
        assert Lake.open(root).compact() in {0, 3}
    assert len(Lake.open(root).snapshot().files("turns")) == 1
