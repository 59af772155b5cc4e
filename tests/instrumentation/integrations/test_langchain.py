"""langchain and langgraph as they end their runs, with langchain's own fake chat model."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from broken_recorder import broken_recorders
from cutting import cancelled, timed_out
from listed_endings import Coverage
from turnout.instrumentation import Losses, Recorder
from turnout.instrumentation.integrations.langchain import instrument, turnout_handler, uninstrument
from turnout.instrumentation.testing import MemorySink

agents: Any = pytest.importorskip("langchain.agents")
middleware: Any = pytest.importorskip("langchain.agents.middleware")
fakes: Any = pytest.importorskip("langchain_core.language_models.fake_chat_models")
core: Any = pytest.importorskip("langchain_core.messages")
tools: Any = pytest.importorskip("langchain_core.tools")
exceptions: Any = pytest.importorskip("langchain_core.exceptions")
memory_saver: Any = pytest.importorskip("langgraph.checkpoint.memory")
types: Any = pytest.importorskip("langgraph.types")

COUNTS = {
    "input_tokens": 120,
    "output_tokens": 30,
    "total_tokens": 150,
    "input_token_details": {"cache_read": 20},
    "output_token_details": {"reasoning": 5},
}
Ending = tuple[str, str | None, str | None]


def said(content: Any, finish: str | None = "stop", **more: Any) -> Any:
    metadata = {"finish_reason": finish, "model_name": "gpt-fake-2026"} if finish else {}
    return core.AIMessage(content=content, response_metadata=metadata, usage_metadata=COUNTS, **more)


def call(name: str = "weather", finish: str = "tool_calls", **args: Any) -> Any:
    return said("", finish, tool_calls=[{"name": name, "args": args or {"city": "Paris"}, "id": f"call-{name}"}])


WAIT = object()


def model_of(answers: list[Any]) -> Any:
    """Langchain's fake model with tools; an answer may be an exception, or `WAIT`."""
    script = iter(answers)

    async def generate(self: Any, *args: Any, **kwargs: Any) -> Any:
        answer = next(script)
        if answer is WAIT:
            await asyncio.sleep(3600)
        if isinstance(answer, BaseException):
            raise answer
        self.messages = iter([answer])
        return base._generate(self, *args, **kwargs)

    def bind_tools(self: Any, *_: Any, **__: Any) -> Any:
        return self

    base = fakes.GenericFakeChatModel
    made = type("Scripted", (base,), {"_agenerate": generate, "bind_tools": bind_tools})
    return made(messages=iter([]))


def weather(city: str) -> str:
    """Tell the weather."""
    if city == "Atlantis":
        raise KeyError(city)
    return f"rain in {city}"


async def slow() -> str:
    """Never answer."""
    await asyncio.sleep(3600)
    return "never"


def ask(question: str) -> str:
    """Ask the person."""
    return str(types.interrupt(question))


def agent_of(answers: list[Any], **options: Any) -> Any:
    made = [tools.StructuredTool.from_function(weather), tools.StructuredTool.from_function(coroutine=slow)]
    made.append(tools.StructuredTool.from_function(ask))
    return agents.create_agent(model_of(answers), tools=made, name="weatherbot", **options)


async def ran(agent: Any, recorder: Recorder, **config: Any) -> Any:
    given = {"callbacks": [turnout_handler(recorder)], "configurable": {"thread_id": "conversation-1"}, **config}
    return await agent.ainvoke({"messages": [{"role": "user", "content": "how is it?"}]}, config=given)


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


