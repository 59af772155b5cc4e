"""Event streams of ``codex exec``: turns of threads, certain requests, items as calls, failures and retries."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from turnout.outcomes.classify import classify
from turnout.outcomes.facts import Claim, Layer, Output, Step, ToolCall, ToolStatus, TurnFacts, Usage
from turnout.outcomes.verdict import Outcome
from turnout.pipeline.importers import KINDS, Damaged
from turnout.pipeline.importers.base import DAMAGED_RECORD, content_id

Lines = Callable[..., Path]
Line = dict[str, Any]

THREAD = {"type": "thread.started", "thread_id": "t1"}
STARTED = {"type": "turn.started"}
DONE = {
    "type": "turn.completed",
    "usage": {"input_tokens": 10, "cached_input_tokens": 6, "cache_write_input_tokens": 2, "output_tokens": 4},
}


def item(kind: str, number: int, *, done: bool = True, **more: object) -> Line:
    return {
        "type": "item.completed" if done else "item.started",
        "item": {"id": f"item_{number}", "type": kind, **more},
    }


def say(number: int, words: str) -> Line:
    return item("agent_message", number, text=words)


def run(number: int, code: int = 0) -> Line:
    return item("command_execution", number, command="ls", exit_code=code, status="completed")


def turns(path: Path) -> list[TurnFacts]:
    return [found for found in KINDS["codex-exec"].read(path) if isinstance(found, TurnFacts)]


def test_a_completed_turn(lines: Lines) -> None:
    """Words after a finished tool come from another request; usage is the whole turn's."""
    first = say(0, "look")
    path = lines(
        "log.jsonl", THREAD, STARTED, first, item("command_execution", 1, done=False), run(1), say(2, "done"), DONE
    )
    assert turns(path) == [
        TurnFacts(
            turn_id=f"codex-exec:t1:1:{content_id(first['item'])}",
            conversation_id="t1",
            agent="codex",
            source="codex-exec",
            steps=(
                Step(
                    index=1,
                    provider="openai",
                    output=Output(text_chars=4, parts=2),
                    tool_calls=(ToolCall(id="item_1", name="command_execution", status=ToolStatus.OK),),
                ),
                Step(index=2, provider="openai", output=Output(text_chars=4, parts=1)),
            ),
            claims=(Claim(by=Layer.RUNTIME, reason="completed", status="turn.completed"),),
            usage=Usage(input_tokens=10, output_tokens=4, cache_read_tokens=6, cache_write_tokens=2),
        )
    ]


FAILURES: Mapping[str, tuple[str, str | None]] = {
    "plan": ("You've hit your usage limit. Upgrade to Pro", "rate_limit"),
    "words": ("stream disconnected before completion", None),
    "status in words": ("unexpected status 503 Service Unavailable", "server_error"),
    "provider": (
        '{"type":"error","status":400,"error":{"type":"invalid_request_error","message":"no such model"}}',
        "invalid_request_error",
    ),
}


@pytest.mark.parametrize("name", FAILURES, ids=list(FAILURES))
def test_a_failed_turn_is_an_error(lines: Lines, name: str) -> None:
    """The failure is the runtime's word; a provider's error inside it names the type."""
    words, kind = FAILURES[name]
    failed = {"type": "turn.failed", "error": {"message": words}}
    (turn,) = turns(lines("log.jsonl", THREAD, STARTED, {"type": "error", "message": words}, failed))
    (claim,) = turn.claims
    assert (claim.reason, claim.status, claim.error_type) == ("error", "turn.failed", kind)
    assert turn.usage is None


def test_reconnecting_is_no_end(lines: Lines) -> None:
    """A retry is told as an error and ends nothing, wherever the stream stops."""
    retry = {"type": "error", "message": "Reconnecting... 1/5"}
    assert [claim.reason for claim in turns(lines("1.jsonl", THREAD, STARTED, retry, say(0, "x"), DONE))[0].claims] == [
        "completed"
    ]
    assert turns(lines("2.jsonl", THREAD, STARTED, say(0, "x"), retry))[0].claims == ()


