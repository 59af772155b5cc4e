"""Codex session logs and rollouts: tasks, requests by counted tokens, calls, aborts and errors."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

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
from turnout.pipeline.importers import KINDS, Damaged, Skipped, detect

Lines = Callable[..., Path]
Line = dict[str, Any]


def at(second: int) -> int:
    return parse_instant(f"2026-01-05T10:00:{second:02d}Z")


def stamp(second: int) -> str:
    return f"2026-01-05T10:00:{second:02d}.000Z"


def event(kind: str, second: int = 1, **more: object) -> Line:
    return {"timestamp": stamp(second), "type": "event_msg", "payload": {"type": kind, **more}}


def entry(kind: str, second: int = 1, **more: object) -> Line:
    return {"timestamp": stamp(second), "type": "response_item", "payload": {"type": kind, **more}}


def tokens(second: int, total: int, last: int) -> Line:
    info = {
        "total_token_usage": {"input_tokens": total},
        "last_token_usage": {
            "input_tokens": last,
            "cached_input_tokens": 2,
            "output_tokens": 3,
            "reasoning_output_tokens": 1,
        },
    }
    return event("token_count", second, info=info)


META: Line = {
    "timestamp": stamp(0),
    "type": "session_meta",
    "payload": {"id": "s1", "cli_version": "0.50.0", "originator": "codex_cli_rs", "model_provider": "openai"},
}
CONTEXT: Line = {"timestamp": stamp(0), "type": "turn_context", "payload": {"model": "gpt-x"}}
BEGIN = event("task_started", 1, turn_id="t1")


def turns(path: Path) -> list[TurnFacts]:
    return [item for item in KINDS["codex"].read(path) if isinstance(item, TurnFacts)]


def test_a_rollout_is_read_by_its_token_counts(lines: Lines) -> None:
    """A count closes a request, one that repeats the total does not, and outputs settle their calls."""
    path = lines(
        "rollout.jsonl",
        META,
        CONTEXT,
        BEGIN,
        event("user_message", 1, message="do it"),
        entry("function_call", 2, name="shell", call_id="c1", arguments="{}"),
        tokens(3, 10, 10),
        entry("function_call_output", 4, call_id="c1", output='{"output":"no","metadata":{"exit_code":1}}'),
        tokens(4, 10, 10),
        entry("message", 5, role="assistant", content=[{"type": "output_text", "text": "done"}]),
        event("agent_message", 5, message="done"),
        tokens(6, 25, 15),
        event("task_complete", 7, turn_id="t1", last_agent_message="done"),
    )

    def usage(count: int) -> Usage:
        return Usage(input_tokens=count, output_tokens=3, cache_read_tokens=2, reasoning_tokens=1)

    assert turns(path) == [
        TurnFacts(
            turn_id="codex:s1:t1",
            conversation_id="s1",
            agent="codex",
            agent_version="0.50.0",
            source="codex",
            attended=True,
            started_at=at(1),
            ended_at=at(7),
            last_seen_at=at(7),
            steps=(
                Step(
                    index=1,
                    provider="openai",
                    model="gpt-x",
                    started_at=at(2),
                    ended_at=at(3),
                    usage=usage(10),
                    output=Output(text_chars=0, parts=1),
                    tool_calls=(
                        ToolCall(
                            id="c1",
                            name="shell",
                            status=ToolStatus.ERROR,
                            error_type="exit_code",
                            started_at=at(2),
                            ended_at=at(4),
                        ),
                    ),
                ),
                Step(
                    index=2,
                    provider="openai",
                    model="gpt-x",
                    started_at=at(5),
                    ended_at=at(6),
                    usage=usage(15),
                    output=Output(text_chars=4, parts=1),
                ),
            ),
            claims=(Claim(by=Layer.RUNTIME, reason="completed", status="task_complete", at=at(7)),),
        )
    ]


ENDS: Mapping[str, tuple[tuple[Line, ...], str | None, str | None]] = {
    "silent": ((event("task_complete", last_agent_message=None),), None, None),
    "error inside": (
        (event("task_complete", last_agent_message=None, error={"codex_error_info": "usage_limit_exceeded"}),),
        "error",
        "rate_limit",
    ),
    "error before": (
        (event("error", message="boom"), event("task_complete", last_agent_message=None)),
        "error",
        None,
    ),
    "overflow": (
        (event("error", codex_error_info="context_window_exceeded"), event("task_complete")),
        "prompt_too_long",
        "context_window_exceeded",
    ),
    "error as an object": (
        (event("error", codex_error_info={"http_connection_failed": {"status": 502}}), event("task_complete")),
        "error",
        "http_connection_failed",
    ),
    "overcome": (
        (
            event("error", message="boom"),
            event("agent_message", message="ok"),
            event("task_complete", last_agent_message="ok"),
        ),
        "completed",
        None,
    ),
    "error alone": ((event("error", message="boom"),), "error", None),
}


@pytest.mark.parametrize("name", ENDS, ids=list(ENDS))
def test_task_complete_is_no_success_by_itself(lines: Lines, name: str) -> None:
    """An error in the event or before it is the end; without a last message and an error nothing is said."""
    more, reason, kind = ENDS[name]
    (turn,) = turns(lines("rollout.jsonl", META, BEGIN, *more))
    assert [(claim.reason, claim.error_type) for claim in turn.claims] == [(reason, kind)]


ABORTS: Mapping[str, tuple[str | None, Requester]] = {
    "by the user": ("interrupted", Requester.USER),
    "by another task": ("replaced", Requester.USER),
    "by the review": ("review_ended", Requester.HOST),
}


@pytest.mark.parametrize("name", ABORTS, ids=list(ABORTS))
def test_an_abort_is_a_stop(lines: Lines, name: str) -> None:
    """The event is the runtime's word, and somebody's request to stop."""
    reason, by = ABORTS[name]
    (turn,) = turns(lines("rollout.jsonl", META, BEGIN, event("turn_aborted", 4, reason=reason)))
    assert turn.stop_requests == (StopRecord(mode=StopMode.IMMEDIATE, reason=reason, at=at(4), by=by),)
    assert [(claim.reason, claim.status) for claim in turn.claims] == [("turn_aborted", reason)]


def test_a_task_that_never_ended_is_open(lines: Lines) -> None:
    """When the next task starts, the one before has died; at the end of the file nobody knows."""
    path = lines("rollout.jsonl", META, BEGIN, event("task_started", 5, turn_id="t2"))
    assert [(turn.turn_id, turn.open) for turn in turns(path)] == [("codex:s1:t1", True), ("codex:s1:t2", None)]


def test_old_rollouts_open_turns_by_the_user(lines: Lines) -> None:
    """Without task events each message of the user opens a turn; with them it is part of the task."""
    hi = event("user_message", 1, message="hi")
    assert [turn.turn_id for turn in turns(lines("1.jsonl", META, hi, hi))] == ["codex:s1:1", "codex:s1:2"]
    assert [turn.turn_id for turn in turns(lines("2.jsonl", META, BEGIN, hi, hi))] == ["codex:s1:t1"]


def test_retries_belong_to_the_next_request(lines: Lines) -> None:
    """A broken stream is an attempt; the request that follows is the same one made again."""
    broken = event("stream_error", 2, message="retrying", codex_error_info="response_stream_disconnected")
    (turn,) = turns(lines("rollout.jsonl", META, BEGIN, broken, event("agent_message", 3, message="hi")))
    (step,) = turn.steps
    assert (step.attempts, step.attempt_ends) == (2, (AttemptEnd(reason="response_stream_disconnected", at=at(2)),))


CALLS: Mapping[str, tuple[tuple[Line, ...], ToolCall]] = {
    "rejected": (
        (
            entry("function_call", 2, name="shell", call_id="c1"),
            entry("function_call_output", 3, call_id="c1", output="exec command rejected by user"),
        ),
        ToolCall(name="shell", status=ToolStatus.DENIED, denied_by="user"),
    ),
    "exit code in text": (
        (
            entry("function_call", 2, name="exec_command", call_id="c1"),
            entry("function_call_output", 3, call_id="c1", output="Exit code: 2\nWall time: 1"),
        ),
        ToolCall(name="exec_command", status=ToolStatus.ERROR, error_type="exit_code"),
    ),
    "output in blocks": (
        (
            entry("custom_tool_call", 2, name="exec", call_id="c1"),
            entry(
                "custom_tool_call_output",
                3,
                call_id="c1",
                output=[{"type": "input_text", "text": "Script failed\nWall time"}],
            ),
        ),
        ToolCall(name="exec", status=ToolStatus.ERROR, error_type="failed"),
    ),
    "blocks that hold no text": (
        (
            entry("custom_tool_call", 2, name="exec", call_id="c1"),
            entry("custom_tool_call_output", 3, call_id="c1", output=[{"type": "input_image"}]),
        ),
        ToolCall(name="exec", status=ToolStatus.OK),
    ),
    "cut by a person": (
        (
            entry("function_call", 2, name="exec_command", call_id="c1"),
            entry("function_call_output", 3, call_id="c1", output="aborted by user after 3.2s"),
        ),
        ToolCall(name="exec_command", status=ToolStatus.ERROR, error_type="interrupted"),
    ),
    "no output": (
        (entry("custom_tool_call", 2, name="apply_patch", call_id="c1"),),
        ToolCall(name="apply_patch", status=ToolStatus.UNKNOWN, mutating=True),
    ),
    "running": (
        (event("exec_command_begin", 2, call_id="c1", command=["ls"]),),
        ToolCall(name="exec_command", status=ToolStatus.RUNNING),
    ),
    "waits for a person": (
        (
            event("exec_command_begin", 2, call_id="c1", command=["ls"]),
            event("exec_approval_request", 3, call_id="c1"),
        ),
        ToolCall(name="exec_command", status=ToolStatus.AWAITING_APPROVAL),
    ),
    "server tool failed": (
        (
            event("mcp_tool_call_begin", 2, call_id="c1", invocation={"server": "git", "tool": "log"}),
            event("mcp_tool_call_end", 3, call_id="c1", result={"Err": "no"}),
        ),
        ToolCall(name="git.log", status=ToolStatus.ERROR, error_type="failed"),
    ),
    "server tool said so": (
        (
            event("mcp_tool_call_begin", 2, call_id="c1", invocation={"server": "git", "tool": "log"}),
            event("mcp_tool_call_end", 3, call_id="c1", result={"Ok": {"is_error": True}}),
        ),
        ToolCall(name="git.log", status=ToolStatus.ERROR, error_type="failed"),
    ),
    "server tool": (
        (
            event("mcp_tool_call_begin", 2, call_id="c1", invocation={"server": "git", "tool": "log"}),
            event("mcp_tool_call_end", 3, call_id="c1", result={"Ok": {"content": []}}),
        ),
        ToolCall(name="git.log", status=ToolStatus.OK),
    ),
    "search": (
        (event("web_search_begin", 2, call_id="c1"), event("web_search_end", 3, call_id="c1", query="x")),
        ToolCall(name="web_search", status=ToolStatus.OK, mutating=False),
    ),
    "patch failed": (
        (
            event("patch_apply_begin", 2, call_id="c1", changes={}),
            event("patch_apply_end", 3, call_id="c1", success=False),
        ),
        ToolCall(name="apply_patch", status=ToolStatus.ERROR, error_type="failed", mutating=True),
    ),
}


@pytest.mark.parametrize("name", CALLS, ids=list(CALLS))
def test_calls_are_settled_by_events_and_outputs(lines: Lines, name: str) -> None:
    """Both logs tell of a call in their own way; what ended it settles it."""
    more, expected = CALLS[name]
    (call,) = turns(lines("rollout.jsonl", META, BEGIN, *more))[0].steps[0].tool_calls
    found = ToolCall(
        name=call.name,
        status=call.status,
        error_type=call.error_type,
        denied_by=call.denied_by,
        mutating=call.mutating,
    )
    assert (call.id, found) == ("c1", expected)


def session_line(kind: str, second: int, **more: object) -> Line:
    return {"ts": stamp(second), "dir": "to_tui", "kind": kind, **more}


def message(second: int, submission: str, kind: str, **more: object) -> Line:
    return session_line("codex_event", second, payload={"id": submission, "msg": {"type": kind, **more}})


def test_a_session_log_is_read_like_a_rollout(lines: Lines) -> None:
    """Lines about the screen are passed over; words after a finished command come from another request."""
    path = lines(
        "session.jsonl",
        session_line("session_start", 0, model="gpt-oss", model_provider_id="oss"),
        session_line("app_event", 0, variant="Redraw"),
        message(0, "0", "session_configured", session_id="s1", model="gpt-oss"),
        message(1, "1", "task_started"),
        message(2, "1", "agent_message", message="look"),
        message(2, "1", "exec_command_begin", call_id="c1", command=["ls"]),
        message(3, "1", "exec_command_end", call_id="c1", exit_code=0),
        message(4, "1", "agent_message_delta", delta="do"),
        message(5, "1", "agent_message", message="done"),
        message(5, "1", "task_complete", last_agent_message="done"),
    )
    (turn,) = turns(path)
    assert (turn.turn_id, turn.attended) == ("codex:s1:1", True)
    assert [(step.provider, step.model, len(step.tool_calls)) for step in turn.steps] == [
        ("ollama", "gpt-oss", 1),
        ("ollama", "gpt-oss", 0),
    ]
    assert [claim.reason for claim in turn.claims] == ["completed"]


def test_bare_events_of_the_first_versions(lines: Lines) -> None:
    """They hold no time, and the settings of the run come before them."""
    events: list[Line] = [
        {"type": "session_configured", "session_id": "s1", "model": "gpt-x"},
        {"type": "task_started"},
        {"type": "exec_command_begin", "call_id": "c1", "command": ["ls"]},
        {"type": "exec_command_end", "call_id": "c1", "exit_code": 0},
        {"type": "agent_message", "message": "done"},
        {"type": "task_complete", "last_agent_message": "done"},
    ]
    path = lines("log.jsonl", {"model": "gpt-x", "prompt": "do it"}, *({"id": "0", "msg": body} for body in events))
    assert detect(path) == "codex"
    (turn,) = turns(path)
    assert (turn.turn_id, [claim.reason for claim in turn.claims]) == ("codex:s1:0", ["completed"])
    assert [(step.model, [call.status for call in step.tool_calls]) for step in turn.steps] == [
        ("gpt-x", [ToolStatus.OK]),
        ("gpt-x", []),
    ]


def test_a_session_that_was_closed_leaves_its_turn_open(lines: Lines) -> None:
    """Who closes the program while a task runs leaves a turn that never closed."""
    path = lines(
        "session.jsonl",
        message(0, "0", "session_configured", session_id="s1"),
        message(1, "1", "task_started"),
        {"ts": stamp(2), "dir": "from_tui", "kind": "op", "payload": {"type": "shutdown"}},
    )
    assert [turn.open for turn in turns(path)] == [True]


def test_a_key_that_interrupts_is_a_stop(lines: Lines) -> None:
    """The operation of the terminal says when the user stopped."""
    path = lines(
        "session.jsonl",
        message(0, "0", "session_configured", session_id="s1"),
        message(1, "1", "task_started"),
        {"ts": stamp(2), "dir": "from_tui", "kind": "op", "payload": {"type": "interrupt"}},
        message(3, "1", "turn_aborted", reason="interrupted"),
    )
    (turn,) = turns(path)
    assert turn.stop_requests == (StopRecord(mode=StopMode.IMMEDIATE, reason="user_stop", at=at(2), by=Requester.USER),)


ORIGINATORS = {"codex_cli_rs": True, "codex_vscode": True, "codex_exec": False, None: None}


@pytest.mark.parametrize("originator", ORIGINATORS, ids=[str(name) for name in ORIGINATORS])
def test_the_originator_tells_whether_a_person_is_there(lines: Lines, originator: str | None) -> None:
    """A terminal or an editor is attended, a batch run is not, and a log that does not say says nothing."""
    meta = {**META, "payload": {"id": "s1"} if originator is None else {"id": "s1", "originator": originator}}
    assert [turn.attended for turn in turns(lines("rollout.jsonl", meta, BEGIN))] == [ORIGINATORS[originator]]


def test_a_spawned_thread_is_a_child(lines: Lines) -> None:
    """A session that another one started names it as parent."""
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "s0"}}}
    meta = {**META, "payload": {**META["payload"], "source": spawned}}
    assert [turn.parent_turn_id for turn in turns(lines("rollout.jsonl", meta, BEGIN))] == ["codex:s0"]


def timed_id(second: int, tail: int) -> str:
    """Make an id of version 7 that holds an instant."""
    return str(UUID(int=(at(second) // 1_000_000 << 80) | (7 << 76) | (2 << 62) | tail))


def meta(second: int, name: str, **more: object) -> Line:
    return {
        "timestamp": stamp(second),
        "type": "session_meta",
        "payload": {"id": name, "timestamp": stamp(second), **more},
    }


def task(second: int, turn_id: str | None, total: int) -> list[Line]:
    begin = event("task_started", second) if turn_id is None else event("task_started", second, turn_id=turn_id)
    return [begin, tokens(second, total, total), event("task_complete", second, last_agent_message="done")]


def test_a_copied_history_is_left_out(lines: Lines) -> None:
    """Turns that are older than their thread are another thread's, though their lines were written again."""
    own, parent, old, new = timed_id(30, 1), timed_id(1, 2), timed_id(2, 3), timed_id(31, 4)
    path = lines(
        "rollout.jsonl", meta(30, own, session_id=parent), meta(30, parent), *task(30, old, 5), *task(31, new, 9)
    )
    skipped, turn = KINDS["codex"].read(path)
    assert skipped == Skipped(path=str(path), why="turns of another thread, copied into the rollout of a fork")
    assert isinstance(turn, TurnFacts)
    assert (turn.turn_id, turn.conversation_id) == (f"codex:{own}:{new}", parent)
    assert [step.usage and step.usage.input_tokens for step in turn.steps] == [9]


