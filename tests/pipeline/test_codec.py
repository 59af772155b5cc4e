"""JSON of the two contracts, in and out."""

import json
from typing import Any

import pytest
from hypothesis import given

from turn_strategies import SECOND, turns
from turnout.outcomes.classify import CLASSIFIER_VERSION, classify
from turnout.outcomes.facts import (
    Claim,
    Layer,
    Limits,
    Output,
    Refusal,
    Step,
    TaskResult,
    ToolCall,
    ToolStatus,
    TurnFacts,
    Usage,
    YieldRecord,
)
from turnout.pipeline.codec import FactsError, decode_turn, encode_turn, encode_verdict


@given(turns)
def test_round_trip(turn: TurnFacts) -> None:
    """What is written is read as the same facts, and equal facts are written alike."""
    encoded = encode_turn(turn)
    assert decode_turn(encoded).turn == turn
    assert encode_turn(decode_turn(encoded).turn) == encoded


def test_a_whole_object() -> None:
    """Names, instants, enums and the key that Python cannot spell."""
    text = b"""{"schema": "turnout.turn/1", "turn_id": "t", "started_at": "2026-01-05T11:00:00.5+01:00",
      "limits": {"steps": 3, "seconds": 60}, "yield": {"reason": "plan_handoff"},
      "steps": [{"index": 1, "usage": {"input_tokens": 5}, "output": {"text_chars": 0, "last_at": "2026-01-05T10:00:01Z"},
                 "tool_calls": [{"id": "k", "status": "awaiting_client"}]}],
      "claims": [{"by": "runtime", "reason": "handoff", "at": "2026-01-05T10:00:02Z"}]}"""
    start = 1_767_607_200 * SECOND
    assert decode_turn(text).turn == TurnFacts(
        turn_id="t",
        started_at=start + SECOND // 2,
        limits=Limits(steps=3, seconds=60),
        yield_=YieldRecord(reason="plan_handoff"),
        steps=(
            Step(
                index=1,
                usage=Usage(input_tokens=5),
                output=Output(text_chars=0, last_at=start + SECOND),
                tool_calls=(ToolCall(id="k", status=ToolStatus.AWAITING_CLIENT),),
            ),
        ),
        claims=(Claim(by=Layer.RUNTIME, reason="handoff", at=start + 2 * SECOND),),
    )


EMPTY: dict[str, Any] = {
    "turn_id": "t",
    "agent": "",
    "attended": None,
    "started_at": "",
    "limits": "",
    "steps": [{"index": 1, "finish_reason": "", "usage": "", "stream_complete": None, "tool_calls": None}],
    "claims": None,
    "stop_requests": [{"mode": "", "by": None, "at": ""}],
    "children_expected": "",
}


def test_null_and_empty_are_not_recorded() -> None:
    """Neither is ever an error, of any type."""
    decoded = decode_turn(EMPTY)
    assert decoded.turn.steps == (Step(index=1),)
    assert len(decoded.turn.stop_requests) == 1
    assert (decoded.turn.agent, decoded.turn.limits, decoded.turn.claims) == (None, None, ())
    assert decoded.unknown_keys == ()


@pytest.mark.parametrize("refusal", [{}, {"category": None, "explanation": ""}], ids=["empty", "empty keys"])
def test_an_empty_refusal_is_a_refusal(refusal: dict[str, object]) -> None:
    """The provider refused, even where it said nothing more."""
    assert decode_turn({"turn_id": "t", "steps": [{"refusal": refusal}]}).turn.steps[0].refusal == Refusal()


