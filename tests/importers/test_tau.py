"""tau-bench and tau2-bench results: ends that are told, ends that are not, and whose tokens count."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from turnout.outcomes.classify import classify
from turnout.outcomes.facts import (
    Claim,
    Layer,
    Output,
    Step,
    TaskResult,
    ToolCall,
    ToolStatus,
    TurnFacts,
    Usage,
    YieldRecord,
)
from turnout.outcomes.instants import parse_instant
from turnout.outcomes.verdict import Outcome
from turnout.pipeline.importers import KINDS, Damaged, Imported, Skipped, detect
from turnout.pipeline.importers.base import content_id

Document = Callable[[str, object], Path]
Value = dict[str, Any]


def call(call_id: str, name: str = "look") -> Value:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def assistant(words: str | None, *calls: Value) -> Value:
    message: Value = {"role": "assistant", "content": words}
    return {**message, "tool_calls": list(calls)} if calls else message


def tool(call_id: str, words: str = "fine") -> Value:
    return {"role": "tool", "tool_call_id": call_id, "name": "look", "content": words}


def user(words: str) -> Value:
    return {"role": "user", "content": words}


def run(*messages: Value, **more: object) -> Value:
    head = [{"role": "system", "content": "rules"}, user("hello")]
    return {"task_id": 3, "trial": 0, "reward": 1.0, "info": {}, "traj": [*head, *messages], **more}


def read(kind: str, path: Path) -> list[Imported]:
    return list(KINDS[kind].read(path))


def turns(kind: str, path: Path) -> list[TurnFacts]:
    return [item for item in read(kind, path) if isinstance(item, TurnFacts)]


def test_a_run_that_the_user_ended(document: Document) -> None:
    """Every assistant message is a step, an error is told by the reply's words, the stop marker is the host's word."""
    value = run(assistant(None, call("c1")), tool("c1", "Error: no"), assistant("sorry"), user("fine ###STOP###"))
    assert turns("tau", document("x.json", [value])) == [
        TurnFacts(
            turn_id=f"tau:3:{content_id(value)}",
            agent="tau-bench",
            source="tau",
            attended=False,
            steps=(
                Step(
                    index=1,
                    output=Output(text_chars=0, parts=1),
                    tool_calls=(ToolCall(id="c1", name="look", status=ToolStatus.ERROR),),
                ),
                Step(index=2, output=Output(text_chars=5, parts=1)),
            ),
            claims=(Claim(by=Layer.HOST, reason="completed", status="###STOP###"),),
            task_result=TaskResult(reward=1.0),
        )
    ]


def test_a_hand_over_to_a_human_is_a_yield(document: Document) -> None:
    """The tool that transfers to a human ends the run; nobody stopped it and nothing was spent."""
    value = run(assistant(None, call("c1", "transfer_to_human_agents")), tool("c1"))
    (turn,) = turns("tau", document("x.json", [value]))
    assert (turn.yield_, turn.claims) == (YieldRecord(reason="handoff", tool_call_id="c1"), ())
    assert classify(turn).outcome is Outcome.YIELDED


@pytest.mark.parametrize("last", [user("one more thing"), tool("c1")], ids=["user", "tool"])
def test_a_run_that_nothing_ended_hit_the_cap(document: Document, last: Value) -> None:
    """Neither a stop nor a transfer leaves only the step cap, which is inferred and never reported."""
    (turn,) = turns("tau", document("x.json", [run(assistant("well", call("c1")), last)]))
    verdict = classify(turn)
    assert (verdict.outcome, verdict.budget_kind, verdict.evidence) == ("budget", "steps", "inferred")


def test_a_run_that_broke_is_an_error(document: Document) -> None:
    """The harness keeps the exception of a run that broke, and no messages."""
    info = {"error": "Rate limit", "traceback": "Traceback\n  File x\nlitellm.RateLimitError: Rate limit\n"}
    (turn,) = turns("tau", document("x.json", [{**run(), "traj": [], "info": info}]))
    assert [(claim.reason, claim.error_type) for claim in turn.claims] == [("error", "RateLimitError")]


def test_two_trials_are_two_turns_and_a_copy_is_none(document: Document) -> None:
    """A run is named by what it holds."""
    one, two = run(assistant("a"), trial=0), run(assistant("a"), trial=1)
    path = document("x.json", [one, two, one, "junk", {"task_id": 1}])
    assert len({turn.turn_id for turn in turns("tau", path)}) == len([one, two])
    assert [type(item) for item in read("tau", path)] == [TurnFacts, TurnFacts, TurnFacts, Damaged, Skipped]


def message2(words: str | None, *calls: Value, **more: object) -> Value:
    raw = {
        "id": "chat-1",
        "model": "gpt-x-2026",
        "choices": [{"finish_reason": "tool_calls" if calls else "stop"}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 8}},
    }
    return {
        "role": "assistant",
        "content": words,
        "tool_calls": list(calls) or None,
        "cost": 0.25,
        "usage": {"prompt_tokens": 20, "completion_tokens": 5},
        "raw_data": raw,
        "timestamp": "2026-01-05T10:00:02",
        **more,
    }


def results(*messages: Value, reason: str | None = "user_stop", **more: object) -> Value:
    simulation = {
        "id": "sim-1",
        "task_id": "0",
        "start_time": "2026-01-05T10:00:00",
        "end_time": "2026-01-05T10:00:09.500",
        "termination_reason": reason,
        "agent_cost": 0.5,
        "reward_info": {"reward": 0.0},
        "messages": list(messages),
        **more,
    }
    info = {"max_steps": 2, "agent_info": {"implementation": "llm_agent", "llm": "openai/gpt-x"}}
    return {"info": info, "tasks": [], "simulations": [simulation]}


def test_a_simulation_is_one_turn_of_the_agent(document: Document) -> None:
    """The greeting is a step without usage; the simulated user's messages, calls and tokens are not the agent's."""
    asked = {"id": "c1", "name": "look", "arguments": {}, "requestor": "assistant"}
    theirs = {**message2("me", {"id": "u1", "name": "phone", "arguments": {}}), "role": "user"}
    replied = {"id": "c1", "role": "tool", "error": True, "content": "no", "timestamp": "2026-01-05T10:00:03"}
    greeting = {"role": "assistant", "content": "Hi!", "tool_calls": None, "cost": 0.0, "usage": None}
    path = document("x.json", results(greeting, theirs, message2(None, asked), replied, message2("done")))
    used = Usage(input_tokens=20, output_tokens=5, cache_read_tokens=8)
    (turn,) = turns("tau2", path)
    assert turn == TurnFacts(
        turn_id="tau2:sim-1",
        agent="llm_agent",
        source="tau2",
        attended=False,
        started_at=parse_instant("2026-01-05T10:00:00Z"),
        ended_at=parse_instant("2026-01-05T10:00:09.5Z"),
        last_seen_at=parse_instant("2026-01-05T10:00:09.5Z"),
        steps=(
            Step(index=1, provider="openai", model="openai/gpt-x", output=Output(text_chars=3, parts=1)),
            Step(
                index=2,
                message_id="chat-1",
                provider="openai",
                model="gpt-x-2026",
                ended_at=parse_instant("2026-01-05T10:00:02Z"),
                finish_reason="tool_calls",
                usage=used,
                cost_usd=0.25,
                output=Output(text_chars=0, parts=1),
                tool_calls=(
                    ToolCall(
                        id="c1",
                        name="look",
                        status=ToolStatus.ERROR,
                        ended_at=parse_instant("2026-01-05T10:00:03Z"),
                    ),
                ),
            ),
            Step(
                index=3,
                message_id="chat-1",
                provider="openai",
                model="gpt-x-2026",
                ended_at=parse_instant("2026-01-05T10:00:02Z"),
                finish_reason="stop",
                usage=used,
                cost_usd=0.25,
                output=Output(text_chars=4, parts=1),
            ),
        ),
        claims=(Claim(by=Layer.HOST, reason="completed", status="tau2:user_stop"),),
        cost_usd=0.5,
        task_result=TaskResult(reward=0.0),
    )


ENDS: Mapping[str, tuple[str | None, Outcome]] = {
    "content": ("user_stop", Outcome.COMPLETED),
    "agent": ("agent_stop", Outcome.COMPLETED),
    "cap": ("max_steps", Outcome.BUDGET),
    "errors": ("too_many_errors", Outcome.ERROR),
    "agent broke": ("agent_error", Outcome.ERROR),
    "user broke": ("user_error", Outcome.ERROR),
    "novel": ("novel", Outcome.UNKNOWN),
}


@pytest.mark.parametrize("name", ENDS, ids=list(ENDS))
def test_the_termination_reason_decides(document: Document, name: str) -> None:
    """A content user is no stop, and the cap is spent although it counts more than the agent's steps."""
    reason, outcome = ENDS[name]
    step = message2("bye", raw_data=None, usage=None)
    (turn,) = turns("tau2", document("x.json", results(step, reason=reason)))
    assert classify(turn).outcome is outcome


