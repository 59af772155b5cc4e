"""Where a turn's records go: the protocol that every sink fulfils, and what it is handed."""

from collections.abc import Callable
from typing import Protocol

from opentelemetry.trace import SpanContext

from turnout.instrumentation.columns import Value, end_attributes
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

    __slots__ = ("agent_id", "facts", "place")

    def __init__(self, facts: TurnFacts, place: Place, agent_id: str | None = None) -> None:
        self.facts = facts
        self.place = place
        self.agent_id = agent_id


class EndedTurn(OpenTurn):
    """A turn's whole text-free facts; the verdict is worked out once, and only when a sink or the host asks for it."""

    __slots__ = ("_attributes", "_verdict")

    def __init__(self, facts: TurnFacts, place: Place, agent_id: str | None = None) -> None:
        super().__init__(facts, place, agent_id)
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


class Sink(Protocol):
    """Takes a turn's records as they come to be; called in the host's thread, so it must not wait for anything.

    What it raises is counted by the recorder and goes no further. All facts that it is handed are free of text.
    """

    @property
    def traces(self) -> bool:
        """Whether it emits spans, so that a turn needs a place in a trace."""
        ...

    def samples(self, context: SpanContext, parent: SpanContext | None, name: str) -> bool:
        """Whether the spans of a turn are wanted; its events always are."""
        ...

    def turn_started(self, turn: OpenTurn) -> None:
        """A turn opened."""
        ...

    def step_ended(self, turn: OpenTurn, step: Step, place: Place, response_model: str | None) -> None:
        """A model request of the turn is over; its tool calls may not be."""
        ...

    def tool_ended(self, turn: OpenTurn, step: int | None, call: ToolCall, place: Place) -> None:
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

    def step_ended(self, turn: OpenTurn, step: Step, place: Place, response_model: str | None) -> None:
        """Hand on to each sink."""
        self._each(lambda sink: sink.step_ended(turn, step, place, response_model))

    def tool_ended(self, turn: OpenTurn, step: int | None, call: ToolCall, place: Place) -> None:
        """Hand on to each sink."""
        self._each(lambda sink: sink.tool_ended(turn, step, call, place))

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
