"""pydantic-ai as it ends its runs, with its own function model."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from broken_recorder import broken_recorders
from cutting import cancelled, timed_out
from listed_endings import Coverage, Never
from turnout.instrumentation import Losses, Recorder, current_turn
from turnout.instrumentation.integrations.pydantic_ai import instrument, turnout_capability, uninstrument
from turnout.instrumentation.testing import MemorySink

pydantic_ai: Any = pytest.importorskip("pydantic_ai")
function: Any = pytest.importorskip("pydantic_ai.models.function")
messages: Any = pytest.importorskip("pydantic_ai.messages")
exceptions: Any = pytest.importorskip("pydantic_ai.exceptions")

Limits: Any = pydantic_ai.UsageLimits
OVERFLOW = exceptions.ModelHTTPError(400, "fake-1", {"error": {"code": "context_length_exceeded"}})


def said(*parts: Any, finish: str | None = "stop", raw: str | None = None, provider: str = "openai") -> Any:
    return messages.ModelResponse(
        parts=list(parts),
        finish_reason=finish,
        provider_name=provider,
        provider_details={"finish_reason": raw} if raw else None,
        usage=pydantic_ai.RequestUsage(input_tokens=120, output_tokens=30, cache_read_tokens=20),
    )


def text(words: str, **how: Any) -> Any:
    return said(messages.TextPart(words), **how)


def call(name: str = "weather", args: Any = '{"city": "Paris"}', **how: Any) -> Any:
    return said(messages.ToolCallPart(name, args, tool_call_id=f"call-{name}"), **{"finish": "tool_call", **how})


def agent_of(answers: list[Any], **options: Any) -> Any:
    """An agent whose model gives one answer after the other; an answer may be an exception, or a coroutine to wait for."""
    turns = iter(answers)

    async def answer(*_: Any) -> Any:
        found: Any = next(turns)
        if found is forever:
            await forever()
        if isinstance(found, BaseException):
            raise found
        return found

    agent: Any = pydantic_ai.Agent(function.FunctionModel(answer, model_name="fake-1"), name="weatherbot", **options)

    def weather(city: str) -> str:
        if city == "Atlantis":
            raise KeyError(city)
        return f"rain in {city}"

    async def slow() -> str:
        await asyncio.sleep(3600)
        return "never"

    agent.tool_plain(weather)
    agent.tool_plain(slow)
    return agent


async def ran(agent: Any, recorder: Recorder, **options: Any) -> Any:
    return await agent.run("how is it?", capabilities=[turnout_capability(recorder)], **options)


def outcome(memory: MemorySink) -> tuple[str, str | None, str | None]:
    """Outcome, budget kind and cause of the one turn, which ended once."""
    assert len(memory.started) == len(memory.ended) == 1
    (verdict,) = memory.verdicts
    return (
        verdict.outcome.value,
        verdict.budget_kind and verdict.budget_kind.value,
        verdict.cause and verdict.cause.value,
    )


@dataclass
class City:
    """A structured answer."""

    city: str


async def forever() -> Any:
    await asyncio.sleep(3600)


ENDINGS: dict[str, tuple[list[Any], dict[str, Any], tuple[str, str | None, str | None], int]] = {
    "normal": ([text("sunny")], {}, ("completed", None, None), 1),
    "tool calls": ([call(), text("rain")], {}, ("completed", None, None), 2),
    "step limit": ([call(), call()], {"usage_limits": Limits(request_limit=2)}, ("budget", "steps", None), 2),
    "tool call limit": (
        [call(), call()],
        {"usage_limits": Limits(tool_calls_limit=1)},
        ("budget", "tool_calls", None),
        2,
    ),
    "token limit": (
        [call(), text("x")],
        {"usage_limits": Limits(total_tokens_limit=100)},
        ("budget", "tokens", None),
        1,
    ),
    "length with text": ([text("and then", finish="length", raw="length")], {}, ("length", None, None), 1),
    "length empty": ([said(finish="length", raw="length")], {}, ("length", None, None), 1),
    "length in a tool call": (
        [call(args='{"city": "Pa', finish="length", raw="length"), text("rain")],
        {},
        ("completed", None, None),
        2,
    ),
    "length in a tool call, no retry": (
        [call(args='{"city": "Pa', finish="length", raw="length")],
        {"retries": 0},
        ("length", None, None),
        1,
    ),
    "refusal with text": (
        [text("I will not", finish="content_filter", raw="refusal", provider="anthropic")],
        {},
        ("refused", None, "provider_refusal"),
        1,
    ),
    "refusal empty": (
        [said(finish="content_filter", raw="refusal", provider="anthropic")],
        {},
        ("refused", None, "provider_refusal"),
        1,
    ),
    "content filter with text": (
        [text("I will not", finish="content_filter", raw="content_filter")],
        {},
        ("refused", None, "content_filter"),
        1,
    ),
    "content filter empty": (
        [said(finish="content_filter", raw="content_filter")],
        {},
        ("refused", None, "content_filter"),
        1,
    ),
    "context overflow": ([OVERFLOW], {}, ("context_overflow", None, "context_rejected"), 1),
    "context overflow as a finish": (
        [text("", finish="length", raw="model_context_window_exceeded")],
        {},
        ("context_overflow", None, None),
        1,
    ),
    "tool error": ([call(args='{"city": "Atlantis"}')], {}, ("error", None, "tool_error"), 1),
    "model error at step 2": (
        [call(), exceptions.ModelHTTPError(503, "fake-1")],
        {},
        ("error", None, "provider_unavailable"),
        2,
    ),
    "timeout": ([forever], {"timeout": 0.05}, ("budget", "time", None), 1),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_an_ending(name: str, memory: MemorySink, make_recorder: Any) -> None:
    """The verdict is the contract's, also where the framework says success."""
    answers, options, expected, steps = ENDINGS[name]
    retries = {"retries": options["retries"]} if "retries" in options else {}
    rest = {key: value for key, value in options.items() if key != "retries"}
    with suppress(Exception):
        asyncio.run(ran(agent_of(answers, **retries), make_recorder(memory, clock=time.time_ns), **rest))
    got = outcome(memory)
    assert got[:2] == expected[:2]
    if expected[2] is not None:
        assert got[2] == expected[2]
    assert len(memory.turns[0].steps) == steps


