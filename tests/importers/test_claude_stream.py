"""Streams of ``claude -p``: results, their words and usage, sub-agents, interruptions and a result that was lost."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from turnout.outcomes.classify import classify
from turnout.outcomes.facts import (
    AttemptEnd,
    Claim,
    Layer,
    Output,
    Requester,
    Step,
    StopMode,
    StopRecord,
    ToolCall,
    ToolStatus,
    TurnFacts,
    Usage,
)
from turnout.outcomes.instants import parse_instant
from turnout.outcomes.verdict import Cause
from turnout.pipeline.importers import KINDS, Damaged, Imported, Skipped
from turnout.pipeline.importers.base import DAMAGED_RECORD

Lines = Callable[..., Path]
Line = dict[str, Any]


def line(kind: str, session: str = "s1", **more: object) -> Line:
    return {"type": kind, "session_id": session, "uuid": f"u-{kind}", "parent_tool_use_id": None, **more}


def init(session: str = "s1") -> Line:
    return line("system", session, subtype="init", claude_code_version="2.1.0", model="claude-x")


def answer(
    message_id: str, *blocks: Line, session: str = "s1", out: int = 5, stop: str | None = None, **more: Any
) -> Line:
    usage = {
        "input_tokens": 3,
        "output_tokens": out,
        "cache_read_input_tokens": 7,
        "cache_creation_input_tokens": 2,
    }
    message = {"id": message_id, "model": "claude-x", "content": list(blocks), "stop_reason": stop, "usage": usage}
    return line("assistant", session, message=message, **more)


def reply(call: str, words: str = "fine", *, error: bool = False, **more: object) -> Line:
    block = {"type": "tool_result", "tool_use_id": call, "content": words, "is_error": error}
    return {**line("user", message={"role": "user", "content": [block]}), **more}


def result(subtype: str = "success", session: str = "s1", **more: Any) -> Line:
    return {**line("result", session, subtype=subtype, is_error=False), **more}


def say(words: str) -> Line:
    return {"type": "text", "text": words}


def use(call: str, name: str = "Bash", **arguments: object) -> Line:
    return {"type": "tool_use", "id": call, "name": name, "input": arguments}


def read(path: Path) -> list[Imported]:
    return list(KINDS["claude-stream"].read(path))


def turns(path: Path) -> list[TurnFacts]:
    return [item for item in read(path) if isinstance(item, TurnFacts)]


def total(out: int, messages: int) -> Line:
    return {
        "input_tokens": 3 * messages,
        "output_tokens": out,
        "cache_read_input_tokens": 7 * messages,
        "cache_creation_input_tokens": 2 * messages,
    }


def test_a_result_ends_the_turn(lines: Lines) -> None:
    """The result is the runtime's claim; where the messages add up to its usage, each keeps its own."""
    path = lines(
        "log.jsonl",
        init(),
        answer("m1", use("c1"), out=1),
        reply("c1"),
        answer("m2", say("done"), out=4, stop="end_turn"),
        result(usage=total(5, 2), total_cost_usd=0.5),
    )

    def step(index: int, **more: Any) -> Step:
        usage = Usage(input_tokens=3, output_tokens=more.pop("out"), cache_read_tokens=7, cache_write_tokens=2)
        return Step(
            index=index,
            message_id=f"m{index}",
            provider="anthropic",
            model="claude-x",
            usage=usage,
            cache_in_input=False,
            **more,
        )

    assert read(path) == [
        TurnFacts(
            turn_id="claude-stream:s1:m1",
            conversation_id="s1",
            agent="claude-code",
            agent_version="2.1.0",
            source="claude-stream",
            steps=(
                step(
                    1,
                    out=1,
                    output=Output(text_chars=0, parts=1),
                    tool_calls=(ToolCall(id="c1", name="Bash", status=ToolStatus.OK),),
                ),
                step(2, out=4, raw_finish_reason="end_turn", output=Output(text_chars=4, parts=1)),
            ),
            claims=(Claim(by=Layer.RUNTIME, reason="success", status="success"),),
            usage=Usage(input_tokens=24, output_tokens=5, cache_read_tokens=14, cache_write_tokens=4),
            cost_usd=0.5,
        )
    ]


