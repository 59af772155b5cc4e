"""The warehouse: what it answers, and what it refuses."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from turnout.outcomes.verdict import Outcome
from turnout.pipeline.lake import Lake
from turnout.pipeline.query import QueryError, Warehouse
from turnout.pipeline.schema import TABLES
from turnout.pipeline.testing import HOUR, NOON, SECOND, Sketch, lake_of, stored


def test_the_views_have_the_columns_of_the_schema(example: Warehouse, empty: Warehouse) -> None:
    """With rows and without."""
    for warehouse in (example, empty):
        for view, table in {
            "turns": "turns",
            "turn_segments": "turns",
            "steps": "steps",
            "tool_calls": "tool_calls",
        }.items():
            frame = warehouse.sql(f"select * from {view} limit 1")
            assert dict(frame.schema) == dict(TABLES[table])
        assert dict(warehouse.sql("select * from ledger").schema) == dict(TABLES["ledger"])


def test_the_view_turns_holds_the_last_segment_of_each_root(example: Warehouse) -> None:
    """And turn_segments all of them."""
    assert example.sql("select count(*) from turns").item() == 15
    assert example.sql("select count(*) from turn_segments").item() == 16
    assert example.sql("select turn_id from turns where root_turn_id = 't14'").item() == "t14b"


def test_parameters_are_named(example: Warehouse) -> None:
    """A value is never part of the text."""
    found = example.sql(
        "select turn_id from turns where agent = $agent and steps > $n order by 1", {"agent": "coder", "n": 2}
    )
    assert found["turn_id"].to_list() == ["t04", "t05"]


REFUSED = {
    "another file": ("select * from read_csv('/etc/passwd')", "Cannot access file"),
    "another file by name": ("select * from '/etc/passwd'", "does not exist"),
    "a list of files": ("select * from glob('/etc/*')", "Cannot access"),
    "text of a file": ("select * from read_text('/etc/passwd')", "Cannot access"),
    "out of the lake by dots": ("select * from read_text($root || '/turns/../../secret')", "Cannot access"),
    "a copy": ("copy (select 1) to '{root}/turns/x.csv'", "got copy, expected a select"),
    "a copy in a with": ("with x as (copy (select 1) to '{root}/turns/x.csv') select 1", "got copy, expected a select"),
    "a copy that is explained": (
        "explain analyze copy (select 1) to '{root}/turns/x.csv'",
        "got explain, expected a select",
    ),
    "a copy in a query()": (
        "from query('with x as (copy (select 1) to ''{root}/turns/x.csv'') select 1')",
        "must be at the top level",
    ),
    "a table": ("create table x (a int)", "got create, expected a select"),
    "an attachment": ("attach '{root}/x.db'", "got attach, expected a select"),
    "a setting": ("set memory_limit = '1GB'", "got set, expected a select"),
    "an extension": ("install httpfs", "got load, expected a select"),
    "two statements": ("select 1; select 2", "got 2 statements, expected one"),
    "nothing": ("", "got 0 statements, expected one"),
    "a file through query()": ("select * from query('copy (select 1) to ''x''')", "Expected a single SELECT"),
    "a variable of python": ("select * from example", "does not exist"),
    "an unknown view": ("select * from turnz", 'Did you mean "turns"\\?; the views are turns'),
}


@pytest.mark.parametrize(("statement", "words"), REFUSED.values(), ids=REFUSED)
def test_a_statement_that_does_more_than_read_the_views_is_refused(
    example: Warehouse, statement: str, words: str
) -> None:
    """One sentence, and nothing has happened."""
    Path(example.root).parent.joinpath("secret").write_text("secret")
    parameters = {"root": example.root} if "$root" in statement else None
    with pytest.raises(QueryError, match=words):
        example.sql(statement.format(root=example.root), parameters)
    assert not Path(example.root, "turns", "x.csv").exists()


@pytest.mark.parametrize(
    "statement",
    [
        "select 'a copy' as x",
        "select 1 as copy",
        'select \'"type":"COPY_QUERY_NODE"\' as x',
        "with copies as (select 1) from copies",
    ],
)
def test_the_word_copy_is_no_copy(example: Warehouse, statement: str) -> None:
    """As a value, a name, or part of one."""
    assert example.sql(statement).height == 1


def test_columns_of_one_name_and_of_foreign_types_come_out(example: Warehouse) -> None:
    """A join of two views gives each column a name; a length of time is text."""
    rows = example.sql(
        'select t.turn_id, s.turn_id, 1 as turn_id_1, interval 90 minute as took, [interval 1 day] as days, true as "a""b" '
        "from turns as t join steps as s using (turn_id) where turn_id = $turn and step = 1",
        {"turn": "t04"},
    )
    assert rows.to_dicts() == [
        {"turn_id": "t04", "turn_id_2": "t04", "turn_id_1": 1, "took": "01:30:00", "days": "[1 day]", 'a"b': True}
    ]


def test_a_turn_is_found_by_id_with_all_that_is_stored_of_it(example: Warehouse) -> None:
    """Facts, verdict, steps, tool calls and every segment."""
    found = example.require("t14")
    assert found.facts == stored(Sketch(turn_id="t14", outcome=Outcome.INTERRUPTED, at=NOON + 24 * HOUR)).facts
    assert found.verdict.outcome is Outcome.INTERRUPTED
    assert found.steps["step"].to_list() == [1, 2]
    assert found.tool_calls["tool"].to_list() == ["bash"]
    assert found.segments.select("turn_id", "outcome", "last_segment").rows() == [
        ("t14", "interrupted", False),
        ("t14b", "completed", True),
    ]


@pytest.mark.parametrize("near", [None, datetime(2026, 1, 5, 12, tzinfo=UTC), datetime(2031, 1, 1, tzinfo=UTC)])
def test_a_hint_of_when_changes_nothing_but_the_search(example: Warehouse, near: datetime | None) -> None:
    """Also a wrong one."""
    found = example.turn("t04", near)
    assert found is not None
    assert found.row["turn_id"] == "t04"


def test_the_stored_verdict_comes_back_as_it_was(example: Warehouse) -> None:
    """Rows and verdicts say the same."""
    for turn_id in example.turns(limit=None)["turn_id"]:
        found = example.require(turn_id)
        assert found.verdict == stored_verdict(found.facts.turn_id)


def stored_verdict(turn_id: str) -> object:
    from turnout.pipeline.testing import EXAMPLE

    return next(stored(sketch).verdict for sketch in EXAMPLE if sketch.turn_id == turn_id)


def test_an_unknown_turn_is_one_sentence(example: Warehouse, empty: Warehouse) -> None:
    """It says where to look."""
    for warehouse in (example, empty):
        assert warehouse.turn("nobody") is None
        with pytest.raises(QueryError, match="got 'nobody', expected the id of a turn in lake"):
            warehouse.require("nobody")


def test_the_latest_turns_come_first_whatever_file_they_are_in(tmp_path: Path) -> None:
    """Also when far more files than the newest ones must be read for them."""
    lake = Lake.open(str(tmp_path / "lake"))
    for number in range(30):
        at = NOON + (number * 7 % 30) * 24 * HOUR
        lake.write(
            [
                stored(
                    Sketch(
                        turn_id=f"t{number * 7 % 30:02}",
                        at=at,
                        outcome=Outcome.ERROR if number % 3 else Outcome.COMPLETED,
                    )
                )
            ]
        )
    warehouse = Warehouse(lake.root)
    every = warehouse.turns(limit=None)
    assert every["turn_id"].to_list() == [f"t{n:02}" for n in range(29, -1, -1)]
    for limit in (1, 5, 17, 30, 99):
        assert warehouse.turns(limit=limit)["turn_id"].to_list() == every["turn_id"].to_list()[:limit]
    failed = every.filter(pl.col("abnormal"))["turn_id"].to_list()
    assert warehouse.turns(limit=6, abnormal=True)["turn_id"].to_list() == failed[:6]
    assert warehouse.turns(limit=2, order="oldest")["turn_id"].to_list() == ["t00", "t01"]
    assert "facts" not in every.columns


def test_a_warehouse_answers_from_one_state_until_it_is_refreshed(tmp_path: Path) -> None:
    """New turns show after `refresh`, and only then."""
    lake = lake_of(str(tmp_path / "lake"), [Sketch(turn_id="a")])
    warehouse = Warehouse(lake.root)
    lake.write([stored(Sketch(turn_id="b"))])
    assert warehouse.sql("select count(*) from turns").item() == 1
    assert warehouse.refresh()
    assert warehouse.sql("select count(*) from turns").item() == 2
    assert not warehouse.refresh()


def test_a_source_is_as_fresh_as_its_last_change(tmp_path: Path) -> None:
    """Received, not started: a replay of old turns is news."""
    lake = Lake.open(str(tmp_path / "lake"))
    lake.write([stored(Sketch(turn_id="a", source="one"), NOON + HOUR), stored(Sketch(turn_id="b", source=None), NOON)])
    lake.write([stored(Sketch(turn_id="c", source="one", at=NOON - HOUR), NOON + 2 * HOUR)])
    rows = Warehouse(lake.root).freshness().rows()
    received = datetime.fromtimestamp((NOON + 2 * HOUR) // SECOND, UTC)
    noon = datetime.fromtimestamp(NOON // SECOND, UTC)
    ended = datetime.fromtimestamp(NOON // SECOND + 2, UTC)
    assert rows == [("one", 2, received, ended), (None, 1, noon, ended)]


def test_a_part_of_a_lake_is_whole_turns_spread_over_its_time(tmp_path: Path) -> None:
    """Files are taken evenly, with the steps and tool calls of their turns; a lake that is small enough is its own part."""
    lake = Lake.open(str(tmp_path / "lake"))
    for hour in range(7):
        lake.write([stored(Sketch(turn_id=f"{hour}-{number}", at=NOON + hour * HOUR)) for number in range(3)])
    warehouse = Warehouse(lake.root)
    part = warehouse.part(7)
    turns = set(part.sql("select turn_id from turns")["turn_id"])
    assert warehouse.part(21) is warehouse
    assert turns == {f"{hour}-{number}" for hour in (0, 2, 4) for number in range(3)}
    assert set(part.sql("select distinct turn_id from steps")["turn_id"]) == turns
    assert warehouse.sql("select count(*) from turns").item() == 21
