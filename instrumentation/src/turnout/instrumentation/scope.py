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
        self._before: Context = get_current()
        self._inside: Context = _within(self._before, turn, place)
        attach(self._inside)

    def leave(self) -> None:
        """Make current what was before, unless something else has become current since."""
        if get_current() is self._inside:
            attach(self._before)


class GeneratorScope:
    """Makes a turn current while a generator works, and gives its consumer the own context back between its items.

    What the generator has made current when it hands an item out is current again when it goes on.
    """

    __slots__ = ("_inside", "_losses", "_outside")

    def __init__(self, turn: "TurnState", place: "Place | None") -> None:
        self._losses = turn.recorder.losses
        self._outside: Context = get_current()
        self._inside: Context = _within(self._outside, turn, place)

    def _go_in(self) -> None:
        self._outside = get_current()
        attach(self._inside)

    def _go_out(self) -> None:
        self._inside = get_current()
        attach(self._outside)

    def __enter__(self) -> None:
        try:
            self._go_in()
        except Exception as fault:  # noqa: BLE001 - telemetry never raises into the host
            self._losses.fault("GeneratorScope", fault)

    def __exit__(self, *leaving: object) -> None:
        try:
            self._go_out()
        except Exception as fault:  # noqa: BLE001 - telemetry never raises into the host
            self._losses.fault("GeneratorScope", fault)


def _within(around: Context, turn: "TurnState", place: "Place | None") -> Context:
    inside = around if around.get(_TURN) is turn else set_value(_TURN, turn, around)
    return inside if place is None else set_span_in_context(NonRecordingSpan(place.context), inside)


def current_state() -> "TurnState | None":
    """The innermost turn around the caller, in this thread or task."""
    return get_value(_TURN)  # type: ignore[return-value]  # only Scope sets this key
