"""Everything else: a decorator that makes each call of a function a turn.

    @recorded(agent="support", attended=True)
    async def answer(question: str) -> str:
        turn = current_turn()
        ...

Plain functions, coroutines, generators and async generators alike: a generator's turn ends with it, also where its consumer leaves it. What
happens inside is told by `turnout.instrumentation.current_turn`.
"""

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import nullcontext
from functools import partial, wraps
from typing import Any, TypeVar, overload

from turnout.instrumentation.integrations.default import default_recorder
from turnout.instrumentation.integrations.support import Quiet
from turnout.instrumentation.losses import LOSSES
from turnout.instrumentation.recorder import Recorder, unrecorded
from turnout.instrumentation.turn import TurnHandle
from turnout.outcomes.facts import Limits

F = TypeVar("F", bound=Callable[..., Any])

SOURCE = "turnout"


@overload
def recorded(function: F, /) -> F: ...


@overload
def recorded(
    *,
    agent: str | None = None,
    agent_version: str | None = None,
    attended: bool | None = None,
    limits: Limits | None = None,
    conversation_id: str | Callable[..., str | None] | None = None,
    recorder: Recorder | None = None,
) -> Callable[[F], F]: ...


def recorded(
    function: F | None = None,
    /,
    *,
    agent: str | None = None,
    agent_version: str | None = None,
    attended: bool | None = None,
    limits: Limits | None = None,
    conversation_id: str | Callable[..., str | None] | None = None,
    recorder: Recorder | None = None,
) -> F | Callable[[F], F]:
    """Record each call of the decorated function as a turn; with or without arguments of its own.

    Args:
        function: the function, where the decorator stands alone.
        agent: the agent's name; the function's where none is given.
        agent_version: the version of its prompt, tools and model.
        attended: a person is there who could press Continue.
        limits: the one budget that the function keeps to.
        conversation_id: a name, or a function of the call's arguments that gives it.
        recorder: the recorder; the process's own where none is given.
    """
    quiet = Quiet(LOSSES if recorder is None else recorder.losses, SOURCE)

    def decorate(function: F) -> F:
        def opened(args: tuple[Any, ...], kwargs: dict[str, Any]) -> TurnHandle:
            named = quiet(conversation_id, *args, **kwargs) if callable(conversation_id) else conversation_id
            return (recorder or default_recorder()).turn(
                agent=agent or function.__name__,
                agent_version=agent_version,
                attended=attended,
                limits=limits,
                conversation_id=named,
            )

        return _wrapper_for(function, lambda args, kwargs: quiet(opened, args, kwargs) or unrecorded(), quiet)

    return decorate if function is None else decorate(function)


Opened = Callable[[tuple[Any, ...], dict[str, Any]], TurnHandle]


def _wrapper_for(function: F, opened: Opened, quiet: Quiet) -> F:
    if inspect.isasyncgenfunction(function):
        wrapper = _async_generator(function, opened, quiet)
    elif inspect.iscoroutinefunction(function):
        wrapper = _coroutine(function, opened)
    elif inspect.isgeneratorfunction(function):
        wrapper = _generator(function, opened, quiet)
    else:
        wrapper = _plain(function, opened)
    return wraps(function)(wrapper)  # type: ignore[return-value]  # a wrapper takes and gives what it wraps


def _plain(function: Callable[..., Any], opened: Opened) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        with opened(args, kwargs):
            return function(*args, **kwargs)

    return call


def _coroutine(function: Callable[..., Any], opened: Opened) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        async with opened(args, kwargs):
            return await function(*args, **kwargs)

    return call


def _generator(function: Callable[..., Any], opened: Opened, quiet: Quiet) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        turn = opened(args, kwargs)
        items = function(*args, **kwargs)
        try:
            result = yield from _stepping(items, turn, quiet)
        except BaseException as error:
            quiet(turn.end, error)
            raise
        quiet(turn.end)
        return result

    return call


def _stepping(items: Generator[Any, Any, Any], turn: TurnHandle, quiet: Quiet) -> Generator[Any, Any, Any]:
    """What ``yield from`` does, with the turn current while the generator works, and not while its consumer does."""
    scope = quiet(turn.generator_scope) or nullcontext()
    step: Callable[[], Any] = partial(items.send, None)
    while True:
        with scope:
            try:
                item = step()
            except StopIteration as done:
                return done.value
        try:
            step = partial(items.send, (yield item))
        except GeneratorExit:
            with scope:
                items.close()
            raise
        except BaseException as thrown:  # noqa: BLE001 - the consumer's, for the generator to see
            step = partial(items.throw, thrown)


def _async_generator(function: Callable[..., Any], opened: Opened, quiet: Quiet) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        turn = opened(args, kwargs)
        items = function(*args, **kwargs)
        scope = quiet(turn.generator_scope) or nullcontext()
        step: Callable[[], Awaitable[Any]] = partial(items.asend, None)
        try:
            while True:
                with scope:
                    try:
                        item = await step()
                    except StopAsyncIteration:
                        break
                try:
                    step = partial(items.asend, (yield item))
                except GeneratorExit:
                    with scope:
                        await items.aclose()
                    raise
                except BaseException as thrown:  # noqa: BLE001 - the consumer's, for the generator to see
                    step = partial(items.athrow, thrown)
        except BaseException as error:
            quiet(turn.end, error)
            raise
        quiet(turn.end)

    return call
