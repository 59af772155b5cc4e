"""``turnout doctor``: what arrives, what is missing or unknown, and what to do about it."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from turnout.cli import options

if TYPE_CHECKING:
    from turnout.pipeline.doctor import Examination


@click.command()
@options.lake
@options.format_
def command(*, lake: str, format_: str | None) -> None:
    """Say what is configured, what arrives, what each source records, what is unknown or was left out, and what to do."""
    from turnout.pipeline.doctor import examine
    from turnout.pipeline.query import Warehouse
    from turnout.pipeline.receive.service import journal_folder

    found = examine(Warehouse(lake), journal_folder(lake), datetime.now(UTC))
    if format_ in {None, "table"}:
        _tell(found)
    else:
        click.echo(json.dumps(_as_record(found), indent=2 if format_ == "json" else None))


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
