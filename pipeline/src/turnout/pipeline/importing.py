"""Bring logs into a lake: read them, decide every turn, write in batches.

Here stands what surrounds the importers: batches, counts, and the line of the ledger that `turnout doctor` reads. A turn that the lake
has already, with nothing new about it, is a duplicate and changes nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from turnout.outcomes.facts import Instant, TurnFacts
from turnout.outcomes.settle import merge, settle
from turnout.pipeline.importers.base import Damaged, Imported, Importer, Reading, Skipped
from turnout.pipeline.importers.registry import KINDS
from turnout.pipeline.importers.turns import KIND as TURNS
from turnout.pipeline.lake import Entry, Lake
from turnout.pipeline.log_files import AUTO, ImportingError, LogFile, find_logs, kind_of
from turnout.pipeline.rows import ClassifiedTurn, classified

IMPORTED = "imported"
"""The kind of the ledger's lines on what an import brought; the key is the kind of the logs."""
LEFT_OUT = "import"
"""The kind of the ledger's lines on what an import left out, one a reason; the key is an example and the reason."""

_BATCH_TURNS = 1000
_BATCH_STEPS = 50_000
_KEPT_REASONS = 50
_SHOWN_REASONS = 5
_NANOS_PER_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why records were damaged or things skipped, how often, and where for example."""

    kind: str
    what: str
    count: int
    example: str
    log: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSummary:
    """What an import did; turns, steps and tool calls are those that are new in the lake or have new evidence."""

    files: int
    records: int
    turns: int
    steps: int
    tool_calls: int
    duplicates: int
    damaged: int
    skipped: int
    seconds: float
    reasons: tuple[Reason, ...] = ()
    invalid: tuple[str, ...] = ()
    """Every line that should be turn facts and is not: whoever writes them by hand wants to see each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an import has come."""

    files: int
    files_done: int
    records: int
    turns: int


Watcher = Callable[[Progress], None]


@dataclass(slots=True)
class _Count:
    """The counts of one kind of logs."""

    files: int = 0
    records: int = 0
    turns: int = 0
    steps: int = 0
    tool_calls: int = 0
    duplicates: int = 0
    damaged: int = 0
    skipped: int = 0
    why: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    examples: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])

    def note(self, item: Damaged | Skipped, name: str) -> None:
        """Count what could not be read, or was left out, of a file of that name."""
        if isinstance(item, Damaged):
            self.damaged += 1
            place, key = _place(item, name), ("damaged", item.what)
        else:
            self.skipped += 1
            place, key = name, ("skipped", item.why)
        if key in self.why or len(self.why) < _KEPT_REASONS:
            self.why[key] += 1
            self.examples.setdefault(key, place)

    def reasons(self, log: str) -> tuple[Reason, ...]:
        """Give the reasons, most frequent first; ``log`` is the kind of the logs."""
        return tuple(
            Reason(kind=kind, what=what, count=count, example=self.examples[kind, what], log=log)
            for (kind, what), count in self.why.most_common()
        )


def import_logs(
    lake: Lake,
    kind: str,
    paths: Sequence[str],
    *,
    clock: Callable[[], Instant],
    stdin: IO[bytes] | None = None,
    digest_key: bytes | None = None,
    watch: Watcher = lambda _progress: None,
) -> ImportSummary:
    """Import files, folders, globs or standard input (``-``) into a lake.

    Args:
        lake: where the turns go.
        kind: a name of `KINDS`, or ``auto`` to tell the kind of every file from its first records.
        paths: what to import.
        clock: nanoseconds since the epoch, for when the evidence came.
        stdin: what ``-`` stands for.
        digest_key: the key of the digests of tool arguments and user ids; without one there are none.
        watch: is told after every file and every batch.

    Raises:
        TurnoutError: when a path names nothing, the kind is unknown, or the lake cannot be written.
    """
    if kind != AUTO and kind not in KINDS:
        raise ImportingError(f"kind: got {kind!r}, expected {AUTO} or one of {', '.join(KINDS)}")
    started = clock()
    with find_logs(paths, stdin) as files:
        run = _Run(lake, clock, digest_key, watch, files)
        for name, importer, chosen in _sorted_out(kind, files, run):
            run.read(name, importer, chosen)
        run.finish()
    return run.summary(files=len(files), seconds=(clock() - started) / _NANOS_PER_SECOND)


def _sorted_out(kind: str, files: Sequence[LogFile], run: "_Run") -> Iterator[tuple[str, Importer, list[Path]]]:
    """Give each kind its files, in the order in which the kinds were met; a file of no kind is skipped."""
    groups: dict[str, list[Path]] = {}
    for file in files:
        try:
            found = kind_of(kind, file)
        except OSError as error:
            run.leave_out(
                kind, Damaged(path=str(file.path), what=f"got {error.strerror or error}, expected a file to read")
            )
            continue
        if isinstance(found, str):
            groups.setdefault(found, []).append(file.path)
        else:
            run.leave_out(kind, found)
    for name, chosen in groups.items():
        yield name, KINDS[name], chosen


class _Run:
    """One import on its way."""

    def __init__(
        self,
        lake: Lake,
        clock: Callable[[], Instant],
        digest_key: bytes | None,
        watch: Watcher,
        files: Sequence[LogFile],
    ) -> None:
        self._lake = lake
        self._clock = clock
        self._digest_key = digest_key
        self._watch = watch
        self._files = len(files)
        self._names = {str(file.path): file.name for file in files}
        self._done = 0
        self._counts: dict[str, _Count] = {}
        self._invalid: list[str] = []
        self._batch: dict[str, tuple[str, TurnFacts]] = {}
        self._steps = 0

    def leave_out(self, kind: str, item: Damaged | Skipped) -> None:
        """Count a file that is not read at all."""
        self._done += 1
        self._of(kind).files += 1
        self._note(kind, item)

    def read(self, kind: str, importer: Importer, paths: Sequence[Path]) -> None:
        """Read files of one kind: each by itself, or together where one can complete a turn of another."""
        sets = [list(paths)] if importer.joins_files else [[path] for path in paths]
        for chosen in sets:
            count = self._of(kind)
            count.files += len(chosen)
            before = count.records
            reading = importer.read_all(chosen, digest_key=self._digest_key)
            for item in self._guarded(reading, chosen):
                count.records = before + reading.records
                self._take(kind, item)
            count.records = before + reading.records
            self._done += len(chosen)
            self._tell()

    def finish(self) -> None:
        """Write what is left, and the ledger's lines; an import that changed nothing leaves no line."""
        self._write()
        counts = self._counts.values()
        if any(count.turns for count in counts) or not any(count.duplicates for count in counts):
            self._lake.record([entry for kind, count in self._counts.items() for entry in _entries(kind, count)])

    def summary(self, *, files: int, seconds: float) -> ImportSummary:
        """Add the counts of all kinds up."""
        counts = list(self._counts.values())
        return ImportSummary(
            files=files,
            records=sum(count.records for count in counts),
            turns=sum(count.turns for count in counts),
            steps=sum(count.steps for count in counts),
            tool_calls=sum(count.tool_calls for count in counts),
            duplicates=sum(count.duplicates for count in counts),
            damaged=sum(count.damaged for count in counts),
            skipped=sum(count.skipped for count in counts),
            seconds=round(seconds, 3),
            reasons=tuple(reason for kind, count in self._counts.items() for reason in count.reasons(kind)),
            invalid=tuple(self._invalid),
        )

    def _note(self, kind: str, item: Damaged | Skipped) -> None:
        name = self._names.get(item.path, item.path)
        self._of(kind).note(item, name)
        if kind == TURNS and isinstance(item, Damaged):
            self._invalid.append(f"{_place(item, name)}: {item.what}")

    def _of(self, kind: str) -> _Count:
        return self._counts.setdefault(kind, _Count())

    def _guarded(self, reading: Reading, paths: Sequence[Path]) -> Iterator[Imported]:
        """Read on to the end, or to where a file can be read no further; what came before stays."""
        try:
            yield from reading
        except OSError as error:
            what = f"got {error.strerror or error}, expected a file that can be read"
            yield Damaged(path=error.filename or str(paths[0]), what=what)

    def _take(self, kind: str, item: Imported) -> None:
        if isinstance(item, Damaged | Skipped):
            self._note(kind, item)
            return
        known = self._batch.get(item.turn_id)
        if known is None:
            self._batch[item.turn_id] = (kind, item)
            self._steps += len(item.steps)
        else:
            self._of(kind).duplicates += 1
            self._batch[item.turn_id] = (known[0], merge(known[1], item))
        if len(self._batch) >= _BATCH_TURNS or self._steps >= _BATCH_STEPS:
            self._write()

    def _write(self) -> None:
        if not self._batch:
            return
        now = self._clock()
        turns = {turn_id: classified(facts, now) for turn_id, (_, facts) in self._batch.items()}
        stored = self._lake.facts(list(turns))
        self._lake.write(list(turns.values()))
        for turn_id, (kind, _) in self._batch.items():
            self._count(kind, turns[turn_id], stored.get(turn_id))
        self._batch, self._steps = {}, 0
        self._tell()

    def _count(self, kind: str, turn: ClassifiedTurn, stored: TurnFacts | None) -> None:
        count = self._of(kind)
        if stored is not None and settle(merge(stored, turn.facts)) == stored:
            count.duplicates += 1
            return
        count.turns += 1
        count.steps += turn.verdict.steps
        count.tool_calls += turn.verdict.tool_calls

    def _tell(self) -> None:
        counts = self._counts.values()
        self._watch(
            Progress(
                files=self._files,
                files_done=self._done,
                records=sum(count.records for count in counts),
                turns=sum(count.turns + count.duplicates for count in counts),
            )
        )


