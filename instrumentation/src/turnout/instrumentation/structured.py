"""The application's structlog logger as a sink: the two end events, for teams without OpenTelemetry."""

from typing import Protocol, cast

import structlog

from turnout.instrumentation import attributes as names
from turnout.instrumentation.sink import EndedTurn, TurnsOnly


class EventLogger(Protocol):
    """What is used of a structlog logger."""

    def info(self, event: str, **values: object) -> object:
        """Log at info level."""
        ...

    def error(self, event: str, **values: object) -> object:
        """Log at error level."""
        ...


class StructlogSink(TurnsOnly):
    """Logs ``agent.turn.end`` at info and ``agent.turn.abnormal_finish`` at error level, with the attributes of the OTLP events.

    Without a logger of its own it uses the application's, once the application has configured structlog; before that it is silent,
    because structlog's own default prints to standard output.
    """

    def __init__(self, logger: EventLogger | None = None) -> None:
        self._logger = logger
        self._default = cast("EventLogger", structlog.get_logger(names.SCOPE))

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
