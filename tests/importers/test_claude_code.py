"""Claude Code transcripts: what a prompt, a message, a sub-agent, an interruption and an error line become."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from turnout.outcomes.classify import classify
from turnout.outcomes.facts import (
    AttemptEnd,
    CheckVerdict,
    Claim,
    FinishCheck,
    Layer,
    Output,
    Requester,
    Step,
    StepError,
    StopMode,
    StopRecord,
    ToolCall,
    ToolStatus,
    TurnFacts,
    Usage,
)
from turnout.outcomes.instants import parse_instant
from turnout.pipeline.importers import KINDS, Damaged, Imported
from turnout.pipeline.importers.base import DAMAGED_RECORD

Lines = Callable[..., Path]
Line = dict[str, Any]


REJECTION = "User rejected tool use"


def at(second: int) -> int:
    return parse_instant(f"2026-01-05T10:00:{second:02d}Z")


def line(uuid: str, parent: str | None, second: int, **more: object) -> Line:
    return {
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s1",
        "version": "2.1.0",
        "isSidechain": False,
        "timestamp": f"2026-01-05T10:00:{second:02d}.000Z",
        **more,
    }


def prompt(uuid: str, parent: str | None, second: int, words: str = "do it", **more: object) -> Line:
    return line(uuid, parent, second, type="user", message={"role": "user", "content": words}, **more)


def answer(uuid: str, parent: str, second: int, message_id: str, *blocks: Line, **more: Any) -> Line:
    message = {
        "id": message_id,
        "model": "claude-x",
        "content": list(blocks),
        "stop_reason": more.pop("stop", None),
        "usage": {
            "input_tokens": 3,
            "output_tokens": more.pop("out", 5),
            "cache_read_input_tokens": 7,
            "cache_creation_input_tokens": 2,
        },
    }
    return line(uuid, parent, second, type="assistant", requestId="r1", message=message, **more)


def result(uuid: str, parent: str, second: int, call: str, words: str = "fine", **more: Any) -> Line:
    block = {"type": "tool_result", "tool_use_id": call, "content": words, "is_error": more.pop("error", None)}
    return line(uuid, parent, second, type="user", message={"role": "user", "content": [block]}, **more)


def say(words: str) -> Line:
    return {"type": "text", "text": words}


def use(call: str, name: str = "Read", **arguments: object) -> Line:
    return {"type": "tool_use", "id": call, "name": name, "input": arguments}


def read(path: Path) -> list[Imported]:
    return list(KINDS["claude-code"].read(path))


def turns(path: Path) -> list[TurnFacts]:
    return [item for item in read(path) if isinstance(item, TurnFacts)]


def test_one_message_over_several_lines_is_one_step(lines: Lines) -> None:
    """Blocks of one message id add up, its usage counts once, and the tool result settles the call."""
    path = lines(
        "s1.jsonl",
        {"type": "summary", "summary": "x", "leafUuid": "u9"},
        prompt("p1", None, 1),
        answer("a1", "p1", 2, "m1", say("look"), out=1),
        answer("a2", "a1", 3, "m1", use("c1"), stop="tool_use", out=9),
        result("t1", "a2", 4, "c1"),
        answer("a3", "t1", 6, "m2", say("done!"), stop="end_turn"),
    )
    usage = Usage(input_tokens=3, output_tokens=9, cache_read_tokens=7, cache_write_tokens=2)
    assert read(path) == [
        TurnFacts(
            turn_id="claude-code:m1",
            conversation_id="s1",
            agent="claude-code",
            agent_version="2.1.0",
            source="claude-code",
            started_at=at(1),
            ended_at=at(6),
            last_seen_at=at(6),
            steps=(
                Step(
                    index=1,
                    request_id="r1",
                    message_id="m1",
                    provider="anthropic",
                    model="claude-x",
                    started_at=at(1),
                    ended_at=at(3),
                    raw_finish_reason="tool_use",
                    usage=usage,
                    cache_in_input=False,
                    output=Output(text_chars=4, parts=2, last_at=at(2)),
                    tool_calls=(
                        ToolCall(
                            id="c1",
                            name="Read",
                            status=ToolStatus.OK,
                            mutating=False,
                            started_at=at(3),
                            ended_at=at(4),
                        ),
                    ),
                ),
                Step(
                    index=2,
                    request_id="r1",
                    message_id="m2",
                    provider="anthropic",
                    model="claude-x",
                    started_at=at(4),
                    ended_at=at(6),
                    raw_finish_reason="end_turn",
                    usage=Usage(input_tokens=3, output_tokens=5, cache_read_tokens=7, cache_write_tokens=2),
                    cache_in_input=False,
                    output=Output(text_chars=5, parts=1, last_at=at(6)),
                ),
            ),
        )
    ]


def test_a_session_that_was_copied_is_the_same_turns(lines: Lines) -> None:
    """A resumed session stands again in another file, under other ids of lines and session; its messages keep theirs."""
    one = lines("s1.jsonl", prompt("p1", None, 1), answer("a1", "p1", 2, "m1", say("hi"), stop="end_turn"))
    copied = [prompt("p9", None, 1), answer("a9", "p9", 2, "m1", say("hi"), stop="end_turn")]
    two = lines("s2.jsonl", *({**line_, "sessionId": "s2"} for line_ in copied))
    assert [turn.turn_id for path in (one, two) for turn in turns(path)] == ["claude-code:m1", "claude-code:m1"]


def test_a_prompt_that_nothing_answered_is_named_by_itself(lines: Lines) -> None:
    """A turn that died before its first answer is a turn without steps."""
    assert [(turn.turn_id, turn.steps) for turn in turns(lines("s1.jsonl", prompt("p1", None, 1)))] == [
        ("claude-code:p1", ())
    ]


def test_a_null_stop_reason_is_not_recorded(lines: Lines) -> None:
    """A transcript that ends in null says nothing about the end: no finish reason, no end time, no claim."""
    (turn,) = turns(lines("s1.jsonl", prompt("p1", None, 1), answer("a1", "p1", 2, "m1", say("well"))))
    assert (turn.steps[0].raw_finish_reason, turn.ended_at, turn.claims) == (None, None, ())


def test_the_next_prompt_ends_the_turn_before(lines: Lines) -> None:
    """Every prompt of a person is a turn of its own, and meta lines, local commands and summaries are none."""
    path = lines(
        "s1.jsonl",
        prompt("p1", None, 1),
        prompt("x1", "p1", 1, "expanded command", isMeta=True),
        answer("a1", "x1", 2, "m1", say("well")),
        prompt("x2", "a1", 3, "<command-name>/model</command-name>"),
        prompt("x3", "x2", 3, "<local-command-stdout>ok</local-command-stdout>"),
        prompt("x4", "x3", 4, "This session is being continued", isCompactSummary=True),
        prompt("p2", "x4", 5, "next"),
        answer("a2", "p2", 6, "m2", say("yes"), stop="end_turn"),
    )
    found = [(turn.turn_id, [step.message_id for step in turn.steps], turn.ended_at) for turn in turns(path)]
    assert found == [("claude-code:m1", ["m1"], at(2)), ("claude-code:m2", ["m2"], at(6))]


def test_a_prompt_that_was_taken_back_is_no_turn(lines: Lines) -> None:
    """A prompt without an answer, sent again in its place, did not start a turn."""
    path = lines(
        "s1.jsonl",
        prompt("p1", None, 1),
        answer("a1", "p1", 2, "m1", say("hi"), stop="end_turn"),
        prompt("p2", "a1", 3, "typo"),
        prompt("p3", "a1", 4, "right"),
        answer("a2", "p3", 5, "m2", say("yes"), stop="end_turn"),
    )
    assert [turn.turn_id for turn in turns(path)] == ["claude-code:m1", "claude-code:m2"]


def test_the_interrupt_marker_is_a_stop_of_the_user(lines: Lines) -> None:
    """The marker is no prompt: it is a request to stop, at once, by the user, and the runtime's word on the end."""
    path = lines(
        "s1.jsonl",
        prompt("p1", None, 1),
        answer("a1", "p1", 2, "m1", use("c1", "Bash"), stop="tool_use"),
        result("t1", "a1", 3, "c1", "[Request interrupted by user for tool use]", error=True),
        prompt("x1", "t1", 3, "[Request interrupted by user for tool use]"),
    )
    (turn,) = turns(path)
    assert turn.stop_requests == (StopRecord(mode=StopMode.IMMEDIATE, reason="user_stop", at=at(3), by=Requester.USER),)
    assert turn.claims == (Claim(by=Layer.RUNTIME, reason="user_stop", at=at(3)),)
    assert turn.steps[0].tool_calls[0].error_type == "interrupted"


