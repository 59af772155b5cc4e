"""A recorder in which everything is broken, to stand for a bug of ours in every hook."""

from typing import Any, Self

from turnout.instrumentation import Losses, Recorder
from turnout.instrumentation.testing import MemorySink


class Breaking:
    """Raises whatever is done with it, but for being a context manager."""

    def __getattr__(self, name: str) -> Any:
        def fail(*_: Any, **__: Any) -> Any:
            raise RuntimeError(f"a bug of ours in {name}")

        return fail

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass


class BrokenHandles(Recorder):
    """Opens turns whose handles raise at everything that is said to them."""

    def turn(self, **_: Any) -> Any:
        return Breaking()


class BrokenOpening(Recorder):
    """Cannot even open a turn."""

    def turn(self, **_: Any) -> Any:
        raise RuntimeError("a bug of ours in turn")


def broken_recorders(losses: Losses) -> list[Recorder]:
    """The two ways to be broken."""
    return [BrokenHandles(MemorySink(), losses=losses), BrokenOpening(MemorySink(), losses=losses)]
