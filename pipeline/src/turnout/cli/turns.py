"""``turnout turns``: turns with their verdicts, or one turn in words."""

import json
from typing import TYPE_CHECKING

import click

from turnout.cli import options

if TYPE_CHECKING:
    from turnout.pipeline.query.filters import Filters

_SHOWN = (
    "started_at",
    "agent",
    "model",
    "outcome",
    "cause",
    "steps",
    "limit_steps",
    "tool_calls",
    "input_tokens",
    "output_tokens",
    "duration_s",
    "can_continue",
    "turn_id",
)


@click.command()
@options.lake
@options.filters
@click.option("--abnormal", is_flag=True, help="Abnormal ends alone.")
@click.option("--turn", "turn_id", metavar="ID", help="Show one turn in words: steps, tools, claims and the rule.")
@click.option("--limit", default=100, show_default=True, help="How many at most; 0 for all.")
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

    told = tell(warehouse.require(turn_id))
    if format_ in {"json", "jsonl"}:
        click.echo(json.dumps(as_record(told), indent=2 if format_ == "json" else None))
    else:
        click.echo(story(told))
