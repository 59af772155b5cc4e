"""claude-agent-sdk as its command line tells of turns, over a transport that answers from a script."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import pytest

from broken_recorder import broken_recorders
from cutting import cancelled, timed_out
from listed_endings import Coverage, Never
from turnout.instrumentation import Losses, Recorder
from turnout.instrumentation.integrations.claude_agent_sdk import instrument, uninstrument
from turnout.instrumentation.testing import MemorySink

sdk: Any = pytest.importorskip("claude_agent_sdk")

Ending = tuple[str, str | None, str | None]
USAGE = {
    "input_tokens": 100,
    "output_tokens": 30,
    "cache_read_input_tokens": 20,
    "cache_creation_input_tokens": 5,
}


def said(*content: dict[str, Any], id: str = "msg_1", stop: str | None = "end_turn", **more: Any) -> dict[str, Any]:  # noqa: A002
    message = {"role": "assistant", "id": id, "model": "claude-fake", "content": list(content), "stop_reason": stop}
    return {"type": "assistant", "message": {**message, "usage": USAGE}, "session_id": "s", **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(id: str = "call_1") -> dict[str, Any]:  # noqa: A002
    return {"type": "tool_use", "id": id, "name": "Read", "input": {"path": "/secret"}}


def returned(id: str = "call_1", *, error: bool = False) -> dict[str, Any]:  # noqa: A002
    result = {"type": "tool_result", "tool_use_id": id, "content": "text", "is_error": error}
    return {"type": "user", "message": {"role": "user", "content": [result]}, "session_id": "s"}


def result(subtype: str = "success", **more: Any) -> dict[str, Any]:
    base = {"duration_ms": 1, "duration_api_ms": 1, "is_error": False, "num_turns": 1, "session_id": "s"}
    return {"type": "result", "subtype": subtype, "total_cost_usd": 0.25, **base, **more}


DIE = object()
HANG = object()
WORK = [said(text("Reading."), call(), stop="tool_use"), returned()]


class Script:
    """A command line that answers each user message with the next turn of a script."""

    def __init__(self, turns: list[list[Any]]) -> None:
        self._waiting: asyncio.Queue[Any] = asyncio.Queue()
        self._script = iter(turns)

    async def connect(self) -> None:
        pass

    async def close(self) -> None:
        pass

    def is_ready(self) -> bool:
        return True

    async def end_input(self) -> None:
        await self._waiting.put(None)

    async def write(self, data: str) -> None:
        message = json.loads(data)
        if message["type"] == "control_request":
            response = {"subtype": "success", "request_id": message["request_id"], "response": {}}
            await self._waiting.put({"type": "control_response", "response": response})
            if message["request"]["subtype"] == "interrupt":
                await self._waiting.put(
                    result("error_during_execution", terminal_reason="aborted_tools", is_error=True)
                )
        elif message["type"] == "user":
            for answer in next(self._script):
                await self._waiting.put(answer)

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        while (message := await self._waiting.get()) is not None:
            if message is DIE:
                raise sdk.ProcessError("gone", exit_code=137)
            if message is HANG:
                await asyncio.sleep(3600)
            yield message


def transport_of(turns: list[list[Any]]) -> Any:
    return type("Scripted", (Script, sdk.Transport), {})(turns)


async def asked(messages: list[Any], *, pause: float = 0, **options: Any) -> list[Any]:
    given = sdk.ClaudeAgentOptions(**options)
    stream = sdk.query(prompt="how is it?", options=given, transport=transport_of([messages]))
    seen: list[Any] = []
    async for message in stream:
        seen.append(message)
        await asyncio.sleep(pause)
    return seen


@pytest.fixture
def listening(memory: MemorySink, make_recorder: Any) -> Iterator[Recorder]:
    """The SDK, instrumented."""
    recorder = make_recorder(memory, clock=time.time_ns)
    instrument(recorder)
    yield recorder
    uninstrument()


def outcome(memory: MemorySink) -> Ending:
    """Outcome, budget kind and cause of the one turn, which ended once."""
    assert len(memory.started) == len(memory.ended) == 1
    (verdict,) = memory.verdicts
    return (
        verdict.outcome.value,
        verdict.budget_kind and verdict.budget_kind.value,
        verdict.cause and verdict.cause.value,
    )


CUT = said(text("and then"), id="msg_2", stop="max_tokens")
ENDINGS: dict[str, tuple[list[Any], dict[str, Any], Ending]] = {
    "normal": ([said(text("sunny")), result()], {}, ("completed", None, None)),
    "tool calls": ([*WORK, said(text("rain"), id="msg_2"), result()], {}, ("completed", None, None)),
    "tool error": (
        [WORK[0], returned(error=True), said(text("hm"), id="msg_2"), result()],
        {},
        ("completed", None, None),
    ),
    "step limit": ([*WORK, result("error_max_turns", is_error=True)], {"max_turns": 1}, ("budget", "steps", None)),
    "step limit, by terminal reason": (
        [*WORK, result(terminal_reason="max_turns", is_error=True)],
        {"max_turns": 1},
        ("budget", "steps", None),
    ),
    "cost limit": (
        [*WORK, result("error_max_budget_usd", is_error=True)],
        {"max_budget_usd": 0.2},
        ("budget", "cost", None),
    ),
    "length": ([*WORK, CUT, result(stop_reason="max_tokens")], {}, ("length", None, None)),
    "length empty": ([said(stop="max_tokens"), result(stop_reason="max_tokens")], {}, ("length", None, None)),
    "length in a tool call": ([said(call(), stop="max_tokens"), result()], {}, ("length", None, None)),
    "length in a tool call that a later step repairs": (
        [said(call(), stop="max_tokens"), returned(error=True), said(text("rain"), id="msg_2"), result()],
        {},
        ("completed", None, None),
    ),
    "refusal with text": ([said(text("no"), stop="refusal"), result()], {}, ("refused", None, "provider_refusal")),
    "refusal empty": ([said(stop="refusal"), result()], {}, ("refused", None, "provider_refusal")),
    "refusal in the result alone": (
        [said(text("no"), stop=None), result(stop_reason="refusal")],
        {},
        ("refused", None, "provider_refusal"),
    ),
    "context overflow": (
        [*WORK, result("error_during_execution", terminal_reason="prompt_too_long", is_error=True)],
        {},
        ("context_overflow", None, None),
    ),
    "an error under a success": (
        [*WORK, result(is_error=True, api_error_status=529, terminal_reason="api_error")],
        {},
        ("error", None, None),
    ),
    "error in execution": ([*WORK, result("error_during_execution", is_error=True)], {}, ("error", None, None)),
    "interrupted by the person": (
        [*WORK, result("error_during_execution", terminal_reason="aborted_streaming", is_error=True)],
        {},
        ("stopped", None, None),
    ),
    "ended by a hook in the middle of its work": (
        [*WORK, result(terminal_reason="hook_stopped")],
        {},
        ("stopped", None, "stopped_by_host"),
    ),
    "ended by a hook after its answer": (
        [*WORK, said(text("rain"), id="msg_2"), result(terminal_reason="stop_hook_prevented")],
        {},
        ("completed", None, None),
    ),
    "waiting for someone": ([*WORK, result(terminal_reason="tool_deferred")], {}, ("yielded", None, None)),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_an_ending(name: str, memory: MemorySink, listening: Recorder) -> None:
    """The verdict is the contract's, also where the subtype says success."""
    del listening
    messages, options, expected = ENDINGS[name]
    with suppress(Exception):
        asyncio.run(asked(messages, **options))
    got = outcome(memory)
    assert got[:2] == expected[:2]
    if expected[2] is not None:
        assert got[2] == expected[2]


