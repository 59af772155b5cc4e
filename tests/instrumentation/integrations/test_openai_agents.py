"""openai-agents as it ends its runs, with the real OpenAI models over a transport that answers from a script."""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from broken_recorder import broken_recorders
from cutting import cancelled, timed_out
from listed_endings import Coverage, Never
from turnout.instrumentation import Losses, Recorder
from turnout.instrumentation.integrations.openai_agents import instrument, uninstrument
from turnout.instrumentation.testing import MemorySink

agents: Any = pytest.importorskip("agents")
openai: Any = pytest.importorskip("openai")
httpx: Any = pytest.importorskip("httpx2")
testing: Any = pytest.importorskip("agents.testing")

USAGE = {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150}
RESPONSE_USAGE = {
    "input_tokens": 120,
    "output_tokens": 30,
    "total_tokens": 150,
    "input_tokens_details": {"cached_tokens": 20},
    "output_tokens_details": {"reasoning_tokens": 5},
}


def chat(content: str | None, finish: str = "stop", *, refusal: str | None = None, calls: Any = None) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, "refusal": refusal, "tool_calls": calls}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-fake-2026",
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
        "usage": USAGE,
    }


def calling(name: str = "weather", arguments: str = '{"city": "Paris"}', finish: str = "tool_calls") -> dict[str, Any]:
    call = {"id": f"call-{name}", "type": "function", "function": {"name": name, "arguments": arguments}}
    return chat(None, finish, calls=[call])


