"""``turnout dashboard``: start the pages over a lake, as a process of their own."""

import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from types import FrameType

import click

from turnout.cli import options
from turnout.pipeline.errors import TurnoutError


class DashboardError(TurnoutError):
    """The pages could not be started, or ended by themselves."""


def start(lake: str, port: int) -> "subprocess.Popen[bytes]":
    """Start the pages on loopback; whoever starts them also ends them.

    Raises:
        DashboardError: when the pages are not installed.
    """
    if find_spec("streamlit") is None:
        raise DashboardError("dashboards: got no streamlit; install them with: pip install 'turnout[dashboards]'")
    arguments = [sys.executable, "-m", "turnout.dashboards", f"--server.port={port}"]
    environment = {**os.environ, "TURNOUT_LAKE": lake}
    return subprocess.Popen(arguments, env=environment)  # noqa: S603 - our own interpreter, our own module


@click.command()
@options.lake
@click.option("--port", default=8501, show_default=True, help="Port on 127.0.0.1.")
def command(lake: str, port: int) -> None:
    """Show the dashboards of a lake in the browser, until Ctrl-C."""
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
            f"dashboards: ended by themselves, got exit status {status}, expected them to run; "
            f"see the lines above, and whether port {port} is free (--port names another)"
        )
