"""Reports to files: one format by its ending, or a folder of all of them."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import polars as pl

from turnout.pipeline.errors import TurnoutError
from turnout.pipeline.query import Filters, Warehouse
from turnout.pipeline.reports.formats import ENCODERS
from turnout.pipeline.reports.manifest import Made, file_entry, manifest
from turnout.pipeline.reports.outcomes import COLUMNS, outcomes

FORMATS: Final = tuple(ENCODERS)
"""The formats there are."""

_VERSIONS: Final = "select distinct classifier_version from counted_turns order by 1"


class ReportError(TurnoutError):
    """A report that cannot be written."""


def _now() -> datetime:
    return datetime.now(UTC)


def write_report(
    warehouse: Warehouse,
    filters: Filters,
    out: Path,
    formats: Sequence[str] = FORMATS,
    clock: Callable[[], datetime] = _now,
) -> tuple[Path, ...]:
    """Write outcomes and their manifest; gives the paths that were written, the manifest last.

    Args:
        warehouse: what to report of.
        filters: which turns.
        out: a file whose ending is a format, or a folder for ``formats``.
        formats: some of `FORMATS`, for a folder.
        clock: when it is made.

    Raises:
        ReportError: for a format that does not exist, or a place that cannot be written.
    """
    frame = outcomes(warehouse, filters)
    encoded = {path: ENCODERS[path.suffix[1:]](frame) for path in _targets(out, formats)}
    made = _made(warehouse, filters, frame, clock())
    entries = [file_entry(path.name, data) for path, data in encoded.items()]
    text = json.dumps(manifest(made, frame.height, COLUMNS, entries), indent=2) + "\n"
    _write({**encoded, _manifest_path(out): text.encode()})
    return (*encoded, _manifest_path(out))


def _targets(out: Path, formats: Sequence[str]) -> list[Path]:
    if not out.suffix:
        return [out / f"outcomes.{name}" for name in formats]
    if out.suffix[1:] not in ENCODERS:
        raise ReportError(
            f"report: got {out.name!r}, expected a name that ends in {', '.join(f'.{name}' for name in ENCODERS)}, "
            "or a folder for all of them; choose one of these"
        )
    return [out]


def _manifest_path(out: Path) -> Path:
    return out.with_name(f"{out.name}.manifest.json") if out.suffix else out / "manifest.json"


def _made(warehouse: Warehouse, filters: Filters, frame: pl.DataFrame, at: datetime) -> Made:
    days = frame["day_utc"]
    return Made(
        lake=warehouse.root,
        lake_version=warehouse.snapshot.version,
        filters=filters,
        classifier_versions=warehouse.sql(_VERSIONS, filters=filters)["classifier_version"].to_list(),
        at=at,
        first_day=None if days.is_empty() else str(days.min()),
        last_day=None if days.is_empty() else str(days.max()),
    )


def _write(files: Mapping[Path, bytes]) -> None:
    for path, data in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        except OSError as error:
            raise ReportError(
                f"report {path}: cannot be written, got {error.strerror or error}; choose another place with --out"
            ) from error