def response(status: str = "completed", *, content: Any = None, **more: Any) -> dict[str, Any]:
    output = [{"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content or []}]
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "gpt-fake",
        "status": status,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": RESPONSE_USAGE,
        **more,
    }


def failing(status: int, code: str) -> tuple[int, dict[str, Any]]:
    return status, {"error": {"message": "no", "code": code, "type": "invalid_request_error"}}


WAIT = object()


def client_of(answers: list[Any]) -> Any:
    """A client whose transport gives one answer after the other; `WAIT` never answers."""
    script = iter(answers)

    async def handle(_: Any) -> Any:
        answer = next(script)
        if answer is WAIT:
            await asyncio.sleep(3600)
        if isinstance(answer, tuple):
            return httpx.Response(answer[0], json=answer[1])
        if isinstance(answer, bytes):
            return httpx.Response(200, content=answer, headers={"content-type": "text/event-stream"})
        return httpx.Response(200, json=answer)

    transport = httpx.AsyncClient(transport=httpx.MockTransport(handle))
    return openai.AsyncOpenAI(api_key="none", base_url="http://model.test/v1", http_client=transport, max_retries=0)


def weather(city: str) -> str:
    """Tell the weather."""
    if city == "Atlantis":
        raise KeyError(city)
    return f"rain in {city}"


async def slow() -> str:
    """Never answer."""
    await asyncio.sleep(3600)
    return "never"


def agent_of(answers: list[Any], *, responses: bool = False, **options: Any) -> Any:
    kind = agents.OpenAIResponsesModel if responses else agents.OpenAIChatCompletionsModel
    tools = options.pop("tools", None) or [agents.function_tool(weather), agents.function_tool(slow)]
    model = kind(model="gpt-fake", openai_client=client_of(answers))
    return agents.Agent(name="weatherbot", model=model, tools=tools, **options)


@pytest.fixture
def listening(memory: MemorySink, make_recorder: Any) -> Iterator[Recorder]:
    """The SDK, instrumented."""
    recorder = make_recorder(memory, clock=time.time_ns)
    instrument(recorder)
    yield recorder
    uninstrument()


def outcome(memory: MemorySink) -> tuple[str, str | None, str | None]:
    """Outcome, budget kind and cause of the one turn, which ended once."""
    assert len(memory.started) == len(memory.ended) == 1
    (verdict,) = memory.verdicts
    return (
        verdict.outcome.value,
        verdict.budget_kind and verdict.budget_kind.value,
        verdict.cause and verdict.cause.value,
    )


def said(*parts: Any) -> list[Any]:
    return [{"type": "output_text", "text": words, "annotations": []} for words in parts]


REFUSED = [{"type": "refusal", "refusal": "no"}]


def enough(_: Any) -> dict[str, str]:
    """What the application makes of a spent limit."""
    return {"final_output": "enough"}


FATAL = [agents.function_tool(weather, failure_error_function=None)]
ENDINGS: dict[str, tuple[list[Any], dict[str, Any], dict[str, Any], tuple[str, str | None, str | None]]] = {
    "normal": ([chat("sunny")], {}, {}, ("completed", None, None)),
    "tool calls": ([calling(), chat("rain")], {}, {}, ("completed", None, None)),
    "step limit": ([calling(), calling()], {}, {"max_turns": 2}, ("budget", "steps", None)),
    "step limit, handled": (
        [calling(), calling()],
        {},
        {"max_turns": 2, "error_handlers": {"max_turns": enough}},
        ("budget", "steps", None),
    ),
    "length with text": ([chat("and then", "length")], {}, {}, ("length", None, None)),
    "length empty": ([chat(None, "length")], {}, {}, ("length", None, None)),
    "length in a tool call": (
        [calling(arguments='{"city": "Pa', finish="length"), chat("rain")],
        {},
        {},
        ("completed", None, None),
    ),
    "length in a tool call that nothing repairs": (
        [calling(arguments='{"city": "Pa', finish="length")],
        {},
        {"max_turns": 1},
        ("length", None, None),
    ),
    "refusal with text": ([chat("well", refusal="no")], {}, {}, ("refused", None, "provider_refusal")),
    "refusal alone": ([chat(None, refusal="no")], {}, {}, ("refused", None, "provider_refusal")),
    "refusal empty": ([chat(None, refusal="")], {}, {}, ("refused", None, "provider_refusal")),
    "a server that always sends a refusal": ([chat("sunny", refusal="")], {}, {}, ("completed", None, None)),
    "content filter empty": ([chat(None, "content_filter")], {}, {}, ("refused", None, "content_filter")),
    "content filter with text": ([chat("so", "content_filter")], {}, {}, ("refused", None, "content_filter")),
    "context overflow": (
        [failing(400, "context_length_exceeded")],
        {},
        {},
        ("context_overflow", None, "context_rejected"),
    ),
    "tool error": ([calling(arguments='{"city": "Atlantis"}'), chat("hm")], {}, {}, ("completed", None, None)),
    "fatal tool error": (
        [calling(arguments='{"city": "Atlantis"}')],
        {"tools": FATAL},
        {},
        ("error", None, "tool_error"),
    ),
    "model error at step 2": ([calling(), failing(503, "down")], {}, {}, ("error", None, "provider_unavailable")),
    "responses": ([response(content=said("sunny"))], {"responses": True}, {}, ("completed", None, None)),
    "responses cut": (
        [response("incomplete", content=said("and"), incomplete_details={"reason": "max_output_tokens"})],
        {"responses": True},
        {},
        ("length", None, None),
    ),
    "responses filtered": (
        [response("incomplete", incomplete_details={"reason": "content_filter"})],
        {"responses": True},
        {},
        ("refused", None, "content_filter"),
    ),
    "responses refused, empty": (
        [response(content=[{"type": "refusal", "refusal": ""}])],
        {"responses": True},
        {},
        ("refused", None, "provider_refusal"),
    ),
    "responses refused": ([response(content=REFUSED)], {"responses": True}, {}, ("refused", None, "provider_refusal")),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_an_ending(name: str, memory: MemorySink, listening: Recorder) -> None:
    """The verdict is the contract's, also where the SDK says success or drops the reason."""
    del listening
    answers, made, options, expected = ENDINGS[name]
    with suppress(Exception):
        asyncio.run(agents.Runner.run(agent_of(answers, **made), "how is it?", **options))
    got = outcome(memory)
    assert got[:2] == expected[:2]
    if expected[2] is not None:
        assert got[2] == expected[2]


def test_what_is_recorded_of_a_run(memory: MemorySink, listening: Recorder) -> None:
    """Models, the provider's own reasons, usage and calls, and nothing of the content."""
    del listening
    asyncio.run(agents.Runner.run(agent_of([calling(), chat("rain")]), "how is it?", max_turns=7))
    (facts,) = memory.turns
    first, second = facts.steps
    assert (facts.agent, facts.source) == ("weatherbot", "openai-agents")
    assert facts.limits is not None
    assert facts.limits.steps == 7
    assert (first.provider, first.api, first.model) == ("openai", "chat.completions", "gpt-fake")
    assert (first.raw_finish_reason, second.raw_finish_reason) == ("tool_calls", "stop")
    assert first.usage is not None
    assert (first.usage.input_tokens, first.usage.output_tokens) == (120, 30)
    assert [(tool.id, tool.name, tool.status) for tool in first.tool_calls] == [("call-weather", "weather", "ok")]
    assert second.output is not None
    assert second.output.text_chars == 4
    assert "Paris" not in repr(facts)


def test_a_tools_error_that_became_its_output_is_an_error(memory: MemorySink, listening: Recorder) -> None:
    """The SDK tells the model in words; only a span says that it failed."""
    del listening
    asyncio.run(agents.Runner.run(agent_of([calling(arguments='{"city": "Atlantis"}'), chat("hm")]), "?"))
    assert memory.turns[0].steps[0].tool_calls[0].status == "error"


def test_a_run_without_a_loop_is_recorded_once(memory: MemorySink, listening: Recorder) -> None:
    """``run_sync`` goes through ``run``."""
    del listening
    assert agents.Runner.run_sync(agent_of([chat("sunny")]), "how is it?").final_output == "sunny"
    assert outcome(memory)[0] == "completed"


def test_the_applications_hooks_are_called_as_ever(memory: MemorySink, listening: Recorder) -> None:
    """Ours stand beside theirs."""
    del listening
    seen: list[str] = []

    async def ended(*_: Any) -> None:
        seen.append("on_llm_end")

    hooks = type("Theirs", (agents.lifecycle.RunHooksBase,), {"on_llm_end": ended})()
    asyncio.run(agents.Runner.run(agent_of([chat("sunny")]), "?", hooks=hooks))
    assert seen == ["on_llm_end"]
    assert len(memory.ended) == 1


@pytest.mark.parametrize("answers", [[WAIT], [calling("slow", "{}")]], ids=["in a request", "in a tool"])
def test_a_cancelled_task_is_stopped_by_the_host(answers: list[Any], memory: MemorySink, listening: Recorder) -> None:
    """The SDK's own spans all say success."""
    del listening

    async def work() -> None:
        await cancelled(agents.Runner.run(agent_of(answers), "?"), memory)

    asyncio.run(work())
    assert outcome(memory) == ("stopped", None, "stopped_by_host")


def test_a_persons_stop_is_told_from_the_hosts(memory: MemorySink, listening: Recorder) -> None:
    """The application says who stopped, and then cancels."""

    async def work() -> None:
        run = agents.Runner.run(agent_of([WAIT]), "?", run_config=agents.RunConfig(group_id="conversation-1"))
        await cancelled(run, memory, before=lambda: listening.stop(conversation_id="conversation-1"))

    asyncio.run(work())
    assert outcome(memory) == ("stopped", None, "stopped_by_user")


def test_a_timeout_around_the_run_is_a_cancellation_inside(memory: MemorySink, listening: Recorder) -> None:
    """The run cannot tell a timeout from a cancellation."""
    del listening

    async def work() -> None:
        await timed_out(agents.Runner.run(agent_of([WAIT]), "?"), memory)

    asyncio.run(work())
    assert outcome(memory) == ("stopped", None, "stopped_by_host")


def test_a_request_that_times_out_is_an_error(memory: MemorySink, listening: Recorder) -> None:
    """The client's own timeout is told from the turn's."""
    del listening

    async def late(_: Any) -> Any:
        raise httpx.ReadTimeout("too slow")

    transport = httpx.AsyncClient(transport=httpx.MockTransport(late))
    model = agents.OpenAIChatCompletionsModel(
        "gpt-fake", openai.AsyncOpenAI(api_key="none", http_client=transport, max_retries=0)
    )
    with pytest.raises(openai.APITimeoutError):
        asyncio.run(agents.Runner.run(agents.Agent(name="weatherbot", model=model), "?"))
    assert outcome(memory) == ("error", None, "timeout")


def guardrail_of(*, trips: bool) -> Any:
    """An output guardrail: the SDK's finish hook, which can only raise."""

    async def looks(*_: Any) -> Any:
        return agents.GuardrailFunctionOutput(output_info=None, tripwire_triggered=trips)

    return agents.OutputGuardrail(guardrail_function=looks, name="policy")


def test_an_output_guardrail_that_trips_is_a_veto(memory: MemorySink, listening: Recorder) -> None:
    """The answer was there, and the application's check would not let it be the end."""
    del listening
    with pytest.raises(agents.OutputGuardrailTripwireTriggered):
        asyncio.run(agents.Runner.run(agent_of([chat("sunny")], output_guardrails=[guardrail_of(trips=True)]), "?"))
    (facts,) = memory.turns
    assert [(check.step, check.verdict, check.by) for check in facts.finish_checks] == [(1, "veto", "policy")]
    assert outcome(memory) == ("refused", None, "guardrail")


def test_an_output_guardrail_that_passes_is_an_allow(memory: MemorySink, listening: Recorder) -> None:
    """It looked at the answer, and let it be the end."""
    del listening
    guardrails = [guardrail_of(trips=False)]
    asyncio.run(agents.Runner.run(agent_of([calling(), chat("rain")], output_guardrails=guardrails), "?"))
    (facts,) = memory.turns
    assert [(check.step, check.verdict, check.by) for check in facts.finish_checks] == [(2, "allow", "policy")]
    assert outcome(memory)[0] == "completed"


def test_a_guardrail_that_trips_refuses(memory: MemorySink, listening: Recorder) -> None:
    """It is not the provider that refused."""
    del listening

    async def trip(*_: Any) -> Any:
        return agents.GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)

    agent = agent_of([chat("sunny")], input_guardrails=[agents.InputGuardrail(guardrail_function=trip)])
    with suppress(Exception):
        asyncio.run(agents.Runner.run(agent, "?"))
    assert outcome(memory) == ("refused", None, "guardrail")


def streamed(words: list[str], finish: str = "stop") -> bytes:
    """A streamed chat completion."""
    deltas: list[dict[str, Any]] = [{"delta": {"role": "assistant", "content": word}} for word in words]
    deltas.append({"delta": {}, "finish_reason": finish})
    chunks: list[dict[str, Any]] = [
        {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "gpt-fake",
            "choices": [{"index": 0, "finish_reason": None, **delta}],
        }
        for delta in deltas
    ]
    chunks.append({**chunks[0], "choices": [], "usage": USAGE})
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


async def read(result: Any) -> None:
    async for _ in result.stream_events():
        pass


@pytest.mark.parametrize(
    ("finish", "expected"), [("stop", "completed"), ("length", "length"), ("content_filter", "refused")]
)
def test_a_stream_ends_as_it_says(finish: str, expected: str, memory: MemorySink, listening: Recorder) -> None:
    """The reason stands in the last chunk, which the SDK drops."""
    del listening

    async def work() -> None:
        await read(agents.Runner.run_streamed(agent_of([streamed(["and ", "then"], finish)]), "?"))
        await asyncio.sleep(0)

    asyncio.run(work())
    assert outcome(memory)[0] == expected
    assert memory.turns[0].steps[0].output is not None
    assert memory.turns[0].steps[0].output.text_chars == 8


def test_a_stream_that_fails_raises_what_it_raised(memory: MemorySink, listening: Recorder) -> None:
    """The exception arrives at the reader, and ends the turn."""
    del listening

    async def work() -> None:
        with pytest.raises(openai.BadRequestError):
            await read(agents.Runner.run_streamed(agent_of([failing(400, "context_length_exceeded")]), "?"))
        await asyncio.sleep(0)

    asyncio.run(work())
    assert outcome(memory)[0] == "context_overflow"


def streamed_call(name: str, arguments: str) -> bytes:
    """A streamed tool call."""
    call = {"index": 0, "id": f"call-{name}", "type": "function", "function": {"name": name, "arguments": arguments}}
    delta = {"role": "assistant", "tool_calls": [call]}
    chunk = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "gpt-fake",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "delta": delta}],
    }
    return b"data: " + json.dumps(chunk).encode() + b"\n\ndata: [DONE]\n\n"


