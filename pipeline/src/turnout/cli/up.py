"""``turnout up``: the receiver and the dashboards over one lake, until Ctrl-C."""

from typing import Any

import click

from turnout.cli.dashboard import PORT, dashboards
from turnout.cli.serve import options, service_options, welcome


@click.command()
@options
@click.option(
    "--dashboard-port", type=PORT, default=8501, show_default=True, help="Port of the dashboards on 127.0.0.1."
)
def command(lake: str, dashboard_port: int, **given: Any) -> None:
    """Run the receiver and the dashboards over one lake, until Ctrl-C."""
    from turnout.pipeline.receive.service import Service

    service = Service(lake, service_options(**given))

    def started() -> None:
        click.echo(f"turnout: {welcome(service)}", err=True)
        click.echo(f"turnout: dashboards on http://127.0.0.1:{dashboard_port}", err=True)

    with dashboards(lake, dashboard_port):
        service.run(started)
