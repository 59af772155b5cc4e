"""The current turn and its place in the trace, carried by OpenTelemetry's context."""

from typing import TYPE_CHECKING, Final

from opentelemetry.context import Context, attach, create_key, get_current, get_value, set_value
from opentelemetry.trace import NonRecordingSpan, set_span_in_context

if TYPE_CHECKING:
    from turnout.instrumentation.sink import Place
    from turnout.instrumentation.state import TurnState

_TURN: Final = create_key("turnout-turn")


class Scope:
    """Makes a turn and a span of it current while the host's block runs.

    Leaving a block in another context than it was entered in (an async generator that is closed from elsewhere) changes nothing
    there, and logs nothing.
    """

    __slots__ = ("_before", "_inside")

    def __init__(self, turn: "TurnState", place: "Place | None") -> None:
        before = inside = get_current()
        if before.get(_TURN) is not turn:
            inside = set_value(_TURN, turn, before)
        if place is not None:
            inside = set_span_in_context(NonRecordingSpan(place.context), inside)
        self._before: Context = before
        self._inside: Context = inside
        attach(inside)

    def leave(self) -> None:
        """Make current what was before, unless something else has become current since."""
        if get_current() is self._inside:
            attach(self._before)


def current_state() -> "TurnState | None":
    """The innermost turn around the caller, in this thread or task."""
    return get_value(_TURN)  # type: ignore[return-value]  # only Scope sets this key
