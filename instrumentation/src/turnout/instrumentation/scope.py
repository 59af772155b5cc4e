"""The current turn and its place in the trace, carried by OpenTelemetry's context."""

from typing import TYPE_CHECKING, Final

from opentelemetry.context import Context, attach, create_key, get_current, get_value, set_value
from opentelemetry.trace import NonRecordingSpan, SpanContext, set_span_in_context

if TYPE_CHECKING:
    from turnout.instrumentation.turn import TurnHandle

_TURN: Final = create_key("turnout-turn")


class Scope:
    """Makes a turn and a span of it current while the host's block runs.

    Leaving a block in another context than it was entered in (an async generator that is closed from elsewhere) changes nothing
    there, and logs nothing.
    """

    __slots__ = ("_before", "_inside", "_span", "_turn")

    def __init__(self, turn: "TurnHandle", span: SpanContext | None) -> None:
        self._turn = turn
        self._span = span
        self._before: Context | None = None
        self._inside: Context | None = None

    def enter(self) -> None:
        """Make the turn and the span current."""
        before = get_current()
        inside = set_value(_TURN, self._turn, before)
        if self._span is not None:
            inside = set_span_in_context(NonRecordingSpan(self._span), inside)
        self._before, self._inside = before, inside
        attach(inside)

    def leave(self) -> None:
        """Make current what was before, unless something else has become current since."""
        before, inside = self._before, self._inside
        self._before = self._inside = None
        if before is not None and get_current() is inside:
            attach(before)


def current_turn() -> "TurnHandle | None":
    """The innermost turn that is open around the caller, in this thread or task."""
    return get_value(_TURN)  # type: ignore[return-value]  # only Scope sets this key