@pytest.mark.parametrize("messages", [[*WORK, DIE], [DIE]], ids=["in a turn", "at once"])
def test_a_command_line_that_is_gone_is_no_success(
    messages: list[Any], memory: MemorySink, listening: Recorder
) -> None:
    """No result ever comes."""
    del listening
    with pytest.raises(sdk.ProcessError):
        asyncio.run(asked(messages))
    assert outcome(memory)[0] in ("error", "interrupted")


def test_a_stream_without_a_result_is_no_success(memory: MemorySink, listening: Recorder) -> None:
    """The messages just end."""
    del listening

    async def work() -> None:
        transport = transport_of([[*WORK, None]])
        async for _ in sdk.query(prompt="?", options=sdk.ClaudeAgentOptions(), transport=transport):
            pass

    asyncio.run(work())
    assert outcome(memory)[0] in ("unknown", "interrupted")


def test_what_is_recorded_of_a_turn(memory: MemorySink, listening: Recorder) -> None:
    """The parts of one response are one step; usage, cost and calls; and nothing of the content."""
    del listening
    parts = [said(text("Reading."), stop=None), said(call(), stop="tool_use")]
    inner = said(text("inside"), id="msg_9", parent_tool_use_id="call_1")
    asyncio.run(asked([*parts, inner, returned(), said(text("rain"), id="msg_2"), result()]))
    (facts,) = memory.turns
    first, second = facts.steps
    assert (facts.source, facts.cost_usd) == ("claude-agent-sdk", 0.25)
    assert (first.provider, first.model, first.raw_finish_reason) == ("anthropic", "claude-fake", "tool_use")
    assert first.usage is not None
    assert (first.usage.input_tokens, first.usage.cache_read_tokens, first.cache_in_input) == (100, 20, False)
    assert [(tool.id, tool.name, tool.status) for tool in first.tool_calls] == [("call_1", "Read", "ok")]
    assert second.output is not None
    assert second.output.text_chars == 4
    assert "secret" not in repr(facts)