def test_an_error_that_nothing_follows_is_the_end(lines: Lines) -> None:
    """Without a failed event the last error stands, unless the turn went on after it."""
    error = {"type": "error", "message": "boom"}
    path = lines("log.jsonl", THREAD, STARTED, error, THREAD, STARTED, error, say(0, "on"))
    assert [[claim.status for claim in turn.claims] for turn in turns(path)] == [["error"], []]


def test_failed_turns_in_a_row_are_turns_each(lines: Lines) -> None:
    """Turns of one thread that end alike keep names of their own."""
    failed = {"type": "turn.failed", "error": {"message": "usage limit"}}
    path = lines("log.jsonl", THREAD, STARTED, failed, STARTED, failed)
    assert [turn.turn_id for turn in turns(path)] == ["codex-exec:t1:1", "codex-exec:t1:2"]


def test_a_resumed_thread_counts_from_one_again_and_is_told_apart(lines: Lines) -> None:
    """The first item tells the turn of a resumed thread from the first turn of the thread."""
    one = turns(lines("1.jsonl", THREAD, STARTED, say(0, "a"), DONE))[0].turn_id
    copy = turns(lines("2.jsonl", THREAD, STARTED, say(0, "a"), DONE))[0].turn_id
    other = turns(lines("3.jsonl", THREAD, STARTED, say(0, "b"), DONE))[0].turn_id
    assert one == copy != other


def test_an_overflow_is_told_by_its_words(lines: Lines) -> None:
    """The program says in words alone that the context is full."""
    words = "Codex ran out of room in the model's context window. Start a new conversation."
    (turn,) = turns(lines("log.jsonl", THREAD, STARTED, {"type": "turn.failed", "error": {"message": words}}))
    assert classify(turn).outcome is Outcome.CONTEXT_OVERFLOW


def test_a_turn_that_completed_on_a_tool_had_a_last_answer(lines: Lines) -> None:
    """Only an answer without a call completes a turn, so a silent one came after the tool."""
    (turn,) = turns(lines("log.jsonl", THREAD, STARTED, run(1), DONE))
    assert ([len(step.tool_calls) for step in turn.steps], classify(turn).outcome) == ([1, 0], Outcome.COMPLETED)


ITEMS: Mapping[str, tuple[Line, str, ToolStatus, bool | None]] = {
    "command failed": (run(1, 2), "command_execution", ToolStatus.ERROR, None),
    "command running": (
        item("command_execution", 1, done=False, status="in_progress"),
        "command_execution",
        ToolStatus.RUNNING,
        None,
    ),
    "command declined": (item("command_execution", 1, status="declined"), "command_execution", ToolStatus.DENIED, None),
    "patch": (item("file_change", 1, status="completed"), "file_change", ToolStatus.OK, True),
    "plan": (item("todo_list", 1), "todo_list", ToolStatus.OK, False),
    "server tool": (
        item("mcp_tool_call", 1, server="git", tool="log", status="failed"),
        "git.log",
        ToolStatus.ERROR,
        None,
    ),
}


@pytest.mark.parametrize("name", ITEMS, ids=list(ITEMS))
def test_items_are_tool_calls(lines: Lines, name: str) -> None:
    """What an item says of itself settles the call."""
    line, tool, status, mutating = ITEMS[name]
    (call,) = turns(lines("log.jsonl", THREAD, STARTED, line))[0].steps[0].tool_calls
    assert (call.name, call.status, call.mutating) == (tool, status, mutating)


def test_a_damaged_line_names_its_turn(lines: Lines) -> None:
    """The turn says that a record of it was damaged; its end is still known."""
    path = lines("log.jsonl", THREAD, STARTED, say(0, "x"), "{cut", DONE)
    damaged, turn = list(KINDS["codex-exec"].read(path))
    assert isinstance(damaged, Damaged)
    assert isinstance(turn, TurnFacts)
    assert damaged.turn_id == turn.turn_id
    assert turn.claims[-1] == DAMAGED_RECORD


def test_a_failure_told_in_plain_words(lines: Lines) -> None:
    """Wrappers write the message where the program writes an object."""
    (turn,) = turns(lines("log.jsonl", THREAD, STARTED, {"type": "turn.failed", "error": "no luck"}))
    assert [(claim.reason, claim.message) for claim in turn.claims] == [("error", "no luck")]
