"""Evidence in canonical form, and evidence put together."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turn_strategies import SECOND, rearranged, torn, turns
from turnout.outcomes.facts import (
    AttemptEnd,
    Claim,
    Layer,
    Limits,
    Output,
    Refusal,
    Step,
    StepError,
    StopRecord,
    ToolCall,
    ToolStatus,
    TurnFacts,
    Usage,
    YieldRecord,
)
from turnout.outcomes.settle import merge, settle


def steps_of(*rows: Step) -> tuple[Step, ...]:
    return settle(TurnFacts(turn_id="t", steps=rows)).steps


def test_key_by_key() -> None:
    """Rows that share an id are one: recorded beats not recorded, greatest counts, the later row decides the rest."""
    first = Step(
        index=1,
        request_id="r",
        started_at=1 * SECOND,
        ended_at=3 * SECOND,
        model="old",
        finish_reason="length",
        stream_complete=True,
        usage=Usage(input_tokens=50, output_tokens=9),
        output=Output(text_chars=10),
        error=StepError(status=429),
        attempts=2,
        attempt_ends=(AttemptEnd(status=429),),
        tool_calls=(ToolCall(id="a", status=ToolStatus.RUNNING, started_at=2 * SECOND),),
    )
    second = Step(
        index=1,
        request_id="r",
        message_id="m",
        started_at=2 * SECOND,
        ended_at=5 * SECOND,
        finish_reason="stop",
        stream_complete=False,
        usage=Usage(input_tokens=40, output_tokens=30, reasoning_tokens=2),
        output=Output(text_chars=4, parts=1),
        refusal=Refusal(category="bio"),
        error=StepError(type="rate_limit", status=503),
        attempts=3,
        attempt_ends=(AttemptEnd(status=429), AttemptEnd(status=503, at=4 * SECOND)),
        tool_calls=(ToolCall(id="a", name="look", status=ToolStatus.OK), ToolCall(id="b")),
    )
    expected = Step(
        index=1,
        request_id="r",
        message_id="m",
        started_at=1 * SECOND,
        ended_at=5 * SECOND,
        model="old",
        finish_reason="stop",
        stream_complete=True,
        usage=Usage(input_tokens=50, output_tokens=30, reasoning_tokens=2),
        output=Output(text_chars=10, parts=1),
        refusal=Refusal(category="bio"),
        error=StepError(type="rate_limit", status=503),
        attempts=3,
        attempt_ends=(AttemptEnd(status=503, at=4 * SECOND), AttemptEnd(status=429)),
        tool_calls=(
            ToolCall(id="a", name="look", status=ToolStatus.OK, started_at=2 * SECOND),
            ToolCall(id="b"),
        ),
    )
    assert steps_of(first, second) == (expected,)
    assert steps_of(second, first) == (expected,)


def test_attempts() -> None:
    """Rows of one index with different ids are attempts, in the order of their times; a row without an id is of the last one."""
    late = Step(index=1, request_id="r2", started_at=5 * SECOND)
    early = Step(index=1, request_id="r1", started_at=1 * SECOND)
    nameless = Step(index=1, finish_reason="stop")
    assert steps_of(late, nameless, early) == (early, replace(late, finish_reason="stop"))


def test_ids_link_over_several_rows() -> None:
    """A row with both ids joins the rows that have one of them."""
    rows = (
        Step(index=1, request_id="r", model="x"),
        Step(index=1, message_id="m", finish_reason="stop"),
        Step(index=1, request_id="r", message_id="m"),
    )
    assert steps_of(*rows) == (Step(index=1, request_id="r", message_id="m", model="x", finish_reason="stop"),)


def test_rows_without_an_index() -> None:
    """A row without an index belongs to the row that it shares an id with; others are steps of their own, in time."""
    placed, lost = Step(index=2, message_id="m"), Step(message_id="m", finish_reason="stop")
    late, early = Step(started_at=9 * SECOND, model="late"), Step(started_at=1 * SECOND, model="early")
    assert steps_of(late, lost, early, placed) == (replace(placed, finish_reason="stop"), early, late)


def test_one_id_in_two_steps() -> None:
    """An id alone never merges two steps."""
    first, second = Step(index=1, message_id="m"), Step(index=2, message_id="m")
    assert steps_of(second, first) == (first, second)


@pytest.mark.parametrize("settled", [ToolStatus.OK, ToolStatus.ERROR, ToolStatus.DENIED])
def test_settled_beats_unsettled_however_late(settled: ToolStatus) -> None:
    """A settled status stands against an unsettled one that ended later."""
    rows = (ToolCall(id="a", status=settled, ended_at=1), ToolCall(id="a", status=ToolStatus.UNKNOWN, ended_at=9))
    assert [call.status for call in steps_of(Step(index=1, tool_calls=rows))[0].tool_calls] == [settled]


def test_order_of_claims_and_stops() -> None:
    """Claims and stops stand by time, sequence and layer, what has no time last, each once."""
    untimed = Claim(by=Layer.PROVIDER, reason="e")
    timed = [
        Claim(by=Layer.PROCESS, reason="a", at=1),
        Claim(by=Layer.PROCESS, reason="b", at=2, seq=1),
        Claim(by=Layer.RUNTIME, reason="c", at=2),
        Claim(by=Layer.HOST, reason="d", at=2),
    ]
    stops = (StopRecord(at=1), StopRecord(at=2, seq=1), StopRecord(at=2), StopRecord())
    turn = TurnFacts(
        turn_id="t", claims=(untimed, *reversed(timed), untimed), stop_requests=(*reversed(stops), stops[0])
    )
    assert settle(turn).claims == (*timed, untimed)
    assert settle(turn).stop_requests == stops


def test_what_is_settled_stays_the_same_object() -> None:
    """Nothing is made anew where nothing has to be merged."""
    turn = TurnFacts(turn_id="t", steps=(Step(index=1), Step(index=2)), claims=(Claim(by=Layer.HOST),))
    assert settle(turn) is turn


def test_merge_of_the_keys_of_a_turn() -> None:
    """Recorded beats not recorded; the first start, the last end and the greatest limit stand; closed beats open."""
    a = TurnFacts(turn_id="t", agent="x", open=True, started_at=5, limits=Limits(steps=3), children_expected=("b",))
    b = TurnFacts(
        turn_id="t",
        open=False,
        started_at=4,
        ended_at=9,
        limits=Limits(seconds=2.0),
        yield_=YieldRecord(),
        children_expected=("a", "b"),
    )
    assert merge(a, b) == TurnFacts(
        turn_id="t",
        agent="x",
        open=False,
        started_at=4,
        ended_at=9,
        limits=Limits(steps=3, seconds=2.0),
        yield_=YieldRecord(),
        children_expected=("a", "b"),
    )


def test_two_turns_do_not_merge() -> None:
    """Evidence of another turn is turned away with both names."""
    with pytest.raises(ValueError, match=r"got 'a' and 'b', expected one turn_id"):
        merge(TurnFacts(turn_id="a"), TurnFacts(turn_id="b"))


@given(turns)
def test_settling_twice_changes_nothing(turn: TurnFacts) -> None:
    """The canonical form is its own canonical form."""
    settled = settle(turn)
    assert settle(settled) == settled


@given(st.data(), turns)
def test_one_canonical_form(data: st.DataObject, turn: TurnFacts) -> None:
    """Evidence in any order, some of it twice, has one canonical form."""
    assert settle(data.draw(rearranged(turn))) == settle(turn)


@given(st.data(), turns)
def test_torn_rows_become_whole(data: st.DataObject, turn: TurnFacts) -> None:
    """A row that came in two parts is the row."""
    for step in turn.steps:
        assert steps_of(*data.draw(torn(step))) == steps_of(step)


@given(turns, turns, turns)
def test_merging_is_a_union(a: TurnFacts, b: TurnFacts, c: TurnFacts) -> None:
    """Neither the order nor the grouping of merges counts, nor merging the same twice."""
    assert merge(a, b) == merge(b, a)
    assert settle(merge(merge(a, b), c)) == settle(merge(a, merge(b, c)))
    assert settle(merge(a, a)) == settle(a)
    assert settle(merge(merge(a, b), b)) == settle(merge(a, b))


@given(turns)
def test_settled_facts_take_the_same_evidence_in_again(turn: TurnFacts) -> None:
    """What is stored in canonical form does not change when its evidence comes once more."""
    assert settle(merge(settle(turn), settle(turn))) == settle(turn)
