"""google-adk: `instrument` for every runner of the process.

    from turnout.instrumentation.integrations.google_adk import instrument
    instrument()

The runner's ``run_async`` is wrapped, because no callback of a plugin tells of a cancellation, and one calls a stream that its consumer left complete.
A plugin gives model and tool calls. Gemini spells its reasons the same whatever model answers; a blocked prompt has an error code instead of one.
"""

from collections import defaultdict
from collections.abc import AsyncGenerator, Callable
from importlib import import_module
from typing import Any, Final

from turnout.instrumentation.failures import type_name
from turnout.instrumentation.integrations.default import default_recorder
from turnout.instrumentation.integrations.patching import Patches
from turnout.instrumentation.integrations.support import Calls, FinishHooks, Quiet, field, in_scope, usage, whole
from turnout.instrumentation.recorder import Recorder
from turnout.instrumentation.steps import StepHandle
from turnout.instrumentation.texts import text
from turnout.instrumentation.turn import TurnHandle
from turnout.outcomes.facts import Layer, Limits, Output

SOURCE: Final = "google-adk"
PLUGIN: Final = "turnout"

_patches = Patches()


def instrument(recorder: Recorder | None = None, *, attended: bool | None = None) -> None:
    """Record every run of this process from now on; a second call changes nothing."""
    if not _patches.begin():
        return
    listening = _Listening(recorder or default_recorder(), attended)
    _patches.replace(import_module("google.adk.runners").Runner, "run_async", listening.run_async)


def uninstrument() -> None:
    """Take `instrument` back."""
    _patches.undo()


class _Run:
    """One run as it is recorded."""

    def __init__(self, recorder: Recorder, attended: bool | None, runner: Any, options: dict[str, Any]) -> None:
        self.calls = Calls()
        self.steps: dict[str, StepHandle] = {}
        self.last: StepHandle | None = None
        self.event: Any = None
        self.abort = options.get("abort_signal")
        self.turn: TurnHandle = recorder.turn(
            agent=field(runner, "agent", "name"),
            conversation_id=options.get("session_id"),
            user_id=options.get("user_id"),
            attended=attended,
            limits=_limits(options.get("run_config")),
            source=SOURCE,
        )
        self.hooks = FinishHooks(self.turn)

    def asked(self, agent: str, request: Any) -> None:
        """A request goes out."""
        self.last = self.steps[agent] = self.turn.step(
            model=field(request, "model"),
            provider="gcp.gemini",
            max_output_tokens=whole(field(request, "config", "max_output_tokens")),
        )

    def answered(self, agent: str, response: Any) -> None:
        """A response came; of a streamed one, the last part tells."""
        step = self.steps.get(agent)
        if step is None or response.partial:
            return
        parts = field(response, "content", "parts") or ()
        texts = [part.text for part in parts if field(part, "text") and not field(part, "thought")]
        counts = response.usage_metadata
        thoughts = whole(field(counts, "thoughts_token_count"))
        step.finish(
            raw_finish_reason=text(field(response, "finish_reason")) or response.error_code,
            response_model=response.model_version,
            output=Output(text_chars=sum(map(len, texts)), parts=len(texts)),
            usage=usage(
                field(counts, "prompt_token_count"),
                field(counts, "candidates_token_count"),
                cache_read=field(counts, "cached_content_token_count"),
                reasoning=thoughts,
            ),
            reasoning_in_output=False if thoughts else None,
        )
        for part in parts:
            call = field(part, "function_call")
            if call is not None:
                self.calls.asked(step, call.name, call.id)

    def failed(self, agent: str, error: BaseException) -> None:
        """A request ended without a response."""
        step = self.steps.get(agent)
        if step is not None and not step.finished:
            step.failed(error)

    def tool_began(self, tool: Any, call_id: str | None) -> None:
        """A call runs; one that an answer without calls is followed by was put in its place by somebody's callback."""
        name = field(tool, "name")
        step = self.last
        if step is not None and not step.facts().tool_calls:
            self.hooks.vetoed("after_model_callback")
            self.calls.asked(step, name, call_id)
        self.calls.began(step, name, call_id)

    def tool_ended(self, tool: Any, call_id: str | None) -> None:
        """A call returned."""
        handle = self.calls.find(field(tool, "name"), call_id)
        if handle is not None:
            handle.ok()
            handle.close()

    def tool_failed(self, tool: Any, call_id: str | None, error: BaseException) -> None:
        """A call raised; one that was cut stays as it was."""
        handle = self.calls.find(field(tool, "name"), call_id)
        if handle is not None and isinstance(error, Exception):
            handle.failed(error)
            handle.close()

    def saw(self, event: Any) -> None:
        """An event went to the consumer."""
        self.event = event
        for call_id in field(event, "long_running_tool_ids") or ():
            handle = self.calls.find(None, call_id)
            if handle is not None:
                handle.settle("awaiting_client")

    def exhausted(self) -> None:
        """The run gave its last event: an answer, a call that waits, or the error that it ended by without an exception."""
        if self.abort is not None and self.abort.is_set():
            self.turn.stop()
        elif field(self.event, "long_running_tool_ids"):
            self.turn.claim(Layer.RUNTIME, "interrupt")
        elif self.event is not None and not field(self.event, "error_code") and self.event.is_final_response():
            self.hooks.passed()
            self.turn.claim(Layer.RUNTIME, "completed")

    def raised(self, error: BaseException) -> None:
        """The run ended by an exception."""
        if type(error).__name__ == "LlmCallsLimitExceededError":
            if self.last is not None:
                self.last.discard()
            self.turn.claim(Layer.RUNTIME, "step_limit", error_type=type_name(error))
            self.turn.end()


