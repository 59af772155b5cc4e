"""openai-agents: `instrument` for every run of the process.

    from turnout.instrumentation.integrations.openai_agents import instrument
    instrument()

The runner is wrapped, because only there the exception is seen; run hooks give steps and tool calls; a trace processor gives the errors that the
SDK turns into tool output or into a normal result; and the two OpenAI models are wrapped where the response still has its finish reason, which
the SDK drops. What the SDK calls a turn is a step.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Final

from turnout.instrumentation.failures import type_name
from turnout.instrumentation.integrations.default import default_recorder
from turnout.instrumentation.integrations.openai_responses import Answer, of_chat, of_chunk, of_event, of_response
from turnout.instrumentation.integrations.patching import Patches
from turnout.instrumentation.integrations.support import Calls, Quiet, Tapped, field, usage, whole
from turnout.instrumentation.recorder import Recorder
from turnout.instrumentation.steps import StepHandle
from turnout.instrumentation.texts import text
from turnout.instrumentation.tools import ToolHandle
from turnout.instrumentation.turn import TurnHandle
from turnout.outcomes.facts import Layer, Limits, Output

SOURCE: Final = "openai-agents"

_ERROR_CLAIMS: Final = (
    ("MaxTurnsExceeded", "max_turns"),
    ("ModelRefusalError", "refusal"),
    ("GuardrailTripwireTriggered", "guardrail"),
)
_HOOKS: Final = (
    "on_llm_start",
    "on_llm_end",
    "on_agent_start",
    "on_agent_end",
    "on_handoff",
    "on_tool_start",
    "on_tool_end",
)
_current: ContextVar["_Run | None"] = ContextVar("turnout-openai-agents", default=None)
_patches = Patches()
_processors: list[Any] = []
"""The one trace processor of the process, once it is there: the SDK takes none back."""


def instrument(recorder: Recorder | None = None, *, attended: bool | None = None) -> None:
    """Record every run of this process from now on; a second call changes nothing."""
    if not _patches.begin():
        return
    listening = _Listening(recorder or default_recorder(), attended)
    run = import_module("agents.run")
    _patches.replace(run.AgentRunner, "run", listening.run)
    _patches.replace(run.AgentRunner, "run_streamed", listening.run_streamed)
    chat = import_module("agents.models.openai_chatcompletions").OpenAIChatCompletionsModel
    responses = import_module("agents.models.openai_responses")
    _patches.replace(chat, "_fetch_response", listening.fetch_chat)
    _patches.replace(responses.OpenAIResponsesModel, "_fetch_response", listening.fetch_response)
    _patches.replace(import_module("openai.resources.responses").AsyncResponses, "create", listening.create_response)
    if not _processors:
        _add_processor()


def uninstrument() -> None:
    """Take `instrument` back; the trace processor stays, and finds no run to listen to."""
    _patches.undo()


class _Run:
    """One run as it is recorded."""

    def __init__(self, recorder: Recorder, attended: bool | None, agent: Any, options: Mapping[str, Any]) -> None:
        default = import_module("agents.run_config").DEFAULT_MAX_TURNS
        self.quiet = Quiet(recorder.losses, SOURCE)
        self.calls = Calls()
        self.spans: dict[str, ToolHandle] = {}
        self.step: StepHandle | None = None
        self.answer: Answer | None = None
        self.turn: TurnHandle = recorder.turn(
            agent=field(agent, "name"),
            conversation_id=_conversation(options),
            attended=attended,
            limits=Limits(steps=whole(options.get("max_turns", default))),
            source=SOURCE,
        )

    def asked(self, agent: Any) -> None:
        """A request goes out."""
        model = field(agent, "model")
        settings = field(agent, "model_settings", "max_tokens")
        name = model if isinstance(model, str) else field(model, "model")
        self.answer = None
        self.step = self.turn.step(model=name, provider="openai", max_output_tokens=whole(settings))

    def fetched(self, answer: Answer) -> None:
        """What the provider answered, as it spelled it; it may never reach a hook."""
        self.answer = answer
        if self.step is not None:
            answer.tell(self.step)

    def answered(self, response: Any) -> None:
        """The SDK has read the response."""
        step = self.step
        if step is None:
            return
        contents = [part for item in response.output for part in field(item, "content") or ()]
        texts = [part.text for part in contents if field(part, "type") == "output_text"]
        counts = response.usage
        step.finish(
            refusal=True if any(field(part, "type") == "refusal" for part in contents) else None,
            output=Output(text_chars=sum(map(len, texts)), parts=sum(1 for text in texts if text)),
            message_id=response.response_id,
            stream_complete=True,
            usage=None if self.answer is not None and self.answer.usage is not None else _usage(counts),
        )
        for item in response.output:
            if field(item, "type") == "function_call":
                self.calls.asked(step, item.name, item.call_id, item.arguments)

    def tool_started(self, context: Any, tool: Any) -> None:
        """A call runs."""
        name = field(context, "tool_name") or field(tool, "name")
        handle = self.calls.began(self.step, name, field(context, "tool_call_id"))
        span = import_module("agents.tracing").get_current_span()
        if handle is not None and span is not None:
            self.spans[span.span_id] = handle

    def tool_ended(self, context: Any, tool: Any) -> None:
        """A call returned; an error that the SDK made its output is told by the span."""
        name = field(context, "tool_name") or field(tool, "name")
        handle = self.calls.find(name, field(context, "tool_call_id"))
        if handle is not None and not handle.settled:
            handle.ok()
            handle.close()

    def handed_off(self) -> None:
        """The call that handed over to another agent has done its work."""
        for handle in self.calls.all():
            if not handle.settled and (handle.facts().name or "").startswith("transfer_to"):
                handle.ok()

    def span_ended(self, span: Any) -> None:
        """A span's error is the only trace of a tool's failure, and of a limit that a handler made a result of."""
        error = field(span, "error")
        if error is None:
            return
        handle = self.spans.get(span.span_id)
        if handle is not None:
            handle.failed(field(error, "data", "error_type") or "ToolError")
        elif field(span, "span_data", "type") == "agent" and field(error, "message") == "Max turns exceeded":
            self.turn.claim(Layer.RUNTIME, "max_turns")

    def returned(self, result: Any) -> None:
        """The run gave a result: an answer, or calls that wait for approval."""
        mode = field(result, "_cancel_mode")
        waiting = field(result, "interruptions") or ()
        if mode in ("immediate", "after_turn"):
            self.turn.stop("immediate" if mode == "immediate" else "after_step", "cancelled", by="host")
        elif waiting:
            for item in waiting:
                handle = self.calls.find(field(item, "raw_item", "name"), field(item, "raw_item", "call_id"))
                if handle is not None:
                    handle.settle("awaiting_approval")
            self.turn.claim(Layer.RUNTIME, "interrupt")
        elif field(result, "final_output") is not None:
            for checked in field(result, "output_guardrail_results") or ():
                self.turn.finish_check("allow", by=_guardrail(checked))
            self.turn.claim(Layer.RUNTIME, "completed")

    def raised(self, error: BaseException) -> None:
        """The run ended by an exception; a request that it left open is the one that failed."""
        if self.step is not None and not self.step.finished:
            if isinstance(error, Exception):
                self.step.failed(error)
            else:
                self.step.aborted()
        name = type(error).__name__
        if name == "OutputGuardrailTripwireTriggered":
            self.turn.finish_check("veto", by=_guardrail(field(error, "guardrail_result")))
        reason = next((reason for kind, reason in _ERROR_CLAIMS if name.endswith(kind)), None)
        if reason is not None:
            self.turn.claim(Layer.RUNTIME, reason, error_type=type_name(error))
            self.turn.end()


class _Listening:
    """What stands in the places of the SDK's own functions."""

    def __init__(self, recorder: Recorder, attended: bool | None) -> None:
        self._recorder = recorder
        self._attended = attended
        self.quiet = Quiet(recorder.losses, SOURCE)

    async def run(
        self, original: Callable[..., Awaitable[Any]], runner: Any, agent: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """`Runner.run`, and `run_sync` through it."""
        run = self.quiet(_Run, self._recorder, self._attended, agent, kwargs)
        if run is None:
            return await original(runner, agent, *args, **kwargs)
        token = _current.set(run)
        try:
            with run.turn:
                try:
                    result = await original(runner, agent, *args, **(self.quiet(self._hooked, kwargs, run) or kwargs))
                except BaseException as error:
                    self.quiet(run.raised, error)
                    raise
                self.quiet(run.returned, result)
                return result
        finally:
            _current.reset(token)

    def run_streamed(self, original: Callable[..., Any], runner: Any, agent: Any, *args: Any, **kwargs: Any) -> Any:
        """`Runner.run_streamed`: the turn ends with the task that the SDK starts."""
        run = self.quiet(_Run, self._recorder, self._attended, agent, kwargs)
        if run is None:
            return original(runner, agent, *args, **kwargs)
        token = _current.set(run)
        scope = self.quiet(run.turn.enter)
        try:
            result = original(runner, agent, *args, **(self.quiet(self._hooked, kwargs, run) or kwargs))
        except BaseException as error:
            self.quiet(run.turn.end, error)
            raise
        finally:
            if scope is not None:
                self.quiet(scope.leave)
            _current.reset(token)
        self.quiet(self._follow, run, result)
        return result

    def _follow(self, run: _Run, result: Any) -> None:
        def done(task: asyncio.Task[Any]) -> None:
            self.quiet(self._done, run, result, task)

        result.run_loop_task.add_done_callback(done)

    def _done(self, run: _Run, result: Any, task: "asyncio.Task[Any]") -> None:
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        error = error or field(result, "_stored_exception")
        if error is None or field(result, "_cancel_mode") in ("immediate", "after_turn"):
            self.quiet(run.returned, result)
            run.turn.end()
        else:
            self.quiet(run.raised, error)
            run.turn.end(error)

    async def fetch_chat(self, original: Callable[..., Awaitable[Any]], model: Any, *args: Any, **kwargs: Any) -> Any:
        """The chat completions model, where the response still has its finish reason."""
        fetched = await original(model, *args, **kwargs)
        run = _current.get()
        if run is None:
            return fetched
        if isinstance(fetched, tuple):
            response, stream = fetched
            return response, Tapped(stream, lambda chunk: self.quiet(_chunk, run, chunk))
        self.quiet(lambda: run.fetched(of_chat(fetched)))
        return fetched

    async def create_response(
        self, original: Callable[..., Awaitable[Any]], resource: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """OpenAI's own client, where a response that the SDK will raise about still says why it is incomplete."""
        created = await original(resource, *args, **kwargs)
        run = _current.get()
        if run is not None:
            self.quiet(_whole, run, created)
        return created

    async def fetch_response(
        self, original: Callable[..., Awaitable[Any]], model: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """The responses model, whose stream ends with the whole response."""
        fetched = await original(model, *args, **kwargs)
        run = _current.get()
        if run is None or self.quiet(_is_response, fetched):
            return fetched
        return Tapped(fetched, lambda event: self.quiet(_event, run, event))

    def _hooked(self, kwargs: dict[str, Any], run: _Run) -> dict[str, Any]:
        return {**kwargs, "hooks": _hooks(run, kwargs.get("hooks"), self.quiet)}


def _chunk(run: _Run, chunk: Any) -> None:
    run.fetched(of_chunk(run.answer, chunk))


def _is_response(fetched: Any) -> bool:
    return bool(field(fetched, "object") == "response")


def _whole(run: _Run, created: Any) -> None:
    if _is_response(created):
        run.fetched(of_response(created))


def _event(run: _Run, event: Any) -> None:
    answer = of_event(event)
    if answer is not None:
        run.fetched(answer)


def _hooks(run: _Run, theirs: Any, quiet: Quiet) -> Any:
    """Run hooks that tell the run, and then call the application's own."""

    def hook(name: str) -> Callable[..., Awaitable[None]]:
        async def call(_: Any, *args: Any, **kwargs: Any) -> None:
            quiet(_tell, run, name, args)
            if theirs is not None:
                await getattr(theirs, name)(*args, **kwargs)

        return call

    base = import_module("agents.lifecycle").RunHooksBase
    return type("TurnoutHooks", (base,), {name: hook(name) for name in _HOOKS})()


def _tell(run: _Run, name: str, args: tuple[Any, ...]) -> None:
    match name:
        case "on_llm_start":
            run.asked(args[1])
        case "on_llm_end":
            run.answered(args[2])
        case "on_tool_start":
            run.tool_started(args[0], args[2])
        case "on_tool_end":
            run.tool_ended(args[0], args[2])
        case "on_handoff":
            run.handed_off()
        case _:
            pass


def _add_processor() -> None:
    base = import_module("agents.tracing").TracingProcessor

    def ended(_: Any, span: Any) -> None:
        run = _current.get()
        if run is not None:
            run.quiet(run.span_ended, span)

    def nothing(*_: Any) -> None:
        pass

    methods: dict[str, Callable[..., None]] = dict.fromkeys(
        ("on_trace_start", "on_trace_end", "on_span_start", "shutdown", "force_flush"), nothing
    )
    _processors.append(type("TurnoutProcessor", (base,), {**methods, "on_span_end": ended})())
    import_module("agents").add_trace_processor(_processors[0])


def _guardrail(result: Any) -> str:
    """The name of the guardrail that looked at the answer."""
    guardrail = field(result, "guardrail")
    return field(guardrail, "name") or field(guardrail, "guardrail_function", "__name__") or "output_guardrail"


def _conversation(options: Mapping[str, Any]) -> str | None:
    named = (
        options.get("conversation_id"),
        field(options, "session", "session_id"),
        field(options, "run_config", "group_id"),
    )
    return next((text(name) for name in named if name), None)


def _usage(counts: Any) -> Any:
    if not field(counts, "requests"):
        return None
    return usage(
        field(counts, "input_tokens"),
        field(counts, "output_tokens"),
        cache_read=field(counts, "input_tokens_details", "cached_tokens"),
        reasoning=field(counts, "output_tokens_details", "reasoning_tokens"),
    )