def test_a_copied_history_without_timed_ids(lines: Lines) -> None:
    """What was written in one go with the start of a fork is a copy."""
    found = turns(lines("rollout.jsonl", meta(30, "b"), meta(30, "a"), *task(30, None, 5), *task(32, None, 9)))
    assert [(turn.turn_id, turn.started_at) for turn in found] == [("codex:b:2", at(32))]


def test_a_session_that_goes_on_copies_nothing(lines: Lines) -> None:
    """A second line about the same thread, as resuming writes it, changes nothing."""
    own, first, second = timed_id(1, 1), timed_id(2, 2), timed_id(40, 3)
    found = turns(lines("rollout.jsonl", meta(1, own), *task(2, first, 5), meta(39, own), *task(40, second, 9)))
    assert [turn.turn_id for turn in found] == [f"codex:{own}:{first}", f"codex:{own}:{second}"]


def test_a_spent_goal_is_a_budget(lines: Lines) -> None:
    """An abort for a spent token budget is nobody's stop."""
    (turn,) = turns(lines("rollout.jsonl", META, BEGIN, event("turn_aborted", 2, reason="budget_limited")))
    assert turn.claims == (Claim(by=Layer.RUNTIME, reason="token_budget", status="budget_limited", at=at(2)),)
    assert turn.stop_requests == ()


