"""The pages as a process: where they listen, what they report, how they end."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from click.testing import CliRunner

from turnout.cli.group import turnout
from turnout.dashboards.__main__ import SETTINGS


def answers(port: int) -> bool:
    """Whether the pages answer on loopback."""
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5)
    except (urllib.error.URLError, ConnectionError):
        return False
    return True


def becomes(port: int, *, answering: bool) -> bool:
    """Whether the pages answer, or do so no more, after a while."""
    for _ in range(150):
        if answers(port) is answering:
            return True
        time.sleep(0.2)
    return False


def listeners(port: int) -> set[str]:
    """The addresses that something listens on at a port, as the kernel lists them."""
    found: set[str] = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            local, state = line.split()[1], line.split()[3]
            if state == "0A" and int(local.split(":")[1], 16) == port:
                found.add(local.split(":")[0])
    return found


def test_the_pages_listen_on_loopback_alone_and_end_with_their_command(tmp_path: Path) -> None:
    """A signal to the command ends the pages too."""
    port = free_port()
    code = "from turnout.cli import main; main()"
    words = ["dashboard", "--lake", str(tmp_path / "lake"), "--port", str(port)]
    process = subprocess.Popen([sys.executable, "-c", code, *words], env=dict(os.environ), stderr=subprocess.DEVNULL)
    try:
        assert becomes(port, answering=True)
        assert listeners(port) == {"0100007F"}
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
        assert not answers(port)
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def test_the_pages_end_with_a_command_that_was_killed(tmp_path: Path) -> None:
    """Nobody is left who could tell them to."""
    port = free_port()
    code = f"from turnout.cli.dashboard import start; print(start({str(tmp_path / 'lake')!r}, {port}).pid, flush=True); input()"
    starter = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert starter.stdout is not None
    pages = int(starter.stdout.readline())
    try:
        assert becomes(port, answering=True)
        starter.kill()
        starter.wait()
        assert becomes(port, answering=False)
    finally:
        starter.kill()
        with contextlib.suppress(ProcessLookupError):
            os.kill(pages, signal.SIGKILL)


def test_ctrl_c_while_the_pages_still_start_says_nothing(tmp_path: Path) -> None:
    """The signal goes to both processes of the terminal; only the command acts on it."""
    code = "from turnout.cli import main; main()"
    words = ["dashboard", "--lake", str(tmp_path / "lake"), "--port", str(free_port())]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stderr is not None
    said = process.stderr.readline()
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=20) == 0
    assert (said.startswith("turnout: dashboards of "), process.stderr.read()) == (True, "")


def test_a_port_in_use_is_one_sentence(tmp_path: Path) -> None:
    """Nothing is started."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        words = ["dashboard", "--lake", str(tmp_path / "lake"), "--port", str(taken.getsockname()[1])]
        result = CliRunner().invoke(turnout, words)
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert "got Address already in use, expected a free port" in line


def test_nothing_is_reported_to_anyone() -> None:
    """Usage statistics are off, whatever the settings of the person say."""
    assert {"--browser.gatherUsageStats=false", "--server.address=127.0.0.1"} <= set(SETTINGS)
