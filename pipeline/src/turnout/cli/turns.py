"""``turnout turns``: turns with their verdicts, or one turn in words."""

import json
from typing import TYPE_CHECKING

import click

from turnout.cli import options

if TYPE_CHECKING:
    from turnout.pipeline.query.filters import Filters

_SHOWN = (
    "started_at",
    "outcome",
    "turn_id",
    "agent",
    "model",
    "steps",
    "limit_steps",
    "cause",
    "can_continue",
    "tool_calls",
    "input_tokens",
    "output_tokens",
    "duration_s",
)
"""What a person sees; a narrow terminal has no room for the last ones."""


_ONE = "select * exclude (facts) from turn_segments where turn_id = $turn_id"


@click.command()
@options.lake
@options.filters
@click.option("--abnormal", is_flag=True, help="Abnormal ends alone.")
@click.option(
    "--turn",
    "turn_id",
    metavar="ID",
    help="Show one turn in words: steps, tools, claims and the rule; as csv and parquet its row.",
)
@click.option("--limit", type=click.IntRange(0), default=100, show_default=True, help="How many at most; 0 for all.")
@click.option(
    "--order", type=click.Choice(("latest", "oldest")), default="latest", show_default=True, help="Which come first."
)
@options.format_
def command(
    *, lake: str, filters: "Filters", abnormal: bool, turn_id: str | None, limit: int, order: str, format_: str | None
) -> None:
    """List turns with verdict, limits, counts, usage, models and tools; or show one in words."""
    from turnout.cli import output
    from turnout.pipeline.query import Warehouse

    warehouse = Warehouse(lake)
    if turn_id is None:
        rows = warehouse.turns(filters, limit or None, order, abnormal=abnormal)
        output.write(rows, format_, shown=_SHOWN)
        return
    from turnout.pipeline.story import as_record, story, tell

    found = warehouse.require(turn_id)
    match format_:
        case "json" | "jsonl":
            click.echo(json.dumps(as_record(tell(found)), indent=2 if format_ == "json" else None))
        case "csv" | "parquet":
            output.write(warehouse.sql(_ONE, {"turn_id": turn_id}), format_)
        case _:
            click.echo(story(tell(found)))