ENTRIES = {"cli": True, "claude-vscode": True, "sdk-py": False, None: None}


@pytest.mark.parametrize("entry", ENTRIES, ids=[str(entry) for entry in ENTRIES])
def test_the_entry_point_tells_whether_a_person_is_there(lines: Lines, entry: str | None) -> None:
    """A terminal or an editor is attended, a library is not, and older versions do not say."""
    more = {} if entry is None else {"entrypoint": entry}
    path = lines("s1.jsonl", prompt("p1", None, 1, **more), answer("a1", "p1", 2, "m1", say("hi")))
    assert [turn.attended for turn in turns(path)] == [ENTRIES[entry]]


def test_a_line_whose_parent_was_lost_belongs_to_the_running_turn(lines: Lines) -> None:
    """A damaged line breaks the chain; what hung on it stays with the turn it stood in."""
    path = lines(
        "s1.jsonl",
        prompt("p1", None, 1),
        "{cut",
        answer("a2", "lost", 2, "m1", say("hi")),
        prompt("q1", None, 3, "build", isSidechain=True),
        answer("b2", "lost too", 4, "m2", say("built"), isSidechain=True),
    )
    assert [[step.message_id for step in turn.steps] for turn in turns(path)] == [["m1"], ["m2"]]


def test_a_copied_line_counts_once(lines: Lines) -> None:
    """A line that stands twice in a file is one."""
    said = answer("a1", "p1", 2, "m1", say("hi"))
    (turn,) = turns(lines("s1.jsonl", prompt("p1", None, 1), said, said))
    assert [step.output for step in turn.steps] == [Output(text_chars=2, parts=1, last_at=at(2))]