def _place(item: Damaged, name: str) -> str:
    return name if item.line is None else f"{name}:{item.line}"


def _entries(kind: str, count: _Count) -> Iterator[Entry]:
    """Say in the ledger what an import of one kind of logs found, and what it left out for which reason."""
    counts = {name: getattr(count, name) for name in ("files", "records", "turns", "duplicates", "damaged", "skipped")}
    yield Entry(kind=IMPORTED, key=kind, value=counts)
    for reason in count.reasons(kind):
        value: Mapping[str, object] = {reason.kind: reason.count, "log": kind}
        yield Entry(kind=LEFT_OUT, key=f"{reason.example}: {reason.what}", value=value)


def shown(reasons: Iterable[Reason]) -> Iterator[str]:
    """Say the most frequent reasons as lines for a person; lines that are no turn facts are said one by one instead."""
    others = (reason for reason in reasons if (reason.log, reason.kind) != (TURNS, "damaged"))
    most = sorted(others, key=lambda reason: -reason.count)
    for reason in most[:_SHOWN_REASONS]:
        times = "" if reason.count == 1 else f", {reason.count} times"
        yield f"{reason.kind}: {reason.example}: {reason.what}{times}"
    if len(most) > _SHOWN_REASONS:
        yield f"and {len(most) - _SHOWN_REASONS} reasons more; turnout doctor lists them"
