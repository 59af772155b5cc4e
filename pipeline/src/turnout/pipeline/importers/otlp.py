"""OTLP as JSON Lines: the telemetry of any agent, through the same dialects as what the receiver takes in."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from turnout.pipeline.dialects import turns_from
from turnout.pipeline.importers.base import Damaged, Imported, Reading, Skipped, Tally
from turnout.pipeline.otlp import read_lines
from turnout.pipeline.telemetry import Record

KIND = "otlp"
_BLOCKS = frozenset({"resourceSpans", "resourceLogs", "resourceMetrics", "resource_spans", "resource_logs"})


class OtlpImporter:
    """Spans and log records of one turn may lie in several files: together they are assembled as one set."""

    kind = KIND
    joins_files = True

    def recognises(self, sample: Sequence[Mapping[str, object]], name: str) -> bool:
        """Know an export by the blocks of its lines."""
        del name
        return any(not value.keys().isdisjoint(_BLOCKS) for value in sample)

    def read(self, path: Path, *, digest_key: bytes | None = None) -> Reading:
        """Read one file by itself."""
        return self.read_all([path], digest_key=digest_key)

    def read_all(self, paths: Sequence[Path], *, digest_key: bytes | None = None) -> Reading:
        """Read all files, then make turns of what they hold."""
        del digest_key

        def make(tally: Tally) -> Iterator[Imported]:
            records: list[Record] = []
            for path in paths:
                yield from _read(path, records, tally)
            normalised = turns_from(records)
            named = str(paths[0]) if len(paths) == 1 else f"{len(paths)} files"
            for scope, count in normalised.unrecognised.items():
                yield Skipped(path=named, why=f"scope {scope}: {count} records that no dialect knows")
            yield from normalised.turns

        return Reading(make)


def _read(path: Path, records: list[Record], tally: Tally) -> Iterator[Imported]:
    has_metrics = False
    for line in read_lines(path):
        decoded = line.decoded
        records.extend(decoded.records)
        tally.records += len(decoded.records) + len(decoded.rejected)
        has_metrics = has_metrics or decoded.metrics > 0
        for reason, count in Counter(rejected.what for rejected in decoded.rejected).items():
            what = reason if count == 1 else f"{count} records: {reason}"
            yield Damaged(path=str(path), line=line.number, what=what)
    if has_metrics:
        yield Skipped(path=str(path), why="metrics, which are not kept")