@pytest.mark.parametrize("answers", [[forever], [call("slow", {})]], ids=["in a request", "in a tool"])
def test_a_cancelled_task_is_stopped_by_the_host(answers: list[Any], memory: MemorySink, make_recorder: Any) -> None:
    """Wherever it was cut, nobody calls it a success, and it ends once."""
    asyncio.run(cancelled(ran(agent_of(answers), make_recorder(memory)), memory))
    assert outcome(memory) == ("stopped", None, "stopped_by_host")


def test_a_persons_stop_is_told_from_the_hosts(memory: MemorySink, make_recorder: Any) -> None:
    """The application says who stopped, and then cancels."""
    recorder = make_recorder(memory)
    work = ran(agent_of([forever]), recorder, conversation_id="conversation-1")
    asyncio.run(cancelled(work, memory, before=lambda: recorder.stop(conversation_id="conversation-1")))
    assert outcome(memory) == ("stopped", None, "stopped_by_user")


def test_a_timeout_around_the_run_is_a_cancellation_inside(memory: MemorySink, make_recorder: Any) -> None:
    """Without a limit that it knows, the run cannot tell a timeout from a cancellation."""

    async def work() -> None:
        await timed_out(ran(agent_of([forever]), make_recorder(memory)), memory)

    asyncio.run(work())
    assert outcome(memory) == ("stopped", None, "stopped_by_host")


def test_a_stream_that_its_consumer_leaves_is_no_success(memory: MemorySink, make_recorder: Any) -> None:
    """The consumer breaks off after the first words."""

    async def words(*_: Any) -> Any:
        for word in ("one ", "two ", "three "):
            yield word

    async def work() -> None:
        agent = pydantic_ai.Agent(function.FunctionModel(stream_function=words), name="weatherbot")
        async with agent.iter("how is it?", capabilities=[turnout_capability(make_recorder(memory))]) as run:
            async for node in run:
                if pydantic_ai.Agent.is_model_request_node(node):
                    async with node.stream(run.ctx) as stream:
                        async for _ in stream:
                            break
                    break

    asyncio.run(work())
    assert outcome(memory)[0] in ("stopped", "interrupted", "unknown")


def test_a_veto_that_stands_is_no_success(memory: MemorySink, make_recorder: Any) -> None:
    """An output validator that never lets the answer pass."""
    agent = agent_of([text("a"), text("b")], retries={"output": 1})

    def never(_: str) -> str:
        raise pydantic_ai.ModelRetry("not good enough")

    agent.output_validator(never)

    with pytest.raises(Exception, match="output retries"):
        asyncio.run(ran(agent, make_recorder(memory)))
    (facts,) = memory.turns
    assert [check.verdict for check in facts.finish_checks] == ["veto", "veto"]
    assert outcome(memory)[0] in ("error", "unknown")


def test_a_veto_that_is_lifted_leaves_the_answer(memory: MemorySink, make_recorder: Any) -> None:
    """The model does better at the second try."""
    agent = agent_of([text("a"), text("b")])

    def second(output: str) -> str:
        if output == "a":
            raise pydantic_ai.ModelRetry("not good enough")
        return output

    agent.output_validator(second)
    result = asyncio.run(ran(agent, make_recorder(memory)))
    assert result.output == "b"
    assert [check.verdict for check in memory.turns[0].finish_checks] == ["veto", "allow"]
    assert outcome(memory)[0] == "completed"


