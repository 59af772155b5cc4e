"""Child processes and signals of commands that run until Ctrl-C."""

import signal
import subprocess
from collections.abc import Generator
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
def child(process: "subprocess.Popen[bytes]") -> Generator["subprocess.Popen[bytes]"]:
    """End a child process with the block: asked first, then made to."""
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