def test_a_snapshot_of_usage_is_not_trusted(lines: Lines) -> None:
    """Where the messages do not add up to the result, the result alone counts, its cache within the input."""
    path = lines("log.jsonl", init(), answer("m1", say("hi"), out=1), result(usage=total(90, 1)))
    (turn,) = turns(path)
    assert turn.steps[0].usage is None
    assert turn.usage == Usage(input_tokens=12, output_tokens=90, cache_read_tokens=7, cache_write_tokens=2)


def test_a_log_without_its_result_lost_a_record(lines: Lines) -> None:
    """That is said of the turn, its output counts are not final, and no end is made up."""
    path = lines("log.jsonl", init(), answer("m1", say("hi"), out=1))
    damaged, turn = read(path)
    assert damaged == Damaged(
        path=str(path),
        what="session s1: got no whole result line, expected one at the end of the turn",
        turn_id="claude-stream:s1:m1",
    )
    assert isinstance(turn, TurnFacts)
    assert turn.claims == (DAMAGED_RECORD,)
    assert turn.ended_at is None
    assert turn.steps[0].usage == Usage(input_tokens=3, cache_read_tokens=7, cache_write_tokens=2)


def test_a_broken_result_line_is_damaged_too(lines: Lines) -> None:
    """Halves of a line are damaged records of the turn that they stood in."""
    path = lines("log.jsonl", init(), answer("m1", say("hi")), '{"type": "result", "sub', 'type": "success"}')
    damaged = [(item.line, item.turn_id) for item in read(path) if isinstance(item, Damaged)]
    assert damaged == [(3, "claude-stream:s1:m1"), (4, "claude-stream:s1:m1"), (None, "claude-stream:s1:m1")]


RESULTS: Mapping[str, tuple[Line, str | None, str | None, str]] = {
    "steps": (result("error_max_turns"), "error_max_turns", None, "budget"),
    "cost": (result("error_max_budget_usd"), "error_max_budget_usd", None, "budget"),
    "error": (result("error_during_execution", errors=["boom"]), "error_during_execution", "boom", "error"),
    "malformed": (result("error_max_structured_output_retries"), "error", None, "error"),
    "success that is an error": (result(is_error=True, result="API Error: 500"), "error", "API Error: 500", "error"),
    "overflow": (result(is_error=True, terminal_reason="prompt_too_long"), "prompt_too_long", None, "context_overflow"),
    "stopped": (result("error_during_execution", terminal_reason="aborted_streaming"), "user_stop", None, "stopped"),
    "turns by terminal reason": (result("error_max_turns", terminal_reason="max_turns"), "max_turns", None, "budget"),
    "aborted": (
        result("error_during_execution", errors=["Error: Request was aborted."]),
        "aborted",
        "Error: Request was aborted.",
        "stopped",
    ),
    "cut": (
        result("error_during_execution", errors=["max_output_tokens"]),
        "max_tokens",
        "max_output_tokens",
        "length",
    ),
    "overflow in words": (
        result(is_error=True, result="Prompt is too long"),
        "prompt_too_long",
        "Prompt is too long",
        "context_overflow",
    ),
    "unknown subtype": (result("novel"), "novel", None, "unknown"),
    "unknown terminal reason": (result(terminal_reason="novel"), "novel", None, "unknown"),
}


@pytest.mark.parametrize("name", RESULTS, ids=list(RESULTS))
def test_the_result_is_said_in_the_words_of_the_contract(lines: Lines, name: str) -> None:
    """The subtype, the terminal reason and the error flag together name the end; the source's word stays as status."""
    line_, reason, message, outcome = RESULTS[name]
    (turn,) = turns(lines("log.jsonl", init(), answer("m1", say("hi")), line_))
    (claim,) = turn.claims
    assert (claim.reason, claim.message) == (reason, message)
    assert claim.status == line_.get("terminal_reason", line_["subtype"])
    assert classify(turn).outcome == outcome


