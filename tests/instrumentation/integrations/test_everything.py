"""All integrations at once, by one call and by OpenTelemetry's own command."""

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

from turnout.instrumentation import Losses, Recorder, instrument, uninstrument
from turnout.instrumentation.integrations.everything import FRAMEWORKS
from turnout.instrumentation.testing import MemorySink

TURNS = 25


@pytest.fixture
def listening(memory: MemorySink, make_recorder: Any) -> Iterator[Recorder]:
    """Every installed framework, instrumented."""
    recorder = make_recorder(memory)
    instrument(recorder)
    yield recorder
    uninstrument()


def test_what_is_installed_is_listened_to(make_recorder: Any) -> None:
    """A framework that is not installed is passed over."""
    found = instrument(make_recorder(MemorySink()))
    uninstrument()
    assert set(found) <= set(FRAMEWORKS)
    assert ("pydantic-ai" in found) is (importlib.util.find_spec("pydantic_ai") is not None)


def test_a_name_that_is_unknown_is_said(make_recorder: Any) -> None:
    """A slip in the configuration is the caller's to know, at the start."""
    with pytest.raises(ValueError, match="no integration for crewai; there are pydantic-ai"):
        instrument(make_recorder(MemorySink()), only=["crewai"])


async def pydantic_ai_run(name: str, words: str = "done") -> None:
    pydantic_ai = pytest.importorskip("pydantic_ai")
    messages = pytest.importorskip("pydantic_ai.messages")
    function = pytest.importorskip("pydantic_ai.models.function")
    script = iter([messages.ToolCallPart(name, {}), messages.TextPart(words)])

    async def answer(*_: Any) -> Any:
        await asyncio.sleep(0)
        return messages.ModelResponse(parts=[next(script)], finish_reason="stop")

    async def tool() -> str:
        await asyncio.sleep(0)
        return words

    agent = pydantic_ai.Agent(function.FunctionModel(answer, model_name=name), name=name)
    agent.tool_plain(tool, name=name)
    await agent.run(words)


async def openai_agents_run(name: str, words: str = "done") -> None:
    agents = pytest.importorskip("agents")
    testing = pytest.importorskip("agents.testing")

    async def tool() -> str:
        """Work."""
        await asyncio.sleep(0)
        return words

    model = testing.ScriptedModel([[testing.function_call(name, {}, call_id="1")], [testing.assistant_message(words)]])
    agent = agents.Agent(name=name, model=model, tools=[agents.function_tool(tool, name_override=name)])
    await agents.Runner.run(agent, words)


async def langchain_run(name: str, words: str = "done") -> None:
    agents = pytest.importorskip("langchain.agents")
    fakes = pytest.importorskip("langchain_core.language_models.fake_chat_models")
    core = pytest.importorskip("langchain_core.messages")
    tools = pytest.importorskip("langchain_core.tools")

    async def tool() -> str:
        """Work."""
        await asyncio.sleep(0)
        return words

    def bind_tools(self: Any, *_: Any, **__: Any) -> Any:
        return self

    calls = [{"name": name, "args": {}, "id": "1"}]
    answers = iter([core.AIMessage(content="", tool_calls=calls), core.AIMessage(content=words)])
    model = type("Scripted", (fakes.GenericFakeChatModel,), {"bind_tools": bind_tools})(messages=answers)
    work = tools.StructuredTool.from_function(coroutine=tool, name=name)
    await agents.create_agent(model, tools=[work], name=name).ainvoke({"messages": [("user", words)]})