def test_a_turn_goes_on_after_a_compaction(lines: Lines) -> None:
    """The boundary begins a chain of its own, which hangs on the old one."""
    path = lines(
        "s1.jsonl",
        prompt("p1", None, 1),
        answer("a1", "p1", 2, "m1", say("hi")),
        line("y1", None, 3, type="system", subtype="compact_boundary", logicalParentUuid="a1"),
        prompt("y2", "y1", 3, "This session is being continued", isCompactSummary=True),
        answer("a2", "y2", 4, "m2", say("ho"), stop="end_turn"),
    )
    assert [[step.message_id for step in turn.steps] for turn in turns(path)] == [["m1", "m2"]]


def test_the_runtime_says_when_a_turn_is_over(lines: Lines) -> None:
    """The duration that the client writes at the end of a turn is its end, whatever the message says."""
    path = lines(
        "s1.jsonl",
        prompt("p1", None, 1),
        answer("a1", "p1", 2, "m1", say("hi")),
        line("y1", "a1", 3, type="system", subtype="turn_duration", durationMs=2000),
    )
    assert [turn.ended_at for turn in turns(path)] == [at(3)]


TOOL_ENDS: Mapping[str, tuple[str, ToolStatus, str | None, str | None]] = {
    "failed": ("boom", ToolStatus.ERROR, None, None),
    "arguments": ("<tool_use_error>InputValidationError: x", ToolStatus.ERROR, "InputValidationError", None),
    "misused": ("<tool_use_error>File has not been read", ToolStatus.ERROR, "tool_use_error", None),
    "not granted": (
        "Claude requested permissions to use Bash, but you haven't granted it yet.",
        ToolStatus.ERROR,
        "permission_required",
        None,
    ),
    "by the person": ("The user doesn't want to proceed with this tool use.", ToolStatus.DENIED, None, "user"),
    "by the person, elsewhere": ("no", ToolStatus.DENIED, None, "user"),
    "by the host": ("Permission to use Bash has been denied.", ToolStatus.DENIED, None, "host"),
}


