"""What the receiver has seen, kept, left out and why: counted in memory, written beside the journal once a second.

`turnout doctor` and the pages read the file, `/metrics` the memory; totals go on counting over restarts.
"""

import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from turnout.outcomes.facts import Instant

STATUS_SCHEMA = "turnout.receiver/1"
STATUS_FILE = "status.json"

_NANOS = 1_000_000_000
_REASONS = 1000
_REASON_CHARS = 80


class Count(StrEnum):
    """What is counted; ``reason`` tells apart where one name has several causes."""

    REQUESTS_RECEIVED = "requests_received"
    BYTES_RECEIVED = "bytes_received"
    SPANS_RECEIVED = "spans_received"
    LOG_RECORDS_RECEIVED = "log_records_received"
    DATA_POINTS_RECEIVED = "data_points_received"
    REQUESTS_JOURNALED = "requests_journaled"
    BYTES_JOURNALED = "bytes_journaled"
    REQUESTS_REFUSED = "requests_refused"
    REQUESTS_CONVERTED = "requests_converted"
    RECORDS_CONVERTED = "records_converted"
    RECORDS_DROPPED = "records_dropped"
    RECORDS_NOT_NEEDED = "records_not_needed"
    DAMAGED = "damaged"
    TURNS_WRITTEN = "turns_written"
    TURNS_REPLACED = "turns_replaced"
    TURNS_QUIET = "turns_closed_by_quiet_time"
    TURNS_DIED = "turns_closed_by_process_death"
    TURNS_PRESSED = "turns_closed_by_pressure"
    COMMITS = "commits"
    COMMITS_FAILED = "commits_failed"
    UNKNOWN_FINISH_REASONS = "unknown_finish_reasons"
    UNRECOGNISED = "unrecognised_records"


class Gauge(StrEnum):
    """What stands at a value now."""

    QUEUED_BYTES = "queued_bytes"
    IN_FLIGHT_BYTES = "in_flight_bytes"
    JOURNAL_BYTES = "journal_bytes"
    OPEN_TURNS = "open_turns"
    RETAINED_RECORDS = "retained_records"
    LAG_SECONDS = "lag_seconds"
    JOURNAL_POSITION = "journal_position"
    LAKE_POSITION = "lake_position"
    RSS_BYTES = "rss_bytes"


@dataclass(slots=True)
class Source:
    """One service that sends: when it was last heard, and how much it has sent."""

    service: str
    first_at: Instant
    last_at: Instant
    records: int = 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All counts and gauges at one moment; counts are keyed by name and reason."""

    counts: Mapping[tuple[str, str], int]
    gauges: Mapping[str, float]
    sources: tuple[Source, ...]


@dataclass(slots=True)
class Counters:
    """Shared by the threads of the receiver."""

    clock: Callable[[], Instant]
    journal: str = ""
    _counts: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    _gauges: dict[str, float] = field(default_factory=dict[str, float])
    _sources: dict[str, Source] = field(default_factory=dict[str, Source])
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def add(self, count: Count, amount: int = 1, reason: str = "") -> None:
        """Count ``amount`` more."""
        if amount:
            with self._guard:
                self._counts[self._key(count, reason)] += amount

    def add_all(self, more: Mapping[str, Mapping[str, int]]) -> None:
        """Count what was counted elsewhere, by name and reason."""
        for name, reasons in more.items():
            for reason, amount in reasons.items():
                self.add(Count(name), amount, reason)

    def _key(self, count: Count, reason: str) -> tuple[str, str]:
        """Reasons that come from outside are short and few, else they are counted together."""
        key = count.value, reason[:_REASON_CHARS]
        return key if key in self._counts or len(self._counts) < _REASONS else (count.value, "other")

    def put(self, gauge: Gauge, value: float) -> None:
        """Set a gauge."""
        with self._guard:
            self._gauges[gauge.value] = value

    def put_all(self, gauges: Mapping[str, float]) -> None:
        """Set gauges to what was measured elsewhere."""
        with self._guard:
            self._gauges.update(gauges)

    def heard(self, services: Mapping[str, int]) -> None:
        """Note that these services sent this many records just now."""
        now = self.clock()
        with self._guard:
            for service, records in services.items():
                known = service if service in self._sources or len(self._sources) < _REASONS else "(other services)"
                source = self._sources.setdefault(known, Source(known, now, now))
                source.last_at = max(source.last_at, now)
                source.records += records

    def count(self, count: Count, reason: str | None = None) -> int:
        """Give one count, over all reasons when none is named."""
        with self._guard:
            pairs = self._counts.items()
            return sum(n for (name, why), n in pairs if name == count.value and reason in {None, why})

    def snapshot(self) -> Snapshot:
        """Copy everything at one moment."""
        with self._guard:
            sources = tuple(Source(s.service, s.first_at, s.last_at, s.records) for s in self._sources.values())
            return Snapshot(dict(self._counts), dict(self._gauges), sources)

    def restore(self, folder: Path) -> None:
        """Go on from what an earlier run wrote; a file that cannot be read is an empty one."""
        status = read_status(folder)
        if status is not None:
            with self._guard:
                self._counts.update(status.counts)
                self._sources.update({source.service: source for source in status.sources})

    def save(self, folder: Path) -> None:
        """Write the status file whole, or leave the one that is there."""
        draft = folder / f"{STATUS_FILE}.new"
        draft.write_bytes(_encoded(self.snapshot(), self.journal, self.clock()))
        draft.replace(folder / STATUS_FILE)


def read_status(folder: Path) -> Snapshot | None:
    """Read the status file of a journal folder; None where there is none that can be read."""
    try:
        raw = json.loads((folder / STATUS_FILE).read_bytes())
        counts = {(row["name"], row["reason"]): int(row["value"]) for row in raw["counts"]}
        sources = tuple(
            Source(row["service"], int(row["first_at"]), int(row["last_at"]), int(row["records"]))
            for row in raw["sources"]
        )
        return Snapshot(counts, {name: float(value) for name, value in raw["gauges"].items()}, sources)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _encoded(snapshot: Snapshot, journal: str, now: Instant) -> bytes:
    return json.dumps(
        {
            "schema": STATUS_SCHEMA,
            "journal": journal,
            "process": os.getpid(),
            "written_at": now,
            "counts": [{"name": name, "reason": why, "value": n} for (name, why), n in sorted(snapshot.counts.items())],
            "gauges": dict(sorted(snapshot.gauges.items())),
            "sources": [
                {"service": s.service, "first_at": s.first_at, "last_at": s.last_at, "records": s.records}
                for s in sorted(snapshot.sources, key=lambda s: s.service)
            ],
        },
        indent=1,
    ).encode()


def seconds(nanoseconds: int) -> float:
    """Nanoseconds as seconds."""
    return nanoseconds / _NANOS
