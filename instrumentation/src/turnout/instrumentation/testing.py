"""For the tests of applications: a sink that keeps what it is given, and clocks and ids that do not vary."""

from collections.abc import Callable

from opentelemetry.trace import SpanContext

from turnout.instrumentation.sink import EndedCall, EndedStep, EndedTurn, OpenTurn
from turnout.outcomes.facts import Instant, Step, ToolCall, TurnFacts
from turnout.outcomes.verdict import Verdict


class MemorySink:
    """Keeps what the recorder hands on; ``turns`` holds one entry a turn, replaced by what comes late."""

    def __init__(self, *, traces: bool = True) -> None:
        self.traces = traces
        self.started: list[TurnFacts] = []
        self.steps: list[Step] = []
        self.tool_calls: list[ToolCall] = []
        self.ended: list[EndedTurn] = []
        self.late: list[EndedTurn] = []

    @property
    def turns(self) -> list[TurnFacts]:
        """The facts of all turns that ended, as they are known now."""
        known = {turn.facts.turn_id: turn.facts for turn in [*self.ended, *self.late]}
        return list(known.values())

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdicts of all turns that ended, as they are known now."""
        known = {turn.facts.turn_id: turn.verdict for turn in [*self.ended, *self.late]}
        return list(known.values())

    def samples(self, context: SpanContext, parent: SpanContext | None, name: str) -> bool:
        """All spans are wanted."""
        del context, parent, name
        return True

    def turn_started(self, turn: OpenTurn) -> None:
        """Keep the start."""
        self.started.append(turn.facts)

    def step_ended(self, turn: OpenTurn, step: EndedStep) -> None:
        """Keep the step as it stood when its request ended."""
        del turn
        self.steps.append(step.facts)

    def tool_ended(self, turn: OpenTurn, call: EndedCall) -> None:
        """Keep the call as it ended."""
        del turn
        self.tool_calls.append(call.facts)

    def turn_ended(self, turn: EndedTurn) -> None:
        """Keep the end."""
        self.ended.append(turn)

    def turn_late(self, turn: EndedTurn) -> None:
        """Keep what came late."""
        self.late.append(turn)

    def flush(self, timeout_s: float) -> bool:
        """Nothing is held back."""
        del timeout_s
        return True

    def close(self, timeout_s: float) -> bool:
        """Nothing to close."""
        del timeout_s
        return True


def fixed_clock(start: Instant = 1_767_607_200_000_000_000, step_ms: int = 1000) -> Callable[[], Instant]:
    """A clock that starts at 2026-01-05T10:00:00Z and moves on by a step at each reading."""
    now = start - step_ms * 1_000_000

    def read() -> Instant:
        nonlocal now
        now += step_ms * 1_000_000
        return now

    return read


class CountingIds:
    """Ids that count from 1."""

    def __init__(self) -> None:
        self._turns = self._traces = self._spans = 0

    def turn_id(self) -> str:
        """``turn-1``, ``turn-2``, and so on."""
        self._turns += 1
        return f"turn-{self._turns}"

    def trace_id(self) -> int:
        """1, 2, and so on."""
        self._traces += 1
        return self._traces

    def span_id(self) -> int:
        """1, 2, and so on."""
        self._spans += 1
        return self._spans
