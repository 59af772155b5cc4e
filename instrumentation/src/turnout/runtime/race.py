"""Ending a wait at once when an immediate stop comes, and the work behind it in its own time.

That the turn ended and that the work ended are two facts: a race that is cut returns at once with a task that ends when the
work has.
"""

import asyncio
from collections.abc import Awaitable, Coroutine
from contextvars import Context
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from turnout.runtime.stop import StopLatch

T = TypeVar("T")

_HELD: set[asyncio.Task[Any]] = set()


class Work(Protocol):
    """Something outside the event loop that goes on when nobody waits for it, as a process does."""

    async def end(self) -> None:
        """End it and return when nothing of it is left."""
        ...


@dataclass(frozen=True, slots=True)
class Finished(Generic[T]):
    """The awaitable came to its own end."""

    value: T


@dataclass(frozen=True, slots=True)
class Cut:
    """The wait was ended by a stop; ``work_ended`` is done once nothing of the work is left."""

    work_ended: asyncio.Task[None]


async def race_abort(
    awaitable: Awaitable[T],
    stop: StopLatch,
    *,
    work: Work | None = None,
    soft: bool = False,
    context: Context | None = None,
) -> Finished[T] | Cut:
    """Wait for the awaitable or for an immediate stop, whichever is first; at a tie the finished work counts.

    With ``soft`` an ``after_step`` stop ends the wait too, as it does where no step is running. An exception of the awaitable is raised as it is. When the caller is cancelled, the work is ended too and the cancellation
    goes on.
    """
    coroutine = awaitable if isinstance(awaitable, Coroutine) else _awaited(awaitable)
    task = asyncio.create_task(coroutine, context=context)
    alarm = asyncio.create_task(stop.wait() if soft else stop.wait_immediate())
    try:
        await asyncio.wait({task, alarm}, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        await _ended(task, work)
        raise
    finally:
        alarm.cancel()
    if task.done():
        return Finished(await task)
    return Cut(held(asyncio.create_task(_ended(task, work))))


def held(task: asyncio.Task[T]) -> asyncio.Task[T]:
    """Keep a task until it is done, whoever forgets it: the event loop alone would not."""
    _HELD.add(task)
    task.add_done_callback(_HELD.discard)
    return task


async def _awaited(awaitable: Awaitable[T]) -> T:
    return await awaitable


async def _ended(task: asyncio.Task[Any], work: Work | None) -> None:
    """End what the task stands for: the work first, since a task that is only cancelled would forget it."""
    if work is not None:
        await work.end()
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()  # read, so that the loop does not report it as never retrieved