@pytest.mark.parametrize("words", TOOL_ENDS, ids=list(TOOL_ENDS))
def test_a_denied_call_is_no_error(lines: Lines, words: str) -> None:
    """What a failed tool result says tells an error from a denial, and who denied."""
    text, status, error_type, denied_by = TOOL_ENDS[words]
    path = lines(
        "s1.jsonl",
        prompt("p1", None, 1),
        answer("a1", "p1", 2, "m1", use("c1", "Bash"), stop="tool_use"),
        result("t1", "a1", 3, "c1", text, error=True, toolUseResult=REJECTION if text == "no" else text),
    )
    (call,) = turns(path)[0].steps[0].tool_calls
    assert (call.status, call.error_type, call.denied_by) == (status, error_type, denied_by)


ERRORS: Mapping[str, tuple[str, Line, str, int | None]] = {
    "rate limit": ("You're out of extra usage · resets 3:30pm", {"error": "rate_limit"}, "error", None),
    "status in its field": ("API Error", {"error": "server_error", "apiErrorStatus": 529}, "error", 529),
    "status in the text": ('API Error: 500 {"type":"error"}', {}, "error", 500),
}


@pytest.mark.parametrize("name", ERRORS, ids=list(ERRORS))
def test_an_error_line_is_a_failed_request(lines: Lines, name: str) -> None:
    """The line that stands for an answer carries no usage; at the end of a turn it is the runtime's word."""
    words, extra, reason, status = ERRORS[name]
    message = {"id": "m2", "model": "<synthetic>", "content": [say(words)], "stop_reason": "stop_sequence", "usage": {}}
    path = lines(
        "s1.jsonl",
        prompt("p1", None, 1),
        line("e1", "p1", 2, type="assistant", isApiErrorMessage=True, message=message, **extra),
    )
    (turn,) = turns(path)
    (step,) = turn.steps
    assert step.error == StepError(type=extra.get("error"), status=status, message=words)
    assert (step.usage, step.raw_finish_reason, step.model) == (None, None, None)
    assert [(claim.reason, claim.error_type) for claim in turn.claims] == [(reason, extra.get("error"))]


def test_an_error_that_was_overcome_is_no_end(lines: Lines) -> None:
    """An answer after an error line takes the claim back; failed attempts stay with the step that followed."""
    message = {"id": "m1", "model": "<synthetic>", "content": [say("API Error: 500")], "usage": {}}
    path = lines(
        "s1.jsonl",
        prompt("p1", None, 1),
        line("e1", "p1", 2, type="assistant", isApiErrorMessage=True, message=message),
        line("y1", "e1", 3, type="system", subtype="api_error", retryAttempt=1, error={"message": "529 overloaded"}),
        answer("a1", "y1", 4, "m2", say("hi"), stop="end_turn"),
    )
    (turn,) = turns(path)
    assert turn.claims == ()
    assert (turn.steps[1].attempts, turn.steps[1].attempt_ends) == (2, (AttemptEnd(status=529, at=at(3)),))


def test_a_message_that_the_client_made_up_is_no_step(lines: Lines) -> None:
    """A synthetic message without an error stands for no request."""
    message = {"id": "m2", "model": "<synthetic>", "content": [say("No response requested.")], "usage": {}}
    path = lines(
        "s1.jsonl",
        prompt("p1", None, 1),
        answer("a1", "p1", 2, "m1", say("hi"), stop="end_turn"),
        line("e1", "a1", 3, type="assistant", isApiErrorMessage=False, message=message),
    )
    assert [step.message_id for step in turns(path)[0].steps] == ["m1"]


