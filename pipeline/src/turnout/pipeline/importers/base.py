"""What every importer is: a named format, how to know it by its first bytes, and how its records become turn facts.

A format module reads values and gives values; opening, decoding and counting stand here. A record that cannot be read is
reported and counted, never fatal; content stays behind: arguments leave as a keyed digest, text as a length.
"""

import hashlib
import hmac
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import IO, Protocol, TypeAlias

from turnout.outcomes import claims
from turnout.outcomes.facts import Claim, Layer, TurnFacts
from turnout.pipeline.json_text import parse_log_json
from turnout.pipeline.log_opening import BROKEN_OFF, is_text, opened

SAMPLE_RECORDS = 20
"""How many of the first records of a file decide its kind."""

LONG_SAMPLE_RECORDS = 2000
"""How many are looked at where the first ones belong to no kind: some logs open with remarks on other logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Damaged:
    """A record that could not be read, or that must have been there and is not; ``turn_id`` where one turn suffers."""

    path: str
    what: str
    line: int | None = None
    turn_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Something well formed that holds no turn of this kind, and why it was left out."""

    path: str
    why: str


Imported: TypeAlias = TurnFacts | Damaged | Skipped

DAMAGED_RECORD = Claim(by=Layer.TRANSPORT, reason=claims.DAMAGED_RECORD)
"""What the log itself says of a turn of which a record is damaged: no end, and that one may have been lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record of a file: a line, an element of the top-level list, or the whole document."""

    number: int
    value: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where records come from, and the key of the digests that stand for arguments (none without a key)."""

    path: str
    digest_key: bytes | None = None

    def digest(self, arguments: object) -> str | None:
        """Hash tool arguments with the key, so that equal calls can be seen and never read."""
        if self.digest_key is None or arguments is None:
            return None
        words = arguments if isinstance(arguments, str) else json.dumps(arguments, sort_keys=True, default=str)
        return hmac.new(self.digest_key, words.encode(), hashlib.sha256).hexdigest()[:32]


@dataclass(slots=True)
class Tally:
    """How many records a reading has seen so far."""

    records: int = 0


class Reading:
    """What a file gave, item by item; ``records`` grows while it is read."""

    def __init__(self, make: Callable[[Tally], Iterable[Imported]]) -> None:
        self._tally = Tally()
        self._items = iter(make(self._tally))

    def __iter__(self) -> Iterator[Imported]:
        return self

    def __next__(self) -> Imported:
        return next(self._items)

    @property
    def records(self) -> int:
        """Count the records read so far, the damaged among them."""
        return self._tally.records


class Importer(Protocol):
    """One log format."""

    @property
    def kind(self) -> str:
        """Name the format as the command line does."""
        ...

    def recognises(self, sample: Sequence[Mapping[str, object]], name: str) -> bool:
        """Say whether the first records of a file named ``name`` are of this kind."""
        ...

    @property
    def joins_files(self) -> bool:
        """Whether one file can complete a turn of another."""
        ...

    def read(self, path: Path, *, digest_key: bytes | None = None) -> Reading:
        """Read one file by itself."""
        ...

    def read_all(self, paths: Sequence[Path], *, digest_key: bytes | None = None) -> Reading:
        """Read a set of files as one."""
        ...


Parse: TypeAlias = Callable[[Source, Iterable[Record | Damaged]], Iterable[Imported]]
"""A format: the records of one file in, its turns out; damaged records pass through."""

Recognise: TypeAlias = Callable[[Sequence[Mapping[str, object]], str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordImporter:
    """A format whose files stand alone and whose records are JSON objects."""

    kind: str
    parse: Parse
    recognise: Recognise
    unpack: Callable[[object], Iterable[object]] = field(default=lambda document: [document])
    kind_of_record: Callable[[Mapping[str, object]], str | None] | None = None
    """Tells the kind of one record, where a log of this kind may hold records of another."""
    joins_files: bool = False

    def recognises(self, sample: Sequence[Mapping[str, object]], name: str) -> bool:
        """Say whether the first records of a file are of this kind."""
        return self.recognise(sample, name)

    def read(self, path: Path, *, digest_key: bytes | None = None) -> Reading:
        """Read one file by itself."""
        return self.read_all([path], digest_key=digest_key)

    def read_all(self, paths: Sequence[Path], *, digest_key: bytes | None = None) -> Reading:
        """Read the files one after the other."""

        def make(tally: Tally) -> Iterator[Imported]:
            for path in paths:
                source = Source(path=str(path), digest_key=digest_key)
                strangers: Counter[str] = Counter()
                records = self._own(counted(read_records(path, self.unpack), tally), strangers)
                yield from marked(self.parse(source, records))
                for kind, count in strangers.items():
                    yield Skipped(
                        path=str(path), why=f"{count} records of the kind {kind} in a log of the kind {self.kind}"
                    )

        return Reading(make)

    def _own(self, records: Iterable[Record | Damaged], strangers: Counter[str]) -> Iterator[Record | Damaged]:
        """Let records pass; those of another kind are counted instead. Records of one shape are of one kind."""
        known: dict[object, str | None] = {}
        for record in records:
            if isinstance(record, Record) and self.kind_of_record is not None:
                shape = (str(record.value.get("type")), *record.value)
                if shape not in known:
                    known[shape] = self.kind_of_record(record.value)
                kind = known[shape]
                if kind not in {None, self.kind}:
                    strangers[str(kind)] += 1
                    continue
            yield record


def content_id(value: object) -> str:
    """Name a record that has no id of its own by what it holds, so that a copy of it is the same turn."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]