class _Listening:
    """What stands in the place of the runner's own method, and the runs that the plugin finds by their invocation."""

    def __init__(self, recorder: Recorder, attended: bool | None) -> None:
        self._recorder = recorder
        self._attended = attended
        self.quiet = Quiet(recorder.losses, SOURCE)
        self._waiting: dict[tuple[str, str], list[_Run]] = defaultdict(list)
        self._invoked: dict[str, _Run] = {}

    async def run_async(
        self, original: Callable[..., AsyncGenerator[Any, None]], runner: Any, *args: Any, **kwargs: Any
    ) -> AsyncGenerator[Any, None]:
        """`Runner.run_async`: the turn ends with the generator, whoever closes it."""
        run = self.quiet(self._open, runner, kwargs)
        events = original(runner, *args, **kwargs)
        try:
            async for event in in_scope(events, run.turn if run is not None else None, self.quiet):
                if run is not None:
                    self.quiet(run.saw, event)
                yield event
        except BaseException as error:
            if run is not None:
                self.quiet(run.raised, error)
                self.quiet(run.turn.end, error)
            raise
        else:
            if run is not None:
                self.quiet(run.exhausted)
                self.quiet(run.turn.end)
        finally:
            if run is not None:
                self.quiet(self._close, run)
            await events.aclose()

    def find(self, context: Any) -> _Run | None:
        """The run of an invocation, known by its session when it is first heard of."""
        invocation = field(context, "invocation_id")
        if invocation in self._invoked:
            return self._invoked[invocation]
        waiting = self._waiting.get((field(context, "user_id"), field(context, "session", "id")))
        if not waiting or invocation is None:
            return None
        self._invoked[invocation] = waiting.pop(0)
        return self._invoked[invocation]

    def _open(self, runner: Any, kwargs: dict[str, Any]) -> _Run:
        plugins = runner.plugin_manager.plugins
        if not any(plugin.name == PLUGIN for plugin in plugins):
            plugins.insert(0, _plugin(self))
        run = _Run(self._recorder, self._attended, runner, kwargs)
        self._waiting[kwargs["user_id"], kwargs["session_id"]].append(run)
        return run

    def _close(self, run: _Run) -> None:
        for known in [invocation for invocation, one in self._invoked.items() if one is run]:
            del self._invoked[known]
        for key, waiting in list(self._waiting.items()):
            if run in waiting:
                waiting.remove(run)
            if not waiting:
                del self._waiting[key]


def _plugin(listening: _Listening) -> Any:
    """A plugin whose callbacks tell the run, and change nothing."""
    base = import_module("google.adk.plugins.base_plugin").BasePlugin

    def callback(tell: Callable[[_Run, dict[str, Any]], object], context: str) -> Callable[..., Any]:
        async def call(_: Any, **said: Any) -> None:
            run = listening.quiet(listening.find, said[context])
            if run is not None:
                listening.quiet(tell, run, said)

        return call

    def agent(said: dict[str, Any]) -> str:
        return str(field(said["callback_context"], "agent_name"))

    def call_id(said: dict[str, Any]) -> str | None:
        return text(field(said["tool_context"], "function_call_id"))

    model, tool = "callback_context", "tool_context"
    methods: dict[str, Any] = {
        "before_model_callback": callback(lambda run, said: run.asked(agent(said), said["llm_request"]), model),
        "after_model_callback": callback(lambda run, said: run.answered(agent(said), said["llm_response"]), model),
        "on_model_error_callback": callback(lambda run, said: run.failed(agent(said), said["error"]), model),
        "before_tool_callback": callback(lambda run, said: run.tool_began(said["tool"], call_id(said)), tool),
        "after_tool_callback": callback(lambda run, said: run.tool_ended(said["tool"], call_id(said)), tool),
        "on_tool_error_callback": callback(
            lambda run, said: run.tool_failed(said["tool"], call_id(said), said["error"]), tool
        ),
    }
    return type("TurnoutPlugin", (base,), methods)(name=PLUGIN)


def _limits(config: Any) -> Limits | None:
    steps = whole(field(config or _default_config(), "max_llm_calls"))
    return Limits(steps=steps) if steps is not None and steps > 0 else None


def _default_config() -> Any:
    return import_module("google.adk.agents.run_config").RunConfig()