def test_an_answer_that_stayed_malformed_is_told_as_such(lines: Lines) -> None:
    """A run that gave up on the shape of the output names that as its cause."""
    end = result("error_max_structured_output_retries", is_error=True)
    (turn,) = turns(lines("log.jsonl", init(), answer("m1", say("x")), end))
    assert classify(turn).cause is Cause.MALFORMED_TOOL_CALL


STATUSES = {429: Cause.RATE_LIMIT, 529: Cause.PROVIDER_UNAVAILABLE, 500: Cause.PROVIDER_UNAVAILABLE, 401: Cause.AUTH}


@pytest.mark.parametrize("status", STATUSES)
def test_the_status_of_a_failed_request_names_the_cause(lines: Lines, status: int) -> None:
    """As a field of the result, or in its words."""
    by_field = result(is_error=True, result="API Error", api_error_status=status)
    in_words = result(is_error=True, result=f"API Error: {status} no")
    causes = [
        classify(turns(lines("log.jsonl", init(), answer("m1", say("x")), end))[0]).cause
        for end in (by_field, in_words)
    ]
    assert causes == [STATUSES[status]] * 2


def test_the_result_tells_what_the_stream_left_out(lines: Lines) -> None:
    """Newer results carry the last stop reason; newer lines carry a time."""
    stamp = "2026-01-05T10:00:0{}Z"
    path = lines(
        "log.jsonl",
        {**init(), "timestamp": stamp.format(1)},
        {**answer("m1", say("hi")), "timestamp": stamp.format(2)},
        {**result(stop_reason="refusal"), "timestamp": stamp.format(3)},
    )
    (turn,) = turns(path)
    assert turn.steps[0].raw_finish_reason == "refusal"
    assert (turn.started_at, turn.ended_at) == (parse_instant(stamp.format(1)), parse_instant(stamp.format(3)))
    assert classify(turn).outcome == "refused"


def test_a_stop_reason_of_the_stream_stands(lines: Lines) -> None:
    """The result adds to what the stream said, and does not replace it."""
    path = lines("log.jsonl", init(), answer("m1", say("hi"), stop="max_tokens"), result(stop_reason="end_turn"))
    assert turns(path)[0].steps[0].raw_finish_reason == "max_tokens"


def test_a_used_up_plan_is_a_rate_limit(lines: Lines) -> None:
    """A message that a quota is used up names the error, which nothing else does."""
    words = "Claude AI usage limit reached|1755806400"
    (turn,) = turns(lines("log.jsonl", init(), answer("m1", say("x")), result(is_error=True, result=words)))
    assert turn.claims[0].error_type == "rate_limit"


def test_a_log_may_hold_several_sessions_and_a_copy_of_one(lines: Lines) -> None:
    """The turn of a session has one name, in whichever log it stands."""
    one = [init(), answer("m1", say("hi")), result()]
    two = [init("s2"), answer("m9", say("ho"), session="s2"), result(session="s2")]
    first, second = lines("1.jsonl", *one), lines("2.jsonl", *one, *two)
    assert [turn.turn_id for turn in turns(first)] == ["claude-stream:s1:m1"]
    assert [turn.turn_id for turn in turns(second)] == ["claude-stream:s1:m1", "claude-stream:s2:m9"]


def test_a_session_goes_on_with_another_turn(lines: Lines) -> None:
    """After a result the next message of the session opens a new turn."""
    path = lines("log.jsonl", init(), answer("m1", say("a")), result(), init(), answer("m2", say("b")), result())
    assert [turn.turn_id for turn in turns(path)] == ["claude-stream:s1:m1", "claude-stream:s1:m2"]


