"""Reads the journal from a position on, in order, as far as it is durable."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from turnout.pipeline.receive.journal import Stored
from turnout.pipeline.receive.segment import HEADER, Frame, Segment, frames


class JournalView(Protocol):
    """A journal as whoever reads it needs it: the journal itself, or what another process is told of it."""

    @property
    def folder(self) -> Path:
        """Where it is."""
        ...

    @property
    def last(self) -> int:
        """The newest durable position."""
        ...

    @property
    def size(self) -> int:
        """How many bytes the segments hold on disk."""
        ...

    def segments(self) -> list[Segment]:
        """List the segments as they are durable now, oldest first."""
        ...

    def release(self, upto: int) -> object:
        """Let go of the segments of which the lake holds all, positions up to ``upto``."""
        ...

    def seal(self) -> None:
        """Close the open segment, so that it too can be released."""
        ...


@dataclass(slots=True)
class Reader:
    """A place in the journal; ``damaged`` counts the records that were there and could not be read."""

    journal: JournalView
    position: int
    damaged: int = 0
    _segment: int = 0
    _offset: int = 0

    def next(self, limit_bytes: int) -> list[Stored]:
        """Give the next bodies, about ``limit_bytes`` of them but at least one; an empty list when none is left."""
        for segment in self.journal.segments():
            if segment.last > self.position:
                found = self._read(segment, limit_bytes)
                if found:
                    return found
        return []

    def remaining(self) -> int:
        """How many bytes lie between here and the durable end."""
        return sum(
            segment.size - (self._offset if segment.first == self._segment else 0)
            for segment in self.journal.segments()
            if segment.last > self.position
        )

    def _read(self, segment: Segment, limit_bytes: int) -> list[Stored]:
        if segment.first != self._segment:
            self._segment, self._offset = segment.first, len(HEADER)
        found: list[Stored] = []
        room = limit_bytes
        with segment.path.open("rb") as stream:
            for frame in frames(stream, self._offset, segment.size):
                self._offset = frame.end
                room -= self._take(frame, found)
                if room <= 0:
                    return found
        self._finish(segment)
        return found

    def _take(self, frame: Frame, found: list[Stored]) -> int:
        """Add what is new; gives its size."""
        if frame.body is None:
            self.damaged += 1
            return 0
        if frame.position <= self.position:
            return 0
        self.position = frame.position
        found.append(Stored(frame.position, frame.body))
        return frame.end - frame.start

    def _finish(self, segment: Segment) -> None:
        """All that can be read of the segment has been; what lies between here and its durable end is damaged."""
        if self._offset < segment.size:
            self.damaged += 1
            self._offset = segment.size
        self.position = max(self.position, segment.last)