async def strands_run(name: str, words: str = "done") -> None:
    test = pytest.importorskip("strands")
    models = pytest.importorskip("strands.models")
    use = {"name": name, "toolUseId": "1"}
    tool_block = [
        {"contentBlockStart": {"start": {"toolUse": use}}},
        {"contentBlockDelta": {"delta": {"toolUse": {"input": "{}"}}}},
    ]
    text_block: list[dict[str, Any]] = [
        {"contentBlockStart": {"start": {}}},
        {"contentBlockDelta": {"delta": {"text": words}}},
    ]
    script = iter([(tool_block, "tool_use"), (text_block, "end_turn")])

    async def stream(*_: Any, **__: Any) -> Any:
        block, stop = next(script)
        await asyncio.sleep(0)
        for event in [{"messageStart": {"role": "assistant"}}, *block, {"contentBlockStop": {}}]:
            yield event
        yield {"messageStop": {"stopReason": stop}}

    async def tool() -> str:
        """Work."""
        await asyncio.sleep(0)
        return words

    def nothing(*_: Any, **__: Any) -> Any:
        return {}

    methods = {"stream": stream, "get_config": nothing, "update_config": nothing, "structured_output": nothing}
    model = type("Scripted", (models.Model,), methods)()
    agent = test.Agent(model=model, tools=[test.tool(tool, name=name)], name=name, callback_handler=None)
    await agent.invoke_async(words)


RUNS = (pydantic_ai_run, openai_agents_run, langchain_run, strands_run)


def test_frameworks_side_by_side_keep_apart(memory: MemorySink, listening: Recorder, losses: Losses) -> None:
    """A hundred turns of four frameworks in one loop: each has one end, and its own steps and calls."""
    for module in ("pydantic_ai", "agents", "langchain", "strands"):
        pytest.importorskip(module)
    del listening

    async def work() -> None:
        await asyncio.gather(*[run(f"{run.__name__}_{number}") for run in RUNS for number in range(TURNS)])

    asyncio.run(work())
    assert losses.totals() == {}
    assert Counter(turn.source for turn in memory.turns) == {
        "pydantic-ai": TURNS,
        "openai-agents": TURNS,
        "langchain": TURNS,
        "strands": TURNS,
    }
    assert len(memory.ended) == len({turn.facts.turn_id for turn in memory.ended}) == 4 * TURNS
    for turn in memory.turns:
        assert len(turn.steps) == 2
        assert [[call.name for call in step.tool_calls] for step in turn.steps] == [[turn.agent], []]
        assert {call.status for step in turn.steps for call in step.tool_calls} == {"ok"}
    assert {verdict.outcome.value for verdict in memory.verdicts} == {"completed"}


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.__name__)
def test_content_is_emitted_nowhere(run: Any, emitted: Any, make_recorder: Any, losses: Losses) -> None:
    """A canary in prompt, tool result and answer appears in nothing that is emitted."""
    canary = "xyzzy-canary-4711"
    instrument(make_recorder(emitted.sink))
    try:
        asyncio.run(run("agent", canary))
    finally:
        uninstrument()
    assert len(emitted.spans) == 4
    everything = encode_logs(emitted.events).SerializeToString() + encode_spans(emitted.spans).SerializeToString()
    assert canary.encode() not in everything
    assert canary not in repr((emitted.metrics(), losses.totals(), [span.events for span in emitted.spans]))


def test_the_command_of_opentelemetry_records_without_code(tmp_path: Path) -> None:
    """``opentelemetry-instrument python agent.py`` is all that a person types."""
    command = Path(sys.executable).with_name("opentelemetry-instrument")
    pytest.importorskip("pydantic_ai")
    if not command.exists():
        pytest.skip("opentelemetry-distro is not installed")
    if not _registered():
        pytest.skip("turnout is not installed with its entry point")
    program = tmp_path / "agent.py"
    program.write_text(
        "from pydantic_ai import Agent\n"
        "from pydantic_ai.models.test import TestModel\n"
        "print(Agent(TestModel(), name='weatherbot').run_sync('?').output)\n"
    )
    turns = tmp_path / "turns.jsonl"
    environ = {**os.environ, "TURNOUT_FILE": str(turns), "OTEL_TRACES_EXPORTER": "none"}
    quiet = {"OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"}
    subprocess.run([str(command), sys.executable, str(program)], check=True, timeout=120, env={**environ, **quiet})
    (turn,) = [json.loads(line) for line in turns.read_text().splitlines()]
    assert (turn["agent"], turn["source"], len(turn["steps"])) == ("weatherbot", "pydantic-ai", 1)


def _registered() -> bool:
    from importlib.metadata import entry_points

    return bool(entry_points(group="opentelemetry_instrumentor", name="turnout"))