@pytest.mark.parametrize("folder", ["2026/01/05", "2026/01/04", ""])
def test_a_spawned_thread_finds_the_turn_that_started_it(lines: Lines, folder: str) -> None:
    """The turn of the parent's own rollout that ran when the thread was made, in the same folder or on another day."""
    parent, child = timed_id(1, 1), timed_id(31, 2)
    first, second = timed_id(2, 3), timed_id(30, 4)
    lines(
        f"{folder or '.'}/rollout-x-{parent}.jsonl",
        meta(1, parent),
        *task(2, first, 5),
        event("task_started", 30, turn_id=second),
        tokens(40, 9, 4),
    )
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": parent}}}
    name = f"{'2026/01/05' if folder else '.'}/rollout-y-{child}.jsonl"
    (turn,) = turns(lines(name, meta(31, child, source=spawned), *task(32, timed_id(32, 5), 3)))
    assert turn.parent_turn_id == f"codex:{parent}:{second}"


def test_a_damaged_line_names_the_running_turn(lines: Lines) -> None:
    """The rest of the file is read."""
    path = lines("rollout.jsonl", META, BEGIN, "{cut", event("task_complete", last_agent_message="x"))
    damaged, turn = list(KINDS["codex"].read(path))
    assert isinstance(damaged, Damaged)
    assert (damaged.line, damaged.turn_id) == (3, "codex:s1:t1")
    assert isinstance(turn, TurnFacts)
    assert [claim.reason for claim in turn.claims] == ["completed", "damaged_record"]
