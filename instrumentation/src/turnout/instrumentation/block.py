"""The context manager that turns, steps and tool calls share, for sync and async loops alike."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from turnout.instrumentation.losses import Losses
from turnout.instrumentation.scope import Scope


class Block(ABC):
    """Makes its span current inside the ``with`` block, and sees the exception that leaves it without holding it back."""

    __slots__ = ("_scope",)

    def __init__(self, scope: Scope | None) -> None:
        self._scope = scope

    @property
    @abstractmethod
    def losses(self) -> Losses:
        """Where faults of our own are counted."""

    @abstractmethod
    def _left(self, error: BaseException | None) -> None:
        """Record the end of the block."""

    def __enter__(self) -> Self:
        if self._scope is not None:
            self._scope.enter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._scope is not None:
                self._scope.leave()
            self._left(error)
        except Exception as fault:  # noqa: BLE001 - telemetry never raises into the host
            self.losses.fault(type(self).__name__, fault)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)
