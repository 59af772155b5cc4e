"""strands-agents: `instrument` for every agent of the process.

    from turnout.instrumentation.integrations.strands import instrument
    instrument()

``stream_async``, through which every invocation goes, is wrapped; hooks that are added to each agent as it is first invoked give model and tool calls.
Strands names how an invocation ended better than the others do, but for exceptions. Its reasons are Bedrock's, whatever model answers.
"""

from collections.abc import AsyncGenerator, Callable
from importlib import import_module
from typing import Any, Final
from weakref import WeakKeyDictionary

from turnout.instrumentation.failures import type_name
from turnout.instrumentation.integrations.default import default_recorder
from turnout.instrumentation.integrations.patching import Patches
from turnout.instrumentation.integrations.support import Calls, FinishHooks, Quiet, field, in_scope, usage, whole
from turnout.instrumentation.recorder import Recorder
from turnout.instrumentation.steps import StepHandle
from turnout.instrumentation.turn import TurnHandle
from turnout.outcomes.facts import Layer, Limits, Output

SOURCE: Final = "strands"

_ENDS: Final = {
    "end_turn": "completed",
    "stop_sequence": "completed",
    "limit_turns": "limit_turns",
    "limit_total_tokens": "limit_total_tokens",
    "limit_output_tokens": "limit_output_tokens",
    "content_filtered": "content_filter",
    "guardrail_intervened": "guardrail",
    "interrupt": "interrupt",
    "checkpoint": "interrupt",
    "tool_use": "handoff",
}
_ERROR_CLAIMS: Final = (
    ("MaxTokensReachedException", "max_tokens"),
    ("ContextWindowOverflowException", "prompt_too_long"),
)
_LAST: Final = 1000.0
"""After everyone, so that we hear what the others made of an event: a retry, a cancelled call."""

_patches = Patches()


def instrument(recorder: Recorder | None = None, *, attended: bool | None = None) -> None:
    """Record every invocation of this process from now on; a second call changes nothing."""
    if not _patches.begin():
        return
    listening = _Listening(recorder or default_recorder(), attended)
    _patches.replace(import_module("strands").Agent, "stream_async", listening.stream_async)


def uninstrument() -> None:
    """Take `instrument` back; hooks that agents have already stay, and find no run to listen to."""
    _patches.undo()


class _Run:
    """One invocation as it is recorded."""

    def __init__(self, recorder: Recorder, attended: bool | None, agent: Any, options: dict[str, Any]) -> None:
        self.calls = Calls()
        self.step: StepHandle | None = None
        self.agent = agent
        self.result: Any = None
        self.turn: TurnHandle = recorder.turn(
            agent=field(agent, "name"),
            agent_id=field(agent, "agent_id"),
            conversation_id=field(agent, "_session_manager", "session_id"),
            attended=attended,
            limits=_limits(options.get("limits")),
            source=SOURCE,
        )
        self.hooks = FinishHooks(self.turn)

    def asked(self) -> None:
        """A request goes out; one that is made again is another attempt at its step."""
        if self.step is not None and not self.step.finished:
            return
        model = field(self.agent, "model")
        config = model.get_config() if hasattr(model, "get_config") else {}
        self.step = self.turn.step(
            model=field(config, "model_id"),
            provider="aws.bedrock" if type(model).__name__ == "BedrockModel" else None,
            max_output_tokens=whole(field(config, "max_tokens")),
        )

    def answered(self, event: Any) -> None:
        """A response came, or the request failed."""
        step, response = self.step, event.stop_response
        if step is None:
            return
        if event.retry:
            step.attempt(reason=type(event.exception).__name__ if event.exception is not None else "retry")
        elif response is None:
            step.failed(event.exception)
        else:
            self._finish(step, response)

    def _finish(self, step: StepHandle, response: Any) -> None:
        parts = field(response.message, "content") or ()
        texts = [part["text"] for part in parts if "text" in part]
        counts = field(response.message, "metadata", "usage")
        step.finish(
            finish_reason=response.stop_reason,
            output=Output(text_chars=sum(map(len, texts)), parts=sum(1 for words in texts if words)),
            usage=usage(
                field(counts, "inputTokens"),
                field(counts, "outputTokens"),
                cache_read=field(counts, "cacheReadInputTokens"),
                cache_write=field(counts, "cacheWriteInputTokens"),
            ),
        )
        for part in parts:
            call = part.get("toolUse")
            if call is not None:
                self.calls.asked(step, call.get("name"), call.get("toolUseId"))

    def tool_ended(self, event: Any) -> None:
        """A call returned, failed, or was not let run."""
        handle = self.calls.find(event.tool_use.get("name"), event.tool_use.get("toolUseId"))
        if handle is None or event.retry:
            return
        if event.cancel_message is not None:
            handle.denied("hook")
        elif event.exception is not None:
            handle.failed(event.exception)
        else:
            handle.settle("error" if field(event.result, "status") == "error" else "ok")
        handle.close()

    def pass_ended(self, event: Any) -> None:
        """The agent came to an end of its own, and a hook may have sent it back to work."""
        if field(event.result, "stop_reason") not in ("end_turn", "stop_sequence"):
            return
        if event.resume is not None:
            self.hooks.vetoed("after_invocation")
        else:
            self.hooks.passed()

    def saw(self, event: Any) -> None:
        """An event went to the consumer; the last one is the result."""
        if isinstance(event, dict) and "result" in event:
            self.result = event["result"]

    def exhausted(self) -> None:
        """The invocation gave its result, whose reason is how it ended."""
        reason = field(self.result, "stop_reason")
        if reason == "cancelled":
            self.turn.claim(Layer.HOST, "cancelled")
        elif reason in _ENDS:
            self.turn.claim(Layer.RUNTIME, _ENDS[reason])

    def raised(self, error: BaseException) -> None:
        """The invocation ended by an exception."""
        reason = next((reason for kind, reason in _ERROR_CLAIMS if type(error).__name__ == kind), None)
        if reason is not None:
            self.turn.claim(Layer.RUNTIME, reason, error_type=type_name(error))
            self.turn.end()


