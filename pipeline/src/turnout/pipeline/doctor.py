"""The doctor: what arrives, what is missing or unknown, what was left out and why, and what to do about it."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import polars as pl

from turnout.outcomes.classify import CLASSIFIER_VERSION
from turnout.pipeline.query import Warehouse
from turnout.pipeline.query.engine import resource
from turnout.pipeline.receive.counters import Count, Snapshot, read_status

_SILENT: Final = timedelta(hours=1)
_LOW: Final = 0.9
_LEFT_OUT: Final = (
    Count.REQUESTS_REFUSED,
    Count.RECORDS_DROPPED,
    Count.RECORDS_NOT_NEEDED,
    Count.DAMAGED,
    Count.UNRECOGNISED,
)


class Weight(StrEnum):
    """How much a finding matters."""

    BROKEN = "broken"
    WATCH = "watch"
    FINE = "fine"


_LEFT_OUT_WEIGHT: Final[dict[str, Weight]] = {
    Count.RECORDS_DROPPED: Weight.BROKEN,
    # Spans of HTTP clients, frameworks' own and the like: no dialect takes a fact from them.
    Count.RECORDS_NOT_NEEDED: Weight.FINE,
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found, and what to do about it."""

    weight: Weight
    what: str
    do: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that was not taken in."""

    by: str
    what: str
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class Examination:
    """Everything the doctor looked at; ``coverage`` and ``unknown_values`` are as their SQL says."""

    lake: str
    version: int
    receiver: bool
    coverage: pl.DataFrame
    unknown_values: pl.DataFrame
    heard: tuple[tuple[str, datetime, int], ...]
    left_out: tuple[LeftOut, ...]
    findings: tuple[Finding, ...]


def examine(warehouse: Warehouse, journal: Path | None, now: datetime) -> Examination:
    """Look at a lake and at what its receiver counted.

    Args:
        warehouse: the lake.
        journal: the folder of the receiver's journal, where it writes its status; ``None`` where there is none.
        now: what silence is counted from.
    """
    status = read_status(journal) if journal is not None else None
    coverage = warehouse.sql(resource("doctor/coverage.sql"))
    unknown = warehouse.sql(resource("doctor/unknown_values.sql"))
    versions = warehouse.sql(resource("doctor/versions.sql"))
    left_out = (*_receiver_left_out(status), *_imports_left_out(warehouse.sql(resource("doctor/imports.sql"))))
    return Examination(
        lake=warehouse.root,
        version=warehouse.snapshot.version,
        receiver=status is not None,
        coverage=coverage,
        unknown_values=unknown,
        heard=_heard(status),
        left_out=left_out,
        findings=(
            *_on_arrival(coverage, status, now),
            *_on_coverage(coverage),
            *_on_unknown(unknown),
            *_on_left_out(left_out),
            *_on_versions(versions),
        ),
    )


def _heard(status: Snapshot | None) -> tuple[tuple[str, datetime, int], ...]:
    if status is None:
        return ()
    rows = [(source.service, _moment(source.last_at), source.records) for source in status.sources]
    return tuple(sorted(rows, key=lambda row: row[1], reverse=True))


def _receiver_left_out(status: Snapshot | None) -> Iterator[LeftOut]:
    if status is not None:
        for (name, reason), count in sorted(status.counts.items()):
            if name in set(_LEFT_OUT) and count:
                yield LeftOut("receiver", name, reason, count)


def _imports_left_out(imports: pl.DataFrame) -> Iterator[LeftOut]:
    for row in imports.iter_rows(named=True):
        value: dict[str, Any] = json.loads(row["value"])
        for what in ("damaged", "skipped"):
            if value.get(what):
                yield LeftOut("import", what, str(row["path"]), int(value[what]))


def _on_arrival(coverage: pl.DataFrame, status: Snapshot | None, now: datetime) -> Iterator[Finding]:
    if coverage.is_empty():
        yield Finding(
            Weight.WATCH,
            "the lake holds no turn",
            "send telemetry to `turnout serve` (OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318), or bring logs in with `turnout import`",
        )
    for row in coverage.iter_rows(named=True):
        silence = now - row["last_received"]
        weight = Weight.WATCH if silence > _SILENT else Weight.FINE
        yield Finding(weight, f"{_named(row['source'])}: last turn received {_ago(silence)} ago", "")
    if status is None:
        yield Finding(
            Weight.WATCH, "no receiver has written its status beside this lake", "start one with `turnout serve`"
        )


def _on_coverage(coverage: pl.DataFrame) -> Iterator[Finding]:
    for row in coverage.iter_rows(named=True):
        covered, steps, source = row["with_finish_reason"], row["with_steps"], _named(row["source"])
        if steps and covered / steps < _LOW:
            yield Finding(
                Weight.WATCH,
                f"{source}: {covered} of {steps} turns record the finish reason of their last step",
                "record gen_ai.response.finish_reasons, or call step.finish(finish_reason=…)",
            )
        if steps and row["with_all_tokens"] / steps < _LOW:
            yield Finding(
                Weight.WATCH,
                f"{source}: {row['with_all_tokens']} of {steps} turns record the tokens of every model call",
                "record gen_ai.usage.input_tokens and output_tokens on every call; streams often need an option for it",
            )


def _on_unknown(unknown: pl.DataFrame) -> Iterator[Finding]:
    for row in unknown.head(5).iter_rows(named=True):
        yield Finding(
            Weight.WATCH,
            f"finish reason {row['value']!r} of {_named(row['provider'])} is in no vocabulary ({row['model_calls']} model calls)",
            "these turns are counted as unknown, never as finished; report the value so that it can be listed",
        )


def _on_left_out(left_out: Iterable[LeftOut]) -> Iterator[Finding]:
    for one in left_out:
        yield Finding(
            _LEFT_OUT_WEIGHT.get(one.what, Weight.WATCH),
            f"{one.by} left out {one.count}: {one.what.replace('_', ' ')}{f' ({one.reason})' if one.reason else ''}",
            "",
        )


def _on_versions(versions: pl.DataFrame) -> Iterator[Finding]:
    older = versions.filter(pl.col("classifier_version") != CLASSIFIER_VERSION)
    if older.height:
        count = older["turns"].sum()
        yield Finding(
            Weight.WATCH,
            f"{count} turns were decided by another version of the classifier than {CLASSIFIER_VERSION}",
            "decide them again with `turnout lake reclassify`",
        )


def _named(value: str | None) -> str:
    return value or "source not recorded"


def _moment(nanoseconds: int) -> datetime:
    return datetime.fromtimestamp(nanoseconds / 1_000_000_000, tz=UTC)


def _ago(time: timedelta) -> str:
    seconds = max(0, int(time.total_seconds()))
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
