"""``turnout report``: outcomes as files, with a manifest."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from turnout.cli import options

if TYPE_CHECKING:
    from turnout.pipeline.query.filters import Filters


@click.command()
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="FILE.csv, FILE.parquet or FILE.json, or a folder for all of them.",
)
@options.lake
@options.filters
def command(*, out: Path, lake: str, filters: "Filters") -> None:
    """Write outcomes by day (UTC days), agent and model, with a manifest of what they are and how they were made."""
    from turnout.pipeline.query import Warehouse
    from turnout.pipeline.reports import write_report

    for path in write_report(Warehouse(lake), filters, out):
        click.echo(str(path))