def test_a_sub_agent_is_a_child_turn(lines: Lines) -> None:
    """Lines under a call are the turn of the sub-agent that it started; they are no steps of the parent."""
    path = lines(
        "log.jsonl",
        init(),
        answer("m1", use("c1", "Task", subagent_type="builder")),
        answer("m2", say("built"), parent_tool_use_id="c1"),
        reply("c1"),
        answer("m3", say("ok")),
        result(),
    )
    main, child = turns(path)
    assert ([step.message_id for step in main.steps], main.children_expected) == (
        ["m1", "m3"],
        ("claude-stream:s1:c1",),
    )
    assert (child.turn_id, child.parent_turn_id, child.agent) == (
        "claude-stream:s1:c1",
        "claude-stream:s1:m1",
        "builder",
    )


def test_a_listed_denial_marks_the_call(lines: Lines) -> None:
    """Calls that the result lists as denied are denied, not failed."""
    denial = {"tool_name": "Bash", "tool_use_id": "c1"}
    path = lines(
        "log.jsonl",
        init(),
        answer("m1", use("c1")),
        reply("c1", "Claude requested permissions to use Bash, but you haven't granted it yet.", error=True),
        answer("m2", say("no")),
        result(permission_denials=[denial]),
    )
    (call,) = turns(path)[0].steps[0].tool_calls
    assert (call.status, call.denied_by, call.error_type) == (ToolStatus.DENIED, "host", None)


def test_the_interrupt_marker_is_a_stop(lines: Lines) -> None:
    """The marker of the stream says that the user stopped; the result's own word stays beside it."""
    marker = line("user", message={"role": "user", "content": [say("[Request interrupted by user]")]})
    path = lines("log.jsonl", init(), answer("m1", say("hm")), marker, result("error_during_execution"))
    (turn,) = turns(path)
    assert turn.stop_requests == (StopRecord(mode=StopMode.IMMEDIATE, reason="user_stop", by=Requester.USER),)
    assert [claim.reason for claim in turn.claims] == ["error_during_execution"]


def test_retries_and_partial_messages_belong_to_their_step(lines: Lines) -> None:
    """Failed attempts come before the step; the end of a partial message gives its reason and final usage."""
    path = lines(
        "log.jsonl",
        init(),
        line("system", subtype="api_retry", error="rate_limit", error_status=429),
        line("stream_event", event={"type": "message_start", "message": {"id": "m1"}}),
        answer("m1", say("hi"), out=1),
        line(
            "stream_event",
            event={"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
        ),
        result(),
    )
    (step,) = turns(path)[0].steps
    assert (step.attempts, step.attempt_ends) == (2, (AttemptEnd(reason="rate_limit", status=429),))
    assert (step.raw_finish_reason, step.usage and step.usage.output_tokens) == ("end_turn", 9)


def test_an_error_in_place_of_an_answer_is_a_failed_step(lines: Lines) -> None:
    """A message that carries an error has no usage and no finish of its own."""
    failed = answer("m1", say("API Error: 529 overloaded"), error="overloaded")
    (turn,) = turns(lines("log.jsonl", init(), failed, result(is_error=True)))
    (step,) = turn.steps
    assert step.error is not None
    assert (step.error.type, step.error.status, step.usage) == ("overloaded", 529, None)


def test_records_of_another_program_are_counted_and_left_out(lines: Lines) -> None:
    """A log that two programs wrote is of the kind that comes first, and says what else it holds."""
    strange = [{"type": "turn.started"}, {"type": "turn.completed", "usage": {}}, {"type": "item.started", "item": {}}]
    path = lines("log.jsonl", init(), answer("m1", say("hi")), *strange, result(usage=total(5, 1)))
    skipped = [item for item in read(path) if isinstance(item, Skipped)]
    assert skipped == [
        Skipped(path=str(path), why="2 records of the kind codex-exec in a log of the kind claude-stream")
    ]
    assert len(turns(path)) == 1
