"""A bounded queue with a thread of its own that hands its content on in batches; the host's thread never waits for it."""

import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from opentelemetry import context as otel_context

from turnout.instrumentation.losses import LOSSES, REPORT_EVERY_S, Losses

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Batching:
    """How long an item may wait, how many may wait, and how many go at once."""

    delay_s: float = 0.2
    max_queue: int = 8192
    max_batch: int = 512


BATCHING: Final = Batching()


class Batch(Generic[T]):
    """Collects items and exports them from its own thread, a short delay after the first of them or when a batch is full.

    ``export`` returns whether the batch was taken. An item that makes it raise is found and counted alone. The thread starts with the first
    item, and again in a forked child, which leaves what its parent had queued to the parent.
    """

    def __init__(
        self,
        export: Callable[[Sequence[T]], bool],
        *,
        what: str,
        losses: Losses = LOSSES,
        batching: Batching = BATCHING,
    ) -> None:
        self._export = export
        self._what = what
        self._losses = losses
        self._batching = batching
        self._changed = threading.Condition(threading.Lock())
        self._queue: deque[T] = deque()
        self._thread: threading.Thread | None = None
        self._added = self._done = self._hurry_until = 0
        self._closed = False
        method = weakref.WeakMethod(self._start_over)
        os.register_at_fork(after_in_child=lambda: call_if_alive(method))

    def add(self, item: T) -> None:
        """Queue an item; a full or closed queue counts it as lost."""
        with self._changed:
            refused = self._refuses()
            if refused is None:
                self._queue.append(item)
                self._added += 1
                self._wake_up()
        if refused is not None:
            self._losses.count(f"{self._what}: {refused}")

    def flush(self, timeout_s: float) -> bool:
        """Wait until all that was queued before is exported; false when that took too long."""
        with self._changed:
            target = self._added
            self._hurry_until = max(self._hurry_until, target)
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self._done >= target, timeout_s)

    def close(self, timeout_s: float) -> bool:
        """Export what is queued and take nothing more; false when that took too long."""
        with self._changed:
            self._closed = True
        emptied = self.flush(timeout_s)
        with self._changed:
            abandoned = len(self._queue)
            self._queue.clear()
            self._changed.notify_all()
        if abandoned:
            self._losses.count(f"{self._what}: not exported before the end", abandoned)
        return emptied

    def _start_over(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._queue = deque()
        self._thread = None
        self._added = self._done = self._hurry_until = 0

    def _refuses(self) -> str | None:
        if self._closed:
            return "closed"
        return "queue full" if len(self._queue) >= self._batching.max_queue else None

    def _wake_up(self) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._run, name=f"turnout-{self._what}", daemon=True)
            thread.start()
            self._thread = thread
        elif len(self._queue) in (1, self._batching.max_batch):
            self._changed.notify_all()

    def _run(self) -> None:
        _suppress_instrumentation()
        while (batch := self._next()) is not None:
            if batch:
                self._hand_on(batch)
            with self._changed:
                self._done += len(batch)
                self._changed.notify_all()
            self._losses.report_due()

    def _next(self) -> list[T] | None:
        """The next batch; empty when only time has passed, None at the end."""
        with self._changed:
            if not self._queue:
                if self._closed:
                    return None
                self._changed.wait(REPORT_EVERY_S)
            due = time.monotonic() + self._batching.delay_s
            while self._may_wait() and (left := due - time.monotonic()) > 0:
                self._changed.wait(left)
            return [self._queue.popleft() for _ in range(min(len(self._queue), self._batching.max_batch))]

    def _may_wait(self) -> bool:
        hurried = self._closed or self._hurry_until > self._done
        return bool(self._queue) and len(self._queue) < self._batching.max_batch and not hurried

    def _hand_on(self, batch: list[T]) -> None:
        try:
            taken = self._export(batch)
        except Exception as error:  # noqa: BLE001 - the thread outlives every exporter's fault
            self._hand_on_alone(batch, error)
            return
        if not taken:
            self._losses.count(f"{self._what}: export failed", len(batch))

    def _hand_on_alone(self, batch: list[T], error: Exception) -> None:
        if len(batch) == 1:
            self._losses.fault(f"{self._what}: export failed", error)
            return
        for item in batch:
            self._hand_on([item])


def call_if_alive(method: weakref.WeakMethod[Callable[[], None]]) -> None:
    """Call a method of an object that may be gone; for `os.register_at_fork`, which forgets nothing."""
    alive = method()
    if alive is not None:
        alive()


def _suppress_instrumentation() -> None:
    """Keep instrumented HTTP clients from tracing our own export."""
    key = getattr(otel_context, "_SUPPRESS_INSTRUMENTATION_KEY", "suppress_instrumentation")
    suppressed = True
    otel_context.attach(otel_context.set_value(key, suppressed))
