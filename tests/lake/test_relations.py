"""Flags that only several turns together can set, whatever order they come in."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turnout.outcomes.facts import TurnFacts
from turnout.pipeline.lake import Lake, Written
from turnout.pipeline.rows import ClassifiedTurn, classified
from turnout.pipeline.testing import NOON, Sketch, sketched

Rows = Callable[[Lake, str], pl.DataFrame]


def turn(turn_id: str, parent: str | None = None, children: Sequence[str] = (), *, usage: bool = True) -> TurnFacts:
    facts = sketched(Sketch(turn_id=turn_id))
    steps = facts.steps if usage else tuple(replace(step, usage=None) for step in facts.steps)
    return replace(facts, parent_turn_id=parent, children_expected=tuple(children), steps=steps)


CASES: dict[str, tuple[list[TurnFacts], dict[str, set[str]]]] = {
    "a child whose parent is not there": ([turn("child", "parent")], {"child": {"orphan"}}),
    "a child and its parent": ([turn("parent"), turn("child", "parent")], {"parent": set(), "child": set()}),
    "a parent that is named by its root": (
        [replace(turn("segment"), root_turn_id="root"), turn("child", "root")],
        {"segment": set(), "child": set()},
    ),
    "an expected child that is not there": ([turn("parent", children=["child"])], {"parent": {"child_usage_missing"}}),
    "an expected child that says what it used": (
        [turn("parent", children=["child"]), turn("child", "parent")],
        {"parent": set(), "child": set()},
    ),
    "a child that does not say what it used": (
        [turn("parent"), turn("child", "parent", usage=False)],
        {"parent": {"child_usage_missing"}, "child": {"usage_missing"}},
    ),
    "one of two children": (
        [turn("parent", children=["one", "two"]), turn("one", "parent"), turn("grandchild", "one")],
        {"parent": {"child_usage_missing"}, "one": set(), "grandchild": set()},
    ),
}


def flags(lake: Lake, rows: Rows) -> dict[str, set[str]]:
    return {turn_id: set(found) for turn_id, found in rows(lake, "turns").select("turn_id", "flags").rows()}


@pytest.mark.parametrize(("turns", "expected"), CASES.values(), ids=CASES)
def test_what_turns_say_of_each_other(
    root: str, rows: Rows, turns: list[TurnFacts], expected: dict[str, set[str]]
) -> None:
    """Together in one write, and one by one in both orders."""
    together = Lake.open(f"{root}-together")
    together.write([classified(facts, NOON) for facts in turns])
    assert flags(together, rows) == expected
    for name, order in {"forwards": turns, "backwards": turns[::-1]}.items():
        lake = Lake.open(f"{root}-{name}")
        for facts in order:
            lake.write([classified(facts, NOON)])
        assert flags(lake, rows) == expected
        assert list(lake.verify()) == []


FAMILY = [
    turn("a", children=["b", "c"]),
    turn("b", "a", children=["d"]),
    turn("c", "a", usage=False),
    turn("d", "b"),
    turn("e", "nobody"),
    replace(turn("a2"), root_turn_id="a", started_at=NOON + 10),
    turn("f", "a2"),
]


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(len(FAMILY))))
def test_the_order_in_which_a_family_comes_does_not_count(
    tmp_path_factory: pytest.TempPathFactory, rows: Rows, order: list[int]
) -> None:
    """Each turn in a write of its own."""
    lake = Lake.open(str(tmp_path_factory.mktemp("family") / "lake"))
    for number in order:
        lake.write([classified(FAMILY[number], NOON)])
    assert flags(lake, rows) == {
        "a": {"child_usage_missing"},
        "a2": {"child_usage_missing"},
        "b": set(),
        "c": {"usage_missing"},
        "d": set(),
        "e": {"orphan"},
        "f": set(),
    }
    assert lake.write([classified(facts, NOON) for facts in FAMILY]).unchanged == len(FAMILY)


def given_at_noon(facts: TurnFacts) -> ClassifiedTurn:
    return classified(facts, NOON)


def digest_in(lake: Lake, rows: Rows, turn_id: str) -> str:
    return str(rows(lake, "turns").filter(turn_id=turn_id)["digest"].item())


def test_a_withdrawn_turn_goes_with_its_steps_in_the_commit_of_what_stands_for_it(root: str, rows: Rows) -> None:
    """One version later it is gone, and what named it as its parent is an orphan; a row that knows more than was withdrawn stays."""
    lake = Lake.open(root)
    lake.write([given_at_noon(turn("phantom")), given_at_noon(turn("child", "phantom"))])
    digest, version = digest_in(lake, rows, "phantom"), lake.snapshot().version
    whole = given_at_noon(turn("whole"))
    assert lake.write([whole], withdrawn={"phantom": "another"}) == Written(1, 0, 0, withdrawn=0)
    assert lake.write([whole], withdrawn={"phantom": digest, "nobody": digest}) == Written(0, 0, 1, withdrawn=1)
    assert lake.snapshot().version == version + 2
    assert flags(lake, rows) == {"child": {"orphan"}, "whole": set()}
    assert sorted(set(rows(lake, "steps")["turn_id"])) == ["child", "whole"]
    assert lake.write([whole], withdrawn={"phantom": digest}) == Written(0, 0, 1)
    assert list(lake.verify()) == []


def test_a_turn_that_is_given_is_not_withdrawn(root: str, rows: Rows) -> None:
    """What comes with its own facts in the same write stands."""
    lake = Lake.open(root)
    lake.write([given_at_noon(turn("t"))])
    assert lake.write([given_at_noon(turn("t"))], withdrawn={"t": digest_in(lake, rows, "t")}) == Written(0, 0, 1)
    assert rows(lake, "turns").height == 1


def test_a_parent_that_goes_leaves_orphans_and_a_child_that_goes_a_gap(root: str, rows: Rows) -> None:
    """Whether a person's turns are taken out or a turn is withdrawn, those that stay say who is missing."""
    lake = Lake.open(root)
    family = [turn("top", children=["mid"]), replace(turn("mid", "top"), user_id="u"), turn("low", "mid")]
    lake.write([given_at_noon(one) for one in family])
    assert flags(lake, rows) == {"top": set(), "mid": set(), "low": set()}
    lake.forget(user_id="u")
    assert flags(lake, rows) == {"top": {"child_usage_missing"}, "low": {"orphan"}}
