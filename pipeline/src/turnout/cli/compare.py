"""``turnout compare``: two versions, models, agents or windows, with intervals."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from turnout.cli import options

if TYPE_CHECKING:
    import polars as pl

    from turnout.pipeline.comparisons import Comparison
    from turnout.pipeline.query.filters import Filters

BY = ("service", "environment", "agent", "agent_version", "model", "provider", "source", "attended")


@click.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option("--adjust", default="", metavar="X,Y,…", help=f"Same mix on both sides of: {', '.join(BY)}.")
@options.lake
@options.filters
@options.format_
def command(*, before: str, after: str, adjust: str, lake: str, filters: "Filters", format_: str | None) -> None:
    """Compare B with A: outcomes, steps, tokens, cost and time, with 95 % intervals.

    A and B are NAME=VALUE (agent_version=1.9.0; several with commas between them) or a window SINCE..UNTIL (14d..7d). Differences of
    shares have Newcombe's interval and Holm's correction over the outcomes; shifts of values are Hodges and Lehmann's. A difference whose
    interval holds zero is not decisive.
    """
    from turnout.cli import output
    from turnout.pipeline.comparisons import compare, side
    from turnout.pipeline.query import Warehouse

    now = datetime.now(UTC)
    names = [name.strip().replace("-", "_") for name in adjust.split(",") if name.strip()]
    if unknown := [name for name in names if name not in BY]:
        raise click.UsageError(f"--adjust: got {', '.join(unknown)}, expected some of {', '.join(BY)}")
    found = compare(Warehouse(lake), side(before, filters, now), side(after, filters, now), names)
    output.write(rows(found), format_)
    if found.left_out:
        click.echo(f"turnout: {found.left_out:.1%} of the turns are of a mix that one side does not have", err=True)


def rows(found: "Comparison") -> "pl.DataFrame":
    """One row a difference: shares first, then shifts of values."""
    import polars as pl

    from turnout.pipeline.analysis.compare import NOT_DECISIVE

    shares = [
        {
            "what": one.row.outcome,
            "kind": "share",
            "before_n": found.before_turns,
            "after_n": found.after_turns,
            "before": one.row.before.value,
            "after": one.row.after.value,
            "difference": one.row.difference.value,
            "low": one.row.difference.low,
            "high": one.row.difference.high,
            "p_value": one.row.p_value,
            "adjusted": None if one.adjusted is None else one.adjusted.value,
            "adjusted_low": None if one.adjusted is None else one.adjusted.low,
            "adjusted_high": None if one.adjusted is None else one.adjusted.high,
            "decision": "decisive" if one.row.decisive else NOT_DECISIVE,
        }
        for one in found.outcomes
    ]
    shifts = [
        {
            "what": one.measure,
            "kind": "median",
            "before_n": one.before_n,
            "after_n": one.after_n,
            "before": one.before_median,
            "after": one.after_median,
            "difference": one.shift.value,
            "low": one.shift.low,
            "high": one.shift.high,
            "decision": "decisive" if one.shift.decisive else NOT_DECISIVE,
        }
        for one in found.values
    ]
    return pl.DataFrame([*shares, *shifts], schema=SCHEMA)


SCHEMA = {
    "what": str,
    "kind": str,
    "before_n": int,
    "after_n": int,
    "before": float,
    "after": float,
    "difference": float,
    "low": float,
    "high": float,
    "p_value": float,
    "adjusted": float,
    "adjusted_low": float,
    "adjusted_high": float,
    "decision": str,
}
