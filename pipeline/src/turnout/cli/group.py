"""The click group: finds a command by name, loads it when called, and turns known errors into one line."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version as distribution_version
from typing import Any

import click

from turnout.cli.commands import COMMANDS, Entry
from turnout.pipeline.errors import TurnoutError

HELP_OPTIONS = ("-h", "--help")

KNOWN_ERROR = 1
"""Exit status of an error that has a sentence of its own."""


class LazyGroup(click.Group):
    """A group whose commands are imported only when they run or show their own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name every command, in the order of the documentation."""
        del ctx
        return [entry.name for entry in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command, or say ``None`` for a name that is not ours."""
        del ctx
        entry = next((entry for entry in COMMANDS if entry.name == cmd_name), None)
        return None if entry is None else load(entry)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from data, without importing any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(entry.name, entry.summary) for entry in COMMANDS])

    def main(self, args: Sequence[str] | None = None, *more: Any, **extra: Any) -> Any:
        """Run, and print a known error as one line on standard error."""
        words = list(sys.argv[1:] if args is None else args)
        debug = "--debug" in words
        words = [word for word in words if word != "--debug"]
        try:
            return super().main(words, *more, **extra)
        except TurnoutError as error:
            if debug:
                raise
            click.echo(f"turnout: {error}", err=True)
            sys.exit(KNOWN_ERROR)


def load(entry: Entry) -> click.Command:
    """Import the module of a command and take its ``command``."""
    command = import_module(entry.module).command
    assert isinstance(command, click.Command)
    return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": list(HELP_OPTIONS)})
@click.version_option(distribution_version("turnout"), prog_name="turnout")
def turnout() -> None:
    """How agent turns turn out.

    For every turn of an AI agent: how it really ended, whether it can be continued, what it cost, and what another budget would
    have done. Results go to standard output, messages to standard error; --debug adds the traceback of an error.
    """
