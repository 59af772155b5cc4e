"""The handle on a step: one model request and the tool calls it causes."""

from typing import TYPE_CHECKING, Any

from turnout.instrumentation.block import Block
from turnout.instrumentation.failures import CUTS, error_without_text, step_error
from turnout.instrumentation.guard import guarded
from turnout.instrumentation.losses import Losses
from turnout.instrumentation.scope import Scope
from turnout.instrumentation.texts import text
from turnout.instrumentation.tools import ToolHandle
from turnout.outcomes.facts import AttemptEnd, Output, Refusal, Step, StepError, ToolStatus, Usage

if TYPE_CHECKING:
    from turnout.instrumentation.turn import TurnHandle


class StepHandle(Block):
    """One model request and the tool calls it causes; a retry of the request is the same step (`attempt`).

    As a context manager it makes the step's span current, records an exception that passes through before `finish` as the request's
    failure (or, for a cancellation, as its abortion), and lets it pass on.
    """

    __slots__ = ("_emitted", "_place", "_response_model", "_tools", "_turn", "_values", "index")

    def __init__(self, turn: "TurnHandle", index: int, values: dict[str, Any]) -> None:
        self.index = index
        self._turn = turn
        self._values = values
        self._tools: list[ToolHandle] = []
        self._response_model: str | None = None
        self._place = turn.new_place()
        self._emitted = False
        super().__init__(Scope(turn, self._place.context) if self._place is not None else None)

    @property
    def losses(self) -> Losses:
        """Where faults of our own are counted."""
        return self._turn.losses

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
            model: the requested model, where it was not known at the start.
            response_model: the model that answered, where it differs.
            cost_usd: as the provider or the framework reports it.
            stream_complete: the terminal chunk of the stream was seen.
            cache_in_input: ``input_tokens`` already includes the cache tokens (the default).
            reasoning_in_output: ``output_tokens`` already includes the reasoning tokens (the default).
            max_output_tokens: the output cap of the request, where it was not known at the start.
        """
        given = {
            "finish_reason": text(finish_reason),
            "raw_finish_reason": text(raw_finish_reason),
            "usage": usage,
            "output": Output(text_chars=len(output), parts=1 if output else 0) if isinstance(output, str) else output,
            "refusal": _refusal(refusal) if refusal is not None else None,
            "message_id": text(message_id),
            "cost_usd": cost_usd,
            "stream_complete": stream_complete,
            "cache_in_input": cache_in_input,
            "reasoning_in_output": reasoning_in_output,
        }
        values = self._values
        if "ended_at" in values:
            self._keep(**given)
        else:
            values["ended_at"] = self._turn.now()
            values.update(given)
        if response_model is not None:
            self._response_model = response_model
        self._keep(model=text(model), request_id=request_id, max_output_tokens=max_output_tokens)
        self._turn.changed()

    @guarded
    def failed(self, error: BaseException | StepError) -> None:
        """Record that the request failed; of an exception its class, its status and known phrases are kept."""
        self._end(error=error_without_text(error) if isinstance(error, StepError) else step_error(error))
        self._turn.changed()

    @guarded
    def aborted(self) -> None:
        """Record that the request was cancelled in flight."""
        self._end(aborted=True)
        self._turn.changed()

    @guarded
    def attempt(self, *, reason: str | None = None, status: int | None = None) -> None:
        """Record that a request for this step ended without an answer and is made again."""
        ends = (*self._values.get("attempt_ends", ()), AttemptEnd(reason=reason, status=status, at=self._turn.now()))
        self._values["attempt_ends"] = ends
        self._values["attempts"] = len(ends) + 1
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
        call = ToolHandle(self._turn, self.index)
        call.describe(
            name=name,
            id=id,
            arguments=arguments,
            arguments_valid=arguments_valid,
            mutating=mutating,
            final=final,
            status=status,
        )
        self._tools.append(call)
        if "ended_at" in self._values:
            self._emit()
        return call

    @guarded
    def close(self) -> None:
        """End the step without a context manager; a step that its turn finds open is closed by it."""
        self._end()
        self._emit()

    def facts(self) -> Step:
        """What is recorded of the step so far."""
        return Step(index=self.index, tool_calls=tuple([call.facts() for call in self._tools]), **self._values)

    def tools(self) -> tuple[ToolHandle, ...]:
        """The step's tool calls so far."""
        return tuple(self._tools)

    @property
    def finished(self) -> bool:
        """Whether the request has ended: answered, failed or aborted."""
        return "ended_at" in self._values

    def _left(self, error: BaseException | None) -> None:
        if error is not None and not self.finished:
            if isinstance(error, CUTS):
                self._end(aborted=True)
            else:
                self._end(error=step_error(error))
                self._turn.failed_step(error)
            self._turn.changed()
        self._end()
        self._emit()

    def _end(self, **how: object) -> None:
        values = self._values
        if "ended_at" not in values:
            values["ended_at"] = self._turn.now()
        values.update(how)

    def _keep(self, **given: object) -> None:
        self._values.update({key: value for key, value in given.items() if value is not None})

    def _emit(self) -> None:
        if self._place is not None and not self._emitted:
            self._emitted = True
            self._turn.emit_step(self.facts(), self._place, self._response_model)


def _refusal(refusal: Refusal | str | bool | None) -> Refusal | None:
    if isinstance(refusal, Refusal):
        return Refusal(category=refusal.category)
    if isinstance(refusal, str):
        return Refusal(category=refusal or None)
    return Refusal() if refusal else None
