"""The pages as a process: where they listen, what they report, how they end."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from turnout.dashboards.__main__ import SETTINGS


def answers(port: int) -> bool:
    """Whether the pages answer on loopback."""
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5)
    except (urllib.error.URLError, ConnectionError):
        return False
    return True


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
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = "from turnout.cli import main; main()"
    words = ["dashboard", "--lake", str(tmp_path / "lake"), "--port", str(port)]
    process = subprocess.Popen([sys.executable, "-c", code, *words], env=dict(os.environ), stderr=subprocess.DEVNULL)
    try:
        for _ in range(150):
            if answers(port):
                break
            time.sleep(0.2)
        assert answers(port)
        assert listeners(port) == {"0100007F"}
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
        assert not answers(port)
    finally:
        process.kill()
        process.wait()


def test_nothing_is_reported_to_anyone() -> None:
    """Usage statistics are off, whatever the settings of the person say."""
    assert {"--browser.gatherUsageStats=false", "--server.address=127.0.0.1"} <= set(SETTINGS)