def test_a_client_has_one_turn_a_query(memory: MemorySink, listening: Recorder) -> None:
    """A conversation over one connection."""
    del listening

    async def work() -> None:
        turns = [[said(text("sunny")), result()], [*WORK, said(text("rain"), id="msg_2"), result()]]
        async with sdk.ClaudeSDKClient(transport=transport_of(turns)) as client:
            for _ in turns:
                await client.query("how is it?")
                async for _ in client.receive_response():
                    pass

    asyncio.run(work())
    assert [len(turn.steps) for turn in memory.turns] == [1, 2]
    assert {verdict.outcome.value for verdict in memory.verdicts} == {"completed"}


def test_a_cancelled_task_is_stopped_by_the_host(memory: MemorySink, listening: Recorder) -> None:
    """While the command line still works."""
    del listening

    async def work() -> None:
        await cancelled(asked([*WORK, HANG]), memory)

    asyncio.run(work())
    assert outcome(memory) == ("stopped", None, "stopped_by_host")


def test_a_timeout_around_the_run_is_a_cancellation_inside(memory: MemorySink, listening: Recorder) -> None:
    """The query cannot tell a timeout from a cancellation."""
    del listening

    async def work() -> None:
        await timed_out(asked([*WORK, HANG]), memory)

    asyncio.run(work())
    assert outcome(memory) == ("stopped", None, "stopped_by_host")


def test_a_person_who_interrupts_is_told_from_the_host(memory: MemorySink, listening: Recorder) -> None:
    """``interrupt`` is the client's own way to stop."""
    del listening

    async def work() -> None:
        async with sdk.ClaudeSDKClient(transport=transport_of([[*WORK]])) as client:
            await client.query("how is it?")
            async for message in client.receive_response():
                if type(message).__name__ == "UserMessage":
                    await client.interrupt()

    asyncio.run(asyncio.wait_for(work(), 20))
    assert outcome(memory) == ("stopped", None, "stopped_by_user")


def asks(number: int) -> dict[str, Any]:
    """The command line asks the first hook whether the agent may stop."""
    said_of = {"hook_event_name": "Stop", "stop_hook_active": number > 1}
    request = {"subtype": "hook_callback", "callback_id": "hook_0", "input": said_of, "tool_use_id": None}
    return {"type": "control_request", "request_id": f"ask-{number}", "request": request}


def stop_hook(*answers: Any) -> dict[str, Any]:
    """Options with a Stop hook that gives one answer after the other."""
    left = iter(answers)

    async def hook(*_: Any) -> Any:
        answer = next(left)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return {"hooks": {"Stop": [sdk.HookMatcher(hooks=[hook])]}}


