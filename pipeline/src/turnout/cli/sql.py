"""``turnout sql``: one read-only statement over the views of a lake."""

import json
import sys
from typing import Any

import click

from turnout.cli import options


# A statement may begin with a comment, which looks like an option.
@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("statement")
@click.option(
    "--param",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="Value of $NAME, as JSON or plain text: --param by='[\"model\"]'.",
)
@options.lake
@options.format_
def command(*, statement: str, parameters: tuple[str, ...], lake: str, format_: str | None) -> None:
    """Run one SELECT over turns, turn_segments, steps, tool_calls and ledger; "-" reads it from standard input.

    It can change nothing and open no other file.
    """
    from turnout.cli import output
    from turnout.pipeline.query import Warehouse

    text = sys.stdin.read() if statement == "-" else statement
    output.write(Warehouse(lake).sql(text, dict(map(_parameter, parameters))), format_)


def _parameter(given: str) -> tuple[str, Any]:
    name, equals, value = given.partition("=")
    if not name or not equals:
        raise click.BadParameter(f"got {given!r}, expected NAME=VALUE", param_hint="--param")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
