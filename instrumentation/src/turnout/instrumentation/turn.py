"""The handle on a turn: what a loop tells of it, and its one end."""

import threading
from typing import TYPE_CHECKING, Any

from turnout.instrumentation.block import Block
from turnout.instrumentation.failures import CUTS, claim_of, claim_without_text, stop_of
from turnout.instrumentation.guard import guarded
from turnout.instrumentation.losses import Losses
from turnout.instrumentation.scope import Scope
from turnout.instrumentation.sink import EndedTurn, OpenTurn, Place
from turnout.instrumentation.steps import StepHandle
from turnout.instrumentation.texts import text
from turnout.outcomes.facts import (
    CheckVerdict,
    Claim,
    FinishCheck,
    Layer,
    Requester,
    Step,
    StopMode,
    StopRecord,
    TaskResult,
    ToolCall,
    TurnFacts,
    Usage,
    YieldRecord,
)
from turnout.outcomes.verdict import Verdict

if TYPE_CHECKING:
    from turnout.instrumentation.recorder import Recorder


class TurnHandle(Block):
    """A turn that is being recorded; ends with its ``with`` block, or by `end`, whatever leaves it open.

    Nothing here raises, and no exception of the block is held back. Whatever is said after the end is taken too, and emitted as
    a late event.
    """

    __slots__ = (
        "_checks",
        "_children",
        "_claims",
        "_end",
        "_lock",
        "_open",
        "_place",
        "_recorder",
        "_seq",
        "_step_failure",
        "_steps",
        "_stops",
        "_values",
        "now",
        "turn_id",
    )

    def __init__(
        self, recorder: "Recorder", place: Place | None, values: dict[str, Any], agent_id: str | None = None
    ) -> None:
        super().__init__(Scope(self, place.context if place is not None else None))
        self.turn_id: str = values["turn_id"]
        self.now = recorder.now
        self._recorder = recorder
        self._place = place
        self._values = values
        self._open = OpenTurn(TurnFacts(**values), place or recorder.nowhere, agent_id)
        self._end: EndedTurn | None = None
        self._steps: list[StepHandle] = []
        self._stops: list[StopRecord] = []
        self._checks: list[FinishCheck] = []
        self._claims: list[Claim] = []
        self._children: list[str] = []
        self._seq = 0
        self._step_failure: int | None = None
        self._lock = threading.Lock()

    # What the host tells.

    def step(
        self,
        *,
        model: str | None = None,
        provider: str | None = None,
        api: str | None = None,
        request_id: str | None = None,
        max_output_tokens: int | None = None,
        forced_final: bool | None = None,
        index: int | None = None,
    ) -> StepHandle:
        """Open the next step: one model request and the tool calls it causes.

        Args:
            model: the requested model.
            provider: as in ``gen_ai.provider.name``.
            api: tells two vocabularies of one provider apart (``chat.completions``, ``responses``).
            request_id: the provider's id of the request.
            max_output_tokens: the output cap of this request.
            forced_final: the loop disabled the tools because the budget is spent.
            index: counts from 1; given only where the loop counts otherwise than by calls of this method.
        """
        values: dict[str, Any] = {
            "started_at": self.now(),
            "model": text(model),
            "provider": text(provider),
            "api": text(api),
            "request_id": text(request_id),
            "max_output_tokens": max_output_tokens,
            "forced_final": forced_final,
        }
        with self._lock:
            step = StepHandle(self, index if index is not None else len(self._steps) + 1, values)
            self._steps.append(step)
        return step

    @guarded
    def stop(
        self,
        mode: StopMode | str = StopMode.IMMEDIATE,
        reason: str = "user_stop",
        *,
        by: Requester | str = Requester.USER,
    ) -> None:
        """Record a request to stop: at once, or after the running step."""
        step = self._steps[-1].index if self._steps else None
        record = StopRecord(
            mode=StopMode(mode), reason=reason, step=step, at=self.now(), seq=self._next(), by=Requester(by)
        )
        self._stops.append(record)
        self.changed()

    @guarded
    def finish_check(self, verdict: CheckVerdict | str, *, by: str | None = None, why: str | None = None) -> None:
        """Record what a finish hook said of the last step; ``why`` is free text and goes no further."""
        del why
        step = self._steps[-1].index if self._steps else None
        self._checks.append(FinishCheck(step=step, verdict=CheckVerdict(verdict), by=by))
        self.changed()

    @guarded
    def yielded(self, reason: str, *, tool_call_id: str | None = None) -> None:
        """Record that a tool ended the turn: a hand-off, or a question that waits for a person."""
        self._values["yield_"] = YieldRecord(reason=reason, tool_call_id=tool_call_id)
        self.changed()

    @guarded
    def claim(
        self,
        by: Layer | str,
        reason: str | None = None,
        *,
        status: str | None = None,
        error_type: str | None = None,
        message: str | None = None,
        exit_code: int | None = None,
    ) -> None:
        """Record a layer's own word on how the turn ended; of a message, known phrases alone are kept."""
        claim = Claim(
            by=Layer(by),
            reason=reason,
            status=status,
            at=self.now(),
            seq=self._next(),
            error_type=error_type,
            message=message,
            exit_code=exit_code,
        )
        self._claims.append(claim_without_text(claim))
        self.changed()

    @guarded
    def aggregate(self, *, usage: Usage | None = None, cost_usd: float | None = None) -> None:
        """Record totals that the framework gives for the whole turn; a check, never added to the steps."""
        self._keep(usage=usage, cost_usd=cost_usd)
        self.changed()

    @guarded
    def task_result(
        self, *, resolved: bool | None = None, correct: bool | None = None, reward: float | None = None
    ) -> None:
        """Record what a benchmark or a person said of the work; apart from the outcome."""
        self._values["task_result"] = TaskResult(resolved=resolved, correct=correct, reward=reward)
        self.changed()

    @guarded
    def child(self, turn_id: str) -> None:
        """Record that a tool call of this turn started another turn."""
        self._children.append(turn_id)
        self.changed()

    @guarded
    def end(self, error: BaseException | None = None) -> None:
        """End the turn, by the exception that left it if one did; a second end changes nothing."""
        with self._lock:
            if self._end is not None:
                return
            at = self.now()
            self._values["ended_at"] = at
            self._record_exception(error, at)
            self._close_steps(error)
            self._end = EndedTurn(self.facts(), self._open.place, self._open.agent_id)
        self._recorder.emit(lambda sink: sink.turn_ended(self._require_end()))

    # What can be asked.

    @property
    def trace_id(self) -> str | None:
        """The trace that the turn's spans stand in, if they stand in one."""
        return self._open.facts.trace_id

    @property
    def ended(self) -> bool:
        """Whether the turn has ended."""
        return self._end is not None

    @property
    def verdict(self) -> Verdict | None:
        """How the turn ended, once it has."""
        try:
            return self._end.verdict if self._end is not None else None
        except Exception as fault:  # noqa: BLE001 - telemetry never raises into the host
            self.losses.fault("verdict", fault)
            return None

    @property
    def losses(self) -> Losses:
        """Where faults of our own are counted."""
        return self._recorder.losses

    @property
    def steps(self) -> tuple[StepHandle, ...]:
        """The steps so far."""
        return tuple(self._steps)

    def facts(self) -> TurnFacts:
        """What is recorded of the turn so far."""
        return TurnFacts(
            steps=tuple([step.facts() for step in self._steps]),
            finish_checks=tuple(self._checks),
            stop_requests=tuple(self._stops),
            claims=tuple(self._claims),
            children_expected=tuple(self._children),
            **self._values,
        )

    def _left(self, error: BaseException | None) -> None:
        self.end(error)

    # What the handles of this room ask of each other.

    def digest(self, arguments: str | bytes) -> str | None:
        """The keyed hash of a tool call's arguments, if there is a key."""
        return self._recorder.digest(arguments)

    def new_place(self) -> Place | None:
        """A place for a span under the turn's, if the turn has one."""
        return self._recorder.place_under(self._place) if self._place is not None else None

    def failed_step(self, error: BaseException) -> None:
        """Remember that an exception on its way out is a step's."""
        self._step_failure = id(error)

    def emit_step(self, step: Step, place: Place, response_model: str | None) -> None:
        """Hand a step's end to the sink."""
        try:
            self._recorder.sink.step_ended(self._open, step, place, response_model)
        except Exception as fault:  # noqa: BLE001 - a sink's fault is not the host's
            self.losses.fault("step_ended", fault)

    def emit_tool(self, step: int | None, call: ToolCall, place: Place) -> None:
        """Hand a tool call's end to the sink."""
        try:
            self._recorder.sink.tool_ended(self._open, step, call, place)
        except Exception as fault:  # noqa: BLE001 - a sink's fault is not the host's
            self.losses.fault("tool_ended", fault)

    def opened(self) -> None:
        """Hand the start to the sink."""
        self._recorder.emit(lambda sink: sink.turn_started(self._open))

    def changed(self) -> None:
        """Emit a late event if the turn has ended already."""
        if self._end is None:
            return
        with self._lock:
            self._end = late = EndedTurn(self.facts(), self._open.place, self._open.agent_id)
        self._recorder.emit(lambda sink: sink.turn_late(late))

    def _require_end(self) -> EndedTurn:
        assert self._end is not None
        return self._end

    @guarded
    def _record_exception(self, error: BaseException | None, at: int) -> None:
        if error is None:
            return
        stop = stop_of(error, at)
        if stop is not None:
            self._stops.append(stop)
        claim = claim_of(
            error,
            at=at,
            started_at=self._values["started_at"],
            limits=self._values.get("limits"),
            passed_a_step=self._step_failure == id(error),
            stopping=bool(self._stops),
        )
        if claim is not None:
            self._claims.append(claim)

    def _close_steps(self, error: BaseException | None) -> None:
        for step in self._steps:
            if isinstance(error, CUTS) and not step.finished:
                step.aborted()
            step.close()

    def _next(self) -> int:
        self._seq += 1
        return self._seq

    def _keep(self, **values: object) -> None:
        self._values.update({key: value for key, value in values.items() if value is not None})