def test_what_is_recorded_of_a_run(memory: MemorySink, make_recorder: Any) -> None:
    """Models, reasons, usage and calls, and nothing of the content."""
    asyncio.run(ran(agent_of([call(raw="tool_calls"), text("rain", raw="stop")]), make_recorder(memory)))
    (facts,) = memory.turns
    first, second = facts.steps
    assert (facts.agent, facts.source) == ("weatherbot", "pydantic-ai")
    assert facts.limits is not None
    assert facts.limits.steps == 50
    assert (first.provider, first.finish_reason, first.raw_finish_reason) == ("openai", "tool_call", "tool_calls")
    assert first.usage is not None
    assert (first.usage.input_tokens, first.usage.output_tokens, first.usage.cache_read_tokens) == (120, 30, 20)
    assert [(tool.id, tool.name, tool.status) for tool in first.tool_calls] == [("call-weather", "weather", "ok")]
    assert second.output is not None
    assert second.output.text_chars == 4
    assert "Paris" not in repr(facts)


def test_a_final_tool_call_is_the_answer(memory: MemorySink, make_recorder: Any) -> None:
    """A structured output comes as a call, whose settling ends the run."""

    def answer(_: Any, info: Any) -> Any:
        return call(info.output_tools[0].name, {"city": "Paris"})

    agent = pydantic_ai.Agent(function.FunctionModel(answer, model_name="fake-1"), output_type=City)
    asyncio.run(ran(agent, make_recorder(memory)))
    (tool,) = memory.turns[0].steps[0].tool_calls
    assert (tool.final, tool.status) == (True, "ok")
    assert outcome(memory)[0] == "completed"


def test_every_agent_is_recorded_once_after_instrument(memory: MemorySink, make_recorder: Any) -> None:
    """One call for the process; an agent in a tool is a turn of its own under its parent's."""
    recorder = make_recorder(memory)
    helper = agent_of([text("rain")])
    lead = agent_of([call("ask", {}), text("it rains")])

    async def ask() -> str:
        assert current_turn() is not None
        return str((await helper.run("how is it?")).output)

    lead.tool_plain(ask)
    instrument(recorder)
    instrument(recorder)
    try:
        assert lead.run_sync("how is it?").output == "it rains"
        asyncio.run(lead_with_ours(recorder))
    finally:
        uninstrument()
    child, parent, third = memory.turns
    assert child.parent_turn_id == parent.turn_id
    assert parent.children_expected == (child.turn_id,)
    assert third.parent_turn_id is None
    assert len(memory.ended) == 3


async def lead_with_ours(recorder: Recorder) -> None:
    await ran(agent_of([text("sunny")]), recorder)


def broken(losses: Losses) -> Iterator[Any]:
    for recorder in broken_recorders(losses):
        yield turnout_capability(recorder)


def test_a_bug_of_ours_changes_nothing(losses: Losses) -> None:
    """With every hook broken the run gives its result and raises its exceptions as ever, and the bugs are counted."""
    for capability in broken(losses):
        agent = agent_of([call(), call("weather", '{"city": "Pa'), text("rain")])
        assert asyncio.run(agent.run("how is it?", capabilities=[capability])).output == "rain"
        with pytest.raises(KeyError) as raised:
            asyncio.run(agent_of([call(args='{"city": "Atlantis"}')]).run("?", capabilities=[capability]))
        assert raised.value.args == ("Atlantis",)
        with pytest.raises(TimeoutError):
            asyncio.run(asyncio.wait_for(agent_of([forever]).run("?", capabilities=[capability]), 0.05))
    assert sum(losses.totals().values()) > 0


COVERAGE: Coverage = {
    "normal": ("normal",),
    "tool calls": ("tool calls",),
    "step limit as an exception": ("step limit", "tool call limit", "token limit"),
    "step limit as a silent result": (Never("Every limit raises UsageLimitExceeded."),),
    "step limit of a middleware": (
        Never("A capability that ends a run does so by an exception or a result of its own."),
    ),
    "length with text": ("length with text",),
    "length empty": ("length empty",),
    "length inside a tool call": ("length in a tool call", "length in a tool call, no retry"),
    "refusal with text": ("refusal with text",),
    "refusal empty": ("refusal empty",),
    "content filter": ("content filter with text", "content filter empty"),
    "context overflow": ("context overflow", "context overflow as a finish"),
    "tool error": ("tool error",),
    "model error at step 2": ("model error at step 2",),
    "user stop": (test_a_persons_stop_is_told_from_the_hosts,),
    "timeout": ("timeout", test_a_timeout_around_the_run_is_a_cancellation_inside),
    "cancelled task": (test_a_cancelled_task_is_stopped_by_the_host,),
    "stream abandoned by its consumer": (test_a_stream_that_its_consumer_leaves_is_no_success,),
    "finish-hook veto": (test_a_veto_that_stands_is_no_success, test_a_veto_that_is_lifted_leaves_the_answer),
}
