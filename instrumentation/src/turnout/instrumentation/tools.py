"""The handle on a tool call."""

from typing import TYPE_CHECKING, Any

from turnout.instrumentation.block import Block
from turnout.instrumentation.failures import CUTS, type_name
from turnout.instrumentation.guard import guarded
from turnout.instrumentation.losses import Losses
from turnout.instrumentation.scope import Scope
from turnout.instrumentation.texts import text
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
        self._turn = turn
        self._step = step
        self._values: dict[str, Any] = {"status": ToolStatus.RUNNING, "started_at": turn.now()}
        self._place = turn.new_place()
        self._emitted = False
        super().__init__(Scope(turn, self._place.context) if self._place is not None else None)

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
        described = {
            "name": text(name),
            "id": text(id),
            "arguments_digest": self._turn.digest(arguments) if arguments is not None else None,
            "arguments_valid": arguments_valid,
            "mutating": mutating,
            "final": final,
            "status": status if isinstance(status, ToolStatus) else ToolStatus(status),
        }
        self._values.update({key: value for key, value in described.items() if value is not None})
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
        self._settle(ToolStatus(status), error_type=error_type, denied_by=denied_by, arguments_valid=arguments_valid)
        self._turn.changed()

    def facts(self) -> ToolCall:
        """What is recorded of the call so far."""
        return ToolCall(**self._values)

    @guarded
    def close(self) -> None:
        """End the call without a context manager, as it stands."""
        self._emit()

    def _left(self, error: BaseException | None) -> None:
        if "ended_at" not in self._values and not isinstance(error, CUTS):
            if error is not None:
                self._settle(ToolStatus.ERROR, error_type=type_name(error))
            elif self._values["status"] not in _WAITING:
                self._settle(ToolStatus.OK)
            self._turn.changed()
        self._emit()

    def _settle(self, status: ToolStatus, **how: object) -> None:
        values = self._values
        values["status"] = status
        if status in _SETTLED:
            values["ended_at"] = self._turn.now()
        if how:
            values.update({key: value for key, value in how.items() if value is not None})

    def _emit(self) -> None:
        if self._place is not None and not self._emitted:
            self._emitted = True
            self._turn.emit_tool(self._step, self.facts(), self._place)
