"""The help of every command as one Markdown page: ``python -m turnout.cli.reference > docs/cli.md``."""

from collections.abc import Iterator

import click

from turnout.cli.commands import COMMANDS
from turnout.cli.group import HELP_OPTIONS, load, turnout

WIDTH = 110


def pages(command: click.Command, path: str) -> Iterator[str]:
    """The help of a command and of its subcommands, each under a heading."""
    # As the command itself would make it: click keeps the first help option that a command was asked for.
    context = command.make_context(
        path,
        [],
        resilient_parsing=True,
        help_option_names=list(HELP_OPTIONS),
        terminal_width=WIDTH,
        max_content_width=WIDTH,
    )
    yield f"## `{path}`\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group) and command is not turnout:
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from pages(below, f"{path} {name}")


def reference() -> str:
    """The whole page."""
    parts = ["# The command line\n", "Made by `make docs` from the help of the commands.\n"]
    parts.extend(pages(turnout, "turnout"))
    for entry in COMMANDS:
        parts.extend(pages(load(entry), f"turnout {entry.name}"))
    return "\n".join(parts)


if __name__ == "__main__":
    click.echo(reference(), nl=False)
