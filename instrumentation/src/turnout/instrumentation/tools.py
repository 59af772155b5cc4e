"""The handle on a tool call."""

from typing import TYPE_CHECKING, Any

from opentelemetry.trace import SpanContext

from turnout.instrumentation.block import Block
from turnout.instrumentation.failures import CUTS, type_name
from turnout.instrumentation.guard import guarded
from turnout.instrumentation.losses import Losses
from turnout.instrumentation.sink import Place
from turnout.outcomes.facts import ToolCall, ToolStatus

if TYPE_CHECKING:
    from turnout.instrumentation.turn import TurnHandle

_SETTLED = frozenset({ToolStatus.OK, ToolStatus.ERROR, ToolStatus.DENIED})
_WAITING = frozenset({ToolStatus.AWAITING_CLIENT, ToolStatus.AWAITING_APPROVAL})


class ToolHandle(Block):
    """One tool call; as a context manager it settles the call: ``ok`` at its end, ``error`` by an exception, which passes on.

    A call that is cut by a cancellation stays ``running``: whether it took effect is not known.
    """

    __slots__ = ("_emitted", "_place", "_step", "_turn", "_values")

    def __init__(self, turn: "TurnHandle", step: int) -> None:
        super().__init__()
        self._turn = turn
        self._step = step
        self._values: dict[str, Any] = {}
        self._place: Place | None = turn.new_place()
        self._emitted = False

    @property
    def losses(self) -> Losses:
        """Where faults of our own are counted."""
        return self._turn.losses

    @guarded
    def describe(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the contract's word
        arguments: str | bytes | None = None,
        arguments_valid: bool | None = None,
        mutating: bool | None = None,
        final: bool | None = None,
        status: ToolStatus | str = ToolStatus.RUNNING,
    ) -> None:
        """Record what the call is."""
        values = self._values
        values.setdefault("started_at", self._turn.now())
        values["status"] = ToolStatus.RUNNING
        described = {
            "name": name,
            "id": id,
            "arguments_digest": self._turn.digest(arguments) if arguments is not None else None,
            "arguments_valid": arguments_valid,
            "mutating": mutating,
            "final": final,
            "status": ToolStatus(status),
        }
        values.update({key: value for key, value in described.items() if value is not None})
        self._turn.changed()

    def ok(self) -> None:
        """The call returned."""
        self.settle(ToolStatus.OK)

    def failed(self, error: BaseException | str | None = None) -> None:
        """The call failed; of an exception only its class is kept."""
        self.settle(ToolStatus.ERROR, error_type=type_name(error) if isinstance(error, BaseException) else error)

    def denied(self, by: str | None = None) -> None:
        """A person or a policy did not let the call run."""
        self.settle(ToolStatus.DENIED, denied_by=by)

    @guarded
    def settle(
        self,
        status: ToolStatus | str,
        *,
        error_type: str | None = None,
        denied_by: str | None = None,
        arguments_valid: bool | None = None,
    ) -> None:
        """Record the call's status; the last one said stands."""
        values = self._values
        values["status"] = settled = ToolStatus(status)
        if settled in _SETTLED:
            values["ended_at"] = self._turn.now()
        given = {"error_type": error_type, "denied_by": denied_by, "arguments_valid": arguments_valid}
        values.update({key: value for key, value in given.items() if value is not None})
        self._turn.changed()

    def facts(self) -> ToolCall:
        """What is recorded of the call so far."""
        return ToolCall(**self._values)

    def close(self) -> None:
        """End the call without a context manager, as it stands."""
        self._emit()

    def _place_now(self) -> "tuple[TurnHandle, SpanContext | None]":
        return self._turn, self._place.context if self._place is not None else None

    def _left(self, error: BaseException | None) -> None:
        if "ended_at" not in self._values and not isinstance(error, CUTS):
            if error is not None:
                self.failed(error)
            elif self._values.get("status") not in _WAITING:
                self.ok()
        self._emit()

    @guarded
    def _emit(self) -> None:
        if not self._emitted:
            self._emitted = True
            self._turn.emit_tool(self._step, self.facts(), self._place)
