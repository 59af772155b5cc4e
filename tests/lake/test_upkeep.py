"""Looking after a lake: what is deleted and when, what is forgotten, what is kept, and whether all adds up."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from turnout.outcomes.verdict import Outcome
from turnout.pipeline.lake import Lake
from turnout.pipeline.lake.housekeeping import keep_house
from turnout.pipeline.lake.sweep import Swept
from turnout.pipeline.testing import EXAMPLE, HOUR, NOON, Sketch, lake_of, stored

Rows = Callable[[Lake, str], pl.DataFrame]
Change = Callable[[pl.DataFrame], pl.DataFrame]


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> int:
        return self.now


def parquet_files(root: str) -> list[Path]:
    return sorted(Path(root).rglob("date=*/*.parquet"))


def ids_on_disk(root: str) -> set[str]:
    """The turn ids in every Parquet file below the root, part of the lake or not."""
    return {
        turn_id for path in parquet_files(root) for turn_id in pl.read_parquet(path, hive_partitioning=False)["turn_id"]
    }


def test_a_file_goes_when_no_version_has_needed_it_for_a_grace(root: str) -> None:
    """Found unneeded, it waits; found so again an hour later, it goes with its index; what is needed stays."""
    clock = Clock()
    lake = Lake.open(root, clock=clock)
    for number in range(3):
        lake.write([stored(Sketch(turn_id=f"t{number}"))])
    lake.compact()
    assert len(parquet_files(root)) == 12
    first = lake.sweep()
    assert (first.deleted, first.waiting) == (0, 12)
    clock.now += HOUR - 1
    assert lake.sweep().deleted == 0
    clock.now += 1
    assert (lake.sweep().deleted, len(parquet_files(root))) == (12, 3)
    assert lake.sweep() == Swept(0, 0, 0)
    assert list(lake.verify()) == []


def test_a_file_that_a_dead_writer_left_goes_too(root: str) -> None:
    """It was never part of the lake."""
    clock = Clock()
    lake = lake_of(root, [Sketch(turn_id="t")])
    orphan = Path(root, "steps", "date=2026-01-05", "left.behind.parquet")
    orphan.write_bytes(b"half a file")
    lake = Lake.open(root, clock=clock)
    assert lake.sweep().waiting == 1
    clock.now += HOUR
    assert lake.sweep().deleted == 1
    assert not orphan.exists()


@pytest.mark.parametrize(
    ("asked", "gone"),
    [
        ({"conversation_id": "c"}, {"t07", "t08"}),
        ({"user_id": "u"}, {"mine", "mine2"}),
        ({"conversation_id": "c", "user_id": "u"}, {"t07", "t08", "mine", "mine2"}),
        ({"user_id": "nobody"}, set[str]()),
    ],
)
def test_a_person_is_forgotten_in_every_file(root: str, rows: Rows, asked: dict[str, str], gone: set[str]) -> None:
    """After the sweep no byte of their turns is on disk, and everybody else's are."""
    mine = [Sketch(turn_id="mine", user="u"), Sketch(turn_id="mine2", user="u", root="theirs", at=NOON + HOUR)]
    lake = lake_of(root, [*EXAMPLE, *mine, Sketch(turn_id="theirs", user="v", outcome=Outcome.INTERRUPTED)])
    lake.compact()
    everybody = ids_on_disk(root)
    assert lake.forget(**asked) == len(gone)
    lake.sweep(grace=0)
    assert ids_on_disk(root) == everybody - gone
    assert list(lake.verify()) == []
    theirs = rows(lake, "turns").filter(turn_id="theirs")["last_segment"].item()
    assert theirs is ("mine2" in gone)


def test_what_is_older_than_asked_is_taken_out_by_date(root: str, rows: Rows) -> None:
    """Steps and tool calls may go earlier than turns, never later."""
    lake = lake_of(root, EXAMPLE)
    assert lake.retain({"turns": "2026-01-05", "tool_calls": "2026-01-06"}) == 0
    assert rows(lake, "tool_calls")["date"].unique().to_list() == ["2026-01-06"]
    assert rows(lake, "steps")["date"].n_unique() == 2
    assert lake.retain({"turns": "2026-01-06", "steps": "2026-01-01"}) == 11
    assert {table: rows(lake, table)["date"].unique().to_list() for table in ("turns", "steps")} == {
        "turns": ["2026-01-06"],
        "steps": ["2026-01-06"],
    }


def rewrite(root: str, table: str, change: Change) -> None:
    """Change the rows of the one file of a table behind the lake's back."""
    (path,) = Path(root, table).rglob("date=*/*.parquet")
    change(pl.read_parquet(path, hive_partitioning=False)).write_parquet(path)


