"""``turnout budget``: what another limit would have done."""

from typing import TYPE_CHECKING

import click

from turnout.cli import options

if TYPE_CHECKING:
    from turnout.pipeline.query.filters import Filters

SHOWN = (
    "candidate",
    "at_risk",
    "finished",
    "finished_low",
    "finished_high",
    "cut",
    "mean_steps",
    "mean_tokens",
    "mean_cost_usd",
    "mean_seconds",
    "cost_of_one_more_finished_usd",
)
"""What a table for a person has room for; every other format has all columns."""

LIMITS = ("steps", "tool_calls", "step_output_tokens", "total_tokens", "seconds", "cost_usd")


class Numbers(click.ParamType[tuple[float, ...]]):
    """Numbers with commas between them."""

    name = "numbers"

    def convert(
        self, value: str | tuple[float, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        """Read them; all must be above zero."""
        if isinstance(value, tuple):
            return value
        try:
            numbers = tuple(float(part) for part in value.split(",") if part.strip())
        except ValueError:
            numbers = ()
        if not numbers or min(numbers) <= 0:
            self.fail(f"got {value!r}, expected numbers above zero such as 10,20,30", param, ctx)
        return numbers


@click.command()
@options.lake
@click.option("--limit", type=click.Choice(LIMITS), default="steps", show_default=True, help="Which budget.")
@click.option(
    "--candidates", type=Numbers(), default=(), help="Budgets to look at, such as 10,20,30; default: round ones."
)
@options.filters
@options.format_
def command(lake: str, limit: str, candidates: tuple[float, ...], filters: "Filters", format_: str | None) -> None:
    """Say what another limit would have done: who would finish, be cut, what it would cost.

    A turn that the limit cut is censored where it stood; the other ends compete (Aalen-Johansen). All figures are estimates under
    independent censoring. Attended and unattended turns are best looked at apart: --attended, --unattended. Of very many turns a part is
    looked at for what is spent on the way to any limit but steps.

    \b
    steps               model calls with a finish reason, attempts taken together
    tool_calls          tool calls of a turn
    step_output_tokens  output tokens of any one model call; what a turn needs is the
                        largest of its calls, and one cut off by its cap needs more
    total_tokens        input and output tokens of all model calls of a turn
    seconds             from the start of a turn to its end
    cost_usd            dollars that a turn cost
    """  # noqa: D301 - the mark by which click keeps lines as they are
    from turnout.cli.output import write
    from turnout.pipeline.analysis.budget import Limit
    from turnout.pipeline.budgets import budget, continued, frame
    from turnout.pipeline.query import Warehouse
    from turnout.pipeline.recommend import recommendations

    warehouse = Warehouse(lake)
    counted, rows = budget(warehouse, Limit(limit), candidates, filters)
    write(frame(rows), format_, shown=SHOWN)
    if counted.left_out:
        click.echo(f"turnout: {counted.left_out} turns left out, their {limit} were not recorded", err=True)
    for line in recommendations(counted, rows, continued(warehouse, counted.limit, filters)):
        click.echo(f"turnout: {line}", err=True)