def marked(items: Iterable[Imported]) -> Iterator[Imported]:
    """Let the facts of a turn say that a record of it was damaged; the damage must be told before the turn."""
    spoiled: set[str] = set()
    for item in items:
        if isinstance(item, Damaged) and item.turn_id is not None:
            spoiled.add(item.turn_id)
        if isinstance(item, TurnFacts) and item.turn_id in spoiled:
            yield replace(item, claims=(*item.claims, DAMAGED_RECORD))
        else:
            yield item


def counted(records: Iterable[Record | Damaged], tally: Tally) -> Iterator[Record | Damaged]:
    """Count records as they pass."""
    for record in records:
        tally.records += 1
        yield record


def read_records(
    path: Path, unpack: Callable[[object], Iterable[object]] = lambda document: [document]
) -> Iterator[Record | Damaged]:
    """Read a file of JSON lines, or one JSON document whose records ``unpack`` finds.

    A file is a document when its first line is not a whole JSON value.
    """
    with opened(path) as stream:
        if is_lines(stream):
            yield from read_lines(stream, str(path))
        else:
            yield from read_document(stream, str(path), unpack)


def sample_of(path: Path, size: int = SAMPLE_RECORDS) -> tuple[Mapping[str, object], ...]:
    """Read the first whole records of a file, to tell its kind; a list counts as its elements."""
    if not is_text(path):
        return ()
    records = (record.value for record in read_records(path) if isinstance(record, Record))
    return tuple(islice(records, size))


def is_lines(stream: IO[bytes]) -> bool:
    """Say whether a file holds one object a line: the first line that is not blank is a whole object and not the last."""
    first = b""
    while not first.strip():
        line = stream.readline()
        if not line:
            break
        first = line
    more = any(line.strip() for line in stream)
    stream.seek(0)
    return more and isinstance(_decoded(first), Mapping)


def read_lines(stream: IO[bytes], path: str) -> Iterator[Record | Damaged]:
    """Read JSON lines; a line that is no JSON object is damaged, a blank one is nothing."""
    position = 0
    try:
        for position, line in enumerate(stream, 1):
            if line.strip():
                yield _record(_decoded(line), path, position)
    except BROKEN_OFF:
        yield Damaged(path=path, line=position + 1, what="got gzip data that is not whole, expected it to go on")


def read_document(
    stream: IO[bytes], path: str, unpack: Callable[[object], Iterable[object]]
) -> Iterator[Record | Damaged]:
    """Read one JSON document; lines that each hold a value are read as lines where the whole does not parse."""
    body = stream.read()
    document = _decoded(body)
    if document is not _BROKEN:
        found = document if isinstance(document, list) else unpack(document)
        yield from (_record(value, path, position) for position, value in enumerate(found, 1))
    elif body.strip():
        lines = [line for line in body.splitlines() if line.strip()]
        whole = sum(isinstance(_decoded(line), Mapping) for line in lines)
        if whole:
            stream.seek(0)
            yield from read_lines(stream, path)
        else:
            yield Damaged(path=path, what=f"got {len(body)} bytes that are no JSON, expected a whole JSON document")


class _Broken:
    """What a text that is no JSON decodes to."""


_BROKEN = _Broken()


def _decoded(body: bytes) -> object:
    try:
        return parse_log_json(body)
    except ValueError:
        return _BROKEN


def _record(value: object, path: str, position: int) -> Record | Damaged:
    if isinstance(value, Mapping):
        return Record(number=position, value=value)
    got = "text that is no JSON" if value is _BROKEN else f"a JSON {type(value).__name__}"
    return Damaged(path=path, line=position, what=f"got {got}, expected a JSON object")
