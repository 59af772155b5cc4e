"""``turnout demo``: agents, receiver and dashboards in one terminal, over a lake of its own."""

import shutil
import tempfile
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import click

from turnout.cli.dashboard import PORT
from turnout.cli.processes import ending_on_signals
from turnout.pipeline.errors import TurnoutError

LIVE_TURNS_ONCE = 60


@click.command()
@click.option("--once", is_flag=True, help="Make the data, print how the turns ended, and end.")
@click.option(
    "--lake", type=click.Path(file_okay=False, path_type=Path), help="Keep the lake here; must be new or empty."
)
@click.option(
    "--port", type=PORT, default=8501, show_default=True, help="Port of the dashboards; another one where it is taken."
)
@click.option(
    "--otlp-port",
    type=click.IntRange(0, 65535),
    default=4318,
    show_default=True,
    help="Port of the receiver; another one where it is taken, and for 0.",
)
@click.option("--seed", default=20260105, show_default=True, help="The same seed draws the same turns.")
@click.option(
    "--scale",
    type=click.FloatRange(0.01),
    default=0.5,
    show_default=True,
    help="How many turns a day, against a busy team's.",
)
def command(*, once: bool, lake: Path | None, port: int, otlp_port: int, seed: int, scale: float) -> None:
    """Run agents, the receiver and the dashboards, to look around; Ctrl-C ends all.

    Scripted agents work in a turn loop and send OTLP to a receiver, as yours would. Before that they write 14 days of history, so that
    every comparison has a before. The lake is removed at the end, unless --lake says where to keep it.
    """
    from turnout.demo.live import HURRIED, WATCHED
    from turnout.demo.run import receiving, run_agents, write_history

    with ExitStack() as stack, ending_on_signals():
        root = str(stack.enter_context(_lake(lake)))
        click.echo("turnout: writing 14 days of history …", err=True)
        started = time.monotonic()
        count = write_history(root, datetime.now(UTC), seed, scale)
        click.echo(f"turnout: {count} turns of history in {time.monotonic() - started:.0f} s", err=True)
        if once:
            with receiving(root, otlp_port) as service:
                run_agents(service.endpoint, seed, LIVE_TURNS_ONCE, HURRIED)
                _settle(root)
            _print_outcomes(root)
            return
        service = stack.enter_context(receiving(root, otlp_port))
        address = stack.enter_context(_dashboards(root, port))
        click.echo(f"turnout: agents send OTLP to {service.endpoint}, as yours could", err=True)
        click.echo(f"turnout: dashboards on {address}", err=True)
        click.echo("turnout: stop with Ctrl-C", err=True)
        run_agents(service.endpoint, seed, None, WATCHED)


@contextmanager
def _lake(kept: Path | None) -> Generator[Path]:
    if kept is not None:
        if kept.exists() and (not kept.is_dir() or any(kept.iterdir())):
            raise TurnoutError(
                f"demo: the lake must be new, got {kept} with files in it, expected an empty or absent folder; name another"
            )
        yield kept
        return
    folder = Path(tempfile.mkdtemp(prefix="turnout-demo-"))
    try:
        yield folder / "lake"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _dashboards(root: str, port: int) -> Generator[str]:
    from turnout.cli.dashboard import dashboards
    from turnout.demo.run import free_port

    chosen = free_port(port) or _any_port()
    with dashboards(root, chosen):
        yield f"http://127.0.0.1:{chosen}"


def _any_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _settle(root: str) -> None:
    """Wait until turns whose worker died are closed as well, or until that takes too long."""
    from turnout.pipeline.query import Warehouse

    deadline = time.monotonic() + 10.0
    warehouse = Warehouse(root)
    seen = -1
    while time.monotonic() < deadline:
        time.sleep(3.5)
        warehouse.refresh()
        count = warehouse.sql("select count(*) as turns from turns").item()
        if count == seen:
            return
        seen = count


def _print_outcomes(root: str) -> None:
    from turnout.cli.output import table
    from turnout.pipeline.query import Warehouse
    from turnout.pipeline.query.metrics import run

    table(run(Warehouse(root), "outcomes"), title="How turns ended")
