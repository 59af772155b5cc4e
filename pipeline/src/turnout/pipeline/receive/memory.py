"""The memory bound: what is held is reserved first, and past the bound the sender is told to come back."""

import contextlib
import ctypes
import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from turnout.pipeline.receive.refusals import Refused, Why

MEMORY_BYTES = 512 * 1024 * 1024
"""The default bound of the whole process."""

_IN_FLIGHT_SHARE = 4
_PAGE = 4096
_KIB = 1024


def resident_bytes(process: int | str = "self") -> int:
    """How much memory a process holds; 0 where the system does not say.

    Of pages that several processes share, the libraries above all, each counts its part: the sum over the receiver's processes is
    what they take from the machine (Pss of proc_pid_smaps(5)).
    """
    try:
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
        return next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")) * _KIB
    except (OSError, IndexError, ValueError, StopIteration):
        return _resident_with_all_shared(process)


def _resident_with_all_shared(process: int | str) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError, ValueError):
        return 0


def family(process: int) -> Iterator[int]:
    """A process and all below it; none where the system does not say."""
    yield process
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in task.read_text().split():
                yield from family(int(child))


@dataclass(slots=True)
class Memory:
    """Shared by all requests: bodies in flight may hold a quarter of the bound, and none is taken while the process is over it."""

    bound: int = MEMORY_BYTES
    resident: Callable[[], int] = resident_bytes
    in_flight: int = 0
    over: bool = False
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def reserve(self, size: int) -> None:
        """Take ``size`` more bytes for a body, or refuse it."""
        with self._guard:
            if self.over or self.in_flight + size > self.bound // _IN_FLIGHT_SHARE:
                raise Refused(
                    Why.UNAVAILABLE,
                    "the receiver is at its memory bound: got more than it can hold; send again later",
                    1,
                )
            self.in_flight += size

    def release(self, size: int) -> None:
        """Give ``size`` bytes back."""
        with self._guard:
            self.in_flight -= size

    @contextlib.contextmanager
    def held(self, size: int) -> Generator[None]:
        """Hold ``size`` bytes for a while."""
        self.reserve(size)
        try:
            yield
        finally:
            self.release(size)

    def look(self) -> int:
        """Measure the process, and close or open the door by it; gives its size."""
        size = self.resident()
        if size > self.bound:
            trim()
            size = self.resident()
        self.over = size > self.bound
        return size


def trim() -> None:
    """Ask the allocator to give freed pages back; only glibc can."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
