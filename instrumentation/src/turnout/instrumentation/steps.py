"""The handle on a step: one model request and the tool calls it causes."""

from typing import Final

from turnout.instrumentation.block import Block
from turnout.instrumentation.failures import CUTS, error_without_text, step_error
from turnout.instrumentation.guard import guarded
from turnout.instrumentation.known import Values, output_values, step_facts, usage_values, values_of
from turnout.instrumentation.sink import Place
from turnout.instrumentation.state import CallState, StepState, TurnState
from turnout.instrumentation.texts import text
from turnout.instrumentation.tools import ToolHandle
from turnout.outcomes.facts import AttemptEnd, Instant, Output, Refusal, Step, StepError, ToolStatus, Usage


class StepHandle(Block):
    """One model request and the tool calls it causes; a retry of the request is the same step (`attempt`).

    As a context manager it makes the step's span current, records an exception that passes through before `finish` as the request's
    failure (or, for a cancellation, as its abortion), and lets it pass on.
    """

    __slots__ = ("_step",)

    def __init__(self, turn: TurnState, step: StepState) -> None:
        self._turn = turn
        self._scope = None
        self._step = step

    @guarded
    def finish(
        self,
        *,
        finish_reason: str | None = None,
        raw_finish_reason: str | None = None,
        usage: Usage | None = None,
        output: Output | str | None = None,
        refusal: Refusal | str | bool | None = None,
        message_id: str | None = None,
        request_id: str | None = None,
        provider: str | None = None,
        api: str | None = None,
        model: str | None = None,
        response_model: str | None = None,
        cost_usd: float | None = None,
        stream_complete: bool | None = None,
        cache_in_input: bool | None = None,
        reasoning_in_output: bool | None = None,
        max_output_tokens: int | None = None,
    ) -> None:
        """Record the response; may be called again as more of it becomes known.

        Args:
            finish_reason: as the runtime or a unifying library reports it.
            raw_finish_reason: as the provider spelled it.
            usage: token counts of this response; see the two flags for what they include.
            output: how much a person could see; of a text only its length is kept.
            refusal: present when the provider refused: a category, or true where it gave none.
            message_id: the provider's id of the response.
            request_id: the provider's id of the request.
            provider: where it was not known at the start.
            api: where it was not known at the start.
            model: the requested model, where it was not known at the start.
            response_model: the model that answered, where it differs.
            cost_usd: as the provider or the framework reports it.
            stream_complete: the terminal chunk of the stream was seen.
            cache_in_input: ``input_tokens`` already includes the cache tokens (the default).
            reasoning_in_output: ``output_tokens`` already includes the reasoning tokens (the default).
            max_output_tokens: the output cap of the request, where it was not known at the start.
        """
        step = self._step
        values = step.values
        if "ended_at" not in values:
            values["ended_at"] = self._turn.recorder.now()
        if finish_reason is not None:
            values["finish_reason"] = self._word(finish_reason, "finish reason")
        if raw_finish_reason is not None:
            values["raw_finish_reason"] = self._word(raw_finish_reason, "finish reason")
        if usage is not None:
            values["usage"] = usage_values(usage)
        if output is not None:
            values["output"] = output_values(output) if isinstance(output, Output) else _measured(output)
        if message_id is not None:
            values["message_id"] = text(message_id)
        if stream_complete is not None:
            values["stream_complete"] = stream_complete
        if response_model is not None:
            step.response_model = text(response_model)
        rare = (
            refusal,
            request_id,
            provider,
            api,
            model,
            cost_usd,
            cache_in_input,
            reasoning_in_output,
            max_output_tokens,
        )
        if rare != _NONE_OF_THEM:
            self._keep(
                refusal=self._refused(refusal),
                request_id=text(request_id),
                provider=text(provider),
                api=text(api),
                model=text(model),
                cost_usd=cost_usd,
                cache_in_input=cache_in_input,
                reasoning_in_output=reasoning_in_output,
                max_output_tokens=max_output_tokens,
            )
        self._turn.changed()

    @guarded
    def failed(self, error: BaseException | StepError) -> None:
        """Record that the request failed; of an exception its class, its status and known phrases are kept."""
        self._fail(error)
        self._turn.changed()

    @guarded
    def aborted(self) -> None:
        """Record that the request was cancelled in flight."""
        self._step.values["aborted"] = True
        self._step.end(self._turn.recorder.now())
        self._turn.changed()

    @guarded
    def attempt(
        self,
        *,
        reason: str | None = None,
        status: int | None = None,
        at: Instant | None = None,
        again: bool = True,
    ) -> None:
        """Record that a request for this step ended without an answer.

        Args:
            reason: the error's type, or the provider's finish value.
            status: the HTTP status.
            at: when it ended; now where that is not given.
            again: another request is made for the step.
        """
        ended = at if at is not None else self._turn.recorder.now()
        end = values_of(AttemptEnd(reason=self._word(reason, "attempt reason"), status=status, at=ended))
        values = self._step.values
        values["attempt_ends"] = [*values.get("attempt_ends", ()), end]
        values["attempts"] = len(values["attempt_ends"]) + again
        self._turn.changed()

    def tool_call(
        self,
        name: str | None = None,
        *,
        id: str | None = None,  # noqa: A002 - the contract's word
        arguments: str | bytes | None = None,
        arguments_valid: bool | None = None,
        mutating: bool | None = None,
        final: bool | None = None,
        status: ToolStatus | str = ToolStatus.RUNNING,
    ) -> ToolHandle:
        """Open a tool call of this step; calls may run side by side, and in other tasks and threads.

        Args:
            name: the tool's name.
            id: the provider's id of the call.
            arguments: hashed with the recorder's key, or not looked at when there is none; never kept.
            arguments_valid: whether the arguments could be read; false when they were cut.
            mutating: whether the tool changes anything outside the conversation.
            final: an output tool, whose call is the answer.
            status: where the call stands now.
        """
        try:
            return self._called(name, id, arguments, arguments_valid, mutating, final, status)
        except Exception as fault:  # noqa: BLE001 - telemetry never raises into the host
            self.losses.fault("StepHandle.tool_call", fault)
            return ToolHandle(self._turn, CallState(0, {"status": "running"}, None))

    def _called(
        self,
        name: str | None,
        id: str | None,  # noqa: A002 - the contract's word
        arguments: str | bytes | None,
        arguments_valid: bool | None,
        mutating: bool | None,
        final: bool | None,
        status: ToolStatus | str,
    ) -> ToolHandle:
        turn, step = self._turn, self._step
        values: Values = {"status": "running", "started_at": turn.recorder.now()}
        if name is not None:
            values["name"] = text(name)
        if id is not None:
            values["id"] = text(id)
        if mutating is not None:
            values["mutating"] = mutating
        call = CallState(step.values["index"], values, turn.new_place())
        step.calls.append(call)
        handle = ToolHandle(turn, call)
        if (arguments, arguments_valid, final, status) != _RUNNING:
            handle.describe(arguments=arguments, arguments_valid=arguments_valid, final=final, status=status)
        if "ended_at" in step.values:
            turn.emit_step(step)
        if turn.end is not None:
            turn.changed()
        return handle

    @guarded
    def close(self) -> None:
        """End the step without a context manager; a step that its turn finds open is closed by it."""
        self._step.end(self._turn.recorder.now())
        self._turn.emit_step(self._step)

    @guarded
    def discard(self) -> None:
        """Take an open step back: its request was never made."""
        self._turn.drop_step(self._step)

    @property
    def index(self) -> int:
        """The step's number in its turn, from 1."""
        index: int = self._step.values["index"]
        return index

    @property
    def finished(self) -> bool:
        """Whether the request has ended: answered, failed or aborted."""
        return "ended_at" in self._step.values

    def facts(self) -> Step:
        """What is recorded of the step so far."""
        return step_facts(self._step.values, self._step.call_values())

    def _place(self) -> Place | None:
        return self._step.place

    def _left(self, error: BaseException | None) -> None:
        turn, step = self._turn, self._step
        if "ended_at" not in step.values:
            if isinstance(error, CUTS):
                step.values["aborted"] = True
            elif error is not None:
                self._fail(error)
                turn.failed_step = id(error)
            step.end(turn.recorder.now())
            turn.changed()
        turn.emit_step(step)

    def _fail(self, error: BaseException | StepError) -> None:
        stripped = error_without_text(error) if isinstance(error, StepError) else step_error(error)
        values = values_of(stripped)
        if "type" in values:
            values["type"] = self._word(values["type"], "error type")
        self._step.values["error"] = values
        self._step.end(self._turn.recorder.now())

    def _refused(self, refusal: Refusal | str | bool | None) -> Values | None:
        if not refusal:
            return None
        category = refusal.category if isinstance(refusal, Refusal) else None if refusal is True else refusal
        return {} if category is None else {"category": self._word(category, "refusal category")}

    def _keep(self, **given: object) -> None:
        self._step.values.update({key: value for key, value in given.items() if value is not None})


_NONE_OF_THEM: Final = (None,) * 9
_RUNNING: Final = (None, None, None, ToolStatus.RUNNING)


def _measured(output: str) -> Values:
    return {"text_chars": len(output), "parts": 1 if output else 0}
