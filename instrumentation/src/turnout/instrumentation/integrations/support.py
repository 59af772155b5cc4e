"""What the integrations share: hooks that cannot fail their host, and readers of objects that are not ours."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import nullcontext
from typing import Any, ParamSpec, Self, TypeVar

from turnout.instrumentation.losses import Losses
from turnout.instrumentation.steps import StepHandle
from turnout.instrumentation.tools import ToolHandle
from turnout.instrumentation.turn import TurnHandle
from turnout.outcomes.facts import Usage

P = ParamSpec("P")
T = TypeVar("T")


class Quiet:
    """Runs our own code inside a host's hook: what it raises is counted, and the hook goes on."""

    def __init__(self, losses: Losses, framework: str) -> None:
        self._losses = losses
        self._framework = framework

    def __call__(self, ours: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Call, and give nothing where that fails."""
        try:
            return ours(*args, **kwargs)
        except Exception as fault:  # noqa: BLE001 - a fault of ours never changes the host's turn
            self._losses.fault(f"{self._framework} integration", fault)
            return None


async def in_scope(items: AsyncGenerator[T, None], turn: TurnHandle | None, quiet: Quiet) -> AsyncGenerator[T, None]:
    """The items of a generator, with the turn current while the generator works, and not while its consumer does."""
    scope = (quiet(turn.generator_scope) if turn is not None else None) or nullcontext()
    while True:
        with scope:
            try:
                item = await anext(items)
            except StopAsyncIteration:
                return
        yield item


class Tapped:
    """An async stream that lets each item be seen on its way; everything else is the stream's own."""

    def __init__(self, stream: Any, see: Callable[[Any], object]) -> None:
        self._stream = stream
        self._see = see

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        item = await self._stream.__anext__()
        self._see(item)
        return item

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *leaving: object) -> Any:
        return await self._stream.__aexit__(*leaving)


class Calls:
    """The tool calls of a turn by the id that the model gave them; a call without an id is known by its name."""

    def __init__(self) -> None:
        self._open: dict[str, ToolHandle] = {}

    def asked(self, step: StepHandle, name: str | None, call_id: str | None, arguments: object = None) -> ToolHandle:
        """The model asked for a call; it has not run yet."""
        handle = step.tool_call(name, id=call_id, arguments=argument_text(arguments), status="streaming")
        self._open[call_id or name or ""] = handle
        return handle

    def began(self, step: StepHandle | None, name: str | None, call_id: str | None) -> ToolHandle | None:
        """The call runs now, whether or not the model was seen asking for it."""
        known = self.find(name, call_id)
        if known is None and step is not None:
            known = self.asked(step, name, call_id)
        if known is not None:
            known.begin()
        return known

    def find(self, name: str | None, call_id: str | None) -> ToolHandle | None:
        """The call of that id or, where none has it, of that name."""
        return self._open.get(call_id or "") or self._open.get(name or "")

    def all(self) -> list[ToolHandle]:
        """Every call of the turn."""
        return list(self._open.values())


class FinishHooks:
    """What a framework shows of its finish hooks: who sent an answer back, and that a later one passed."""

    def __init__(self, turn: TurnHandle) -> None:
        self._turn = turn
        self._vetoing: set[str] = set()

    def vetoed(self, by: str) -> None:
        """A hook would not let the last step be the end."""
        self._vetoing.add(by)
        self._turn.finish_check("veto", by=by)

    def passed(self, by: str | None = None) -> None:
        """A hook that had vetoed, or any of them, lets the last step be the end; of one that never did, nothing is known."""
        for name in sorted(self._vetoing if by is None else self._vetoing & {by}):
            self._vetoing.discard(name)
            self._turn.finish_check("allow", by=name)


def argument_text(arguments: object) -> str | None:
    """Tool arguments as a text to be hashed; only texts are, because what they are made of is not ours to serialise."""
    return arguments if isinstance(arguments, str) else None


def field(source: Any, *path: str) -> Any:
    """Follow attributes or keys; None where the way ends."""
    for name in path:
        if source is None:
            return None
        source = source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
    return source


def whole(value: object) -> int | None:
    """A count, if it is one."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def usage(
    input_tokens: object,
    output_tokens: object,
    *,
    cache_read: object = None,
    cache_write: object = None,
    reasoning: object = None,
) -> Usage | None:
    """A usage of what is a count; None where nothing is."""
    counts = Usage(
        input_tokens=whole(input_tokens),
        output_tokens=whole(output_tokens),
        cache_read_tokens=whole(cache_read),
        cache_write_tokens=whole(cache_write),
        reasoning_tokens=whole(reasoning),
    )
    return None if counts == Usage() else counts
