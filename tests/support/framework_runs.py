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
from turnout.instrumentation.recorder import unrecorded
from turnout.runtime import Agent, ScriptedModel, Tool, ToolContext, TurnTask, UserMessage, run_turn
from turnout.runtime.scripted import CallsTools, Rejects, Says, ScriptedCall

Words: TypeAlias = str | Exception
"""What is said in a turn; an exception is what its second request fails with."""

Run: TypeAlias = Callable[[str, Words, Recorder], Awaitable[object]]
"""The turn's name, its words, and the recorder that is listening; what comes back is what the framework made of the answer."""


@dataclass(frozen=True)
class Framework:
    """How a framework is run; ``module`` shows that it is installed, ``source`` is what its turns say that they come from."""

    source: str
    module: str
    run: Run
    run_sync: Callable[[str, Words, Recorder], object] | None = None


def _said(words: Words) -> str:
    """The words; or the failure."""
    if isinstance(words, Exception):
        raise words
    return words


def tool_saying(words: Words) -> Callable[[], Awaitable[str]]:
    """A tool that gives the loop a chance to do something else."""

    async def tool() -> str:
        """Work."""
        await asyncio.sleep(0)
        return str(words)

    return tool


def _pydantic_ai(name: str, words: Words) -> Any:
    messages, function = import_module("pydantic_ai.messages"), import_module("pydantic_ai.models.function")
    script: Any = iter([lambda: messages.ToolCallPart(name, {}), lambda: messages.TextPart(_said(words))])

    async def answer(*_: Any) -> Any:
        await asyncio.sleep(0)
        return messages.ModelResponse(parts=[next(script)()], finish_reason="stop")

    agent = import_module("pydantic_ai").Agent(function.FunctionModel(answer, model_name=name), name=name)
    agent.tool_plain(tool_saying(words), name=name)
    return agent


def _openai_agents(name: str, words: Words) -> Any:
    agents, testing = import_module("agents"), import_module("agents.testing")
    answer = words if isinstance(words, Exception) else [testing.assistant_message(words)]
    model = testing.ScriptedModel([[testing.function_call(name, {}, call_id="1")], answer])
    tool = agents.function_tool(tool_saying(words), name_override=name)
    return agents.Agent(name=name, model=model, tools=[tool])