class _Listening:
    """What stands in the place of the agent's own method, and the runs that hooks find by their agent."""

    def __init__(self, recorder: Recorder, attended: bool | None) -> None:
        self._recorder = recorder
        self._attended = attended
        self._quiet = Quiet(recorder.losses, SOURCE)
        self._runs: WeakKeyDictionary[Any, _Run | None] = WeakKeyDictionary()

    async def stream_async(
        self, original: Callable[..., AsyncGenerator[Any, None]], agent: Any, *args: Any, **kwargs: Any
    ) -> AsyncGenerator[Any, None]:
        """`Agent.stream_async`, and `invoke_async` and the call of the agent through it."""
        run = self._quiet(self._open, agent, kwargs)
        events = original(agent, *args, **kwargs)
        try:
            async for event in in_scope(events, run.turn if run is not None else None, self._quiet):
                if run is not None:
                    self._quiet(run.saw, event)
                yield event
        except BaseException as error:
            if run is not None:
                self._quiet(run.raised, error)
                self._quiet(run.turn.end, error)
            raise
        else:
            if run is not None:
                self._quiet(run.exhausted)
                self._quiet(run.turn.end)
        finally:
            self._quiet(self._close, agent, run)
            await events.aclose()

    def _open(self, agent: Any, kwargs: dict[str, Any]) -> _Run:
        if agent not in self._runs:
            self._listen(agent)
        run = _Run(self._recorder, self._attended, agent, kwargs)
        self._runs[agent] = run
        return run

    def _close(self, agent: Any, run: _Run | None) -> None:
        if self._runs.get(agent) is run:
            self._runs[agent] = None

    def _listen(self, agent: Any) -> None:
        hooks = import_module("strands.hooks")
        self._runs[agent] = None
        told: tuple[tuple[Any, Callable[[_Run, Any], object]], ...] = (
            (hooks.BeforeModelCallEvent, lambda run, _: run.asked()),
            (hooks.AfterModelCallEvent, lambda run, event: run.answered(event)),
            (
                hooks.BeforeToolCallEvent,
                lambda run, event: run.calls.began(
                    run.step, event.tool_use.get("name"), event.tool_use.get("toolUseId")
                ),
            ),
            (hooks.AfterToolCallEvent, lambda run, event: run.tool_ended(event)),
            (hooks.AfterInvocationEvent, lambda run, event: run.pass_ended(event)),
        )
        for kind, tell in told:
            agent.hooks.add_callback(kind, self._callback(tell), order=_LAST)

    def _callback(self, tell: Callable[[_Run, Any], object]) -> Callable[[Any], None]:
        def call(event: Any) -> None:
            run = self._quiet(lambda: self._runs.get(event.agent))
            if run is not None:
                self._quiet(tell, run, event)

        return call


def _limits(said: Any) -> Limits | None:
    limits = Limits(steps=whole(field(said, "turns")), total_tokens=whole(field(said, "total_tokens")))
    return None if limits == Limits() else limits
