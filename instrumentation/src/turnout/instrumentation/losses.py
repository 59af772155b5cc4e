"""What the instrumentation loses or gets wrong is counted, and said at most once a minute."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Final

REPORT_EVERY_S: Final = 60.0

_log = logging.getLogger("turnout")


class Losses:
    """Counts by kind; the first loss is logged at once, later ones together, a minute apart at the soonest.

    Nothing of the lost records is kept or said but how many they were.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        warn: Callable[[str], None] = _log.warning,
    ) -> None:
        self._clock = clock
        self._warn = warn
        self._lock = threading.Lock()
        self._total: Counter[str] = Counter()
        self._unsaid: Counter[str] = Counter()
        self._said_at: float | None = None

    def count(self, kind: str, number: int = 1) -> None:
        """Count ``number`` losses of a kind, such as ``events: queue full``."""
        with self._lock:
            self._total[kind] += number
            self._unsaid[kind] += number
        self.report_due()

    def fault(self, where: str, error: BaseException) -> None:
        """Count a fault of our own or a wrong argument; the error's text is not kept, because it may quote content."""
        self.count(f"{where}: {type(error).__name__} at {_place(error)}")

    def totals(self) -> Mapping[str, int]:
        """All losses so far, by kind."""
        with self._lock:
            return dict(self._total)

    def report_due(self) -> None:
        """Log what has not been said yet, unless the last report is younger than a minute."""
        now = self._clock()
        with self._lock:
            too_soon = self._said_at is not None and now - self._said_at < REPORT_EVERY_S
            if too_soon or not self._unsaid:
                return
            unsaid, self._unsaid, self._said_at = self._unsaid, Counter(), now
        listing = ", ".join(f"{number} x {kind}" for kind, number in sorted(unsaid.items()))
        self._warn(f"telemetry lost or incomplete since the last report: {listing}")


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    if trace is None:
        return "unknown place"
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f"{PurePath(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"


LOSSES: Final = Losses()
"""The process's own count, used wherever no other is handed in."""
