"""``turnout import``: logs and transcripts into the lake."""

import json
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from turnout.cli import options

if TYPE_CHECKING:
    from turnout.pipeline.importing import ImportSummary, Progress, Watcher

_KEYS = ("files", "records", "turns", "steps", "tool_calls", "duplicates", "damaged", "skipped", "seconds")


@click.command("import")
@options.lake
@click.option(
    "--format",
    "format_",
    type=click.Choice(("table", "json")),
    default="table",
    show_default=True,
    help="How the summary is written.",
)
@click.argument("kind")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
def command(lake: str, format_: str, kind: str, paths: tuple[str, ...]) -> None:
    """Bring logs and transcripts of agents into the lake.

    KIND is auto, turns (turn facts as JSON Lines), otlp, mini-swe-agent, swe-agent, claude-code, claude-stream, codex, codex-exec, tau, tau2, langfuse,
    openhands, ai-sdk or medagentbench. A PATH is a file, a folder, a glob or - for standard input.

    What a log says twice counts once, and a second import of it adds nothing. A damaged record is reported and counted, and does not stop the rest; after
    lines that should be turn facts and are not, the exit status is 1. With TURNOUT_HASH_KEY set, tool arguments and user ids leave as hashes under that
    key; without it they do not leave at all.
    """
    from turnout.instrumentation.environment import settings
    from turnout.pipeline.importing import import_logs, shown
    from turnout.pipeline.lake import Lake

    with _bar() as watch:
        summary = import_logs(
            Lake.open(lake),
            kind,
            paths,
            clock=time.time_ns,
            stdin=sys.stdin.buffer,
            digest_key=settings().hash_key,
            watch=watch,
        )
    for line in (*summary.invalid, *shown(summary.reasons)):
        click.echo(line, err=True)
    _print(summary, format_)
    if summary.invalid:
        sys.exit(1)


@contextmanager
def _bar() -> Generator["Watcher"]:
    """Show a progress bar on standard error, where that is a terminal."""
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("files, {task.fields[records]:,} records, {task.fields[turns]:,} turns"),
        progress.TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    with progress.Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("importing", total=None, records=0, turns=0)

        def watch(seen: "Progress") -> None:
            bar.update(task, total=seen.files, completed=seen.files_done, records=seen.records, turns=seen.turns)

        yield watch


def _print(summary: "ImportSummary", format_: str) -> None:
    values = {key: getattr(summary, key) for key in _KEYS}
    if format_ == "json":
        click.echo(json.dumps(values))
        return
    from rich import box
    from rich.table import Table

    from turnout.cli.output import console

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in values:
        table.add_column(name.replace("_", " "), justify="right")
    table.add_row(*(f"{value:,.1f}" if isinstance(value, float) else f"{value:,}" for value in values.values()))
    console().print(table)
