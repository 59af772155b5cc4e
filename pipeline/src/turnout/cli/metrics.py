"""``turnout metrics``: the list of metrics, or one of them computed."""

from typing import TYPE_CHECKING

import click

from turnout.cli import options

if TYPE_CHECKING:
    from turnout.pipeline.query.filters import Filters


@click.command()
@click.argument("name", required=False)
@click.option("--by", default="", metavar="A,B,…", help="Dimensions to group by: model,tool,step,hour,day,agent,…")
@click.option("--sql", "show_sql", is_flag=True, help="Print the SQL of the metric instead.")
@options.lake
@options.filters
@options.format_
def command(*, name: str | None, by: str, show_sql: bool, lake: str, filters: "Filters", format_: str | None) -> None:
    """List the metrics, or compute one.

    Every figure comes with numerator, denominator and the 95 % Wilson interval. What is not recorded is a group of its own.
    """
    from turnout.cli import output
    from turnout.pipeline.query import Warehouse, metric, run
    from turnout.pipeline.wording import NOT_RECORDED

    if name is None:
        _list(format_)
    elif show_sql:
        click.echo(metric(name).statement, nl=False)
    else:
        groups = [word.strip() for word in by.split(",") if word.strip()]
        rows = run(Warehouse(lake), name, filters, groups)
        output.write(rows, format_, missing=NOT_RECORDED)


def _list(format_: str | None) -> None:
    import polars as pl

    from turnout.cli import output
    from turnout.pipeline.query import METRICS

    rows = [
        {
            "name": metric.name,
            "definition": metric.definition,
            "unit": metric.unit,
            "good_direction": str(metric.good_direction),
            "by": list(metric.dimensions),
        }
        for metric in METRICS
    ]
    output.write(pl.DataFrame(rows), format_, shown=("name", "definition", "unit", "good_direction"))
