"""Options that commands share, so that they read the same everywhere."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from turnout.outcomes.verdict import Outcome
from turnout.pipeline.errors import TurnoutError

if TYPE_CHECKING:
    from turnout.pipeline.query.filters import Filters

Command: TypeAlias = Callable[..., None]

FORMATS = ("table", "json", "jsonl", "csv", "parquet")

lake = click.option(
    "--lake",
    envvar="TURNOUT_LAKE",
    default="./turnout-lake",
    show_default=True,
    help="Folder or URL of the lake [env: TURNOUT_LAKE].",
)

format_ = click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    help="How rows are written; default: table on a terminal, jsonl in a pipe.",
)

_FILTERS = (
    click.option("--since", metavar="TIME", help="From this time on: 7d, 24h, now or ISO 8601."),
    click.option("--until", metavar="TIME", help="Before this time."),
    *(
        click.option(f"--{name.replace('_', '-')}", name, multiple=True, metavar="NAME", help=words)
        for name, words in (
            ("service", "Service; several times for any of them, as with every filter."),
            ("environment", "Deployment environment."),
            ("agent", "Agent."),
            ("agent_version", "Version of the agent."),
            ("model", "Model that was used."),
            ("provider", "Provider that was used."),
            ("tool", "Tool that was called."),
            ("source", "Importer or telemetry dialect."),
        )
    ),
    click.option("--outcome", multiple=True, type=click.Choice(tuple(map(str, Outcome))), help="How the turn ended."),
    click.option("--attended/--unattended", default=None, help="Whether a person was there who could press Continue."),
)


def filters(function: Command) -> Command:
    """Add the filters to a command, which takes them as one argument ``filters``; ``"not recorded"`` is a value too."""

    @wraps(function)
    def with_filters(**given: Any) -> None:
        function(filters=parsed({name: given.pop(name) for name in _NAMES}), **given)

    decorated: Command = with_filters
    for option in reversed(_FILTERS):
        decorated = option(decorated)
    return decorated


_NAMES = (
    "since",
    "until",
    "service",
    "environment",
    "agent",
    "agent_version",
    "model",
    "provider",
    "tool",
    "outcome",
    "source",
    "attended",
)


def parsed(values: dict[str, Any]) -> "Filters":
    """Filters from the options of one command.

    Raises:
        click.UsageError: for a time that cannot be read.
    """
    from turnout.pipeline.query.filters import parse_filters

    try:
        return parse_filters(values, datetime.now(UTC))
    except TurnoutError as error:
        raise click.UsageError(str(error)) from error
