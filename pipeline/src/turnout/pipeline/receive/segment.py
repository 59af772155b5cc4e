"""One file of the journal: how a record is written, and how a file is read back without trusting it."""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, NamedTuple

from turnout.pipeline.receive.bodies import MAX_BODY_BYTES, Body, Encoding, Signal

HEADER = b"TURNOUT\x01"
"""Magic and format version at the start of each segment."""

_CHECKSUM = struct.Struct("<I")
_FIXED = struct.Struct("<IQQBB")
_PREFIX = _CHECKSUM.size + _FIXED.size
_SIGNALS = tuple(Signal)
_ENCODINGS = tuple(Encoding)


@dataclass(slots=True, eq=False)
class Segment:
    """A file and how far it is durable; ``last`` is 0 while it holds no record."""

    path: Path
    size: int = 0
    last: int = 0

    @property
    def first(self) -> int:
        """The position that the name of the file promises."""
        return int(self.path.stem)

    def copy(self) -> "Segment":
        """Give a value that later appends do not change."""
        return replace(self)


class Frame(NamedTuple):
    """One record read back; ``body`` is None where the checksum is wrong."""

    position: int
    start: int
    end: int
    body: Body | None


@dataclass(frozen=True, slots=True)
class Scan:
    """What a whole file holds: where its last whole record ends, and how much lies beyond."""

    whole: int
    damaged: int
    end: int
    last: int
    torn: int


def encode(position: int, body: Body) -> tuple[bytes, bytes]:
    """Write one record as its prefix and its payload."""
    fixed = _FIXED.pack(
        len(body.payload),
        position,
        body.received_at,
        _SIGNALS.index(body.signal),
        _ENCODINGS.index(body.encoding),
    )
    return _CHECKSUM.pack(zlib.crc32(body.payload, zlib.crc32(fixed))) + fixed, body.payload


def frames(stream: BinaryIO, start: int, end: int) -> Iterator[Frame]:
    """Read the records between two offsets; stops at the first place where nothing sensible follows.

    A record with a wrong checksum is stepped over when a good one follows it, since its length was then right.
    """
    doubtful: Frame | None = None
    while start < end:
        frame = _frame(stream, start, end)
        if frame is None:
            return
        if frame.body is None and doubtful is not None:
            return
        if frame.body is None:
            doubtful = frame
        else:
            if doubtful is not None:
                yield doubtful
                doubtful = None
            yield frame
        start = frame.end


def scan(path: Path, below: int | None = None) -> Scan:
    """Read a whole file; a file that is not a segment of ours is all torn, and so is a record at ``below`` or beyond."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        if stream.read(len(HEADER)) != HEADER:
            return Scan(0, 0, 0, 0, size)
        whole = damaged = last = 0
        end = len(HEADER)
        for frame in frames(stream, end, size):
            if below is not None and frame.position >= below:
                break
            whole, damaged = whole + (frame.body is not None), damaged + (frame.body is None)
            end, last = frame.end, frame.position
    return Scan(whole, damaged, end, last, size - end)


def _frame(stream: BinaryIO, start: int, end: int) -> Frame | None:
    stream.seek(start)
    prefix = stream.read(_PREFIX)
    if len(prefix) < _PREFIX:
        return None
    (checksum,) = _CHECKSUM.unpack_from(prefix)
    length, position, received_at, signal, encoding = _FIXED.unpack_from(prefix, _CHECKSUM.size)
    stop = start + _PREFIX + length
    if length > MAX_BODY_BYTES or stop > end:
        return None
    payload = stream.read(length)
    if len(payload) < length:
        return None
    if zlib.crc32(payload, zlib.crc32(prefix[_CHECKSUM.size :])) != checksum:
        return Frame(position, start, stop, None)
    if signal >= len(_SIGNALS) or encoding >= len(_ENCODINGS):
        return Frame(position, start, stop, None)
    return Frame(position, start, stop, Body(_SIGNALS[signal], _ENCODINGS[encoding], received_at, payload))