def test_a_stream_that_is_cancelled_is_stopped(memory: MemorySink, listening: Recorder) -> None:
    """The SDK calls a cancelled run complete."""
    del listening

    async def work() -> None:
        result = agents.Runner.run_streamed(agent_of([streamed_call("slow", "{}")]), "?")
        await asyncio.sleep(0.1)
        result.cancel()
        await read(result)
        await asyncio.sleep(0.1)

    asyncio.run(work())
    assert outcome(memory)[0] == "stopped"


def test_a_stream_that_its_consumer_leaves_is_no_success(memory: MemorySink, listening: Recorder) -> None:
    """The SDK works on in the background; what then ends the process's loop cuts the turn."""
    del listening

    async def work() -> None:
        async for _ in agents.Runner.run_streamed(agent_of([streamed_call("slow", "{}")]), "?").stream_events():
            break
        await asyncio.sleep(0.1)
        assert memory.ended == []

    asyncio.run(work())
    assert outcome(memory) == ("stopped", None, "stopped_by_host")


def test_a_step_limit_in_a_stream(memory: MemorySink, listening: Recorder) -> None:
    """The limit ends the stream by an exception."""
    del listening
    stream = streamed_call("weather", '{"city": "Paris"}')

    async def work() -> None:
        with pytest.raises(agents.MaxTurnsExceeded):
            await read(agents.Runner.run_streamed(agent_of([stream, stream]), "?", max_turns=1))
        await asyncio.sleep(0)

    asyncio.run(work())
    assert outcome(memory)[:2] == ("budget", "steps")


