"""claude-agent-sdk: `instrument` for every query of the process.

    from turnout.instrumentation.integrations.claude_agent_sdk import instrument
    instrument()

The command line does the work and tells of it by messages, so the message stream is the hook. A result names how the turn ended in three places: its
subtype, which says success of failures too, whether it is an error, and the terminal reason, which newer versions give. What Claude calls a
turn is a step; input tokens leave out the cache.
"""

from collections import defaultdict, deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Final
from weakref import WeakKeyDictionary

from turnout.instrumentation.integrations.default import default_recorder
from turnout.instrumentation.integrations.patching import Patches
from turnout.instrumentation.integrations.support import Calls, Quiet, field, usage, whole
from turnout.instrumentation.recorder import Recorder
from turnout.instrumentation.steps import StepHandle
from turnout.instrumentation.turn import TurnHandle
from turnout.outcomes.facts import Layer, Limits, Output

SOURCE: Final = "claude-agent-sdk"

_TERMINAL_CLAIMS: Final = {
    "max_turns": "max_turns",
    "budget_exhausted": "error_max_budget_usd",
    "prompt_too_long": "prompt_too_long",
    "aborted_streaming": "aborted",
    "aborted_tools": "aborted",
    "tool_deferred": "interrupt",
    "background_requested": "handoff",
    "model_error": "error",
    "api_error": "error",
    "image_error": "error",
    "blocking_limit": "error",
    "rapid_refill_breaker": "error",
    "malformed_tool_use_exhausted": "error",
    "structured_output_retry_exhausted": "error",
}
_serving: ContextVar["Callable[[], _Run | None] | None"] = ContextVar("turnout-claude-agent-sdk", default=None)
"""Whose control protocol is being set up."""

_patches = Patches()


def instrument(recorder: Recorder | None = None, *, attended: bool | None = None) -> None:
    """Record every query and every client of this process from now on; a second call changes nothing."""
    if not _patches.begin():
        return
    listening = _Listening(recorder or default_recorder(), attended)
    internal = import_module("claude_agent_sdk._internal.client").InternalClient
    client = import_module("claude_agent_sdk").ClaudeSDKClient
    _patches.replace(internal, "process_query", listening.process_query)
    _patches.replace(import_module("claude_agent_sdk._internal.query").Query, "initialize", listening.initialize)
    _patches.replace(client, "connect", listening.connect)
    _patches.replace(client, "query", listening.client_query)
    _patches.replace(client, "receive_messages", listening.receive_messages)
    _patches.replace(client, "interrupt", listening.interrupt)


def uninstrument() -> None:
    """Take `instrument` back."""
    _patches.undo()