def test_a_stop_hook_that_blocks_is_a_veto(lines: Lines) -> None:
    """Feedback of a stop hook vetoes the finish candidate before it; a quiet summary allows the next."""
    path = lines(
        "s1.jsonl",
        prompt("p1", None, 1),
        answer("a1", "p1", 2, "m1", say("done"), stop="end_turn"),
        prompt("h1", "a1", 3, "Stop hook feedback:\n- tests fail", isMeta=True),
        answer("a2", "h1", 4, "m2", say("now done"), stop="end_turn"),
        line("h2", "a2", 5, type="system", subtype="stop_hook_summary", hookCount=1, hookErrors=[]),
    )
    (turn,) = turns(path)
    assert turn.finish_checks == (
        FinishCheck(step=1, verdict=CheckVerdict.VETO, by="stop hook"),
        FinishCheck(step=2, verdict=CheckVerdict.ALLOW, by="stop hook"),
    )


def test_a_sidechain_is_a_child_of_the_turn_that_called_it(lines: Lines) -> None:
    """Two sub-agents side by side find their parent by the words of their prompts, and the parent expects both."""
    path = lines(
        "s1.jsonl",
        prompt("p1", None, 1),
        answer("a1", "p1", 2, "m1", use("c1", "Task", prompt="build", subagent_type="builder"), stop="tool_use"),
        prompt("q1", None, 3, "build", isSidechain=True),
        answer("b1", "q1", 4, "m2", say("built"), stop="end_turn", isSidechain=True),
        result("t1", "a1", 5, "c1"),
        answer("a2", "t1", 6, "m3", say("ok"), stop="end_turn"),
    )
    main, child = turns(path)
    assert (main.children_expected, main.parent_turn_id) == (("claude-code:m2",), None)
    assert (child.turn_id, child.parent_turn_id, child.agent) == ("claude-code:m2", "claude-code:m1", "builder")
    assert [step.message_id for step in main.steps] == ["m1", "m3"]


@pytest.mark.parametrize("folder", ["", "s1/subagents/"])
def test_an_agent_file_finds_its_parent_beside_it(lines: Lines, folder: str) -> None:
    """The transcript of the session names the agent; without it the session stands for the parent."""
    child = lines(
        f"{folder}agent-77.jsonl",
        prompt("q1", None, 3, "build", isSidechain=True, agentId="77"),
        answer("b1", "q1", 4, "m2", say("built"), stop="end_turn", isSidechain=True, agentId="77"),
    )
    assert [(turn.turn_id, turn.parent_turn_id) for turn in turns(child)] == [("claude-code:s1/77", "claude-code:s1")]
    session = lines(
        "s1.jsonl",
        prompt("p1", None, 1),
        answer("a1", "p1", 2, "m1", use("c1", "Task", prompt="build"), stop="tool_use"),
        result("t1", "a1", 5, "c1", toolUseResult={"agentId": "77", "status": "completed"}),
    )
    assert [turn.parent_turn_id for turn in turns(child)] == ["claude-code:m1"]
    assert turns(session)[0].children_expected == ("claude-code:s1/77",)


def test_a_damaged_line_is_reported_with_its_turn(lines: Lines) -> None:
    """A line that was cut is counted and names the turn it stood in; the rest of the file is read."""
    path = lines(
        "s1.jsonl",
        prompt("p1", None, 1),
        '{"uuid": "cut',
        answer("a1", "p1", 2, "m1", say("hi"), stop="end_turn"),
    )
    reading = KINDS["claude-code"].read(path)
    damaged, turn = list(reading)
    assert damaged == Damaged(
        path=str(path),
        line=2,
        what="got text that is no JSON, expected a JSON object",
        turn_id="claude-code:m1",
    )
    assert isinstance(turn, TurnFacts)
    assert turn.claims == (DAMAGED_RECORD,)
    assert reading.records == 3


def test_arguments_leave_as_a_digest(lines: Lines) -> None:
    """With a key the same arguments give the same digest, and nothing of them can be read."""
    path = lines(
        "s1.jsonl",
        prompt("p1", None, 1),
        answer("a1", "p1", 2, "m1", use("c1", "Bash", command="secret"), use("c2", "Bash", command="secret")),
    )
    (turn,) = (item for item in KINDS["claude-code"].read(path, digest_key=b"k") if isinstance(item, TurnFacts))
    digests = {call.arguments_digest for call in turn.steps[0].tool_calls}
    assert len(digests) == 1
    assert "secret" not in str(turn)
    assert digests != {None}


