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
    """List the metrics and the tables beside them, or compute one.

    Every figure comes with numerator, denominator and the 95 % Wilson interval. What is not recorded is a group of its own. A table
    (what_changed, continuations, …) has columns of its own and cannot be grouped.
    """
    from turnout.cli import output
    from turnout.pipeline.findings import finding
    from turnout.pipeline.query import Warehouse, metric, run
    from turnout.pipeline.wording import NOT_RECORDED

    if name is None:
        _list(format_)
    elif (table := finding(name)) is not None:
        if by or show_sql:
            raise click.UsageError(f"{name} is a table: it takes neither --by nor --sql; filters choose its turns")
        output.write(table.rows(Warehouse(lake), filters), format_, missing=NOT_RECORDED)
    elif show_sql:
        click.echo(metric(name).statement, nl=False)
    else:
        groups = [word.strip() for word in by.split(",") if word.strip()]
        rows = run(Warehouse(lake), name, filters, groups)
        output.write(rows, format_, missing=NOT_RECORDED)


def _list(format_: str | None) -> None:
    import polars as pl

    from turnout.cli import output
    from turnout.pipeline.findings import FINDINGS
    from turnout.pipeline.query import METRICS

    rows: list[dict[str, object]] = [
        {
            "name": metric.name,
            "definition": metric.definition,
            "unit": metric.unit,
            "good_direction": str(metric.good_direction),
            "by": list(metric.dimensions),
        }
        for metric in METRICS
    ]
    for table in FINDINGS:
        row = {"name": table.name, "definition": table.definition, "unit": "table", "good_direction": "neither"}
        rows.append({**row, "by": []})
    output.write(pl.DataFrame(rows), format_, shown=("name", "definition", "unit", "good_direction"))
