"""One turn of each framework, and of our own loop and decorator: two steps, of which the first calls a tool that bears the turn's name.

Each is a coroutine over the framework itself with a model that answers from a script; some also run without a loop of the caller's.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, TypeAlias

from turnout.instrumentation import Recorder, current_turn, recorded
from turnout.runtime import Agent, ScriptedModel, Tool, ToolContext, TurnTask, UserMessage, run_turn
from turnout.runtime.scripted import CallsTools, Says, ScriptedCall

Run: TypeAlias = Callable[[str, str, Recorder], Awaitable[object]]
"""The turn's name, what is said in it, and the recorder that is listening."""


@dataclass(frozen=True)
class Framework:
    """How a framework is run; ``module`` shows that it is installed, ``source`` is what its turns say that they come from."""

    source: str
    module: str
    run: Run
    run_sync: Callable[[str, str, Recorder], object] | None = None


def tool_saying(words: str) -> Callable[[], Awaitable[str]]:
    """A tool that gives the loop a chance to do something else."""

    async def tool() -> str:
        """Work."""
        await asyncio.sleep(0)
        return words

    return tool


def _pydantic_ai(name: str, words: str) -> Any:
    messages, function = import_module("pydantic_ai.messages"), import_module("pydantic_ai.models.function")
    script = iter([messages.ToolCallPart(name, {}), messages.TextPart(words)])

    async def answer(*_: Any) -> Any:
        await asyncio.sleep(0)
        return messages.ModelResponse(parts=[next(script)], finish_reason="stop")

    agent = import_module("pydantic_ai").Agent(function.FunctionModel(answer, model_name=name), name=name)
    agent.tool_plain(tool_saying(words), name=name)
    return agent


def _openai_agents(name: str, words: str) -> Any:
    agents, testing = import_module("agents"), import_module("agents.testing")
    model = testing.ScriptedModel([[testing.function_call(name, {}, call_id="1")], [testing.assistant_message(words)]])
    tool = agents.function_tool(tool_saying(words), name_override=name)
    return agents.Agent(name=name, model=model, tools=[tool])


def _langchain(name: str, words: str, *, sync: bool = False) -> Any:
    core = import_module("langchain_core.messages")
    base = import_module("langchain_core.language_models.fake_chat_models").GenericFakeChatModel

    def bind_tools(self: Any, *_: Any, **__: Any) -> Any:
        return self

    def tool() -> str:
        return words

    calls = [{"name": name, "args": {}, "id": "1"}]
    answers = iter([core.AIMessage(content="", tool_calls=calls), core.AIMessage(content=words)])
    model = type("Scripted", (base,), {"bind_tools": bind_tools})(messages=answers)
    made = {"func": tool} if sync else {"coroutine": tool_saying(words)}
    work = import_module("langchain_core.tools").StructuredTool.from_function(**made, name=name, description="Work.")
    return import_module("langchain.agents").create_agent(model, tools=[work], name=name)


def _asked(words: str) -> dict[str, Any]:
    return {"messages": [("user", words)]}


def _strands(name: str, words: str) -> Any:
    strands, models = import_module("strands"), import_module("strands.models")
    use = {"name": name, "toolUseId": "1"}
    called: Any = [{"contentBlockStart": {"start": {"toolUse": use}}}, _delta({"toolUse": {"input": "{}"}})]
    said: Any = [{"contentBlockStart": {"start": {}}}, _delta({"text": words})]
    script = iter([(called, "tool_use"), (said, "end_turn")])

    async def stream(*_: Any, **__: Any) -> AsyncIterator[Any]:
        block, stop = next(script)
        await asyncio.sleep(0)
        for event in [{"messageStart": {"role": "assistant"}}, *block, {"contentBlockStop": {}}]:
            yield event
        yield {"messageStop": {"stopReason": stop}}

    def config(_: Any) -> dict[str, Any]:
        return {"model_id": name}

    def nothing(*_: Any, **__: Any) -> None:
        pass

    methods = {"stream": stream, "get_config": config, "update_config": nothing, "structured_output": nothing}
    model = type("Scripted", (models.Model,), methods)()
    tool = strands.tool(tool_saying(words), name=name)
    return strands.Agent(model=model, tools=[tool], name=name, callback_handler=None)


def _delta(delta: dict[str, Any]) -> dict[str, Any]:
    return {"contentBlockDelta": {"delta": delta}}


async def _google_adk(name: str, words: str, recorder: Recorder) -> None:
    del recorder
    genai, llm = import_module("google.genai.types"), import_module("google.adk.models")
    function = genai.Part(function_call=genai.FunctionCall(name=name, id="1", args={}))
    script = iter([function, genai.Part(text=words)])

    async def generate(*_: Any, **__: Any) -> AsyncIterator[Any]:
        await asyncio.sleep(0)
        content = genai.Content(role="model", parts=[next(script)])
        yield llm.LlmResponse(content=content, finish_reason=genai.FinishReason.STOP)

    tool = tool_saying(words)
    tool.__name__ = name
    model = type("Scripted", (llm.BaseLlm,), {"generate_content_async": generate})(model=name)
    agent = import_module("google.adk.agents").LlmAgent(name=name, model=model, tools=[tool])
    runner = import_module("google.adk.runners").InMemoryRunner(agent=agent, app_name="app")
    session = await runner.session_service.create_session(app_name="app", user_id="ada", session_id=name)
    asked = genai.Content(role="user", parts=[genai.Part(text=words)])
    async for _ in runner.run_async(user_id="ada", session_id=session.id, new_message=asked):
        await asyncio.sleep(0)


