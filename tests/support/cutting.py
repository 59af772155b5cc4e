"""Cutting a run that is at work: never before it has begun, however slow the machine is."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from turnout.instrumentation.testing import MemorySink

PATIENCE_S = 30.0
PAUSE_S = 0.05
"""For the run to get from the opening of its turn to where it waits."""


async def begun(memory: MemorySink) -> None:
    """Wait until a turn has been opened, and a little longer."""
    async with asyncio.timeout(PATIENCE_S):
        while not memory.started:  # noqa: ASYNC110 - what opens it is no part of ours that could tell
            await asyncio.sleep(0.01)
    await asyncio.sleep(PAUSE_S)


async def cancelled(
    work: Coroutine[Any, Any, object], memory: MemorySink, *, before: Callable[[], object] = lambda: None
) -> None:
    """Cancel a run from outside, as a host does."""
    task = asyncio.ensure_future(work)
    await begun(memory)
    before()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def timed_out(work: Coroutine[Any, Any, object], memory: MemorySink) -> None:
    """Put a timeout around a run that passes while it waits."""

    async def within() -> None:
        async with asyncio.timeout(None) as limit:
            task = asyncio.ensure_future(work)
            await begun(memory)
            limit.reschedule(asyncio.get_running_loop().time())
            await task

    with pytest.raises(TimeoutError):
        await within()
