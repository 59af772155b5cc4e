"""The handle on a tool call."""

from typing import Final

from turnout.instrumentation.block import Block
from turnout.instrumentation.failures import CUTS, type_name
from turnout.instrumentation.guard import guarded
from turnout.instrumentation.known import call_facts
from turnout.instrumentation.sink import Place
from turnout.instrumentation.state import CallState, TurnState
from turnout.instrumentation.texts import text
from turnout.outcomes.facts import ToolCall, ToolStatus

_WAITING: Final = frozenset({ToolStatus.AWAITING_CLIENT.value, ToolStatus.AWAITING_APPROVAL.value})


class ToolHandle(Block):
    """One tool call; as a context manager it settles the call: ``ok`` at its end, ``error`` by an exception, which passes on.

    A call that is cut by a cancellation stays ``running``: whether it took effect is not known.
    """

    __slots__ = ("_call",)

    def __init__(self, turn: TurnState, call: CallState) -> None:
        self._turn = turn
        self._scope = None
        self._call = call

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
        status: ToolStatus | str | None = None,
    ) -> None:
        """Record more of what the call is, as it becomes known."""
        given = {
            "name": text(name),
            "id": text(id),
            "arguments_digest": self._turn.recorder.digest(arguments) if arguments is not None else None,
            "arguments_valid": arguments_valid,
            "mutating": mutating,
            "final": final,
            "status": ToolStatus(status).value if status is not None else None,
        }
        self._call.values.update({key: value for key, value in given.items() if value is not None})
        self._turn.changed()

    @guarded
    def begin(self) -> None:
        """The call starts to run now; for calls that were recorded when the model asked for them."""
        self._call.values["status"] = ToolStatus.RUNNING.value
        self._call.values["started_at"] = self._turn.recorder.now()
        self._turn.changed()

    @property
    def settled(self) -> bool:
        """Whether the call has ended: answered, failed or denied."""
        return "ended_at" in self._call.values

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
        self._call.settle(ToolStatus(status), self._turn.recorder.now())
        given = {
            "error_type": self._word(error_type, "error type"),
            "denied_by": text(denied_by),
            "arguments_valid": arguments_valid,
        }
        self._call.values.update({key: value for key, value in given.items() if value is not None})
        self._turn.changed()

    @guarded
    def close(self) -> None:
        """End the call without a context manager, as it stands."""
        self._turn.emit_call(self._call)

    def facts(self) -> ToolCall:
        """What is recorded of the call so far."""
        return call_facts(self._call.values)

    def _place(self) -> Place | None:
        return self._call.place

    def _left(self, error: BaseException | None) -> None:
        turn, call = self._turn, self._call
        if "ended_at" not in call.values and not isinstance(error, CUTS):
            if error is not None:
                call.values["error_type"] = type_name(error)
                call.settle(ToolStatus.ERROR, turn.recorder.now())
            elif call.values["status"] not in _WAITING:
                call.settle(ToolStatus.OK, turn.recorder.now())
            turn.changed()
        turn.emit_call(call)
