"""What a turn's handles write into: plain records that know no handle, so that nothing has to be collected when a turn is over."""

import threading
from typing import TYPE_CHECKING, Final

from opentelemetry.trace import INVALID_SPAN_CONTEXT

from turnout.instrumentation.failures import CUTS, claim_of, stop_of
from turnout.instrumentation.known import KnownTurn, Values, values_of
from turnout.instrumentation.sink import EndedCall, EndedStep, EndedTurn, OpenTurn, Place
from turnout.outcomes.facts import Instant, Limits, ToolStatus

if TYPE_CHECKING:
    from turnout.instrumentation.recorder import Recorder

NOWHERE: Final = Place(INVALID_SPAN_CONTEXT, None)
"""The place of a turn in no trace."""

_SETTLED: Final = frozenset({ToolStatus.OK, ToolStatus.ERROR, ToolStatus.DENIED})


class CallState:
    """One tool call."""

    __slots__ = ("emitted", "place", "step", "values")

    def __init__(self, step: int, values: Values, place: Place | None) -> None:
        self.step = step
        self.values = values
        self.place = place
        self.emitted = False

    def settle(self, status: ToolStatus, at: Instant) -> None:
        """Set the status, and the end where the status is one."""
        self.values["status"] = status.value
        if status in _SETTLED:
            self.values["ended_at"] = at


class StepState:
    """One step and its calls."""

    __slots__ = ("calls", "emitted", "place", "response_model", "values")

    def __init__(self, values: Values, place: Place | None) -> None:
        self.values = values
        self.place = place
        self.calls: list[CallState] = []
        self.response_model: str | None = None
        self.emitted = False

    def end(self, at: Instant) -> None:
        """Set when the request ended, unless that is known already."""
        if "ended_at" not in self.values:
            self.values["ended_at"] = at

    def call_values(self) -> list[Values]:
        """The calls' values, as they stand now."""
        return [call.values.copy() for call in self.calls]


class TurnState:
    """One turn: what is recorded of it, its end, and the way to the sink."""

    __slots__ = (
        "__weakref__",
        "_lock",
        "_seq",
        "agent_id",
        "end",
        "failed_step",
        "opened",
        "place",
        "recorder",
        "steps",
        "values",
    )

    def __init__(self, recorder: "Recorder", values: Values, place: Place | None, agent_id: str | None) -> None:
        self.recorder = recorder
        self.values = values
        self.place = place
        self.agent_id = agent_id
        self.opened = OpenTurn(KnownTurn(values.copy(), []), place or NOWHERE, agent_id)
        self.steps: list[StepState] = []
        self.end: EndedTurn | None = None
        self.failed_step: int | None = None
        self._seq = 0
        self._lock = threading.Lock()

    def seq(self) -> int:
        """The next place in the order of what was said."""
        self._seq += 1
        return self._seq

    def append(self, name: str, values: Values) -> None:
        """Add to one of the turn's lists what is recorded of it."""
        recorded = {key: value for key, value in values.items() if value is not None}
        self.values.setdefault(name, []).append(recorded)
        self.changed()

    def new_place(self) -> Place | None:
        """A place for a span under the turn's, if the turn has one."""
        if self.place is None:
            return None
        try:
            return self.recorder.place_under(self.place)
        except Exception as fault:  # noqa: BLE001 - the ids may be the host's
            self.recorder.losses.fault("ids", fault)
            return None

    def add_step(self, values: Values, index: int | None) -> StepState:
        """Add a step, numbered by the order of adding where no number is given."""
        step = StepState(values, self.new_place())
        with self._lock:
            values["index"] = index if index is not None else len(self.steps) + 1
            self.steps.append(step)
        return step

    def drop_step(self, step: StepState) -> None:
        """Forget the last step, unless anything came of it."""
        with self._lock:
            if self.steps and self.steps[-1] is step and "ended_at" not in step.values:
                self.steps.pop()

    def started(self) -> None:
        """Hand the start to the sink."""
        self.recorder.emit(self.recorder.sink.turn_started, self.opened)

    def emit_step(self, step: StepState) -> None:
        """Hand a step whose request has ended to a sink that emits spans, once."""
        if step.place is not None and not step.emitted:
            step.emitted = True
            ended = EndedStep(step.values.copy(), step.call_values(), step.place, step.response_model)
            self.recorder.emit(self.recorder.sink.step_ended, self.opened, ended)

    def emit_call(self, call: CallState) -> None:
        """Hand a call that is over to a sink that emits spans, once."""
        if call.place is not None and not call.emitted:
            call.emitted = True
            self.recorder.emit(
                self.recorder.sink.tool_ended, self.opened, EndedCall(call.values.copy(), call.step, call.place)
            )

    def finish(self, error: BaseException | None) -> None:
        """End the turn, once: record what the exception says, close its steps, and hand it to the sink."""
        with self._lock:
            if self.end is not None:
                return
            at = self.recorder.now()
            self.values["ended_at"] = at
            self._close(error, at)
            self.end = ended = EndedTurn(self.known(), self.opened.place, self.agent_id)
        self.recorder.forget(self.values["turn_id"])
        self.recorder.emit(self.recorder.sink.turn_ended, ended)

    def changed(self) -> None:
        """Hand the facts on once more if the turn has ended already."""
        if self.end is None:
            return
        with self._lock:
            self.end = late = EndedTurn(self.known(), self.opened.place, self.agent_id)
        self.recorder.emit(self.recorder.sink.turn_late, late)

    def known(self) -> KnownTurn:
        """What is recorded so far."""
        turn = {name: value.copy() if type(value) is list else value for name, value in self.values.items()}
        return KnownTurn(turn, [(step.values.copy(), step.call_values()) for step in self.steps])

    def _close(self, error: BaseException | None, at: Instant) -> None:
        try:
            if error is not None:
                self._say(error, at)
            for step in self.steps:
                if "ended_at" not in step.values:
                    step.values["ended_at"] = at
                    if isinstance(error, CUTS):
                        step.values["aborted"] = True
                self.emit_step(step)
        except Exception as fault:  # noqa: BLE001 - whatever is wrong with its details, the turn has ended
            self.recorder.losses.fault("the end of a turn", fault)

    def _say(self, error: BaseException, at: Instant) -> None:
        stop = stop_of(error, at)
        if stop is not None:
            self.append("stop_requests", values_of(stop))
        limits = self.values.get("limits")
        claim = claim_of(
            error,
            at=at,
            started_at=self.values["started_at"],
            limits=Limits(**limits) if limits is not None else None,
            passed_a_step=self.failed_step == id(error),
            stopping="stop_requests" in self.values,
        )
        if claim is not None:
            self.append("claims", values_of(claim))