def test_a_streamed_response_that_is_cut(memory: MemorySink, listening: Recorder) -> None:
    """The terminal event has the whole response, before the SDK raises about it."""
    del listening
    cut = response("incomplete", content=said("and"), incomplete_details={"reason": "max_output_tokens"})
    event = {"type": "response.incomplete", "sequence_number": 1, "response": cut}
    stream = b"event: response.incomplete\ndata: " + json.dumps(event).encode() + b"\n\n"

    async def work() -> None:
        with suppress(Exception):
            await read(agents.Runner.run_streamed(agent_of([stream], responses=True), "?"))
        await asyncio.sleep(0)

    asyncio.run(work())
    assert outcome(memory)[0] == "length"


def test_a_model_of_ones_own_has_no_reasons(memory: MemorySink, listening: Recorder) -> None:
    """The SDK's interface has no place for them; its own word stands, and the gap is flagged."""
    del listening
    model = testing.ScriptedModel([[testing.assistant_message("sunny")]])
    asyncio.run(agents.Runner.run(agents.Agent(name="weatherbot", model=model), "?"))
    assert outcome(memory)[0] == "completed"
    assert "finish_reason_missing" in memory.verdicts[0].flags


def test_a_bug_of_ours_changes_nothing(losses: Losses) -> None:
    """With every hook broken the run gives its result and raises its exceptions as ever, and the bugs are counted."""
    for recorder in broken_recorders(losses):
        instrument(recorder)
        try:
            result = asyncio.run(agents.Runner.run(agent_of([calling(), chat("rain")]), "how is it?"))
            assert result.final_output == "rain"
            with pytest.raises(agents.MaxTurnsExceeded):
                asyncio.run(agents.Runner.run(agent_of([calling(), calling()]), "?", max_turns=1))
        finally:
            uninstrument()
    assert sum(losses.totals().values()) > 0


