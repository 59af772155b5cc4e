"""The command line: each command parses, makes one library call and prints.

A command is a module here that exports ``command``; it is listed in ``commands.py`` and loaded when it is called, so that
``turnout --help`` answers without importing an engine.
"""

import sys


def main() -> None:
    """Run ``turnout``; the exit status is 0 done, 1 a known error, 2 usage, 3 an alert is firing."""
    try:
        from turnout.cli.group import turnout  # the base install has no click
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        sys.exit(
            "turnout: the command line is not installed, got no click; install it with: pip install 'turnout[all]'"
        )
    turnout()
