"""``turnout doctor``: what arrives, what is missing or unknown, and what to do about it."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from turnout.cli import options

if TYPE_CHECKING:
    from turnout.pipeline.doctor import Examination


_FINDING = {"weight": str, "what": str, "do": str}


@click.command()
@options.lake
@options.format_
def command(*, lake: str, format_: str | None) -> None:
    """Say what is configured, what arrives, what each source records, what is unknown or was left out, and what to do.

    As csv and parquet the findings alone, a row each.
    """
    import polars as pl

    from turnout.cli import output
    from turnout.pipeline.doctor import examine
    from turnout.pipeline.query import Warehouse
    from turnout.pipeline.receive.service import journal_folder

    found = examine(Warehouse(lake), journal_folder(lake), datetime.now(UTC))
    match output.chosen(format_):
        case "table":
            _tell(found)
        case "json" | "jsonl" as spelled:
            click.echo(json.dumps(_as_record(found), indent=2 if spelled == "json" else None))
        case flat:
            output.write(pl.DataFrame([asdict(finding) for finding in found.findings], schema=_FINDING), flat)


def _tell(found: "Examination") -> None:
    from turnout.cli import output

    state = "empty" if found.version < 0 else f"version {found.version}"
    click.echo(f"lake {found.lake} ({state}); receiver status {'found' if found.receiver else 'not found'}\n")
    if found.coverage.height:
        output.table(found.coverage, "not recorded", "What arrives, and what it records (turns)")
    for finding in found.findings:
        click.echo(f"{finding.weight:<6}  {finding.what}{f'; {finding.do}' if finding.do else ''}")


def _as_record(found: "Examination") -> dict[str, object]:
    from turnout.cli.output import jsonable

    return {
        "lake": found.lake,
        "version": found.version,
        "receiver": found.receiver,
        "sources": jsonable(found.coverage.to_dicts()),
        "unknown_values": jsonable(found.unknown_values.to_dicts()),
        "heard": [
            {"service": service, "last_at": jsonable(last), "records": records}
            for service, last, records in found.heard
        ],
        "left_out": [asdict(one) for one in found.left_out],
        "findings": [asdict(finding) for finding in found.findings],
    }
