"""Our faults stay ours: what the host calls never raises, whatever happens inside."""

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from turnout.instrumentation.losses import Losses

P = ParamSpec("P")


class _Owner(Protocol):
    @property
    def losses(self) -> Losses: ...


O = TypeVar("O", bound=_Owner)  # noqa: E741 - the owner of the method


def guarded(method: Callable[Concatenate[O, P], None]) -> Callable[Concatenate[O, P], None]:
    """Count an exception of the method instead of raising it.

    Only for methods that run our own code alone: an exception of the host's code must never pass through here.
    """
    where = method.__qualname__

    @functools.wraps(method)
    def call(self: O, /, *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            method(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - telemetry never raises into the host
            self.losses.fault(where, error)

    return call
