"""Reports: rows, files and the manifest that vouches for them."""

import csv
import io
import json
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from turnout.outcomes.classify import CLASSIFIER_VERSION
from turnout.pipeline.query import Filters, Warehouse
from turnout.pipeline.reports import COLUMNS, ReportError, outcomes, write_report
from turnout.pipeline.testing import EXAMPLE, lake_of

MADE = datetime(2026, 2, 1, 9, tzinfo=UTC)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return Warehouse(lake_of(str(tmp_path_factory.mktemp("report") / "lake"), EXAMPLE).root)


def write(warehouse: Warehouse, out: Path, filters: Filters | None = None) -> tuple[Path, ...]:
    return write_report(warehouse, filters or Filters(), out, clock=lambda: MADE)


def read_manifest(path: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads(path.read_text())
    return manifest


def test_the_rows_count_every_turn_once(warehouse: Warehouse) -> None:
    """By UTC day, agent, version, model and attendance; the groups sum to the lake."""
    frame = outcomes(warehouse, Filters())
    assert frame.columns == list(COLUMNS)
    assert frame["turns"].sum() == 15
    unrecorded = frame.filter(pl.col("agent").is_null()).drop("rate", "low", "high").rows()
    assert unrecorded == [(date(2026, 1, 5), None, "1", "claude-a", None, "unknown", 1, 1)]


def test_a_folder_gets_every_format_and_one_manifest(warehouse: Warehouse, tmp_path: Path) -> None:
    """And all of them hold the same rows."""
    written = write(warehouse, tmp_path / "report")
    assert [path.name for path in written] == ["outcomes.csv", "outcomes.parquet", "outcomes.json", "manifest.json"]
    expected = outcomes(warehouse, Filters())
    assert pl.read_parquet(written[1]).equals(expected)
    assert json.loads(written[2].read_text())[0] == {
        **expected.row(0, named=True),
        "day_utc": expected["day_utc"][0].isoformat(),
    }
    lines = list(csv.DictReader(io.StringIO(written[0].read_text())))
    assert [line["outcome"] for line in lines] == expected["outcome"].to_list()
    assert {line["agent"] for line in lines} == {"coder", "helper", ""}


def test_the_manifest_says_what_the_files_are_and_how_they_were_made(warehouse: Warehouse, tmp_path: Path) -> None:
    """Rows, window, filters, definitions, classifier, checksums; and that days are UTC days."""
    filters = Filters(since=datetime(2026, 1, 5, 13, tzinfo=UTC), agent=("coder",), attended=True)
    data, path = write(warehouse, tmp_path / "outcomes.csv", filters)
    assert read_manifest(path) == {
        "schema": "turnout.report/1",
        "report": "outcomes",
        "made_at": "2026-02-01T09:00:00Z",
        "time_zone": "UTC: every day and every instant is in UTC",
        "window": {
            "since": "2026-01-05T13:00:00Z",
            "until": None,
            "first_day_utc": "2026-01-05",
            "last_day_utc": "2026-01-06",
        },
        "filters": {"agent": ["coder"], "attended": True},
        "rows": 6,
        "definitions": dict(COLUMNS),
        "classifier_versions": [CLASSIFIER_VERSION],
        "lake": {"root": warehouse.root, "version": warehouse.snapshot.version},
        "files": [
            {
                "name": "outcomes.csv",
                "bytes": data.stat().st_size,
                "sha256": sha256(data.read_bytes()).hexdigest(),
            }
        ],
    }
    assert path.name == "outcomes.csv.manifest.json"


def test_the_same_lake_gives_the_same_bytes(warehouse: Warehouse, tmp_path: Path) -> None:
    """A report can be made again and compared."""
    first, second = (write(warehouse, tmp_path / name) for name in ("one", "two"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_an_empty_lake_gives_a_report_without_rows(tmp_path: Path) -> None:
    """With every column, and a manifest that says so."""
    written = write(Warehouse(str(tmp_path / "lake")), tmp_path / "report")
    assert written[0].read_text() == ",".join(COLUMNS) + "\n"
    manifest = read_manifest(written[-1])
    assert (manifest["rows"], manifest["window"]["first_day_utc"], manifest["classifier_versions"]) == (0, None, [])


def test_an_unknown_format_is_one_sentence(warehouse: Warehouse, tmp_path: Path) -> None:
    """It names those there are."""
    with pytest.raises(ReportError, match=r"got 'report.doc', expected a name that ends in .csv, "):
        write(warehouse, tmp_path / "report.doc")


def test_a_place_that_cannot_be_written_is_one_sentence(warehouse: Warehouse, tmp_path: Path) -> None:
    """It names the path."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ReportError, match=r"report .*: cannot be written, got .*; choose another place with --out"):
        write(warehouse, tmp_path / "file" / "report.csv")
