"""google-adk as it ends its runs, with a model that answers from a script."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from broken_recorder import broken_recorders
from cutting import cancelled, timed_out
from listed_endings import Coverage, Never
from turnout.instrumentation import Losses, Recorder
from turnout.instrumentation.integrations.google_adk import instrument, uninstrument
from turnout.instrumentation.testing import MemorySink

adk: Any = pytest.importorskip("google.adk")
agents: Any = pytest.importorskip("google.adk.agents")
llm: Any = pytest.importorskip("google.adk.models")
runners: Any = pytest.importorskip("google.adk.runners")
run_config: Any = pytest.importorskip("google.adk.agents.run_config")
long_running: Any = pytest.importorskip("google.adk.tools.long_running_tool")
genai: Any = pytest.importorskip("google.genai.types")

Ending = tuple[str, str | None, str | None]
WAIT = object()


def said(*parts: Any, finish: str | None = "STOP", **more: Any) -> Any:
    counts = genai.GenerateContentResponseUsageMetadata(
        prompt_token_count=120, candidates_token_count=30, thoughts_token_count=5, cached_content_token_count=20
    )
    return llm.LlmResponse(
        content=genai.Content(role="model", parts=list(parts)) if parts else None,
        finish_reason=genai.FinishReason[finish] if finish else None,
        usage_metadata=counts,
        **more,
    )


def text(words: str, finish: str = "STOP") -> Any:
    return said(genai.Part(text=words), finish=finish)


def call(name: str = "weather", finish: str = "STOP", **args: Any) -> Any:
    function = genai.FunctionCall(name=name, id=f"call-{name}", args=args or {"city": "Paris"})
    return said(genai.Part(function_call=function), finish=finish)


def model_of(answers: list[Any]) -> Any:
    """A model of ADK's own interface; an answer may be an exception, or `WAIT`."""
    script = iter(answers)

    async def generate(_: Any, request: Any, stream: bool = False) -> AsyncIterator[Any]:
        del request, stream
        answer = next(script)
        if answer is WAIT:
            await asyncio.sleep(3600)
        if isinstance(answer, BaseException):
            raise answer
        yield answer

    return type("Scripted", (llm.BaseLlm,), {"generate_content_async": generate})(model="gemini-fake")


def weather(city: str) -> dict[str, str]:
    """Tell the weather."""
    if city == "Atlantis":
        raise KeyError(city)
    return {"weather": f"rain in {city}"}


async def slow() -> dict[str, str]:
    """Never answer."""
    await asyncio.sleep(3600)
    return {}


def approve(city: str) -> None:
    """Ask someone, and wait."""
    del city


class UnavailableError(Exception):
    """A provider that is down, as HTTP clients say it."""

    status_code = 503


async def events_of(answers: list[Any], *, made: dict[str, Any] | None = None, **options: Any) -> AsyncIterator[Any]:
    tools = [weather, slow, long_running.LongRunningFunctionTool(approve)]
    agent = agents.LlmAgent(name="weatherbot", model=model_of(answers), tools=tools, **(made or {}))
    runner = runners.InMemoryRunner(agent=agent, app_name="app")
    session = await runner.session_service.create_session(app_name="app", user_id="ada", session_id="conversation-1")
    message = genai.Content(role="user", parts=[genai.Part(text="how is it?")])
    stream = runner.run_async(user_id="ada", session_id=session.id, new_message=message, **options)
    try:
        async for event in stream:
            yield event
    finally:
        await stream.aclose()


async def ran(answers: list[Any], **options: Any) -> list[Any]:
    return [event async for event in events_of(answers, **options)]


@pytest.fixture
def listening(memory: MemorySink, make_recorder: Any) -> Iterator[Recorder]:
    """ADK, instrumented."""
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


def at_most(calls: int) -> dict[str, Any]:
    return {"run_config": run_config.RunConfig(max_llm_calls=calls)}


