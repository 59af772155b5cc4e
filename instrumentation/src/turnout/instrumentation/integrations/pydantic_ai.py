"""pydantic-ai: a capability for one agent or one run, and `instrument` for all of them.

    agent = Agent("openai:gpt-5", capabilities=[turnout_capability()])

Steps are model requests, taken where the provider's own finish reason still is (``provider_details``). Of a limit only the message
tells which it was. The deadline of ``run(timeout=)`` is the turn's time limit, because inside the run its passing is a bare
cancellation.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, Final

from turnout.instrumentation.failures import type_name
from turnout.instrumentation.integrations.default import default_recorder
from turnout.instrumentation.integrations.support import Calls, FinishHooks, Quiet, field, usage, whole
from turnout.instrumentation.recorder import Recorder
from turnout.instrumentation.steps import StepHandle
from turnout.instrumentation.tools import ToolHandle
from turnout.instrumentation.turn import TurnHandle
from turnout.outcomes.facts import Layer, Limits, Output

SOURCE: Final = "pydantic-ai"

_LIMIT_CLAIMS: Final = (
    ("tool_calls_limit", "tool_calls_limit"),
    ("request_limit", "step_limit"),
    ("cost_limit", "exit_cost"),
    ("tokens_limit", "limit_total_tokens"),
)
_ERROR_CLAIMS: Final = (
    ("OutputTokenLimitExceeded", "max_tokens"),
    ("ContentFilterError", "content_filter"),
    ("ModelContextWindowExceededError", "prompt_too_long"),
    ("UsageLimitExceeded", "token_budget"),
    ("RunTimedOut", "time_budget"),
)


def turnout_capability(recorder: Recorder | None = None, *, attended: bool | None = None) -> Any:
    """A capability that records every run it is given to; ``attended`` says whether a person could press Continue."""
    return _capability_class()(recorder or default_recorder(), attended)


def instrument(recorder: Recorder | None = None, *, attended: bool | None = None) -> None:
    """Record every run of every agent of this process from now on; a second call changes nothing."""
    agent = import_module("pydantic_ai.agent").Agent
    if getattr(agent.iter, "turnout", False):
        return
    original = agent.iter
    chosen = recorder or default_recorder()
    quiet = Quiet(chosen.losses, SOURCE)

    def iter_with_turnout(self: Any, *args: Any, **kwargs: Any) -> Any:
        capabilities = quiet(_with_ours, kwargs.get("capabilities"), chosen, attended)
        return original(self, *args, **(kwargs if capabilities is None else {**kwargs, "capabilities": capabilities}))

    iter_with_turnout.__wrapped__ = original  # type: ignore[attr-defined]
    iter_with_turnout.turnout = True  # type: ignore[attr-defined]
    agent.iter = iter_with_turnout


def uninstrument() -> None:
    """Take `instrument` back."""
    agent = import_module("pydantic_ai.agent").Agent
    if getattr(agent.iter, "turnout", False):
        agent.iter = agent.iter.__wrapped__


def _with_ours(capabilities: Sequence[Any] | None, recorder: Recorder, attended: bool | None) -> list[Any]:
    given = list(capabilities or ())
    if any(isinstance(capability, _Listening) for capability in given):
        return given
    return [*given, turnout_capability(recorder, attended=attended)]


class _Run:
    """One run as it is recorded."""

    def __init__(self, recorder: Recorder, attended: bool | None, ctx: Any) -> None:
        self.calls = Calls()
        self.step: StepHandle | None = None
        self.deadline: datetime | None = field(ctx, "deadline")
        self.turn: TurnHandle = recorder.turn(
            agent=field(ctx, "agent", "name"),
            conversation_id=field(ctx, "conversation_id"),
            attended=attended,
            limits=_limits(ctx),
            source=SOURCE,
        )
        self.hooks = FinishHooks(self.turn)

    def asked(self, request: Any) -> StepHandle:
        """A request goes out."""
        model = field(request, "model")
        self.step = self.turn.step(
            model=field(model, "model_name"),
            provider=field(model, "system"),
            max_output_tokens=whole(field(request, "model_settings", "max_tokens")),
        )
        return self.step

    def answered(self, step: StepHandle, response: Any) -> None:
        """A response came."""
        texts = [part.content for part in response.parts if field(part, "part_kind") == "text"]
        counts = response.usage
        step.finish(
            finish_reason=response.finish_reason,
            raw_finish_reason=field(response, "provider_details", "finish_reason"),
            provider=response.provider_name,
            message_id=response.provider_response_id,
            response_model=response.model_name,
            output=Output(text_chars=sum(map(len, texts)), parts=sum(1 for text in texts if text)),
            usage=usage(
                counts.input_tokens,
                counts.output_tokens,
                cache_read=counts.cache_read_tokens,
                cache_write=counts.cache_write_tokens,
                reasoning=field(counts, "details", "reasoning_tokens"),
            ),
        )
        for part in response.parts:
            if field(part, "part_kind") == "tool-call":
                self.calls.asked(step, part.tool_name, part.tool_call_id, part.args)

    def tool_raised(self, handle: ToolHandle, error: BaseException) -> None:
        """A call ended by an exception; two of pydantic-ai's own are no failures, but calls that wait."""
        match type(error).__name__:
            case "CallDeferred":
                handle.settle("awaiting_client")
            case "ApprovalRequired":
                handle.settle("awaiting_approval")
            case _:
                pass

    def checked(self, error: BaseException | None) -> None:
        """An output validator let the output pass, or sent the model back to work."""
        if error is not None:
            self.hooks.vetoed("output_validator")
        else:
            self.hooks.passed()

    def returned(self, result: Any) -> None:
        """The run gave a result: an answer, or calls that wait for someone."""
        final = field(result, "_output_tool_name")
        for handle in self.calls.all():
            if final is not None and handle.facts().name == final:
                handle.describe(final=True)
                handle.ok()
        if type(field(result, "output")).__name__ == "DeferredToolRequests":
            self.turn.claim(Layer.RUNTIME, "interrupt")
        else:
            self.turn.claim(Layer.RUNTIME, "completed")

    def raised(self, error: BaseException) -> None:
        """The run ended by an exception, of which the class (or, for limits, the message) tells the reason."""
        reason = _claim_of(error)
        if isinstance(error, asyncio.CancelledError) and self.deadline is not None and _seconds_to(self.deadline) <= 0:
            reason = "time_budget"
        if reason is not None:
            self.turn.claim(Layer.RUNTIME, reason, error_type=type_name(error))
            self.turn.end()


