"""strands-agents as it ends its invocations, with a model that streams from a script."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import pytest

from broken_recorder import broken_recorders
from cutting import cancelled, timed_out
from listed_endings import Coverage, Never
from turnout.instrumentation import Losses, Recorder
from turnout.instrumentation.integrations.strands import instrument, uninstrument
from turnout.instrumentation.testing import MemorySink

strands: Any = pytest.importorskip("strands")
models: Any = pytest.importorskip("strands.models")
exceptions: Any = pytest.importorskip("strands.types.exceptions")

Ending = tuple[str, str | None, str | None]
WAIT = object()
USAGE = {"inputTokens": 120, "outputTokens": 30, "totalTokens": 150, "cacheReadInputTokens": 20}


def text(words: str, stop: str = "end_turn") -> list[dict[str, Any]]:
    block: list[dict[str, Any]] = [
        {"contentBlockStart": {"start": {}}},
        {"contentBlockDelta": {"delta": {"text": words}}},
        {"contentBlockStop": {}},
    ]
    return [{"messageStart": {"role": "assistant"}}, *(block if words else []), *end(stop)]


def call(name: str = "weather", stop: str = "tool_use", arguments: str = '{"city": "Paris"}') -> list[dict[str, Any]]:
    start = {"start": {"toolUse": {"name": name, "toolUseId": f"call-{name}"}}}
    delta = {"delta": {"toolUse": {"input": arguments}}}
    block: list[dict[str, Any]] = [{"contentBlockStart": start}, {"contentBlockDelta": delta}, {"contentBlockStop": {}}]
    return [{"messageStart": {"role": "assistant"}}, *block, *end(stop)]


def end(stop: str) -> list[dict[str, Any]]:
    return [{"messageStop": {"stopReason": stop}}, {"metadata": {"usage": USAGE, "metrics": {"latencyMs": 1}}}]


def model_of(answers: list[Any]) -> Any:
    """A model of strands' own interface; an answer may be an exception, or `WAIT`."""
    script = iter(answers)

    async def stream(*_: Any, **__: Any) -> AsyncIterator[Any]:
        answer = next(script)
        if answer is WAIT:
            await asyncio.sleep(3600)
        if isinstance(answer, BaseException):
            raise answer
        for event in answer:
            yield event

    def config(_: Any) -> dict[str, Any]:
        return {"model_id": "fake-1"}

    def nothing(*_: Any, **__: Any) -> None:
        pass

    methods = {"stream": stream, "get_config": config, "update_config": nothing, "structured_output": nothing}
    return type("Scripted", (models.Model,), methods)()


def weather(city: str) -> str:
    """Tell the weather.

    Args:
        city: where.
    """
    if city == "Atlantis":
        raise KeyError(city)
    return f"rain in {city}"


async def slow() -> str:
    """Never answer."""
    await asyncio.sleep(3600)
    return "never"


def agent_of(answers: list[Any], **options: Any) -> Any:
    given = {"retry_strategy": None, **options}
    tools = [strands.tool(weather), strands.tool(slow)]
    return strands.Agent(model=model_of(answers), tools=tools, name="weatherbot", callback_handler=None, **given)


@pytest.fixture
def listening(memory: MemorySink, make_recorder: Any) -> Iterator[Recorder]:
    """Strands, instrumented."""
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


class UnavailableError(Exception):
    """A provider that is down, as HTTP clients say it."""

    status_code = 503