CUT_CALL = {"name": "weather", "args": '{"city": "Pa', "id": "call-1", "error": None, "type": "invalid_tool_call"}
ENDINGS: dict[str, tuple[list[Any], dict[str, Any], dict[str, Any], Ending]] = {
    "normal": ([said("sunny")], {}, {}, ("completed", None, None)),
    "tool calls": ([call(), said("rain")], {}, {}, ("completed", None, None)),
    "graph recursion": ([call(), call(), call()], {}, {"recursion_limit": 4}, ("budget", "steps", None)),
    "model calls, silent": (
        [call(), call()],
        {"middleware": [middleware.ModelCallLimitMiddleware(run_limit=2, exit_behavior="end")]},
        {},
        ("budget", "steps", None),
    ),
    "model calls, raised": (
        [call(), call()],
        {"middleware": [middleware.ModelCallLimitMiddleware(run_limit=2, exit_behavior="error")]},
        {},
        ("budget", "steps", None),
    ),
    "tool calls, silent": (
        [call(), call()],
        {"middleware": [middleware.ToolCallLimitMiddleware(run_limit=1, exit_behavior="end")]},
        {},
        ("budget", "tool_calls", None),
    ),
    "length with text": ([said("and then", "length")], {}, {}, ("length", None, None)),
    "length empty": ([said("", "length")], {}, {}, ("length", None, None)),
    "length in a tool call": ([call(finish="length"), said("rain")], {}, {}, ("completed", None, None)),
    "length in a tool call whose arguments were cut": (
        [said("", "length", invalid_tool_calls=[CUT_CALL])],
        {},
        {},
        ("length", None, None),
    ),
    "length of anthropic": (
        [core.AIMessage(content="and", response_metadata={"stop_reason": "max_tokens"}, usage_metadata=COUNTS)],
        {},
        {},
        ("length", None, None),
    ),
    "content filter with text": ([said("so", "content_filter")], {}, {}, ("refused", None, "content_filter")),
    "content filter empty": ([said("", "content_filter")], {}, {}, ("refused", None, "content_filter")),
    "refusal with text": (
        [said("Well,", additional_kwargs={"refusal": "no"})],
        {},
        {},
        ("refused", None, "provider_refusal"),
    ),
    "refusal of anthropic, empty": (
        [core.AIMessage(content="", response_metadata={"stop_reason": "refusal"}, usage_metadata=COUNTS)],
        {},
        {},
        ("refused", None, "provider_refusal"),
    ),
    "refusal empty": (
        [said("", additional_kwargs={"refusal": "no"})],
        {},
        {},
        ("refused", None, "provider_refusal"),
    ),
    "context overflow": (
        [exceptions.ContextOverflowError("prompt is too long")],
        {},
        {},
        ("context_overflow", None, "context_rejected"),
    ),
    "tool error": ([call(city="Atlantis")], {}, {}, ("error", None, "tool_error")),
    "model error at step 2": ([call(), UnavailableError()], {}, {}, ("error", None, "provider_unavailable")),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_an_ending(name: str, memory: MemorySink, make_recorder: Any) -> None:
    """The verdict is the contract's, also where the graph returns as if it had an answer."""
    answers, made, config, expected = ENDINGS[name]
    with suppress(Exception):
        asyncio.run(ran(agent_of(answers, **made), make_recorder(memory, clock=time.time_ns), **config))
    got = outcome(memory)
    assert got[:2] == expected[:2]
    if expected[2] is not None:
        assert got[2] == expected[2]


def test_what_is_recorded_of_a_run(memory: MemorySink, make_recorder: Any) -> None:
    """Reasons, usage and calls, and nothing of the content."""
    asyncio.run(ran(agent_of([call(), said("rain")]), make_recorder(memory)))
    (facts,) = memory.turns
    first, second = facts.steps
    assert (facts.agent, facts.source, facts.conversation_id) == ("weatherbot", "langchain", "conversation-1")
    assert (first.raw_finish_reason, second.raw_finish_reason) == ("tool_calls", "stop")
    assert first.usage is not None
    assert (first.usage.input_tokens, first.usage.cache_read_tokens, first.usage.reasoning_tokens) == (120, 20, 5)
    assert [(tool.id, tool.name, tool.status) for tool in first.tool_calls] == [("call-weather", "weather", "ok")]
    assert second.output is not None
    assert second.output.text_chars == 4
    assert "Paris" not in repr(facts)


def test_a_question_to_a_person_yields(memory: MemorySink, make_recorder: Any) -> None:
    """An interrupted graph waits; its answer is another turn."""
    agent = agent_of([call("ask", question="sure?"), said("done")], checkpointer=memory_saver.InMemorySaver())
    recorder = make_recorder(memory)

    async def work() -> None:
        await ran(agent, recorder)
        config = {"callbacks": [turnout_handler(recorder)], "configurable": {"thread_id": "conversation-1"}}
        await agent.ainvoke(types.Command(resume="yes"), config=config)

    asyncio.run(work())
    first, second = memory.verdicts
    assert (first.outcome, second.outcome) == ("yielded", "completed")


@pytest.mark.parametrize("name", ["helper", None], ids=["named", "unnamed"])
def test_an_agent_in_a_tool_is_a_turn_of_its_own(name: str | None, memory: MemorySink, make_recorder: Any) -> None:
    """Its steps are not the caller's, and each turn knows of the other."""
    helper = agents.create_agent(model_of([said("inner", "length")]), name=name)

    async def delegate() -> str:
        """Ask the helper."""
        answer = await helper.ainvoke({"messages": [{"role": "user", "content": "x"}]})
        return str(answer["messages"][-1].content)

    delegating = tools.StructuredTool.from_function(coroutine=delegate)
    lead = agents.create_agent(model_of([call("delegate", x=1), said("ok")]), tools=[delegating], name="lead")
    asyncio.run(ran(lead, make_recorder(memory)))
    child, parent = memory.turns
    assert [len(turn.steps) for turn in (child, parent)] == [1, 2]
    assert (child.parent_turn_id, parent.children_expected) == (parent.turn_id, (child.turn_id,))
    assert (child.agent, parent.agent) == (name or "LangGraph", "lead")
    assert [verdict.outcome for verdict in memory.verdicts] == ["length", "completed"]


def test_a_chain_in_a_tool_is_part_of_the_turn(memory: MemorySink, make_recorder: Any) -> None:
    """A tool that asks a model is no agent: its request is the turn's."""
    runnables: Any = pytest.importorskip("langchain_core.runnables")
    model = model_of([said("inner")])

    async def ask(_: Any) -> str:
        return str((await model.ainvoke("x")).content)

    async def look_up() -> str:
        """Look it up."""
        return str(await runnables.RunnableLambda(ask).ainvoke("x"))

    lead = agents.create_agent(
        model_of([call("look_up", x=1), said("ok")]), tools=[tools.StructuredTool.from_function(coroutine=look_up)]
    )
    asyncio.run(ran(lead, make_recorder(memory)))
    assert [len(turn.steps) for turn in memory.turns] == [3]


@pytest.mark.parametrize("answers", [[WAIT], [call("slow", x=1)]], ids=["in a request", "in a tool"])
def test_a_cancelled_task_is_stopped_by_the_host(answers: list[Any], memory: MemorySink, make_recorder: Any) -> None:
    """Wherever it was cut, nobody calls it a success."""
    asyncio.run(cancelled(ran(agent_of(answers), make_recorder(memory)), memory))
    assert outcome(memory) == ("stopped", None, "stopped_by_host")


def test_a_persons_stop_is_told_from_the_hosts(memory: MemorySink, make_recorder: Any) -> None:
    """The application says who stopped, and then cancels."""
    recorder = make_recorder(memory)
    stop = ran(agent_of([WAIT]), recorder)
    asyncio.run(cancelled(stop, memory, before=lambda: recorder.stop(conversation_id="conversation-1")))
    assert outcome(memory) == ("stopped", None, "stopped_by_user")


def test_a_stream_that_its_consumer_leaves_is_no_success(memory: MemorySink, make_recorder: Any) -> None:
    """The consumer breaks off after the first node."""

    async def work() -> None:
        config = {"callbacks": [turnout_handler(make_recorder(memory))]}
        messages = {"messages": [{"role": "user", "content": "?"}]}
        stream = agent_of([call(), said("rain")]).astream(messages, config=config)
        async for _ in stream:
            break
        await stream.aclose()

    asyncio.run(work())
    assert outcome(memory)[0] in ("stopped", "interrupted", "unknown")


def test_a_timeout_around_the_run_is_a_cancellation_inside(memory: MemorySink, make_recorder: Any) -> None:
    """The run cannot tell a timeout from a cancellation."""

    async def work() -> None:
        await timed_out(ran(agent_of([WAIT]), make_recorder(memory)), memory)

    asyncio.run(work())
    assert outcome(memory) == ("stopped", None, "stopped_by_host")


def test_a_middleware_that_sends_the_model_back_vetoes(memory: MemorySink, make_recorder: Any) -> None:
    """Its node jumps to the model; the answer that it then lets pass is the end."""

    def again(state: Any, runtime: Any) -> Any:
        del runtime
        if len(state["messages"]) < 3:
            return {"jump_to": "model", "messages": [core.HumanMessage("better")]}
        return None

    hook = middleware.after_model(can_jump_to=["model"])(again)
    asyncio.run(ran(agent_of([said("a"), said("b")], middleware=[hook]), make_recorder(memory)))
    checks = [(check.step, check.verdict, check.by) for check in memory.turns[0].finish_checks]
    assert checks == [(1, "veto", "again.after_model"), (2, "allow", "again.after_model")]
    assert outcome(memory)[0] == "completed"


def test_a_veto_that_stands_is_no_success(memory: MemorySink, make_recorder: Any) -> None:
    """The middleware never lets an answer pass, until the limit on model calls ends the graph as if it had one."""

    def never(state: Any, runtime: Any) -> Any:
        del state, runtime
        return {"jump_to": "model", "messages": [core.HumanMessage("better")]}

    hooks = [
        middleware.after_model(can_jump_to=["model"])(never),
        middleware.ModelCallLimitMiddleware(run_limit=2, exit_behavior="end"),
    ]
    asyncio.run(ran(agent_of([said("a"), said("b")], middleware=hooks), make_recorder(memory)))
    assert [check.verdict for check in memory.turns[0].finish_checks] == ["veto", "veto"]
    assert outcome(memory) == ("budget", "steps", "finish_veto")


def test_a_middleware_that_sends_calls_back_is_no_finish_hook(memory: MemorySink, make_recorder: Any) -> None:
    """Only an answer without calls is a finish candidate."""

    def instead(state: Any, runtime: Any) -> Any:
        del runtime
        last = state["messages"][-1]
        if getattr(last, "tool_calls", None):
            result = core.ToolMessage("no", tool_call_id=last.tool_calls[0]["id"])
            return {"jump_to": "model", "messages": [result]}
        return None

    hook = middleware.after_model(can_jump_to=["model"])(instead)
    asyncio.run(ran(agent_of([call(), said("b")], middleware=[hook]), make_recorder(memory)))
    assert memory.turns[0].finish_checks == ()


@pytest.fixture
def listening(memory: MemorySink, make_recorder: Any) -> Iterator[Recorder]:
    """Every run of the process, recorded."""
    recorder = make_recorder(memory)
    instrument(recorder)
    yield recorder
    uninstrument()


def test_every_run_is_recorded_once_after_instrument(memory: MemorySink, listening: Recorder) -> None:
    """No handler has to be handed over; threads and tasks alike."""
    instrument(listening)
    messages = {"messages": [{"role": "user", "content": "how is it?"}]}
    result = asyncio.run(agent_of([call(), said("rain")]).ainvoke(messages))
    assert result["messages"][-1].content == "rain"
    assert outcome(memory)[0] == "completed"


def test_a_bug_of_ours_changes_nothing(losses: Losses) -> None:
    """With every callback broken the run gives its result and raises its exceptions as ever, and the bugs are counted."""
    for recorder in broken_recorders(losses):
        result = asyncio.run(ran(agent_of([call(), said("rain")]), recorder))
        assert result["messages"][-1].content == "rain"
        with pytest.raises(KeyError):
            asyncio.run(ran(agent_of([call(city="Atlantis")]), recorder))
    assert sum(losses.totals().values()) > 0


COVERAGE: Coverage = {
    "normal": ("normal",),
    "tool calls": ("tool calls",),
    "step limit as an exception": ("graph recursion", "model calls, raised"),
    "step limit as a silent result": ("model calls, silent", "tool calls, silent"),
    "step limit of a middleware": ("model calls, silent", "model calls, raised", "tool calls, silent"),
    "length with text": ("length with text", "length of anthropic"),
    "length empty": ("length empty",),
    "length inside a tool call": ("length in a tool call", "length in a tool call whose arguments were cut"),
    "refusal with text": ("refusal with text",),
    "refusal empty": ("refusal empty", "refusal of anthropic, empty"),
    "content filter": ("content filter with text", "content filter empty"),
    "context overflow": ("context overflow",),
    "tool error": ("tool error",),
    "model error at step 2": ("model error at step 2",),
    "user stop": (test_a_persons_stop_is_told_from_the_hosts,),
    "timeout": (test_a_timeout_around_the_run_is_a_cancellation_inside,),
    "cancelled task": (test_a_cancelled_task_is_stopped_by_the_host,),
    "stream abandoned by its consumer": (test_a_stream_that_its_consumer_leaves_is_no_success,),
    "finish-hook veto": (test_a_middleware_that_sends_the_model_back_vetoes, test_a_veto_that_stands_is_no_success),
}