def one_lost(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.head(1)


def doubled(frame: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([frame, frame])


DAMAGE = {
    "steps": (one_lost, "a row of steps is missing"),
    "tool_calls": (doubled, "a row of tool_calls is not in the facts of its turn"),
    "turns": (doubled, "a segment is there twice"),
}


@pytest.mark.parametrize(("table", "damage"), DAMAGE.items(), ids=DAMAGE)
def test_what_does_not_add_up_is_named(root: str, table: str, damage: tuple[Change, str]) -> None:
    """With how often, examples, and what to do."""
    change, words = damage
    lake = lake_of(root, [Sketch(turn_id="t")])
    assert list(lake.verify()) == []
    rewrite(root, table, change)
    found = {problem.what: problem for problem in lake.verify()}
    assert words in found
    assert any(example.startswith("t") for example in found[words].examples)


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("outcome", "length", "a turn says something else than its facts"),
        ("digest", "0", "a turn says something else than its facts"),
        ("last_segment", False, "a segment is wrongly marked as the last of its root, or not"),
        ("classifier_version", "0", "a turn was decided by another version of the classifier"),
    ],
)
def test_a_wrong_value_is_found(root: str, column: str, value: object, words: str) -> None:
    """A row must say what its facts say."""
    lake = lake_of(root, [Sketch(turn_id="t")])
    rewrite(root, "turns", lambda frame: frame.with_columns(pl.lit(value).alias(column)))
    assert words in {problem.what for problem in lake.verify()}


def test_turns_of_an_older_classifier_are_decided_again(root: str, rows: Rows) -> None:
    """All of them, from their stored facts; the others stay as they are."""
    lake = Lake.open(root)
    turns = [stored(sketch) for sketch in EXAMPLE]
    older = [replace(turn, verdict=replace(turn.verdict, classifier_version="0", rule="old")) for turn in turns[:9]]
    lake.write([*older, *turns[9:]])
    assert lake.reclassify() == 9
    assert rows(lake, "turns")["classifier_version"].unique().to_list() == [turns[0].verdict.classifier_version]
    assert list(lake.verify()) == []
    assert lake.reclassify() == 0


def test_a_missing_file_is_found(root: str) -> None:
    """And named."""
    lake = lake_of(root, [Sketch(turn_id="t")])
    (path,) = Path(root, "steps").rglob("date=*/*.parquet")
    path.unlink()
    assert "a file of steps cannot be read" in {problem.what for problem in lake.verify()}


def test_the_log_stays_short(root: str) -> None:
    """Commits that have outlived the retention are dropped, and the lake reads on."""
    from deltalake import DeltaTable

    lake = lake_of(root, [Sketch(turn_id="t")])
    for table in ("turns", "steps", "tool_calls"):
        DeltaTable(f"{root}/{table}").alter.set_table_properties({"delta.logRetentionDuration": "interval 0 seconds"})
    lake = Lake.open(root)
    for number in range(5):
        lake.write([stored(Sketch(turn_id=f"t{number}"))])
    before = len(list(Path(root, "turns", "_delta_log").glob("*.json")))
    lake.sweep()
    assert len(list(Path(root, "turns", "_delta_log").glob("*.json"))) < before
    assert lake.write([stored(Sketch(turn_id="after"))]).new == 1
    assert sum(file.rows for file in Lake.open(root).snapshot().files("turns")) == 7


def test_a_house_is_kept(root: str) -> None:
    """Dates that are over are merged into one file; of today, what has gathered."""
    lake = Lake.open(root)
    for number in range(3):
        lake.write(
            [stored(Sketch(turn_id=f"old{number}")), stored(Sketch(turn_id=f"new{number}", at=NOON + 48 * HOUR))]
        )
    keep_house(root, datetime(2026, 1, 7, 14, tzinfo=UTC))
    dates = [file.date for file in lake.snapshot().files("turns")]
    assert sorted(dates) == ["2026-01-05", "2026-01-07", "2026-01-07", "2026-01-07"]
    assert list(lake.verify()) == []


def test_a_busy_writer_has_its_house_kept_by_a_process_of_its_own(root: str) -> None:
    """After so many writes; the lake is whole while and after."""
    lake = Lake.open(root, keep_house_every=4)
    for number in range(6):
        lake.write([stored(Sketch(turn_id=f"t{number}"))])
    lake.close()
    assert len(lake.snapshot().files("turns")) < 6
    assert lake.write([stored(Sketch(turn_id="after"))]).new == 1
    assert sum(file.rows for file in lake.snapshot().files("turns")) == 7
    assert list(lake.verify()) == []