def _langchain(name: str, words: Words, *, sync: bool = False) -> Any:
    core = import_module("langchain_core.messages")
    base = import_module("langchain_core.language_models.fake_chat_models").GenericFakeChatModel

    def bind_tools(self: Any, *_: Any, **__: Any) -> Any:
        return self

    def tool() -> str:
        return str(words)

    calls = [{"name": name, "args": {}, "id": "1"}]
    answers: Any = iter(
        [lambda: core.AIMessage(content="", tool_calls=calls), lambda: core.AIMessage(content=_said(words))]
    )

    def generate(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.messages = iter([next(answers)()])
        return base._generate(self, *args, **kwargs)

    model = type("Scripted", (base,), {"bind_tools": bind_tools, "_generate": generate})(messages=iter([]))
    made = {"func": tool} if sync else {"coroutine": tool_saying(words)}
    work = import_module("langchain_core.tools").StructuredTool.from_function(**made, name=name, description="Work.")
    return import_module("langchain.agents").create_agent(model, tools=[work], name=name)


def _asked(words: Words) -> dict[str, Any]:
    return {"messages": [("user", str(words))]}


def _strands(name: str, words: Words) -> Any:
    strands, models = import_module("strands"), import_module("strands.models")
    use = {"name": name, "toolUseId": "1"}
    called: Any = [{"contentBlockStart": {"start": {"toolUse": use}}}, _delta({"toolUse": {"input": "{}"}})]
    said: Any = [{"contentBlockStart": {"start": {}}}, _delta({"text": str(words)})]
    script = iter([(called, "tool_use"), (said, "end_turn")])
    left = iter(["", words])

    async def stream(*_: Any, **__: Any) -> AsyncIterator[Any]:
        block, stop = next(script)
        _said(next(left))
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


async def _strands_asked(name: str, words: Words, recorder: Recorder) -> str:
    del recorder
    return str(await _strands(name, words).invoke_async(str(words)))


def _delta(delta: dict[str, Any]) -> dict[str, Any]:
    return {"contentBlockDelta": {"delta": delta}}


async def _google_adk(name: str, words: Words, recorder: Recorder) -> object:
    del recorder
    genai, llm = import_module("google.genai.types"), import_module("google.adk.models")
    function = genai.Part(function_call=genai.FunctionCall(name=name, id="1", args={}))
    script: Any = iter([lambda: function, lambda: genai.Part(text=_said(words))])

    async def generate(*_: Any, **__: Any) -> AsyncIterator[Any]:
        await asyncio.sleep(0)
        content = genai.Content(role="model", parts=[next(script)()])
        yield llm.LlmResponse(content=content, finish_reason=genai.FinishReason.STOP)

    tool = tool_saying(words)
    tool.__name__ = name
    model = type("Scripted", (llm.BaseLlm,), {"generate_content_async": generate})(model=name)
    agent = import_module("google.adk.agents").LlmAgent(name=name, model=model, tools=[tool])
    runner = import_module("google.adk.runners").InMemoryRunner(agent=agent, app_name="app")
    session = await runner.session_service.create_session(app_name="app", user_id="ada", session_id=name)
    asked = genai.Content(role="user", parts=[genai.Part(text=str(words))])
    seen: list[Any] = []
    async for event in runner.run_async(user_id="ada", session_id=session.id, new_message=asked):
        seen.append(event.content.parts[0].text)
        await asyncio.sleep(0)
    return seen


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
            if isinstance(message, Exception):
                raise message
            yield message


async def _claude(name: str, words: Words, recorder: Recorder) -> object:
    del recorder
    sdk = import_module("claude_agent_sdk")

    def said(number: int, stop: str, content: dict[str, Any]) -> dict[str, Any]:
        message = {"role": "assistant", "id": f"{name}-{number}", "model": name, "content": [content]}
        return {"type": "assistant", "message": {**message, "stop_reason": stop}, "session_id": name}

    outcome = {"type": "tool_result", "tool_use_id": "1", "content": str(words), "is_error": False}
    ended = {"duration_ms": 1, "duration_api_ms": 1, "is_error": False, "num_turns": 1, "session_id": name}
    messages = [
        said(1, "tool_use", {"type": "tool_use", "id": "1", "name": name, "input": {"text": str(words)}}),
        {"type": "user", "message": {"role": "user", "content": [outcome]}, "session_id": name},
        words if isinstance(words, Exception) else said(2, "end_turn", {"type": "text", "text": words}),
        {"type": "result", "subtype": "success", "result": str(words), **ended},
    ]
    transport = type("Scripted", (_CommandLine, sdk.Transport), {})(messages)
    seen: list[str] = []
    async for message in sdk.query(prompt=str(words), options=sdk.ClaudeAgentOptions(), transport=transport):
        seen.append(type(message).__name__)
        await asyncio.sleep(0)
    return seen


async def _runtime(name: str, words: Words, recorder: Recorder) -> object:
    async def work(_: ToolContext) -> str:
        return await tool_saying(words)()

    last = Rejects(status=401) if isinstance(words, Exception) else Says(text=words)
    model = ScriptedModel([CallsTools(calls=(ScriptedCall(name),)), last], name=name)
    tool = Tool(name=name, run=work, description=str(words))
    agent = Agent(name=name, model=model, tools=(tool,), instructions=str(words))
    task = TurnTask(turn_id=f"{name}-turn", messages=(UserMessage(str(words)),))
    return (await run_turn(agent, task, recorder=recorder)).decision


def _told(name: str, words: Words, last: bool) -> Iterator[None]:
    turn = current_turn() or unrecorded()
    with turn.step(model=name) as step:
        yield
        said = _said(words) if last else ""
        step.finish(finish_reason="stop" if last else "tool-calls", output=said)
        if not last:
            with step.tool_call(name, arguments=str(words)):
                yield


async def _decorated(name: str, words: Words, recorder: Recorder) -> object:
    @recorded(recorder=recorder, agent=name)
    async def loop() -> str:
        for last in (False, True):
            for _ in _told(name, words, last):
                await asyncio.sleep(0)
        return str(words)

    return await loop()


def _decorated_sync(name: str, words: Words, recorder: Recorder) -> object:
    @recorded(recorder=recorder, agent=name)
    def loop() -> str:
        for last in (False, True):
            for _ in _told(name, words, last):
                pass
        return str(words)

    return loop()


def _run_in_own_loop(name: str, words: Words, _: Recorder) -> object:
    async def main() -> object:
        return await import_module("agents").Runner.run(_openai_agents(name, words), str(words))

    return asyncio.run(main())


ALL: Final = (
    Framework(
        "pydantic-ai",
        "pydantic_ai",
        lambda name, words, _: _pydantic_ai(name, words).run(str(words)),
        lambda name, words, _: asyncio.run(_pydantic_ai(name, words).run(str(words))),
    ),
    Framework(
        "openai-agents",
        "agents.testing",
        lambda name, words, _: import_module("agents").Runner.run(_openai_agents(name, words), str(words)),
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
        _strands_asked,
        lambda name, words, _: _strands(name, words)(str(words)),
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
