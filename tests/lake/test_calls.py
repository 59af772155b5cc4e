"""One model call that several transcripts tell of counts once over the whole lake, whatever order they come in."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from turnout.outcomes.facts import Step, TurnFacts, Usage
from turnout.pipeline.lake import Lake
from turnout.pipeline.query import Warehouse
from turnout.pipeline.rows import classified
from turnout.pipeline.testing import HOUR, NOON, SECOND

Rows = Callable[[Lake, str], pl.DataFrame]
TOTALS = "select sum(input_tokens), sum(output_tokens), sum(cost_usd) from {}"


def turn(turn_id: str, hour: int, calls: Sequence[str], *, trace: str | None = None, day: int = 0) -> TurnFacts:
    """A turn that used 100 tokens in, 10 out and a dollar for each of its calls."""
    start = NOON + hour * HOUR + day * 24 * HOUR
    steps = [
        Step(
            index=number,
            message_id=call,
            started_at=start + number * SECOND,
            ended_at=start + (number + 1) * SECOND,
            finish_reason="end_turn",
            usage=Usage(input_tokens=100, output_tokens=10),
            cost_usd=1.0,
        )
        for number, call in enumerate(calls, 1)
    ]
    return TurnFacts(
        turn_id=turn_id, trace_id=trace, started_at=start, ended_at=start + 60 * SECOND, steps=tuple(steps)
    )


def write(lake: Lake, *turns: TurnFacts) -> None:
    lake.write([classified(one, NOON) for one in turns])


def tokens(lake: Lake, rows: Rows) -> dict[str, tuple[int | None, bool]]:
    """What the row of each turn counts, and whether it says that something counts elsewhere."""
    found = rows(lake, "turns").select("turn_id", "input_tokens", "flags").rows()
    return {turn_id: (count, "duplicate_call" in flags) for turn_id, count, flags in found}


FIRST = turn("first", 1, ["m1", "m2"])
FORK = turn("fork", 2, ["m1", "m2", "m3"])
THIRD = turn("third", 3, ["m3", "m4"])
DISTINCT = (400, 40, 4.0)


def check(lake: Lake, rows: Rows) -> None:
    assert tokens(lake, rows) == {"first": (200, False), "fork": (100, True), "third": (100, True)}
    warehouse = Warehouse(lake.root)
    assert [warehouse.sql(TOTALS.format(table)).row(0) for table in ("turns", "steps")] == [DISTINCT, DISTINCT]
    assert list(lake.verify()) == []


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (1, 0, 2)])
def test_each_call_counts_in_the_first_turn_that_tells_of_it(root: str, rows: Rows, order: Sequence[int]) -> None:
    """A fork of a session repeats the calls before it; sums over turns and over steps hold each once."""
    lake = Lake.open(root)
    for number in order:
        write(lake, (FIRST, FORK, THIRD)[number])
    check(lake, rows)
    kept = rows(lake, "turns").filter(turn_id="fork").row(0, named=True)
    assert (kept["steps"], kept["cost_usd"], kept["usage_complete"]) == (3, 1.0, True)
    assert lake.facts(["fork"])["fork"].steps[0].usage == Usage(input_tokens=100, output_tokens=10)
    write(lake, FORK, FIRST)
    check(lake, rows)
    assert lake.compact() > 0
    write(lake, turn("fourth", 4, ["m4", "m1"]))
    assert tokens(lake, rows)["fourth"] == (None, True)


def test_spans_are_calls_of_their_own(root: str, rows: Rows) -> None:
    """An id alone never makes two spans one, and a transcript beside them counts as it would alone."""
    lake = Lake.open(root)
    write(lake, turn("a", 1, ["m1"], trace="1"), turn("b", 2, ["m1"], trace="2"), turn("c", 3, ["m1"]))
    assert tokens(lake, rows) == {"a": (100, False), "b": (100, False), "c": (100, False)}


def test_a_call_counts_where_its_usage_is_recorded(root: str, rows: Rows) -> None:
    """An earlier turn that does not say what the call used has nothing to count."""
    bare = replace(FIRST, steps=tuple(replace(step, usage=None, cost_usd=None) for step in FIRST.steps))
    lake = Lake.open(root)
    write(lake, FORK)
    write(lake, bare)
    assert tokens(lake, rows) == {"first": (None, False), "fork": (300, False)}


def test_when_the_first_is_taken_out_the_next_counts(root: str, rows: Rows) -> None:
    """Whether a person's turns are forgotten or a turn is withdrawn."""
    lake = Lake.open(root)
    write(lake, replace(FIRST, user_id="u"), FORK, THIRD)
    lake.forget(user_id="u")
    assert tokens(lake, rows) == {"fork": (300, False), "third": (100, True)}
    digest = rows(lake, "turns").filter(turn_id="fork")["digest"].item()
    lake.write([], withdrawn={"fork": digest})
    assert tokens(lake, rows) == {"third": (200, False)}
    assert list(lake.verify()) == []


def test_an_aggregate_of_the_source_is_no_way_around(root: str, rows: Rows) -> None:
    """A turn that counts a part of its calls counts nothing for the whole."""
    lake = Lake.open(root)
    whole = replace(FORK, usage=Usage(input_tokens=300), cost_usd=3.0)
    write(lake, FIRST, replace(whole, steps=tuple(replace(step, cost_usd=None) for step in whole.steps)))
    row = rows(lake, "turns").filter(turn_id="fork").row(0, named=True)
    assert (row["input_tokens"], row["cost_usd"]) == (100, None)


IDS = ["plain", 'quo"ted', "back\\slash", "ünï", "new\nline", "[.*]"]


@settings(
    max_examples=10,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # an example takes a second: no shrinking
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_whatever_comes_when_each_call_counts_once(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory, rows: Rows
) -> None:
    """Any turns with any calls, over several dates, in any order, split into any writes: one lake, and no call in it twice."""
    calls = st.lists(st.sampled_from(IDS), min_size=1, max_size=3, unique=True)
    drawn = data.draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1), calls), min_size=2, max_size=6))
    turns = [turn(f"t{number}", hour, names, day=day) for number, (hour, day, names) in enumerate(drawn)]
    plain = Lake.open(str(tmp_path_factory.mktemp("plain") / "lake"))
    write(plain, *turns)
    lake = Lake.open(str(tmp_path_factory.mktemp("any") / "lake"))
    order = data.draw(st.permutations(turns))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(turns) - 1), max_size=3)))
    for start, end in pairwise([0, *cuts, len(turns)]):
        write(lake, *order[start:end])
    assert tokens(lake, rows) == tokens(plain, rows)
    told = {step.message_id for one in turns for step in one.steps}
    assert rows(lake, "turns")["input_tokens"].sum() == 100 * len(told)
    assert list(lake.verify()) == []
