"""``python -m turnout.dashboards``: the pages as a process, on this machine alone, with nothing reported to anyone.

The lake is named by ``TURNOUT_LAKE``; arguments are those of ``streamlit run`` and come after the ones here.
"""

import os
import signal
import sys
import time
from threading import Thread

from streamlit.web import cli

from turnout.dashboards import app_file

SETTINGS = (
    "--server.address=127.0.0.1",
    "--server.headless=true",
    "--server.fileWatcherType=none",
    "--browser.gatherUsageStats=false",
    "--client.toolbarMode=minimal",
    "--client.showErrorDetails=none",
    "--runner.magicEnabled=false",
    # What is chosen must not look like an alarm, as Streamlit's own red would.
    "--theme.light.primaryColor=#3b6ea5",
    "--theme.dark.primaryColor=#5b8fc7",
)
"""Loopback only, no usage statistics, no menus for developers; an unexpected error shows one line, its traceback goes to the log."""


_LOOK_SECONDS = 1.0


def main() -> None:
    """Run until the process is told to stop, or until the command that started it is gone."""
    starter = os.environ.pop("TURNOUT_STARTED_BY", "")
    if starter:
        Thread(target=_end_with, args=(int(starter),), daemon=True).start()
    sys.argv = ["streamlit", "run", str(app_file()), *SETTINGS, *sys.argv[1:]]
    cli.main()


def _end_with(starter: int) -> None:
    """Nobody is left to end the pages when a command is killed and can say no more."""
    while os.getppid() == starter:
        time.sleep(_LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
