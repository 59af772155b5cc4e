"""One request body: which signal and encoding it has, and how it is inflated within a bound."""

import zlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from turnout.outcomes.facts import Instant
from turnout.pipeline.receive.refusals import Refused, Why

MAX_BODY_BYTES = 16 * 1024 * 1024
"""The most that one request may hold once inflated."""

_AUTO_HEADER = 32 + zlib.MAX_WBITS
_RAW_DEFLATE = -zlib.MAX_WBITS


class Signal(StrEnum):
    """The three OTLP signals; metrics are accepted and counted, never stored."""

    TRACES = "traces"
    LOGS = "logs"
    METRICS = "metrics"


class Encoding(StrEnum):
    """How a body is written."""

    PROTOBUF = "application/x-protobuf"
    JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Body:
    """One inflated request as it came, and when."""

    signal: Signal
    encoding: Encoding
    received_at: Instant
    payload: bytes


def encoding_of(content_type: str) -> Encoding:
    """Read a Content-Type header; parameters such as a charset do not matter."""
    name = content_type.partition(";")[0].strip().lower()
    try:
        return Encoding(name)
    except ValueError:
        expected = " or ".join(Encoding)
        got = f"content type {name!r}" if name else "no content type"
        raise Refused(Why.UNSUPPORTED, f"cannot read the body: got {got}, expected {expected}") from None


class Decompressor(Protocol):
    """What `zlib.decompressobj` gives; its own type has no public name."""

    @property
    def eof(self) -> bool:
        """Say whether the end of the stream was seen."""
        ...

    @property
    def unused_data(self) -> bytes:
        """Give what came after the end."""
        ...

    @property
    def unconsumed_tail(self) -> bytes:
        """Give what was not taken for want of room."""
        ...

    def decompress(self, data: bytes, max_length: int = 0, /) -> bytes:
        """Inflate, up to a length."""
        ...


class Inflater:
    """Collects a body that comes in chunks, inflating as it goes, and never holds more than ``limit`` bytes."""

    def __init__(self, content_encoding: str, limit: int = MAX_BODY_BYTES) -> None:
        name = content_encoding.strip().lower() or "identity"
        if name not in {"identity", "gzip", "x-gzip", "deflate"}:
            raise Refused(
                Why.UNSUPPORTED, f"cannot read the body: got content encoding {name!r}, expected gzip, deflate or none"
            )
        self._name = name
        self._limit = limit
        self._whole = bytearray()
        self._stream: Decompressor | None = None if name == "identity" else zlib.decompressobj(_AUTO_HEADER)
        self._began = False

    def feed(self, chunk: bytes) -> int:
        """Take the next chunk; gives how many bytes the body grew by."""
        before = len(self._whole)
        if self._stream is None:
            self._grow(chunk)
        else:
            self._inflate(chunk)
        return len(self._whole) - before

    def finish(self) -> bytes:
        """Give the whole body; a compressed one that ends early is refused."""
        if self._stream is not None and self._began and not self._stream.eof:
            raise Refused(
                Why.MALFORMED,
                f"the {self._name} body is cut off: got no end of stream, expected the whole body; resend it",
            )
        return bytes(self._whole)

    def _grow(self, more: bytes) -> None:
        if len(self._whole) + len(more) > self._limit:
            raise too_large(self._limit)
        self._whole += more

    def _inflate(self, chunk: bytes) -> None:
        while chunk:
            stream = self._member(chunk)
            room = self._limit - len(self._whole)
            try:
                # One byte past the room is enough to know; a bomb is never inflated further.
                self._grow(stream.decompress(chunk, room + 1))
            except zlib.error as error:
                raise Refused(
                    Why.MALFORMED, f"cannot inflate the body: got {error}, expected {self._name} data; resend it"
                ) from None
            chunk = stream.unconsumed_tail or stream.unused_data

    def _member(self, chunk: bytes) -> Decompressor:
        """Choose the stream for what comes next: a gzip body may hold several members, deflate may lack its header."""
        assert self._stream is not None
        if not self._began and self._name == "deflate" and not _has_zlib_header(chunk):
            self._stream = zlib.decompressobj(_RAW_DEFLATE)
        elif self._stream.eof:
            self._stream = zlib.decompressobj(_AUTO_HEADER)
        self._began = True
        return self._stream


def too_large(limit: int) -> Refused:
    """Refuse a body past the bound."""
    return Refused(Why.TOO_LARGE, f"the body is too large: got more than {limit} bytes inflated; send smaller batches")


def _has_zlib_header(chunk: bytes) -> bool:
    """RFC 1950: the method is deflate and the first two bytes are a multiple of 31."""
    if len(chunk) < 2:  # noqa: PLR2004 - the length of that header
        return chunk[:1] == b"\x78"
    return chunk[0] & 0x0F == zlib.DEFLATED and (chunk[0] << 8 | chunk[1]) % 31 == 0
