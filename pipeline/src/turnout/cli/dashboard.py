"""``turnout dashboard``: start the pages over a lake, as a process of their own."""

import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from types import FrameType

import click

from turnout.cli import options
from turnout.cli.processes import child
from turnout.pipeline.errors import TurnoutError

PORT = click.IntRange(1, 65535)


class DashboardError(TurnoutError):
    """The pages could not be started, or ended by themselves."""


def start(lake: str, port: int) -> "subprocess.Popen[bytes]":
    """Start the pages on loopback; whoever starts them also ends them.

    Raises:
        DashboardError: when the pages are not installed, or something listens on the port already.
    """
    if find_spec("streamlit") is None:
        raise DashboardError("dashboards: got no streamlit; install them with: pip install 'turnout[dashboards]'")
    _must_be_free(port)
    arguments = [sys.executable, "-m", "turnout.dashboards", f"--server.port={port}"]
    environment = {**os.environ, "TURNOUT_LAKE": lake, "TURNOUT_STARTED_BY": str(os.getpid())}
    # Ctrl-C reaches every process of a terminal; the pages end when they are told to, not in the middle of an import.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return subprocess.Popen(arguments, env=environment)  # noqa: S603 - our own interpreter, our own module
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextmanager
def dashboards(lake: str, port: int) -> Generator[None]:
    """Run the pages beside a block; when they end before it, whoever reads the terminal is told and the block goes on."""

    def ended(status: int) -> None:
        click.echo(
            f"turnout: the dashboards ended by themselves, with exit status {status}; the rest goes on;"
            f" start them again with: turnout dashboard --lake {shlex.quote(lake)} --port {port}",
            err=True,
        )

    with child(start(lake, port), ended):
        yield


def _must_be_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise DashboardError(
                f"dashboards: cannot listen on 127.0.0.1:{port}, got {error.strerror or error}, expected a free port; name another"
            ) from error


@click.command()
@options.lake
@click.option("--port", type=PORT, default=8501, show_default=True, help="Port on 127.0.0.1.")
def command(lake: str, port: int) -> None:
    """Show the dashboards of a lake in the browser, until Ctrl-C."""
    from turnout.pipeline.lake import Lake

    Lake.open(lake)  # a name that can be no lake is said here, not on every page
    process = start(lake, port)
    click.echo(f"turnout: dashboards of {lake} on http://127.0.0.1:{port}", err=True)

    def end(number: int, frame: FrameType | None) -> None:
        del number, frame
        process.terminate()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    status = process.wait()
    if status > 0:
        raise DashboardError(
            f"dashboards: ended by themselves, got exit status {status}, expected them to run; see the lines above"
        )
