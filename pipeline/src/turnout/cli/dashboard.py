"""``turnout dashboard``: start the pages over a lake, as a process of their own."""

import os
import signal
import subprocess
import sys
from types import FrameType

import click

from turnout.pipeline.errors import TurnoutError


class DashboardError(TurnoutError):
    """The pages could not be started, or ended by themselves."""


def start(lake: str, port: int) -> "subprocess.Popen[bytes]":
    """Start the pages on loopback; whoever starts them also ends them."""
    arguments = [sys.executable, "-m", "turnout.dashboards", f"--server.port={port}"]
    environment = {**os.environ, "TURNOUT_LAKE": lake}
    return subprocess.Popen(arguments, env=environment)  # noqa: S603 - our own interpreter, our own module


@click.command()
@click.option(
    "--lake", envvar="TURNOUT_LAKE", default="./turnout-lake", show_default=True, help="Folder or URL of the lake."
)
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