class _Run:
    """One turn as it is recorded."""

    def __init__(self, recorder: Recorder, attended: bool | None, options: Any) -> None:
        self._steps: dict[str, StepHandle] = {}
        self._chars: dict[str, int] = {}
        self._calls = Calls()
        self._said_of_ends: dict[int, deque[str]] = defaultdict(deque)
        self.turn: TurnHandle = recorder.turn(
            agent=field(options, "agent") or "claude",
            conversation_id=field(options, "resume") or field(options, "session_id"),
            attended=attended,
            limits=_limits(options),
            source=SOURCE,
        )

    def saw(self, message: Any) -> None:
        """A message of the turn; those of a sub-agent are that one's own."""
        if field(message, "parent_tool_use_id") is not None:
            return
        match type(message).__name__:
            case "AssistantMessage":
                self._answered(message)
            case "UserMessage":
                self._results(message)
            case "ResultMessage":
                self._ended(message)
            case _:
                pass

    def _answered(self, message: Any) -> None:
        """A part of a response; the parts of one response share its id."""
        key = message.message_id or f"{len(self._steps)}"
        step = self._steps.get(key)
        if step is None:
            self._checked()
            step = self._steps[key] = self.turn.step(model=message.model, provider="anthropic", api="messages")
        texts = [part.text for part in message.content if type(part).__name__ == "TextBlock"]
        self._chars[key] = self._chars.get(key, 0) + sum(map(len, texts))
        counts = message.usage
        step.finish(
            message_id=message.message_id,
            raw_finish_reason=message.stop_reason,
            output=Output(text_chars=self._chars[key], parts=1 if self._chars[key] else 0),
            usage=usage(
                field(counts, "input_tokens"),
                field(counts, "output_tokens"),
                cache_read=field(counts, "cache_read_input_tokens"),
                cache_write=field(counts, "cache_creation_input_tokens"),
            ),
            cache_in_input=False,
        )
        for part in message.content:
            if type(part).__name__ == "ToolUseBlock":
                self._calls.asked(step, part.name, part.id).begin()

    def stop_hook(self, place: int, said: Any, verdict: str) -> None:
        """A Stop hook answered; the step that it was asked about may not have reached the consumer yet."""
        if field(said, "hook_event_name") == "Stop":
            self._said_of_ends[place].append(verdict)

    def _checked(self) -> None:
        """The last step is whole: what the Stop hooks said of it, if it was an end that they were asked about."""
        last = next(reversed(self._steps.values()), None)
        if last is None or last.facts().tool_calls:
            return
        for said in self._said_of_ends.values():
            if said:
                self.turn.finish_check(said.popleft(), by="stop_hook")

    def _results(self, message: Any) -> None:
        for part in message.content if isinstance(message.content, list) else ():
            handle = self._calls.find(None, field(part, "tool_use_id"))
            if handle is not None:
                handle.settle("error" if part.is_error else "ok")
                handle.close()

    def _ended(self, message: Any) -> None:
        """The result; a refused tool is told in it alone."""
        self._checked()
        for denied in message.permission_denials or ():
            handle = self._calls.find(None, field(denied, "tool_use_id"))
            if handle is not None:
                handle.denied("person")
        last = next(reversed(self._steps.values()), None)
        if last is not None and message.stop_reason is not None and last.facts().raw_finish_reason is None:
            last.finish(raw_finish_reason=message.stop_reason)
        self.turn.aggregate(cost_usd=message.total_cost_usd)
        if message.terminal_reason == "hook_stopped":
            self.turn.claim(Layer.HOST, "aborted", status=message.subtype)
        else:
            self.turn.claim(Layer.RUNTIME, _reason(message), status=message.subtype)
        if message.api_error_status is not None and last is not None:
            last.attempt(reason="api_error", status=message.api_error_status)
        self.turn.end()

    def raised(self, error: BaseException) -> None:
        """The stream ended by an exception; a command line that is gone is a dead process."""
        code = whole(field(error, "exit_code"))
        if code is not None:
            self.turn.claim(Layer.PROCESS, "crashed", exit_code=code, error_type=type(error).__name__)
        self.turn.end(error if code is None else None)


Running = Callable[[], _Run | None]