def test_bundled_replies_are_found(document: Document) -> None:
    """Some versions bundle the replies to parallel calls into one message."""
    asked = {"id": "c1", "name": "look", "arguments": {}}
    bundle = {"role": "tool", "tool_messages": [{"id": "c1", "role": "tool", "error": False}]}
    (turn,) = turns("tau2", document("x.json", results(message2(None, asked), bundle)))
    assert turn.steps[0].tool_calls[0].status is ToolStatus.OK


def test_a_file_without_simulations_is_skipped_and_a_hollow_one_damaged(document: Document) -> None:
    """A simulation without messages is a damaged record; the others are read."""
    (skipped,) = read("tau2", document("x.json", {"info": {}}))
    assert isinstance(skipped, Skipped)
    value = results(message2("hi"))
    value["simulations"].append({"id": "sim-2"})
    assert [type(item) for item in read("tau2", document("y.json", value))] == [TurnFacts, Damaged]


def test_a_simulation_by_itself_is_a_turn(document: Document) -> None:
    """Runs that go on for long write one a file; an error of a kind nobody listed is an error."""
    value = {
        "id": "s9",
        "task_id": "1",
        "termination_reason": "invalid_message_error",
        "messages": [{"role": "assistant", "content": "hello"}],
    }
    path = document("s9.json", value)
    assert detect(path) == "tau2"
    (turn,) = turns("tau2", path)
    assert turn.turn_id == "tau2:s9"
    assert [(claim.reason, claim.error_type) for claim in turn.claims] == [("error", "invalid_message_error")]
