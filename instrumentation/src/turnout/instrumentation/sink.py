"""Where a turn's records go: the protocol that every sink fulfils, and what it is handed."""

from collections.abc import Callable
from typing import Protocol

from opentelemetry.trace import SpanContext

from turnout.instrumentation.columns import Value, end_attributes
from turnout.instrumentation.known import KnownTurn, Values, call_facts, step_facts
from turnout.instrumentation.losses import LOSSES, Losses
from turnout.outcomes.classify import classify
from turnout.outcomes.facts import Step, ToolCall, TurnFacts
from turnout.outcomes.verdict import Verdict


class Place:
    """Where a turn, a step or a tool call stands in its trace."""

    __slots__ = ("context", "parent")

    def __init__(self, context: SpanContext, parent: SpanContext | None) -> None:
        self.context = context
        self.parent = parent


class OpenTurn:
    """A turn as its start event tells it; ``agent_id`` is a span attribute alone."""

    __slots__ = ("agent_id", "known", "place")

    def __init__(self, known: KnownTurn, place: Place, agent_id: str | None = None) -> None:
        self.known = known
        self.place = place
        self.agent_id = agent_id

    @property
    def facts(self) -> TurnFacts:
        """The turn's text-free facts."""
        return self.known.facts


class EndedTurn(OpenTurn):
    """A turn's whole facts; the verdict is worked out once, and only when a sink or the host asks for it."""

    __slots__ = ("_attributes", "_verdict")

    def __init__(self, known: KnownTurn, place: Place, agent_id: str | None = None) -> None:
        super().__init__(known, place, agent_id)
        self._verdict: Verdict | None = None
        self._attributes: dict[str, Value] | None = None

    @property
    def verdict(self) -> Verdict:
        """What the classifier concludes from the facts."""
        if self._verdict is None:
            self._verdict = classify(self.facts)
        return self._verdict

    @property
    def attributes(self) -> dict[str, Value]:
        """The attributes of the end events; to be read only."""
        if self._attributes is None:
            self._attributes = end_attributes(self.facts, self.verdict)
        return self._attributes


class EndedStep:
    """A model request that is over; its tool calls may not be. ``response_model`` is a span attribute alone."""

    __slots__ = ("calls", "place", "response_model", "values")

    def __init__(self, values: Values, calls: list[Values], place: Place, response_model: str | None = None) -> None:
        self.values = values
        self.calls = calls
        self.place = place
        self.response_model = response_model

    @property
    def facts(self) -> Step:
        """The step's text-free facts."""
        return step_facts(self.values, self.calls)


class EndedCall:
    """A tool call that is over, and the step that it belongs to."""

    __slots__ = ("place", "step", "values")

    def __init__(self, values: Values, step: int | None, place: Place) -> None:
        self.values = values
        self.step = step
        self.place = place

    @property
    def facts(self) -> ToolCall:
        """The call's text-free facts."""
        return call_facts(self.values)


class Sink(Protocol):
    """Takes a turn's records as they come to be; called in the host's thread, so it must not wait for anything.

    What it raises is counted by the recorder and goes no further. All that it is handed is free of text.
    """

    @property
    def traces(self) -> bool:
        """Whether it emits spans; only then are steps and tool calls handed to it."""
        ...

    def samples(self, context: SpanContext, parent: SpanContext | None, name: str) -> bool:
        """Whether the spans of a turn are wanted; its events always are."""
        ...

    def turn_started(self, turn: OpenTurn) -> None:
        """A turn opened."""
        ...

    def step_ended(self, turn: OpenTurn, step: EndedStep) -> None:
        """A model request of the turn is over."""
        ...

    def tool_ended(self, turn: OpenTurn, call: EndedCall) -> None:
        """A tool call of the turn is over."""
        ...

    def turn_ended(self, turn: EndedTurn) -> None:
        """A turn ended; called once a turn."""
        ...

    def turn_late(self, turn: EndedTurn) -> None:
        """More became known of a turn after its end."""
        ...

    def flush(self, timeout_s: float) -> bool:
        """Hand on what is queued; false when that took too long."""
        ...

    def close(self, timeout_s: float) -> bool:
        """Hand on what is queued and take nothing more."""
        ...


class TurnsOnly:
    """What a sink does that has no use for spans: a base for sinks that write ended turns."""

    traces = False

    def samples(self, context: SpanContext, parent: SpanContext | None, name: str) -> bool:
        """No spans are wanted."""
        del context, parent, name
        return False

    def turn_started(self, turn: OpenTurn) -> None:
        """Nothing is written at the start."""

    def step_ended(self, turn: OpenTurn, step: EndedStep) -> None:
        """The step stands in its turn."""

    def tool_ended(self, turn: OpenTurn, call: EndedCall) -> None:
        """The call stands in its turn."""

    def flush(self, timeout_s: float) -> bool:
        """Nothing is held back."""
        del timeout_s
        return True

    def close(self, timeout_s: float) -> bool:
        """Nothing is open."""
        del timeout_s
        return True


class Nothing(TurnsOnly):
    """A sink that takes nothing, where telemetry is switched off."""

    def turn_ended(self, turn: EndedTurn) -> None:
        """Let go."""

    def turn_late(self, turn: EndedTurn) -> None:
        """Let go."""


class FanOut:
    """Several sinks as one; a fault in one keeps nothing from the others."""

    def __init__(self, *sinks: Sink, losses: Losses = LOSSES) -> None:
        self._sinks = sinks
        self._losses = losses
        self.traces = any(sink.traces for sink in sinks)

    def samples(self, context: SpanContext, parent: SpanContext | None, name: str) -> bool:
        """Whether any of the sinks wants the spans."""
        return any(sink.samples(context, parent, name) for sink in self._sinks if sink.traces)

    def turn_started(self, turn: OpenTurn) -> None:
        """Hand on to each sink."""
        self._each(lambda sink: sink.turn_started(turn))

    def step_ended(self, turn: OpenTurn, step: EndedStep) -> None:
        """Hand on to each sink that emits spans."""
        self._each(lambda sink: sink.step_ended(turn, step))

    def tool_ended(self, turn: OpenTurn, call: EndedCall) -> None:
        """Hand on to each sink that emits spans."""
        self._each(lambda sink: sink.tool_ended(turn, call))

    def turn_ended(self, turn: EndedTurn) -> None:
        """Hand on to each sink."""
        self._each(lambda sink: sink.turn_ended(turn))

    def turn_late(self, turn: EndedTurn) -> None:
        """Hand on to each sink."""
        self._each(lambda sink: sink.turn_late(turn))

    def flush(self, timeout_s: float) -> bool:
        """Flush each sink."""
        flushed = [sink.flush(timeout_s) for sink in self._sinks]
        return all(flushed)

    def close(self, timeout_s: float) -> bool:
        """Close each sink."""
        closed = [sink.close(timeout_s) for sink in self._sinks]
        return all(closed)

    def _each(self, hand_on: Callable[[Sink], None]) -> None:
        for sink in self._sinks:
            try:
                hand_on(sink)
            except Exception as error:  # noqa: BLE001 - one sink's fault is not another's
                self._losses.fault(type(sink).__name__, error)
