"""``turnout lake``: look after a lake."""

from datetime import UTC, datetime, timedelta

import click

from turnout.cli import options

_DAYS = click.IntRange(1)


@click.group()
def command() -> None:
    """Look after the lake: status, compact, retain, forget, reclassify, reprice, verify."""


@command.command()
@options.lake
@options.format_
def status(*, lake: str, format_: str | None) -> None:
    """Say what the lake holds: files, rows, bytes and dates of each table, and up to where each is written."""
    import polars as pl

    from turnout.cli import output
    from turnout.pipeline.lake import Lake
    from turnout.pipeline.schema import TABLES

    snapshot = Lake.open(lake).snapshot()
    rows = [
        {
            "table": table,
            "rows": sum(file.rows for file in files),
            "files": len(files),
            "bytes": sum(file.size for file in files),
            "first_date": min((file.date for file in files if file.date), default=None),
            "last_date": max((file.date for file in files if file.date), default=None),
        }
        for table in TABLES
        for files in [snapshot.files(table)]
    ]
    output.write(pl.DataFrame(rows, infer_schema_length=None), format_)


@command.command()
@options.lake
def compact(*, lake: str) -> None:
    """Put small files together (128 MB, sorted by time), clean the logs and delete files that nobody has needed for an hour."""
    from turnout.pipeline.lake import Lake

    opened = Lake.open(lake)
    merged = opened.compact()
    swept = opened.sweep()
    click.echo(
        f"merged {merged} groups of files; deleted {swept.deleted} files ({swept.deleted_bytes:,} bytes), "
        f"{swept.waiting} wait for their hour"
    )


@command.command()
@click.option("--days", required=True, type=_DAYS, help="Keep turns that started in the last so many UTC days.")
@click.option("--steps-days", type=_DAYS, help="Keep steps for so many days instead; never longer than turns.")
@click.option("--tool-calls-days", type=_DAYS, help="Keep tool calls for so many days instead.")
@options.lake
def retain(*, days: int, steps_days: int | None, tool_calls_days: int | None, lake: str) -> None:
    """Take out what is older, whole UTC days at a time."""
    from turnout.pipeline.lake import Lake

    today = datetime.now(UTC).date()
    asked = {"turns": days, "steps": steps_days or days, "tool_calls": tool_calls_days or days}
    first = {table: str(today - timedelta(days=kept - 1)) for table, kept in asked.items()}
    gone = Lake.open(lake).retain(first)
    click.echo(
        f"took out {gone} turns of before {first['turns']}; `turnout lake compact` deletes their files after an hour"
    )


@command.command()
@click.option("--conversation", metavar="ID", help="Every turn of this conversation.")
@click.option("--user", metavar="ID", help="Every turn of this person (the keyed hash that the lake holds).")
@click.option("--now", is_flag=True, help="Delete the files at once; a page that is being drawn meanwhile may fail.")
@options.lake
def forget(*, conversation: str | None, user: str | None, now: bool, lake: str) -> None:
    """Take out every turn of a conversation or a person, with steps and tool calls."""
    from turnout.pipeline.lake import Lake

    if conversation is None and user is None:
        raise click.UsageError("got neither --conversation nor --user, expected one of them")
    opened = Lake.open(lake)
    gone = opened.forget(conversation_id=conversation, user_id=user)
    swept = opened.sweep(grace=0) if now else opened.sweep()
    left = "no file holds them any more" if not swept.waiting else f"{swept.waiting} old files wait for their hour"
    click.echo(f"took out {gone} turns; {left}")


@command.command()
@options.lake
def reclassify(*, lake: str) -> None:
    """Decide the turns again that another version of the classifier decided, from their stored facts."""
    from turnout.pipeline.lake import Lake

    click.echo(f"decided {Lake.open(lake).reclassify()} turns again")


@command.command()
@options.lake
def reprice(*, lake: str) -> None:
    """Work out costs again by the installed price list (genai-prices), each call at the time it was made.

    What a source reported is never touched. A model that the list does not know is counted as unpriced, never as free. Each turn keeps
    the list that its price is from, and the ledger notes when this was done.
    """
    from turnout.pipeline.analysis.price import PRICE_LIST
    from turnout.pipeline.lake import Lake

    done = Lake.open(lake).reprice()
    click.echo(f"{PRICE_LIST}: {done.changed} turns have another price; {done.unpriced} have none")


@command.command()
@options.lake
@click.pass_context
def verify(context: click.Context, *, lake: str) -> None:
    """Count everything again and say what does not add up; exit status 1 where something does not."""
    from turnout.pipeline.lake import Lake

    problems = list(Lake.open(lake).verify())
    for problem in problems:
        examples = ", ".join(problem.examples)
        click.echo(f"{problem.count} x {problem.what} ({examples}); {problem.do}")
    if problems:
        context.exit(1)
    click.echo("everything adds up")
