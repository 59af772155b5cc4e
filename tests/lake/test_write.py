"""Writing turns: once, twice, in pieces, in any order."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turnout.outcomes.facts import Step, TurnFacts, Usage
from turnout.outcomes.verdict import Outcome
from turnout.pipeline.lake import Entry, Lake, Position, Written
from turnout.pipeline.query import Warehouse
from turnout.pipeline.rows import classified, step_rows, tool_call_rows
from turnout.pipeline.schema import STEPS, TOOL_CALLS, TURNS
from turnout.pipeline.testing import EXAMPLE, HOUR, NOON, SECOND, Sketch, sketched, stored

Rows = Callable[[Lake, str], pl.DataFrame]

COMPARED = [column for column in TURNS if column not in {"received_at", "updated_at"}]


def halves(facts: TurnFacts) -> list[TurnFacts]:
    """The evidence of a turn as it may come in pieces: the first steps, and the rest with the end."""
    early = replace(facts, steps=facts.steps[:1], claims=(), stop_requests=(), yield_=None, ended_at=None, open=None)
    return [early, replace(facts, steps=facts.steps[1:])]


def state(lake: Lake, rows: Rows) -> dict[str, list[dict[str, object]]]:
    """All rows of the three tables, without what depends on when they came."""
    return {
        "turns": rows(lake, "turns").select(COMPARED).sort("turn_id").to_dicts(),
        "steps": rows(lake, "steps").select(list(STEPS)).sort("turn_id", "step", "position").to_dicts(),
        "tool_calls": rows(lake, "tool_calls").select(list(TOOL_CALLS)).sort("turn_id", "step", "position").to_dicts(),
    }


def test_a_first_write_stores_every_turn_with_its_steps_and_tool_calls(root: str, rows: Rows) -> None:
    """Three tables, one row a segment, a step and a tool call."""
    lake = Lake.open(root)
    turns = [stored(sketch) for sketch in EXAMPLE]
    assert lake.write(turns) == Written(new=16, replaced=0, unchanged=0)
    assert rows(lake, "turns").height == 16
    assert rows(lake, "steps").height == sum(len(step_rows(turn)) for turn in turns)
    assert rows(lake, "tool_calls").height == sum(len(tool_call_rows(turn)) for turn in turns)


def test_a_sum_that_no_column_can_hold_is_not_recorded(root: str, rows: Rows) -> None:
    """And takes no other turn with it."""
    counts = tuple(Step(index=number, usage=Usage(input_tokens=2**62, output_tokens=1)) for number in (1, 2))
    huge = classified(TurnFacts(turn_id="huge", steps=counts), NOON)
    Lake.open(root).write([huge, stored(Sketch(turn_id="other"))])
    stored_rows = (
        rows(Lake.open(root), "turns").sort("turn_id").select("turn_id", "input_tokens", "output_tokens").rows()
    )
    assert stored_rows == [("huge", None, 2), ("other", 200, 100)]


def test_a_second_write_adds_nothing(root: str, rows: Rows) -> None:
    """The same turns again change neither rows nor the version."""
    lake = Lake.open(root)
    turns = [stored(sketch) for sketch in EXAMPLE]
    lake.write(turns)
    before = lake.snapshot()
    assert lake.write(turns) == Written(new=0, replaced=0, unchanged=16)
    assert lake.snapshot() == before
    assert Lake.open(root).write(turns + turns) == Written(new=0, replaced=0, unchanged=16)
    assert rows(lake, "turns").height == 16


def test_late_evidence_replaces_the_row_its_steps_and_its_tool_calls(root: str, rows: Rows) -> None:
    """A turn of which only the beginning was known becomes the whole turn, and nothing of the beginning stays."""
    lake = Lake.open(root)
    early, late = halves(sketched(Sketch(turn_id="t", steps=3)))
    other = stored(Sketch(turn_id="other"))
    assert lake.write([classified(early, NOON), other]) == Written(2, 0, 0)
    assert lake.write([classified(late, NOON + SECOND)]) == Written(new=0, replaced=1, unchanged=0)
    whole = rows(lake, "turns").filter(turn_id="t").row(0, named=True)
    assert (whole["outcome"], whole["steps"], whole["tool_calls"]) == ("completed", 3, 2)
    assert rows(lake, "steps").filter(turn_id="t")["step"].to_list() == [1, 2, 3]
    assert rows(lake, "tool_calls").filter(turn_id="t").height == 2
    assert rows(lake, "turns")["turn_id"].sort().to_list() == ["other", "t"]
    assert rows(lake, "steps").filter(turn_id="other").height == 2


def test_a_row_keeps_its_first_receipt_and_shows_its_last_change(root: str, rows: Rows) -> None:
    """`received_at` is when the turn was first heard of, `updated_at` when it last changed."""
    lake = Lake.open(root)
    early, late = halves(sketched(Sketch(turn_id="t")))
    lake.write([classified(early, NOON + SECOND)])
    lake.write([classified(late, NOON + 9 * SECOND)])
    row = rows(lake, "turns").row(0, named=True)
    assert (row["received_at"].timestamp(), row["updated_at"].timestamp()) == (
        NOON // SECOND + 1,
        NOON // SECOND + 9,
    )


def test_late_evidence_may_move_a_turn_to_another_date(root: str, rows: Rows) -> None:
    """The date follows the start; the row of the old date is gone, and so are its steps."""
    lake = Lake.open(root)
    whole = sketched(Sketch(turn_id="t"))
    lake.write([classified(replace(whole, started_at=None), NOON + 48 * HOUR)])
    assert set(rows(lake, "steps")["date"]) == {"2026-01-07"}
    lake.write([classified(whole, NOON + 49 * HOUR)])
    assert rows(lake, "turns")["date"].to_list() == ["2026-01-05"]
    assert rows(lake, "steps")["date"].to_list() == ["2026-01-05", "2026-01-05"]


def test_the_last_segment_of_a_root_is_marked_in_whatever_order_they_come(root: str, rows: Rows) -> None:
    """One row of each root is the last one, also when the recovery came before what it recovers."""
    first = stored(Sketch(turn_id="a", outcome=Outcome.INTERRUPTED))
    second = stored(Sketch(turn_id="b", root="a", at=NOON + HOUR))
    third = stored(Sketch(turn_id="c", root="a", at=NOON + 2 * HOUR))
    lake = Lake.open(root)
    for turn in (third, first, second):
        lake.write([turn])
    marked = rows(lake, "turns").sort("turn_id").select("turn_id", "last_segment").rows()
    assert marked == [("a", False), ("b", False), ("c", True)]
    assert rows(lake, "steps").group_by("turn_id").len().sort("turn_id").rows() == [("a", 2), ("b", 2), ("c", 2)]


def test_a_journal_position_is_taken_once(root: str) -> None:
    """What was written with a position is not written again, and each journal counts for itself."""
    lake = Lake.open(root)
    assert lake.position("one") is None
    assert lake.write([stored(Sketch(turn_id="a"))], position=Position("one", 7)).new == 1
    assert lake.write([stored(Sketch(turn_id="b"))], position=Position("one", 7)) == Written(0, 0, 1)
    assert lake.write([stored(Sketch(turn_id="b"))], position=Position("two", 7)).new == 1
    assert (lake.position("one"), lake.position("two")) == (7, 7)
    assert lake.write([], position=Position("one", 8)) == Written(0, 0, 0)
    assert Lake.open(root).position("one") == 8


def test_facts_come_back_as_they_were_stored(root: str) -> None:
    """By id, whichever file they are in; an unknown id is left out."""
    lake = Lake.open(root)
    assert lake.facts(["t01"]) == {}
    turns = {sketch.turn_id: stored(sketch) for sketch in EXAMPLE}
    lake.write(list(turns.values()))
    assert lake.facts(["t04", "nobody", "t14b"]) == {"t04": turns["t04"].facts, "t14b": turns["t14b"].facts}


def test_the_ledger_keeps_what_is_recorded(root: str, rows: Rows) -> None:
    """Lines of the ledger stand for themselves, without any turn."""
    lake = Lake.open(root, clock=lambda: NOON)
    lake.record([Entry("import", "a.jsonl", {"damaged": 2}), Entry("alert", "rate", {"firing": True}, position=3)])
    found = rows(lake, "ledger").sort("kind").select("kind", "key", "value", "position").rows()
    assert found == [("alert", "rate", '{"firing": true}', 3), ("import", "a.jsonl", '{"damaged": 2}', None)]
    assert lake.snapshot().version == -1


def test_a_turn_decided_by_another_classifier_is_decided_again(root: str, rows: Rows) -> None:
    """The same facts under a newer classifier replace the row."""
    turn = stored(Sketch(turn_id="t"))
    older = replace(turn, verdict=replace(turn.verdict, classifier_version="0"))
    lake = Lake.open(root)
    lake.write([older])
    assert lake.write([turn]) == Written(new=0, replaced=1, unchanged=0)
    assert rows(lake, "turns")["classifier_version"].to_list() == [turn.verdict.classifier_version]


PIECES = [piece for sketch in EXAMPLE[:6] for piece in halves(sketched(sketch))] + [
    sketched(sketch) for sketch in EXAMPLE[12:]
]


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    order=st.permutations(range(len(PIECES))),
    cuts=st.lists(st.integers(0, len(PIECES)), max_size=4),
    doubled=st.booleans(),
)
def test_order_splitting_and_doubling_of_writes_do_not_count(
    tmp_path_factory: pytest.TempPathFactory, rows: Rows, order: Sequence[int], cuts: Sequence[int], doubled: bool
) -> None:
    """The same pieces of evidence make the same rows, however they arrive."""
    lake = Lake.open(str(tmp_path_factory.mktemp("any") / "lake"))
    turns = [classified(PIECES[number], NOON) for number in order]
    bounds = [0, *sorted(cuts), len(turns)]
    for start, stop in pairwise(bounds):
        lake.write(turns[start:stop] * (2 if doubled else 1))
    plain = Lake.open(str(tmp_path_factory.mktemp("plain") / "lake"))
    plain.write([classified(piece, NOON) for piece in PIECES])
    assert state(lake, rows) == state(plain, rows)


def test_a_folder_named_like_a_pattern_is_a_folder(tmp_path: Path) -> None:
    """Brackets and stars in the lake's path name nothing else: what was written is found, merged and verified."""
    lake = Lake.open(str(tmp_path / "a[b]*" / "lake"))
    turns = [stored(sketch) for sketch in EXAMPLE]
    assert (lake.write(turns).new, lake.write(turns).unchanged) == (len(turns), len(turns))
    lake.compact()
    assert list(lake.verify()) == []
    assert Warehouse(lake.root).sql("select count(*) as n from turn_segments").item() == len(turns)
