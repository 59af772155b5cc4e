"""The context manager that turns, steps and tool calls share, for sync and async loops alike."""

from types import TracebackType
from typing import Self

from turnout.instrumentation.losses import Losses
from turnout.instrumentation.scope import Scope
from turnout.instrumentation.sink import Place
from turnout.instrumentation.state import TurnState
from turnout.instrumentation.texts import OTHER, word


class Block:
    """Makes its span current inside the ``with`` block, and sees the exception that leaves it without holding it back."""

    __slots__ = ("_scope", "_turn")

    _turn: TurnState

    def __init__(self, turn: TurnState) -> None:
        self._turn = turn
        self._scope: Scope | None = None

    @property
    def losses(self) -> Losses:
        """Where faults of our own are counted."""
        return self._turn.recorder.losses

    def _word(self, value: object, what: str) -> str | None:
        """A machine's word; a text in its place is let go and counted."""
        said = word(value)
        if said is OTHER:
            self.losses.count(f"{what}: a text where a word belongs")
        return said

    def _place(self) -> Place | None:
        raise NotImplementedError

    def _left(self, error: BaseException | None) -> None:
        raise NotImplementedError

    def _entered(self) -> None:
        place = self._place()
        if place is not None:
            self._scope = Scope(self._turn, place)

    def __enter__(self) -> Self:
        try:
            self._entered()
        except Exception as fault:  # noqa: BLE001 - telemetry never raises into the host
            self.losses.fault(type(self).__name__, fault)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._scope is not None:
                self._scope.leave()
                self._scope = None
            self._left(error)
        except Exception as fault:  # noqa: BLE001 - telemetry never raises into the host
            self.losses.fault(type(self).__name__, fault)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)