ENDINGS: dict[str, tuple[list[Any], dict[str, Any], Ending]] = {
    "normal": ([text("sunny")], {}, ("completed", None, None)),
    "tool calls": ([call(), text("rain")], {}, ("completed", None, None)),
    "step limit": ([call(), call()], {"limits": {"turns": 2}}, ("budget", "steps", None)),
    "token limit": ([call(), call()], {"limits": {"total_tokens": 100}}, ("budget", "tokens", None)),
    "length with text": ([text("and then", "max_tokens")], {}, ("length", None, None)),
    "length empty": ([text("", "max_tokens")], {}, ("length", None, None)),
    "length in a tool call": ([call(stop="max_tokens", arguments='{"city": "Pa')], {}, ("length", None, None)),
    "content filter with text": ([text("so", "content_filtered")], {}, ("refused", None, "content_filter")),
    "content filter empty": ([text("", "content_filtered")], {}, ("refused", None, "content_filter")),
    "refusal with text": ([text("no", "refusal")], {}, ("refused", None, "provider_refusal")),
    "refusal empty": ([text("", "refusal")], {}, ("refused", None, "provider_refusal")),
    "guardrail": ([text("no", "guardrail_intervened")], {}, ("refused", None, "guardrail")),
    "context overflow": (
        [exceptions.ContextWindowOverflowException("prompt is too long")],
        {},
        ("context_overflow", None, "context_rejected"),
    ),
    "tool error": ([call(arguments='{"city": "Atlantis"}'), text("hm")], {}, ("completed", None, None)),
    "model error at step 2": ([call(), UnavailableError()], {}, ("error", None, "provider_unavailable")),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_an_ending(name: str, memory: MemorySink, listening: Recorder) -> None:
    """The verdict is the contract's, by a result or by an exception."""
    del listening
    answers, options, expected = ENDINGS[name]
    made: dict[str, Any] = {}
    if name == "context overflow":
        made["conversation_manager"] = pytest.importorskip("strands.agent").NullConversationManager()
    with suppress(Exception):
        asyncio.run(agent_of(answers, **made).invoke_async("how is it?", **options))
    got = outcome(memory)
    assert got[:2] == expected[:2]
    if expected[2] is not None:
        assert got[2] == expected[2]


def test_what_is_recorded_of_an_invocation(memory: MemorySink, listening: Recorder) -> None:
    """Reasons, usage and calls, and nothing of the content."""
    del listening
    assert str(agent_of([call(), text("rain")])("how is it?")).strip() == "rain"
    (facts,) = memory.turns
    first, second = facts.steps
    assert (facts.agent, facts.source) == ("weatherbot", "strands")
    assert (first.model, first.finish_reason, second.finish_reason) == ("fake-1", "tool_use", "end_turn")
    assert first.usage is not None
    assert (first.usage.input_tokens, first.usage.output_tokens, first.usage.cache_read_tokens) == (120, 30, 20)
    assert [(tool.id, tool.name, tool.status) for tool in first.tool_calls] == [("call-weather", "weather", "ok")]
    assert second.output is not None
    assert second.output.text_chars == 4
    assert "Paris" not in repr(facts)


def test_a_tools_error_is_the_calls(memory: MemorySink, listening: Recorder) -> None:
    """The model is told of it, and goes on."""
    del listening
    asyncio.run(agent_of([call(arguments='{"city": "Atlantis"}'), text("hm")]).invoke_async("?"))
    assert memory.turns[0].steps[0].tool_calls[0].status == "error"


def test_a_retry_is_no_step(memory: MemorySink, listening: Recorder) -> None:
    """A throttled request is made again."""
    del listening
    strategy = strands.ModelRetryStrategy(max_attempts=2, initial_delay=0.01)
    answers = [exceptions.ModelThrottledException("slow down"), text("sunny")]
    asyncio.run(agent_of(answers, retry_strategy=strategy).invoke_async("?"))
    (step,) = memory.turns[0].steps
    assert (step.attempts, [attempt.reason for attempt in step.attempt_ends]) == (2, ["ModelThrottledException"])
    assert outcome(memory)[0] == "completed"


def test_an_agent_that_is_asked_again_has_another_turn(memory: MemorySink, listening: Recorder) -> None:
    """Each invocation is a turn of its own."""
    del listening
    agent = agent_of([text("sunny"), text("rain")])
    agent("how is it?")
    agent("and now?")
    assert [len(turn.steps) for turn in memory.turns] == [1, 1]


@pytest.mark.parametrize("answers", [[WAIT], [call("slow", arguments="{}")]], ids=["in a request", "in a tool"])
def test_a_cancelled_task_is_stopped_by_the_host(answers: list[Any], memory: MemorySink, listening: Recorder) -> None:
    """Wherever it was cut, nobody calls it a success."""
    del listening

    async def work() -> None:
        await cancelled(agent_of(answers).invoke_async("?"), memory)

    asyncio.run(work())
    assert outcome(memory) == ("stopped", None, "stopped_by_host")


def test_a_persons_stop_is_told_from_the_hosts(memory: MemorySink, listening: Recorder) -> None:
    """The application says who stopped, and then cancels."""

    async def work() -> None:
        run = agent_of([WAIT]).invoke_async("?")
        await cancelled(run, memory, before=lambda: listening.stop(turn_id=memory.started[0].turn_id))

    asyncio.run(work())
    assert outcome(memory) == ("stopped", None, "stopped_by_user")


def test_a_timeout_around_the_run_is_a_cancellation_inside(memory: MemorySink, listening: Recorder) -> None:
    """The invocation cannot tell a timeout from a cancellation."""
    del listening

    async def work() -> None:
        await timed_out(agent_of([WAIT]).invoke_async("?"), memory)

    asyncio.run(work())
    assert outcome(memory) == ("stopped", None, "stopped_by_host")


def sending_back(agent: Any, times: int) -> Any:
    """The agent, with a hook that asks for more after its first ends."""
    left = [times]

    def after(event: Any) -> None:
        if left[0]:
            left[0] -= 1
            event.resume = "better"

    agent.hooks.add_callback(strands.hooks.AfterInvocationEvent, after)
    return agent


def test_a_hook_that_sends_the_agent_back_vetoes(memory: MemorySink, listening: Recorder) -> None:
    """It is one invocation to whoever called, and the answer that the hook then lets pass is its end."""
    del listening
    agent = sending_back(agent_of([text("a"), text("b")]), 1)
    asyncio.run(agent.invoke_async("?"))
    checks = [(check.step, check.verdict, check.by) for check in memory.turns[0].finish_checks]
    assert checks == [(1, "veto", "after_invocation"), (2, "allow", "after_invocation")]
    assert outcome(memory)[0] == "completed"


def test_a_veto_after_which_the_model_fails_is_no_success(memory: MemorySink, listening: Recorder) -> None:
    """The answer that was sent back is not the end."""
    del listening
    with suppress(Exception):
        asyncio.run(sending_back(agent_of([text("a"), UnavailableError()]), 9).invoke_async("?"))
    assert [check.verdict for check in memory.turns[0].finish_checks] == ["veto"]
    assert outcome(memory)[0] == "error"


def test_a_cancelled_agent_is_stopped(memory: MemorySink, listening: Recorder) -> None:
    """Strands' own way to cancel ends in a result."""
    del listening

    async def work() -> None:
        agent = agent_of([call(), text("rain")])
        async for event in agent.stream_async("?"):
            if "message" in event:
                agent.cancel()

    asyncio.run(work())
    assert outcome(memory)[0] == "stopped"


def test_a_stream_that_its_consumer_leaves_is_no_success(memory: MemorySink, listening: Recorder) -> None:
    """The consumer breaks off while the model still speaks."""
    del listening

    async def work() -> None:
        stream = agent_of([call(), text("rain")]).stream_async("?")
        async for event in stream:
            if "event" in event:
                break
        await stream.aclose()

    asyncio.run(work())
    assert outcome(memory)[0] in ("stopped", "interrupted", "unknown")


def test_an_agent_that_cannot_be_remembered_works_as_ever(losses: Losses, listening: Recorder) -> None:
    """An application's own class may compare by value, and then has no hash."""
    del listening

    def same(self: Any, other: object) -> bool:
        return type(other) is type(self)

    kind = type("Compared", (strands.Agent,), {"__eq__": same, "__hash__": None})
    agent = kind(model=model_of([text("sunny")]), name="weatherbot", callback_handler=None, retry_strategy=None)
    assert str(asyncio.run(agent.invoke_async("?"))).strip() == "sunny"
    assert sum(losses.totals().values()) > 0


def test_a_bug_of_ours_changes_nothing(losses: Losses) -> None:
    """With every hook broken the invocation gives its result and raises its exceptions as ever, and the bugs are counted."""
    for recorder in broken_recorders(losses):
        instrument(recorder)
        try:
            result = asyncio.run(agent_of([call(), text("rain")]).invoke_async("how is it?"))
            assert result.stop_reason == "end_turn"
            with pytest.raises(exceptions.MaxTokensReachedException):
                asyncio.run(agent_of([text("and", "max_tokens")]).invoke_async("?"))
        finally:
            uninstrument()
    assert sum(losses.totals().values()) > 0


COVERAGE: Coverage = {
    "normal": ("normal",),
    "tool calls": ("tool calls",),
    "step limit as an exception": (Never("Every limit ends in a result that names it."),),
    "step limit as a silent result": ("step limit", "token limit"),
    "step limit of a middleware": (Never("No hook provider of strands' own keeps a limit."),),
    "length with text": ("length with text",),
    "length empty": ("length empty",),
    "length inside a tool call": ("length in a tool call",),
    "refusal with text": ("refusal with text", "guardrail"),
    "refusal empty": ("refusal empty",),
    "content filter": ("content filter with text", "content filter empty"),
    "context overflow": ("context overflow",),
    "tool error": ("tool error", test_a_tools_error_is_the_calls),
    "model error at step 2": ("model error at step 2",),
    "user stop": (test_a_persons_stop_is_told_from_the_hosts, test_a_cancelled_agent_is_stopped),
    "timeout": (test_a_timeout_around_the_run_is_a_cancellation_inside,),
    "cancelled task": (test_a_cancelled_task_is_stopped_by_the_host,),
    "stream abandoned by its consumer": (test_a_stream_that_its_consumer_leaves_is_no_success,),
    "finish-hook veto": (
        test_a_hook_that_sends_the_agent_back_vetoes,
        test_a_veto_after_which_the_model_fails_is_no_success,
    ),
}