class _CommandLine:
    """Claude's command line, which answers one question from a script."""

    def __init__(self, messages: list[Any]) -> None:
        self._waiting: asyncio.Queue[Any] = asyncio.Queue()
        self._messages = messages

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
        elif message["type"] == "user":
            for answer in self._messages:
                await self._waiting.put(answer)

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        while (message := await self._waiting.get()) is not None:
            yield message


async def _claude(name: str, words: str, recorder: Recorder) -> None:
    del recorder
    sdk = import_module("claude_agent_sdk")

    def said(number: int, stop: str, content: dict[str, Any]) -> dict[str, Any]:
        message = {"role": "assistant", "id": f"{name}-{number}", "model": name, "content": [content]}
        return {"type": "assistant", "message": {**message, "stop_reason": stop}, "session_id": name}

    outcome = {"type": "tool_result", "tool_use_id": "1", "content": words, "is_error": False}
    ended = {"duration_ms": 1, "duration_api_ms": 1, "is_error": False, "num_turns": 1, "session_id": name}
    messages = [
        said(1, "tool_use", {"type": "tool_use", "id": "1", "name": name, "input": {"text": words}}),
        {"type": "user", "message": {"role": "user", "content": [outcome]}, "session_id": name},
        said(2, "end_turn", {"type": "text", "text": words}),
        {"type": "result", "subtype": "success", "result": words, **ended},
    ]
    transport = type("Scripted", (_CommandLine, sdk.Transport), {})(messages)
    async for _ in sdk.query(prompt=words, options=sdk.ClaudeAgentOptions(), transport=transport):
        await asyncio.sleep(0)


async def _runtime(name: str, words: str, recorder: Recorder) -> None:
    async def work(_: ToolContext) -> str:
        return await tool_saying(words)()

    model = ScriptedModel([CallsTools(calls=(ScriptedCall(name),)), Says(text=words)], name=name)
    agent = Agent(name=name, model=model, tools=(Tool(name=name, run=work, description=words),), instructions=words)
    await run_turn(agent, TurnTask(turn_id=f"{name}-turn", messages=(UserMessage(words),)), recorder=recorder)


def _told(name: str, words: str, last: bool) -> Iterator[None]:
    turn = current_turn()
    assert turn is not None
    with turn.step(model=name) as step:
        yield
        step.finish(finish_reason="stop" if last else "tool-calls", output=words)
        if not last:
            with step.tool_call(name, arguments=words):
                yield


async def _decorated(name: str, words: str, recorder: Recorder) -> None:
    @recorded(recorder=recorder, agent=name)
    async def loop() -> None:
        for last in (False, True):
            for _ in _told(name, words, last):
                await asyncio.sleep(0)

    await loop()


def _decorated_sync(name: str, words: str, recorder: Recorder) -> None:
    @recorded(recorder=recorder, agent=name)
    def loop() -> None:
        for last in (False, True):
            for _ in _told(name, words, last):
                pass

    loop()


def _run_in_own_loop(name: str, words: str, _: Recorder) -> object:
    async def main() -> object:
        return await import_module("agents").Runner.run(_openai_agents(name, words), words)

    return asyncio.run(main())


ALL: Final = (
    Framework(
        "pydantic-ai",
        "pydantic_ai",
        lambda name, words, _: _pydantic_ai(name, words).run(words),
        lambda name, words, _: asyncio.run(_pydantic_ai(name, words).run(words)),
    ),
    Framework(
        "openai-agents",
        "agents.testing",
        lambda name, words, _: import_module("agents").Runner.run(_openai_agents(name, words), words),
        _run_in_own_loop,
    ),
    Framework(
        "langchain",
        "langchain.agents",
        lambda name, words, _: _langchain(name, words).ainvoke(_asked(words)),
        lambda name, words, _: _langchain(name, words, sync=True).invoke(_asked(words)),
    ),
    Framework("google-adk", "google.adk.runners", _google_adk),
    Framework(
        "strands",
        "strands",
        lambda name, words, _: _strands(name, words).invoke_async(words),
        lambda name, words, _: _strands(name, words)(words),
    ),
    Framework("claude-agent-sdk", "claude_agent_sdk", _claude),
    Framework("the loop", "turnout.runtime", _runtime),
    Framework("the decorator", "turnout.instrumentation", _decorated, _decorated_sync),
)


def installed() -> list[Framework]:
    """Those that can run here."""
    return [framework for framework in ALL if _importable(framework.module)]


def _importable(module: str) -> bool:
    try:
        import_module(module)
    except ImportError:
        return False
    return True
