"""The one seam through which requests go to the provider.

The first try, a retry after its sleep, a request after overflow recovery, after a veto, after steering and after a pause: all
of them are sent by `Seam.step`, and it sends nothing once a stop is latched.
"""

from collections.abc import Callable, Coroutine
from contextlib import aclosing
from contextvars import Context
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from turnout.outcomes.step_end import overflows
from turnout.runtime.clock import Clock
from turnout.runtime.messages import Message
from turnout.runtime.model import Model, ModelError, ModelRequest
from turnout.runtime.race import Cut, Finished, race_abort
from turnout.runtime.settle import Attempt, Gathered, cut_between, of_several
from turnout.runtime.stop import StopLatch

Compactor: TypeAlias = Callable[[tuple[Message, ...]], Coroutine[Any, Any, tuple[Message, ...] | None]]
"""Makes a conversation that overflowed the context smaller, or gives None where it cannot; it sends no request itself."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often one step is tried, and how long to wait before the n-th retry (from 0) where the provider does not say."""

    max_attempts: int = 3
    first_wait_seconds: float = 0.5
    longest_wait_seconds: float = 30.0

    def wait_seconds(self, retry: int, failure: ModelError) -> float:
        """The provider's own word, else doubling waits."""
        if failure.retry_after is not None:
            return min(failure.retry_after, self.longest_wait_seconds)
        return min(self.first_wait_seconds * 2.0**retry, self.longest_wait_seconds)


@dataclass(frozen=True, slots=True)
class Asking:
    """One step's request, built only when it may go out.

    At that moment ``opened`` is called, once a step; ``retried`` is called with the failed attempt when another one goes out.
    """

    build: Callable[[], ModelRequest]
    opened: Callable[[], None]
    retried: Callable[[Attempt], None]


@dataclass(slots=True)
class _Tries:
    """The requests of one step so far."""

    asking: Asking
    request: ModelRequest | None = None
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    gathered: Gathered | None = None
    compacted: bool = False

    def open(self) -> ModelRequest:
        if self.request is None:
            self.request = self.asking.build()
            self.asking.opened()
        elif self.attempts:
            self.asking.retried(self.attempts[-1])
        return self.request


class Seam:
    """Sends requests of one turn to its model."""

    def __init__(
        self,
        model: Model,
        stop: StopLatch,
        clock: Clock,
        *,
        retry: RetryPolicy,
        compact: Compactor | None = None,
        context: Context | None = None,
    ) -> None:
        self._model = model
        self._stop = stop
        self._clock = clock
        self._retry = retry
        self._compact = compact
        self._context = context
        self._tries: _Tries | None = None

    async def step(self, asking: Asking) -> Attempt | None:
        """One settled step, retries and overflow recovery included; None where a stop let no request out."""
        tries = self._tries = _Tries(asking)
        while True:
            attempt = await self._send(tries)
            if attempt is None:
                return cut_between(tries.attempts, self._clock.now()) if tries.attempts else None
            tries.attempts.append(attempt)
            tries.gathered = None
            if not await self._again(tries, attempt):
                return of_several(tries.attempts)

    def cut(self) -> Attempt | None:
        """The step that the cancellation of the turn's task cut, as far as it came; None where none was at work."""
        tries = self._tries
        if tries is None or tries.gathered is None or tries.gathered.started_at is None:
            return None
        return of_several([*tries.attempts, tries.gathered.settled(self._clock.now(), aborted=True)])

    async def _send(self, tries: _Tries) -> Attempt | None:
        gathered = tries.gathered = Gathered(model=self._model.name, provider=self._model.provider, api=self._model.api)
        raced = await race_abort(self._consume(tries, gathered), self._stop, context=self._context)
        match raced:
            case Finished(attempt):
                return attempt
            case Cut() if gathered.started_at is not None:
                return gathered.settled(self._clock.now(), aborted=True)
            case Cut():
                return None

    async def _consume(self, tries: _Tries, gathered: Gathered) -> Attempt | None:
        # From this look at the latch to the model's own first line nothing is awaited.
        if self._stop.stop is not None:
            return None
        gathered.started_at = self._clock.now()
        request = tries.open()
        failure: ModelError | None = None
        try:
            async with aclosing(self._model.stream(request)) as chunks:
                async for chunk in chunks:
                    gathered.add(chunk, self._clock.now())
        except ModelError as error:
            failure = error
        except Exception as error:  # noqa: BLE001 - whatever a model raises is a failed request
            failure = ModelError(str(error), type=type(error).__qualname__)
            failure.__cause__ = error
        return gathered.settled(self._clock.now(), failure=failure)

    async def _again(self, tries: _Tries, attempt: Attempt) -> bool:
        """Whether the step sends another request; where a stop is latched by then, that one is refused."""
        if overflows(attempt.facts):
            return await self._compacted(tries)
        failure = attempt.failure
        retries = len(tries.attempts) - 1
        if failure is None or not failure.retryable or not attempt.silent or retries + 1 >= self._retry.max_attempts:
            return False
        wait = self._clock.sleep(self._retry.wait_seconds(retries, failure))
        await race_abort(wait, self._stop, soft=True)
        return True

    async def _compacted(self, tries: _Tries) -> bool:
        if self._compact is None or tries.compacted or tries.request is None:
            return False
        tries.compacted = True
        match await race_abort(self._compact(tries.request.messages), self._stop, soft=True):
            case Finished(messages) if messages is not None:
                tries.request = replace(tries.request, messages=messages)
                return True
            case Finished():
                return False
            case Cut():
                return True