def failed(words: str, **more: object) -> Line:
    message = {"id": "e1", "model": "<synthetic>", "content": [say(words)], "stop_reason": "stop_sequence", "usage": {}}
    return line("e1", "p1", 3, type="assistant", isApiErrorMessage=True, message=message, **more)


REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected"
CUT_TOOL = "[Request interrupted by user for tool use]"
CALL = answer("a1", "p1", 2, "m1", use("c1", "Bash"), stop="tool_use")

ENDS: Mapping[str, tuple[tuple[Line, ...], str, str | None, str]] = {
    "completed": ((answer("a1", "p1", 2, "m1", say("hi"), stop="end_turn"),), "completed", None, "no"),
    "not recorded": ((answer("a1", "p1", 2, "m1", say("hi")),), "unknown", None, "unknown"),
    "length": ((answer("a1", "p1", 2, "m1", say("hi"), stop="max_tokens"),), "length", None, "yes"),
    "length told as an error": (
        (failed("API Error: Claude's response exceeded the 32000 output token maximum."),),
        "length",
        None,
        "yes",
    ),
    "refusal": ((answer("a1", "p1", 2, "m1", say("no"), stop="refusal"),), "refused", "provider_refusal", "no"),
    "refusal told as an error": (
        (failed("API Error: Claude Code is unable to respond, which appears to violate our Usage Policy"),),
        "refused",
        "provider_refusal",
        "no",
    ),
    "overflow": ((failed("Prompt is too long", error="invalid_request"),), "context_overflow", None, "no"),
    "plan": ((failed("You're out of extra usage · resets 3:30pm", error="rate_limit"),), "error", "rate_limit", "yes"),
    "plan without a type": ((failed("Claude AI usage limit reached|1767607200"),), "error", "rate_limit", "yes"),
    "limit without a name": ((failed("You've hit your limit · resets 3am"),), "error", "rate_limit", "yes"),
    "full context": (
        (failed("Context limit reached · /compact or /clear to continue"),),
        "context_overflow",
        None,
        "no",
    ),
    "status of another host": ((failed("API Error (us.claude-x): 503 busy"),), "error", "provider_unavailable", "yes"),
    "status in an object": ((failed("API Error", error={"status": 529}),), "error", "provider_unavailable", "yes"),
    "overloaded": ((failed("API Error: 529 overloaded"),), "error", "provider_unavailable", "yes"),
    "auth": ((failed("Invalid API key", error="authentication_failed"),), "error", "auth", "unknown"),
    "stopped while it spoke": (
        (answer("a1", "p1", 2, "m1", say("hi")), prompt("x1", "a1", 3, "[Request interrupted by user]")),
        "stopped",
        "stopped_by_user",
        "no",
    ),
    "stopped in a tool": (
        (CALL, result("t1", "a1", 3, "c1", CUT_TOOL, error=True), prompt("x1", "t1", 3, CUT_TOOL)),
        "stopped",
        "stopped_by_user",
        "no",
    ),
    "denied": (
        (CALL, result("t1", "a1", 3, "c1", REJECTED, error=True), prompt("x1", "t1", 3, CUT_TOOL)),
        "stopped",
        "tool_denied",
        "no",
    ),
    "vetoed": (
        (
            answer("a1", "p1", 2, "m1", say("done"), stop="end_turn"),
            prompt("h1", "a1", 3, "Stop hook feedback:\n- no", isMeta=True),
        ),
        "unknown",
        "finish_veto",
        "unknown",
    ),
}


@pytest.mark.parametrize("name", ENDS, ids=list(ENDS))
def test_every_end_is_decided_from_the_facts(lines: Lines, name: str) -> None:
    """What a transcript tells of an end is enough for the classifier."""
    more, outcome, cause, resumable = ENDS[name]
    (turn,) = turns(lines("s1.jsonl", prompt("p1", None, 1), *more))
    verdict = classify(turn)
    assert (verdict.outcome, verdict.resumable) == (outcome, resumable)
    assert cause is None or verdict.cause == cause