class _Listening:
    """What stands in the places of the SDK's own methods."""

    def __init__(self, recorder: Recorder, attended: bool | None) -> None:
        self._recorder = recorder
        self._attended = attended
        self._quiet = Quiet(recorder.losses, SOURCE)
        self._runs: WeakKeyDictionary[Any, _Run | None] = WeakKeyDictionary()

    async def process_query(
        self, original: Callable[..., AsyncGenerator[Any, None]], client: Any, *args: Any, **kwargs: Any
    ) -> AsyncGenerator[Any, None]:
        """`query`: one turn, or several where the prompt is a stream of them."""
        options = kwargs.get("options", args[1] if len(args) > 1 else None)
        run = self._quiet(_Run, self._recorder, self._attended, options)

        def running() -> _Run | None:
            return run

        messages = original(client, *args, **kwargs)
        try:
            async for message in _served(messages, running):
                if run is None or self._quiet(_over, run):
                    run = self._quiet(_Run, self._recorder, self._attended, options)
                if run is not None:
                    self._quiet(run.saw, message)
                yield message
        except BaseException as error:
            if run is not None:
                self._quiet(run.raised, error)
            raise
        finally:
            if run is not None:
                self._quiet(run.turn.end)
            await messages.aclose()

    async def connect(self, original: Callable[..., Awaitable[Any]], client: Any, *args: Any, **kwargs: Any) -> Any:
        """`ClaudeSDKClient.connect`: its turns are to come."""
        token = _serving.set(lambda: self._current(client))
        try:
            return await original(client, *args, **kwargs)
        finally:
            _serving.reset(token)

    async def initialize(self, original: Callable[..., Awaitable[Any]], query: Any) -> Any:
        """The control protocol is set up: from now on the command line may ask the application's Stop hooks."""
        initialized = await original(query)
        running = _serving.get()
        if running is not None:
            self._quiet(self._hear_stop_hooks, query, running)
        return initialized

    def _hear_stop_hooks(self, query: Any, running: Running) -> None:
        asked = [hook for matcher in (query.hooks or {}).get("Stop") or () for hook in matcher["hooks"]]
        for place, (name, hook) in enumerate(list(query.hook_callbacks.items())):
            if hook in asked:
                query.hook_callbacks[name] = self._heard(hook, place, running)

    def _heard(self, hook: Callable[..., Awaitable[Any]], place: int, running: Running) -> Callable[..., Any]:
        def tell(said: Any, verdict: str) -> None:
            run = running()
            if run is not None:
                run.stop_hook(place, said, verdict)

        async def call(said: Any, *more: Any) -> Any:
            try:
                answer = await hook(said, *more)
            except BaseException:
                self._quiet(tell, said, "skipped")
                raise
            self._quiet(lambda: tell(said, _verdict(answer)))
            return answer

        return call

    async def client_query(
        self, original: Callable[..., Awaitable[Any]], client: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """`ClaudeSDKClient.query`: a turn opens."""
        self._quiet(self._open, client)
        return await original(client, *args, **kwargs)

    async def receive_messages(
        self, original: Callable[..., AsyncIterator[Any]], client: Any
    ) -> AsyncGenerator[Any, None]:
        """`ClaudeSDKClient.receive_messages`: the turn's messages, the last of which is its result."""
        try:
            async for message in original(client):
                run = self._current(client)
                if run is not None:
                    self._quiet(run.saw, message)
                yield message
        except GeneratorExit:
            raise
        except BaseException as error:
            run = self._current(client)
            if run is not None:
                self._quiet(run.raised, error)
            raise

    async def interrupt(self, original: Callable[..., Awaitable[Any]], client: Any) -> Any:
        """`ClaudeSDKClient.interrupt`: the application stops the turn."""
        run = self._current(client)
        if run is not None:
            self._quiet(run.turn.stop)
        return await original(client)

    def _open(self, client: Any) -> None:
        if self._current(client) is None:
            self._runs[client] = _Run(self._recorder, self._attended, field(client, "options"))

    def _current(self, client: Any) -> _Run | None:
        run = self._quiet(self._runs.get, client)
        return None if run is None or self._quiet(_over, run) else run


def _over(run: _Run) -> bool:
    return run.turn.ended


async def _served(items: AsyncGenerator[Any, None], running: Running) -> AsyncGenerator[Any, None]:
    """The items of a generator, with the run to be found while the generator works."""
    while True:
        token = _serving.set(running)
        try:
            item = await anext(items)
        except StopAsyncIteration:
            return
        finally:
            _serving.reset(token)
        yield item


def _verdict(answer: Any) -> str:
    """What a Stop hook's answer means: feedback sends the model back to work, and an answer to come decides nothing."""
    if field(answer, "decision") == "block" or field(answer, "hookSpecificOutput", "additionalContext"):
        return "veto"
    return "skipped" if field(answer, "async_") else "allow"


def _reason(message: Any) -> str | None:
    """The terminal reason where it says more than the subtype, an error under a success, else the subtype."""
    reason = _TERMINAL_CLAIMS.get(message.terminal_reason or "")
    if reason is not None:
        return reason
    if message.subtype == "success":
        return "error" if message.is_error else "success"
    known = ("error_max_turns", "error_during_execution", "error_max_budget_usd")
    return message.subtype if message.subtype in known else "error"


def _limits(options: Any) -> Limits | None:
    cost = field(options, "max_budget_usd")
    limits = Limits(steps=whole(field(options, "max_turns")), cost_usd=float(cost) if cost is not None else None)
    return None if limits == Limits() else limits
