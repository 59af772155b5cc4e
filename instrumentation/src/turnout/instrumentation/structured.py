"""The application's structlog logger as a sink: the two end events, for teams without OpenTelemetry."""

from typing import Protocol, cast

import structlog
from opentelemetry.trace import SpanContext

from turnout.instrumentation import attributes as names
from turnout.instrumentation.sink import EndedTurn, OpenTurn, Place
from turnout.outcomes.facts import Step, ToolCall


class EventLogger(Protocol):
    """What is used of a structlog logger."""

    def info(self, event: str, **values: object) -> object:
        """Log at info level."""
        ...

    def error(self, event: str, **values: object) -> object:
        """Log at error level."""
        ...


class StructlogSink:
    """Logs ``agent.turn.end`` at info and ``agent.turn.abnormal_finish`` at error level, with the attributes of the OTLP events.

    Without a logger of its own it uses the application's, once the application has configured structlog; before that it is silent,
    because structlog's own default prints to standard output.
    """

    traces = False

    def __init__(self, logger: EventLogger | None = None) -> None:
        self._logger = logger
        self._default = cast("EventLogger", structlog.get_logger(names.SCOPE))

    def samples(self, context: SpanContext, parent: SpanContext | None, name: str) -> bool:
        """No spans are logged."""
        del context, parent, name
        return False

    def turn_started(self, turn: OpenTurn) -> None:
        """Nothing: only ends are logged."""

    def step_ended(self, turn: OpenTurn, step: Step, place: Place, response_model: str | None) -> None:
        """Nothing: only ends are logged."""

    def tool_ended(self, turn: OpenTurn, step: int | None, call: ToolCall, place: Place) -> None:
        """Nothing: only ends are logged."""

    def turn_ended(self, turn: EndedTurn) -> None:
        """Log the end events."""
        logger = self._logger
        if logger is None and structlog.is_configured():
            logger = self._default
        if logger is None:
            return
        logger.info(names.EVENT_END, **turn.attributes)
        if turn.verdict.abnormal:
            logger.error(names.EVENT_ABNORMAL_FINISH, **turn.attributes)

    def turn_late(self, turn: EndedTurn) -> None:
        """Nothing: an end is logged once."""

    def flush(self, timeout_s: float) -> bool:
        """Nothing is held back."""
        del timeout_s
        return True

    def close(self, timeout_s: float) -> bool:
        """Nothing to close."""
        del timeout_s
        return True