ENDINGS: dict[str, tuple[list[Any], dict[str, Any], Ending]] = {
    "normal": ([text("sunny")], {}, ("completed", None, None)),
    "tool calls": ([call(), text("rain")], {}, ("completed", None, None)),
    "step limit": ([call(), call()], at_most(2), ("budget", "steps", None)),
    "length with text": ([text("and then", "MAX_TOKENS")], {}, ("length", None, None)),
    "length empty": ([said(finish="MAX_TOKENS", error_code="MAX_TOKENS")], {}, ("length", None, None)),
    "length in a tool call": ([call(finish="MAX_TOKENS"), text("rain")], {}, ("completed", None, None)),
    "safety with text": ([text("so", "SAFETY")], {}, ("refused", None, "content_filter")),
    "safety empty": ([said(finish="SAFETY", error_code="SAFETY")], {}, ("refused", None, "content_filter")),
    "prompt blocked": (
        [said(finish=None, error_code="PROHIBITED_CONTENT")],
        {},
        ("refused", None, "content_filter"),
    ),
    "malformed call": (
        [said(finish="MALFORMED_FUNCTION_CALL", error_code="MALFORMED_FUNCTION_CALL")],
        {},
        ("error", None, "malformed_tool_call"),
    ),
    "context overflow": (
        [ValueError("The input token count (2000000) exceeds the maximum number of tokens allowed (1048575).")],
        {},
        ("context_overflow", None, "context_rejected"),
    ),
    "tool error": ([call(city="Atlantis")], {}, ("error", None, "tool_error")),
    "model error at step 2": ([call(), UnavailableError()], {}, ("error", None, "provider_unavailable")),
    "waiting for someone": ([call("approve"), text("asked")], {}, ("yielded", None, None)),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_an_ending(name: str, memory: MemorySink, listening: Recorder) -> None:
    """The verdict is the contract's, also where ADK ends without an exception."""
    del listening
    answers, options, expected = ENDINGS[name]
    with suppress(Exception):
        asyncio.run(ran(answers, **options))
    got = outcome(memory)
    assert got[:2] == expected[:2]
    if expected[2] is not None:
        assert got[2] == expected[2]


def test_what_is_recorded_of_a_run(memory: MemorySink, listening: Recorder) -> None:
    """Reasons, usage and calls, and nothing of the content."""
    del listening
    asyncio.run(ran([call(), text("rain")]))
    (facts,) = memory.turns
    first, second = facts.steps
    assert (facts.agent, facts.source, facts.conversation_id) == ("weatherbot", "google-adk", "conversation-1")
    assert facts.limits is not None
    assert facts.limits.steps == 500
    assert (first.model, first.provider, first.raw_finish_reason) == ("gemini-fake", "gcp.gemini", "STOP")
    assert first.usage is not None
    assert (first.usage.input_tokens, first.usage.output_tokens, first.usage.reasoning_tokens) == (120, 30, 5)
    assert first.reasoning_in_output is False
    assert [(tool.id, tool.name, tool.status) for tool in first.tool_calls] == [("call-weather", "weather", "ok")]
    assert second.output is not None
    assert second.output.text_chars == 4
    assert "Paris" not in repr(facts)


@pytest.mark.parametrize("answers", [[WAIT], [call("slow", x=1)]], ids=["in a request", "in a tool"])
def test_a_cancelled_task_is_stopped_by_the_host(answers: list[Any], memory: MemorySink, listening: Recorder) -> None:
    """No callback of ADK's would tell."""
    del listening
    asyncio.run(cancelled(ran(answers), memory))
    assert outcome(memory) == ("stopped", None, "stopped_by_host")


def test_a_persons_stop_is_told_from_the_hosts(memory: MemorySink, listening: Recorder) -> None:
    """The application says who stopped, and then cancels."""
    stop = ran([WAIT])
    asyncio.run(cancelled(stop, memory, before=lambda: listening.stop(conversation_id="conversation-1")))
    assert outcome(memory) == ("stopped", None, "stopped_by_user")


def test_a_timeout_around_the_run_is_a_cancellation_inside(memory: MemorySink, listening: Recorder) -> None:
    """The run cannot tell a timeout from a cancellation."""
    del listening

    async def work() -> None:
        await timed_out(ran([WAIT]), memory)

    asyncio.run(work())
    assert outcome(memory) == ("stopped", None, "stopped_by_host")


def sending_back(times: int) -> Callable[..., Any]:
    """A callback that puts a call in the place of the model's answer, so that the model has to go on."""
    left = [times]

    def after_model(callback_context: Any, llm_response: Any) -> Any:
        del callback_context
        if llm_response.get_function_calls() or not left[0]:
            return None
        left[0] -= 1
        return call()

    return after_model


def test_a_callback_that_puts_a_call_in_the_answers_place_vetoes(memory: MemorySink, listening: Recorder) -> None:
    """ADK has no finish hook; what its callbacks can do to the same end is seen by the call that the model never made."""
    del listening
    asyncio.run(ran([text("a"), text("b")], made={"after_model_callback": sending_back(1)}))
    checks = [(check.step, check.verdict, check.by) for check in memory.turns[0].finish_checks]
    assert checks == [(1, "veto", "after_model_callback"), (2, "allow", "after_model_callback")]
    assert outcome(memory)[0] == "completed"


def test_a_request_that_the_limit_kept_back_is_no_step(memory: MemorySink, listening: Recorder) -> None:
    """ADK tells of the request before it looks at the limit."""
    del listening
    with suppress(Exception):
        asyncio.run(ran([call(), call()], **at_most(2)))
    assert [step.raw_finish_reason for step in memory.turns[0].steps] == ["STOP", "STOP"]
    assert memory.verdicts[0].flags == ()


def test_a_veto_that_stands_is_no_success(memory: MemorySink, listening: Recorder) -> None:
    """The callback never lets an answer pass, until the limit on calls is spent."""
    del listening
    with suppress(Exception):
        asyncio.run(ran([text("a"), text("b")], made={"after_model_callback": sending_back(9)}, **at_most(2)))
    assert [check.verdict for check in memory.turns[0].finish_checks] == ["veto", "veto"]
    assert outcome(memory) == ("budget", "steps", "finish_veto")


def test_a_stream_that_its_consumer_leaves_is_no_success(memory: MemorySink, listening: Recorder) -> None:
    """ADK's own callback says complete."""
    del listening

    async def work() -> None:
        events = events_of([call(), text("rain")])
        async for _ in events:
            break
        await events.aclose()  # type: ignore[attr-defined]

    asyncio.run(work())
    assert outcome(memory)[0] in ("stopped", "interrupted", "unknown")


def test_runs_side_by_side_keep_apart(memory: MemorySink, listening: Recorder) -> None:
    """Each has the plugin's callbacks of its own invocation."""
    del listening

    async def work() -> None:
        await asyncio.gather(*[ran([call(), text("rain")]) for _ in range(10)])

    asyncio.run(work())
    assert [len(turn.steps) for turn in memory.turns] == [2] * 10
    assert {verdict.outcome.value for verdict in memory.verdicts} == {"completed"}


def test_a_bug_of_ours_changes_nothing(losses: Losses) -> None:
    """With every callback broken the run gives its events and raises its exceptions as ever, and the bugs are counted."""
    for recorder in broken_recorders(losses):
        instrument(recorder)
        try:
            events = asyncio.run(ran([call(), text("rain")]))
            assert events[-1].content.parts[0].text == "rain"
            with pytest.raises(KeyError):
                asyncio.run(ran([call(city="Atlantis")]))
        finally:
            uninstrument()
    assert sum(losses.totals().values()) > 0


COVERAGE: Coverage = {
    "normal": ("normal",),
    "tool calls": ("tool calls",),
    "step limit as an exception": ("step limit",),
    "step limit as a silent result": (Never("The limit on model calls always raises."),),
    "step limit of a middleware": (Never("No plugin of ADK's own keeps a limit."),),
    "length with text": ("length with text",),
    "length empty": ("length empty",),
    "length inside a tool call": ("length in a tool call", "malformed call"),
    "refusal with text": ("safety with text",),
    "refusal empty": ("safety empty",),
    "content filter": ("prompt blocked", "safety with text", "safety empty"),
    "context overflow": ("context overflow",),
    "tool error": ("tool error",),
    "model error at step 2": ("model error at step 2",),
    "user stop": (test_a_persons_stop_is_told_from_the_hosts,),
    "timeout": (test_a_timeout_around_the_run_is_a_cancellation_inside,),
    "cancelled task": (test_a_cancelled_task_is_stopped_by_the_host,),
    "stream abandoned by its consumer": (test_a_stream_that_its_consumer_leaves_is_no_success,),
    "finish-hook veto": (
        test_a_callback_that_puts_a_call_in_the_answers_place_vetoes,
        test_a_veto_that_stands_is_no_success,
    ),
}
