"""The context manager that turns, steps and tool calls share, for sync and async loops alike."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import TYPE_CHECKING, Self

from opentelemetry.trace import SpanContext

from turnout.instrumentation.guard import guarded
from turnout.instrumentation.losses import Losses
from turnout.instrumentation.scope import Scope

if TYPE_CHECKING:
    from turnout.instrumentation.turn import TurnHandle


class Block(ABC):
    """Makes its span current inside the ``with`` block, and sees the exception that leaves it without holding it back."""

    __slots__ = ("_scope",)

    def __init__(self) -> None:
        self._scope = Scope()

    @property
    @abstractmethod
    def losses(self) -> Losses:
        """Where faults of our own are counted."""

    @abstractmethod
    def _place_now(self) -> "tuple[TurnHandle, SpanContext | None]": ...

    @abstractmethod
    def _left(self, error: BaseException | None) -> None: ...

    def __enter__(self) -> Self:
        self._enter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave(error)

    async def __aenter__(self) -> Self:
        self._enter()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave(error)

    @guarded
    def _enter(self) -> None:
        self._scope.enter(*self._place_now())

    @guarded
    def _leave(self, error: BaseException | None) -> None:
        self._scope.leave()
        self._left(error)
