"""Group commit: what arrives while the disk syncs is written together, with one sync, and then acknowledged together."""

import threading
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field

from turnout.pipeline.receive.bodies import Body
from turnout.pipeline.receive.journal import Journal

GROUP_BYTES = 16 * 1024 * 1024
"""The most that is written under one sync."""


@dataclass(slots=True)
class _Pending:
    body: Body
    durable: "Future[int]" = field(default_factory=Future)


class GroupCommit:
    """A thread that owns the writing side of a journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._waiting: deque[_Pending] = deque()
        self._signal = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="turnout-journal", daemon=True)
        self._thread.start()

    def submit(self, body: Body) -> "Future[int]":
        """Queue a body; the future gives its group's last position once the disk has it, or the error."""
        pending = _Pending(body)
        with self._signal:
            if self._closing:
                raise RuntimeError("the journal is closing")
            self._waiting.append(pending)
            self._signal.notify()
        return pending.durable

    def close(self) -> None:
        """Write what waits, then end."""
        with self._signal:
            self._closing = True
            self._signal.notify()
        self._thread.join()

    def _run(self) -> None:
        while (group := self._next_group()) is not None:
            try:
                position = self._journal.append([pending.body for pending in group]) if group else 0
            except Exception as error:  # noqa: BLE001 - whatever it was, each sender of the group must hear of it
                for pending in group:
                    pending.durable.set_exception(error)
            else:
                for pending in group:
                    pending.durable.set_result(position)

    def _next_group(self) -> list[_Pending] | None:
        """Wait for work; none means closing."""
        with self._signal:
            while not self._waiting and not self._closing:
                self._signal.wait()
            if not self._waiting:
                return None
            group: list[_Pending] = []
            size = 0
            while self._waiting and size < GROUP_BYTES:
                pending = self._waiting.popleft()
                # From here on the sender cannot take it back; one who left before is not written.
                if pending.durable.set_running_or_notify_cancel():
                    group.append(pending)
                    size += len(pending.body.payload)
            return group