AGAIN = {"decision": "block", "reason": "more"}
FEEDBACK = {"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "more"}}
TWO_ENDS = [*WORK, said(text("a"), id="msg_2"), asks(1), said(text("b"), id="msg_3"), asks(2), result()]
STOP_HOOKS: dict[str, tuple[list[Any], list[tuple[int, str]], str]] = {
    "allow": ([{}, {}], [(2, "allow"), (3, "allow")], "completed"),
    "veto, lifted": ([AGAIN, {}], [(2, "veto"), (3, "allow")], "completed"),
    "feedback, lifted": ([FEEDBACK, {}], [(2, "veto"), (3, "allow")], "completed"),
    "veto, standing": ([AGAIN, AGAIN], [(2, "veto"), (3, "veto")], "unknown"),
    "a hook that fails": ([AGAIN, ValueError()], [(2, "veto"), (3, "skipped")], "unknown"),
    "a hook that answers later": ([AGAIN, {"async_": True}], [(2, "veto"), (3, "skipped")], "unknown"),
}


@pytest.mark.parametrize("pause", [0, 0.01], ids=["quick", "slow"])
@pytest.mark.parametrize("name", STOP_HOOKS)
def test_a_stop_hook_is_a_finish_hook(name: str, pause: float, memory: MemorySink, listening: Recorder) -> None:
    """What it says of each end is on record at the step that it was asked about, however far behind the consumer is."""
    del listening
    answers, checks, expected = STOP_HOOKS[name]
    asyncio.run(asyncio.wait_for(asked(TWO_ENDS, pause=pause, **stop_hook(*answers)), 20))
    (facts,) = memory.turns
    assert [(check.step, check.verdict) for check in facts.finish_checks] == checks
    assert {check.by for check in facts.finish_checks} == {"stop_hook"}
    assert outcome(memory)[0] == expected


def test_a_stop_hook_of_a_client_is_heard_in_each_turn(memory: MemorySink, listening: Recorder) -> None:
    """The hooks are set up with the connection, before there is a turn."""
    del listening
    turns = [[said(text("a")), asks(1), result()], [said(text("b")), asks(2), result()]]

    async def work() -> None:
        options = sdk.ClaudeAgentOptions(**stop_hook({}, AGAIN))
        async with sdk.ClaudeSDKClient(options=options, transport=transport_of(turns)) as client:
            for _ in turns:
                await client.query("how is it?")
                async for _ in client.receive_response():
                    pass

    asyncio.run(asyncio.wait_for(work(), 20))
    assert [[check.verdict for check in turn.finish_checks] for turn in memory.turns] == [["allow"], ["veto"]]


def test_a_stream_that_its_consumer_leaves_is_no_success(memory: MemorySink, listening: Recorder) -> None:
    """The consumer breaks off after the first message."""
    del listening

    async def work() -> None:
        transport = transport_of([[*WORK, HANG]])
        stream = sdk.query(prompt="?", options=sdk.ClaudeAgentOptions(), transport=transport)
        async for _ in stream:
            break
        await stream.aclose()

    asyncio.run(work())
    assert outcome(memory)[0] in ("stopped", "interrupted", "unknown")


def test_a_bug_of_ours_changes_nothing(losses: Losses) -> None:
    """With everything broken the messages and the exceptions come as ever, and the bugs are counted."""
    for recorder in broken_recorders(losses):
        instrument(recorder)
        try:
            messages = asyncio.run(asked([*WORK, said(text("rain"), id="msg_2"), result()]))
            assert messages[-1].subtype == "success"
            with pytest.raises(sdk.ProcessError):
                asyncio.run(asked([DIE]))
        finally:
            uninstrument()
    assert sum(losses.totals().values()) > 0


COVERAGE: Coverage = {
    "normal": ("normal",),
    "tool calls": ("tool calls",),
    "step limit as an exception": (
        Never("A limit ends in a result that names it; the exception after it adds nothing."),
    ),
    "step limit as a silent result": ("step limit", "step limit, by terminal reason", "cost limit"),
    "step limit of a middleware": (Never("The SDK has no middleware; a hook that ends a turn is no limit."),),
    "length with text": ("length",),
    "length empty": ("length empty",),
    "length inside a tool call": ("length in a tool call", "length in a tool call that a later step repairs"),
    "refusal with text": ("refusal with text", "refusal in the result alone"),
    "refusal empty": ("refusal empty",),
    "content filter": (Never("Claude's stop reasons know a refusal and no filter beside it."),),
    "context overflow": ("context overflow",),
    "tool error": ("tool error",),
    "model error at step 2": ("an error under a success", "error in execution"),
    "user stop": ("interrupted by the person", test_a_person_who_interrupts_is_told_from_the_host),
    "timeout": (test_a_timeout_around_the_run_is_a_cancellation_inside,),
    "cancelled task": (test_a_cancelled_task_is_stopped_by_the_host,),
    "stream abandoned by its consumer": (test_a_stream_that_its_consumer_leaves_is_no_success,),
    "finish-hook veto": (test_a_stop_hook_is_a_finish_hook, "ended by a hook after its answer"),
}
