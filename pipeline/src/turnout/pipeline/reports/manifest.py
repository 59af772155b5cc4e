"""The manifest of a report: enough to know, a year later, what its numbers count and whether the file is whole. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Final

from turnout.pipeline.query import Filters

MANIFEST_SCHEMA: Final = "turnout.report/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What a report was made from."""

    lake: str
    lake_version: int
    filters: Filters
    classifier_versions: Sequence[str]
    at: datetime
    first_day: str | None
    last_day: str | None


def file_entry(name: str, data: bytes) -> dict[str, object]:
    """What the manifest says of one file."""
    return {"name": name, "bytes": len(data), "sha256": sha256(data).hexdigest()}


def manifest(
    made: Made, rows: int, columns: Mapping[str, str], files: Sequence[Mapping[str, object]]
) -> dict[str, object]:
    """The manifest as plain values, ready for JSON."""
    chosen = made.filters
    return {
        "schema": MANIFEST_SCHEMA,
        "report": "outcomes",
        "made_at": _spelled(made.at),
        "time_zone": "UTC: every day and every instant is in UTC",
        "window": {
            "since": _spelled(chosen.since),
            "until": _spelled(chosen.until),
            "first_day_utc": made.first_day,
            "last_day_utc": made.last_day,
        },
        "filters": {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in chosen
            if name not in {"since", "until"}
        },
        "rows": rows,
        "definitions": dict(columns),
        "classifier_versions": list(made.classifier_versions),
        "lake": {"root": made.lake, "version": made.lake_version},
        "files": [dict(entry) for entry in files],
    }


def _spelled(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
