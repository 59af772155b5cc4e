"""Child processes and signals of commands that run until Ctrl-C."""

import signal
import subprocess
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

GRACE_SECONDS = 10.0


@contextmanager
def ending_on_signals() -> Generator[None]:
    """Let SIGTERM end the block as Ctrl-C does, and take either for a wish, not for an error."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def child(
    process: "subprocess.Popen[bytes]", on_early_end: Callable[[int], None] | None = None
) -> Generator["subprocess.Popen[bytes]"]:
    """End a child process with the block: asked first, then made to.

    Args:
        process: the child.
        on_early_end: told the exit status, from a thread of its own, when the child ends while the block still runs.
    """
    leaving = threading.Event()

    def watch() -> None:
        status = process.wait()
        if on_early_end is not None and not leaving.is_set():
            on_early_end(status)

    threading.Thread(target=watch, name="watch-child", daemon=True).start()
    try:
        yield process
    finally:
        leaving.set()
        process.terminate()
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