def test_unknown_keys_are_named_and_kept_out() -> None:
    """A key that no contract knows is no error, wherever it stands; in a list it is named once."""
    value = {
        "turn_id": "t",
        "colour": 1,
        "steps": [{"index": 1, "mood": "x"}, {"index": 2, "mood": "y"}],
        "usage": {"cents": 1},
    }
    decoded = decode_turn(value)
    assert decoded.unknown_keys == ("colour", "steps.mood", "usage.cents")
    assert decoded.turn == TurnFacts(turn_id="t", steps=(Step(index=1), Step(index=2)), usage=Usage())


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (b"{", "line: got text that is no JSON (Input data was truncated), expected one JSON object a line"),
        (b"[1]", "line: got a list, expected an object of turn facts"),
        (b"7", "line: got 7, expected an object of turn facts"),
        (b"\xff", None),
        (b'{"turn_id": "\\ud800"}', None),
        ({}, "turn_id: got nothing, expected a string that names the turn"),
        ({"turn_id": ""}, "turn_id: got nothing, expected a string that names the turn"),
        ({"turn_id": 7}, "turn_id: got 7, expected str"),
        (
            {"schema": "turnout.turn/2", "turn_id": "t"},
            "schema: got 'turnout.turn/2', expected 'turnout.turn/1'",
        ),
        ({"schema": ["turnout.turn/1"], "turn_id": "t"}, "schema: got a list, expected 'turnout.turn/1'"),
        ({"turn_id": "t", "open": "yes"}, "open: got 'yes', expected bool"),
        ({"turn_id": "t", "steps": {}}, "steps: got an object, expected array"),
        ({"turn_id": "t", "steps": [None]}, "steps[0]: got null, expected object"),
        ({"turn_id": "t", "steps": [{"index": "1"}]}, "steps[0].index: got '1', expected int"),
        ({"turn_id": "t", "steps": [{"index": 0}]}, "steps[0].index: got 0, expected an integer from 1"),
        ({"turn_id": "t", "steps": [{"index": True}]}, "steps[0].index: got true, expected int"),
        (
            {"turn_id": "t", "claims": [{"by": "robot"}]},
            "claims[0].by: got 'robot', expected one of provider, runtime, host, transport, process",
        ),
        (
            {"turn_id": "t", "started_at": "yesterday"},
            "started_at: got 'yesterday', expected an RFC 3339 date-time with an offset, as 2026-01-05T10:00:00Z",
        ),
        ({"turn_id": "t", "started_at": 5}, "started_at: got 5, expected an RFC 3339 date-time as text"),
        ({"turn_id": "t", "ended_at": "2026-13-45T10:00:00Z"}, None),
        (
            {"turn_id": "t", "usage": {"input_tokens": 10**30}},
            f"usage.input_tokens: got {10**30}, expected an integer of at most 53 bits",
        ),
        (
            {"turn_id": "t", "steps": "Please refund order 7"},
            "steps: got a text of 21 characters, expected array",
        ),
        (
            {"turn_id": "t", "ended_at": "2026-01-05 10:00:00"},
            "ended_at: got '2026-01-05 10:00:00', expected an RFC 3339 date-time with an offset, as 2026-01-05T10:00:00Z",
        ),
        ({"turn_id": "t", "yield": {"reason": 4}}, "yield.reason: got 4, expected str"),
        ({"turn_id": "t", "user_id": ["x"]}, "user_id: got a list, expected str"),
    ],
    ids=str,
)
def test_bad_values(value: Any, message: str | None) -> None:
    """A value that does not belong is told by its place, what was there and what belongs there, on one line."""
    with pytest.raises(FactsError) as caught:
        decode_turn(value)
    assert "\n" not in str(caught.value)
    if message is not None:
        assert str(caught.value) == message


def test_numbers_as_other_languages_write_them() -> None:
    """A whole number with a point is whole, and a layer's status may be a number."""
    value = b'{"turn_id": "t", "steps": [{"index": 1.0, "usage": {"input_tokens": 2e3}}], "claims": [{"status": 503}]}'
    assert decode_turn(value).turn == TurnFacts(
        turn_id="t", steps=(Step(index=1, usage=Usage(input_tokens=2000)),), claims=(Claim(status="503"),)
    )


def test_a_negative_count_is_no_count() -> None:
    """It is kept out and told with its place; whatever may be below zero stays, and so does the rest."""
    value = {
        "turn_id": "t",
        "cost_usd": -0.5,
        "limits": {"steps": -1, "seconds": 9},
        "steps": [{"index": 1, "usage": {"input_tokens": -7, "output_tokens": 0}}],
        "claims": [{"by": "process", "exit_code": -9, "seq": -1}],
        "task_result": {"reward": -1.0},
    }
    decoded = decode_turn(value)
    assert [str(error) for error in decoded.negative] == [
        "cost_usd: got -0.5, expected a number from 0",
        "limits.steps: got -1, expected a number from 0",
        "steps[0].usage.input_tokens: got -7, expected a number from 0",
    ]
    assert decoded.turn == TurnFacts(
        turn_id="t",
        limits=Limits(seconds=9),
        steps=(Step(index=1, usage=Usage(output_tokens=0)),),
        claims=(Claim(by=Layer.PROCESS, exit_code=-9, seq=-1),),
        task_result=TaskResult(reward=-1.0),
    )


def test_verdict() -> None:
    """Every key of the contract is there; ``interrupted`` is true or absent."""
    turn = TurnFacts(turn_id="t", steps=(Step(index=1, finish_reason="stop", usage=Usage(output_tokens=3)),))
    assert json.loads(encode_verdict(classify(turn))) == {
        "schema": "turnout.verdict/1",
        "turn_id": "t",
        "classifier_version": CLASSIFIER_VERSION,
        "outcome": "completed",
        "budget_kind": None,
        "cause": None,
        "resumable": "no",
        "abnormal": False,
        "evidence": "derived",
        "rule": "finished_by_itself",
        "conflicts": [],
        "flags": [],
        "steps": 1,
        "steps_charged": 1,
        "tool_calls": 0,
        "tool_errors": 0,
        "unsettled_tools": 0,
        "usage": {
            "input_tokens": None,
            "output_tokens": 3,
            "cache_read_tokens": None,
            "cache_write_tokens": None,
            "reasoning_tokens": None,
        },
        "usage_complete": True,
        "finish_reason": None,
        "finished": True,
        "notice": "none",
        "can_continue": False,
    }
    interrupted = json.loads(encode_verdict(classify(TurnFacts(turn_id="t", open=True))))
    assert interrupted["interrupted"] is True