COVERAGE: Coverage = {
    "normal": ("normal", "responses"),
    "tool calls": ("tool calls",),
    "step limit as an exception": ("step limit", test_a_step_limit_in_a_stream),
    "step limit as a silent result": ("step limit, handled",),
    "step limit of a middleware": (Never("The SDK has no middleware; its error handlers are the silent form."),),
    "length with text": ("length with text", "responses cut", test_a_stream_ends_as_it_says),
    "length empty": ("length empty",),
    "length inside a tool call": ("length in a tool call", "length in a tool call that nothing repairs"),
    "refusal with text": ("refusal with text", "refusal alone", "responses refused"),
    "refusal empty": ("refusal empty", "responses refused, empty"),
    "content filter": ("content filter with text", "content filter empty", "responses filtered"),
    "context overflow": ("context overflow",),
    "tool error": ("tool error", "fatal tool error"),
    "model error at step 2": ("model error at step 2",),
    "user stop": (test_a_persons_stop_is_told_from_the_hosts, test_a_stream_that_is_cancelled_is_stopped),
    "timeout": (test_a_timeout_around_the_run_is_a_cancellation_inside, test_a_request_that_times_out_is_an_error),
    "cancelled task": (test_a_cancelled_task_is_stopped_by_the_host,),
    "stream abandoned by its consumer": (test_a_stream_that_its_consumer_leaves_is_no_success,),
    "finish-hook veto": (test_an_output_guardrail_that_trips_is_a_veto,),
}
