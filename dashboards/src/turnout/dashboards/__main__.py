"""``python -m turnout.dashboards``: the pages as a process, on this machine alone, with nothing reported to anyone.

The lake is named by ``TURNOUT_LAKE``; arguments are those of ``streamlit run`` and come after the ones here.
"""

import sys

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


def main() -> None:
    """Run until the process is told to stop."""
    sys.argv = ["streamlit", "run", str(app_file()), *SETTINGS, *sys.argv[1:]]
    cli.main()


if __name__ == "__main__":
    main()
