"""Children of a command that runs until Ctrl-C end with it, and are missed when they end before."""

import subprocess
import sys
import threading

from turnout.cli.processes import child


def python(program: str) -> "subprocess.Popen[bytes]":
    """A process of our own interpreter."""
    return subprocess.Popen([sys.executable, "-c", program])


def test_a_child_that_ends_before_its_block_is_told_with_its_status() -> None:
    """Whoever started it is told once, while the block goes on."""
    told: list[int] = []
    ended = threading.Event()

    def early(status: int) -> None:
        told.append(status)
        ended.set()

    with child(python("raise SystemExit(3)"), early):
        assert ended.wait(30)
    assert told == [3]


def test_a_child_that_ends_with_its_block_is_not_told() -> None:
    """It is ended, and that is no news."""
    told: list[int] = []
    with child(python("import time; time.sleep(60)"), told.append) as process:
        assert process.poll() is None
    assert (told, process.returncode) == ([], -15)