class _Listening:
    """The hooks of the capability; the class that pydantic-ai sees is this one joined to its own base."""

    def __init__(self, recorder: Recorder, attended: bool | None) -> None:
        self._turnout = recorder
        self._attended = attended
        self._quiet = Quiet(recorder.losses, SOURCE)
        self._run: _Run | None = None

    async def for_run(self, ctx: Any) -> Any:
        """Each run is recorded by a listener of its own."""
        del ctx
        return type(self)(self._turnout, self._attended)

    async def wrap_run(self, ctx: Any, *, handler: Callable[[], Awaitable[Any]]) -> Any:
        """The turn."""
        quiet = self._quiet
        self._run = run = quiet(_Run, self._turnout, self._attended, ctx)
        if run is None:
            return await handler()
        with run.turn:
            try:
                result = await handler()
            except BaseException as error:
                quiet(run.raised, error)
                raise
            quiet(run.returned, result)
            return result

    async def wrap_model_request(
        self, ctx: Any, *, request_context: Any, handler: Callable[[Any], Awaitable[Any]]
    ) -> Any:
        """A step."""
        del ctx
        run, quiet = self._run, self._quiet
        step = quiet(run.asked, request_context) if run is not None else None
        if run is None or step is None:
            return await handler(request_context)
        with step:
            response = await handler(request_context)
            quiet(run.answered, step, response)
            return response

    async def wrap_tool_validate(
        self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Callable[[Any], Awaitable[Any]]
    ) -> Any:
        """A call's arguments are read; those that were cut are not valid, and the call never runs."""
        del ctx, tool_def
        try:
            return await handler(args)
        except Exception as error:
            handle = self._run and self._quiet(self._run.calls.find, call.tool_name, call.tool_call_id)
            if handle and not type(error).__name__.startswith(("CallDeferred", "ApprovalRequired")):
                self._quiet(handle.settle, "error", error_type=type_name(error), arguments_valid=False)
            raise

    async def wrap_tool_execute(
        self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Callable[[Any], Awaitable[Any]]
    ) -> Any:
        """A call runs."""
        del ctx, tool_def
        run, quiet = self._run, self._quiet
        handle = quiet(run.calls.began, run.step, call.tool_name, call.tool_call_id) if run is not None else None
        if run is None or handle is None:
            return await handler(args)
        with handle:
            try:
                return await handler(args)
            except BaseException as error:
                quiet(run.tool_raised, handle, error)
                raise

    async def wrap_output_validate(
        self, ctx: Any, *, output_context: Any, output: Any, handler: Callable[[Any], Awaitable[Any]]
    ) -> Any:
        """A finish candidate is looked at."""
        del output_context
        return await self._check(ctx, handler, output)

    async def wrap_output_process(
        self, ctx: Any, *, output_context: Any, output: Any, handler: Callable[[Any], Awaitable[Any]]
    ) -> Any:
        """A finish candidate is looked at by output functions and validators."""
        del output_context
        return await self._check(ctx, handler, output)

    async def _check(self, ctx: Any, handler: Callable[[Any], Awaitable[Any]], output: Any) -> Any:
        try:
            checked = await handler(output)
        except Exception as error:
            if self._run is not None and not field(ctx, "partial_output"):
                self._quiet(self._run.checked, error)
            raise
        if self._run is not None and not field(ctx, "partial_output"):
            self._quiet(self._run.checked, None)
        return checked


def _capability_class() -> Callable[[Recorder, bool | None], Any]:
    base = import_module("pydantic_ai.capabilities").AbstractCapability
    made: Callable[[Recorder, bool | None], Any] = type("TurnoutCapability", (_Listening, base), {"id": "turnout"})
    return made


def _limits(ctx: Any) -> Limits:
    said = field(ctx, "usage_limits")
    deadline = field(ctx, "deadline")
    cost = field(said, "cost_limit")
    return Limits(
        steps=whole(field(said, "request_limit")),
        tool_calls=whole(field(said, "tool_calls_limit")),
        total_tokens=whole(field(said, "total_tokens_limit")),
        seconds=round(_seconds_to(deadline), 2) if deadline is not None else None,
        cost_usd=float(cost) if cost is not None else None,
    )


def _seconds_to(deadline: datetime) -> float:
    return (deadline - datetime.now(UTC)).total_seconds()


def _claim_of(error: BaseException) -> str | None:
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if "UsageLimitExceeded" in kinds:
        words = str(error)
        return next((reason for marker, reason in _LIMIT_CLAIMS if marker in words), "token_budget")
    return next((reason for kind, reason in _ERROR_CLAIMS if kind in kinds), None)
