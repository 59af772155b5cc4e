"""The command line and its page say the same."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from turnout.cli.commands import COMMANDS, Entry
from turnout.cli.group import load

PAGE = Path(__file__).resolve().parents[2] / "docs/cli.md"


def test_the_page_holds_the_help_of_every_command() -> None:
    """``docs/cli.md`` is what `make docs` would write now."""
    made = subprocess.run([sys.executable, "-m", "turnout.cli.reference"], capture_output=True, text=True, check=True)
    assert PAGE.read_text() == made.stdout


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_every_option_has_help(entry: Entry) -> None:
    """No option of any command is left without a word."""
    silent = [
        f"{command.name} {parameter.name}"
        for command in [load(entry), *getattr(load(entry), "commands", {}).values()]
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.help
    ]
    assert silent == []
