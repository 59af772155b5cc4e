"""What the receiver and its converter process say to each other: one report up, one answer down, over a pair of sockets.

The converter always begins. When either ends, however it ends, the other finds the socket closed.
"""

import socket
import struct
import threading
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from turnout.pipeline.assemble import Pace
from turnout.pipeline.receive.cadence import Cadence

_LENGTH = struct.Struct("<I")
_T = TypeVar("_T")


class Setup(msgspec.Struct, frozen=True):
    """What a converter process is to do; the first thing that it is told."""

    lake: str
    folder: str
    journal_id: str
    pace: Pace
    cadence: Cadence
    clock_start: int
    tells_points: bool
    """Whether it says that it reached a point of a commit, and waits for leave to go on."""


class Report(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the converter did since it last said anything, and how things stand."""

    counts: dict[str, dict[str, int]] = {}
    """More of each count, by its name and reason."""
    gauges: dict[str, float] = {}
    queued: int = 0
    failing: str = ""
    open_groups: int = 0
    settled: bool = False
    """Whether all of the journal up to ``seen`` is read and written; only where it was asked for."""
    seen: int = 0
    released: int = 0
    """Up to where the journal is no longer needed."""
    held: int | None = None
    """The first report: the newest position that the lake or the state file stands for."""
    running: bool = False
    """It has taken up where the last run ended."""
    finished: bool = False
    """The last report: all is written and kept."""
    fault: str = ""
    """Why it cannot begin, or go on."""
    reached: str = ""
    """The point of a commit where it stands."""


class Part(msgspec.Struct, frozen=True):
    """A segment of the journal as far as it is durable."""

    first: int
    size: int
    last: int


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the receiver wants of the converter, and how far the journal is durable now."""

    parts: tuple[Part, ...] = ()
    last: int = 0
    size: int = 0
    stopping: bool = False
    """Nothing is appended any more: read all, write all, and end."""
    asks_settled: bool = False
    relieve: bool = False
    """Memory is short."""
    error: tuple[int, str] | None = None
    """The point of a commit fails with this number and text of an OSError."""


class Closed(Exception):  # noqa: N818 - the ordinary end of a conversation
    """The other side is gone."""


@dataclass(slots=True)
class Link:
    """One side's socket."""

    socket: socket.socket
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def exchange(self, report: Report) -> Answer:
        """Say something and hear the answer; one at a time, from whatever thread."""
        with self._turn:
            self.send(report)
            return self.receive(Answer)

    def send(self, message: msgspec.Struct) -> None:
        """Say something.

        Raises:
            Closed: when nobody is there.
        """
        data = msgspec.msgpack.encode(message)
        try:
            self.socket.sendall(_LENGTH.pack(len(data)) + data)
        except OSError as error:
            raise Closed from error

    def receive(self, kind: type[_T]) -> _T:
        """Wait for a message.

        Raises:
            Closed: when nobody is there any more.
        """
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
        return msgspec.msgpack.decode(self._read(length), type=kind)

    def close(self) -> None:
        """Hang up."""
        self.socket.close()

    def _read(self, size: int) -> bytes:
        found = bytearray()
        while len(found) < size:
            try:
                part: Any = self.socket.recv(size - len(found))
            except OSError as error:
                raise Closed from error
            if not part:
                raise Closed
            found += part
        return bytes(found)
