"""The journal: request bodies on disk in the order in which they were acknowledged, until the lake holds them.

A folder of segments, each a run of records ``length, checksum, position, received_at, signal, encoding, payload``. Positions count
from 1 and only grow. A record is there once `append` has returned; what a crash left half written at the end is cut at the next
start. One thread appends, another reads and releases.
"""

import contextlib
import fcntl
import os
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from turnout.pipeline.errors import TurnoutError
from turnout.pipeline.receive.bodies import Body
from turnout.pipeline.receive.segment import HEADER, Scan, Segment, encode, scan

SEGMENT_BYTES = 64 * 1024 * 1024
"""A segment is closed once it has grown past this."""


class JournalError(TurnoutError):
    """The journal cannot be opened or written."""


@dataclass(frozen=True, slots=True)
class Stored:
    """One body and its position."""

    position: int
    body: Body


@dataclass(frozen=True, slots=True)
class Recovered:
    """What the start found: whole bodies, bytes of a torn tail that were cut, and records whose checksum is wrong."""

    bodies: int
    cut_bytes: int
    damaged: int


def _nothing(point: str) -> None:
    del point


class Journal:
    """Append-only segments in one folder, owned by one process at a time.

    ``after`` is the newest position that the lake holds: new positions start beyond it even where the journal itself was lost.
    ``reached`` is called with the name of each point of a commit; tests end the process there.
    """

    def __init__(
        self,
        folder: Path,
        *,
        after: int = 0,
        segment_bytes: int = SEGMENT_BYTES,
        reached: Callable[[str], None] = _nothing,
    ) -> None:
        self.folder = folder
        self._segment_bytes = segment_bytes
        self._reached = reached
        self._guard = threading.Lock()
        self._lock = _locked(folder)
        self._segments = [Segment(path) for path in sorted(folder.glob("*.segment"))]
        self.recovered = self._recover()
        self._last = max([after, *(segment.last for segment in self._segments)])
        self._writer: int | None = None

    @property
    def last(self) -> int:
        """The newest durable position."""
        return self._last

    @property
    def lock(self) -> int:
        """The descriptor of its lock; a process that inherits it keeps the folder taken as long as it lives."""
        return self._lock

    def skip(self, after: int) -> None:
        """Begin new positions beyond one that the lake holds; before the first `append`."""
        self._last = max(self._last, after)

    @property
    def size(self) -> int:
        """How many bytes the segments hold on disk."""
        with self._guard:
            return sum(segment.size for segment in self._segments)

    def append(self, bodies: Sequence[Body]) -> int:
        """Write bodies and wait until the disk has them; gives the position of the last. All or none."""
        segment = self._open_segment()
        first = self._last + 1
        frames = [frame for number, body in enumerate(bodies, first) for frame in encode(number, body)]
        try:
            self._write(frames)
        except OSError as error:
            self._abandon(segment)
            raise JournalError(
                f"cannot write the journal in {self.folder}: got {error.strerror}; free space"
            ) from error
        with self._guard:
            segment.size += sum(map(len, frames))
            segment.last = self._last = first + len(bodies) - 1
        if segment.size >= self._segment_bytes:
            self._close_writer()
        return self._last

    def segments(self) -> list[Segment]:
        """List the segments as they are durable now, oldest first."""
        with self._guard:
            return [segment.copy() for segment in self._segments]

    def release(self, upto: int) -> int:
        """Remove the segments of which the lake holds all, positions up to ``upto``; gives the bytes freed."""
        with self._guard:
            open_one = self._segments[-1:] if self._writer is not None else []
            done = [segment for segment in self._segments if segment.last <= upto and segment not in open_one]
            self._segments = [segment for segment in self._segments if segment not in done]
        for segment in done:
            self._reached("journal.release")
            segment.path.unlink(missing_ok=True)
        return sum(segment.size for segment in done)

    def seal(self) -> None:
        """Close the open segment, so that it too can be released; the next append begins another."""
        self._close_writer()

    def close(self) -> None:
        """Let go of the files and of the lock."""
        self._close_writer()
        os.close(self._lock)

    def _recover(self) -> Recovered:
        bounds: list[int | None] = [segment.first for segment in self._segments[1:]]
        pairs = zip(self._segments, [*bounds, None], strict=False)
        scans = [self._recover_segment(segment, below) for segment, below in pairs]
        with self._guard:
            self._segments = [segment for segment in self._segments if segment.last]
        return Recovered(
            sum(found.whole for found in scans),
            sum(found.torn for found in scans),
            sum(found.damaged for found in scans),
        )

    def _recover_segment(self, segment: Segment, below: int | None) -> Scan:
        """Cut what no acknowledgement covered; ``below`` is where the next segment begins."""
        found = scan(segment.path, below)
        segment.size, segment.last = found.end, found.last
        if not found.last:
            segment.path.unlink()
        elif found.torn:
            os.truncate(segment.path, found.end)
        return found

    def _open_segment(self) -> Segment:
        if self._writer is None:
            path = self.folder / f"{self._last + 1:020d}.segment"
            try:
                self._writer = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)
                os.write(self._writer, HEADER)
                _sync_folder(self.folder)
            except OSError as error:
                self._close_writer()
                raise JournalError(
                    f"cannot open a segment in {self.folder}: got {error.strerror}; free space"
                ) from error
            with self._guard:
                self._segments = [known for known in self._segments if known.path != path]
                self._segments.append(Segment(path, size=len(HEADER)))
        return self._segments[-1]

    def _write(self, frames: Sequence[bytes]) -> None:
        assert self._writer is not None
        self._reached("journal.before_write")
        pending = [memoryview(frame) for frame in frames]
        while pending:
            written = os.writev(self._writer, pending[:_IOV_MAX])
            pending = _after(pending, written)
        self._reached("journal.before_sync")
        os.fdatasync(self._writer)
        self._reached("journal.after_sync")

    def _abandon(self, segment: Segment) -> None:
        """After a failed write or sync nothing past the last durable byte counts, and the file is not written again."""
        with contextlib.suppress(OSError):  # else the next start cuts it
            os.truncate(segment.path, segment.size)
        self._close_writer()

    def _close_writer(self) -> None:
        if self._writer is not None:
            os.close(self._writer)
            self._writer = None


_IOV_MAX = 512


def _after(pending: list[memoryview], written: int) -> list[memoryview]:
    """Drop what a short write has taken."""
    for index, view in enumerate(pending):
        if written < len(view):
            return [view[written:], *pending[index + 1 :]]
        written -= len(view)
    return []


def _locked(folder: Path) -> int:
    """Take the folder for this process; the lock ends with the process, however that ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _unusable(folder, error) from error
    deadline = time.monotonic() + _LEAVING_SECONDS
    while not _is_taken(handle):
        if time.monotonic() > deadline:
            os.close(handle)
            raise JournalError(
                f"the journal in {folder} is in use: got another receiver on it, expected none; stop it or name another folder"
            )
        time.sleep(_LEAVING_SECONDS / 50)
    return handle


_LEAVING_SECONDS = 2.0
"""A receiver that was killed just now has it until the last of its processes is gone."""


def _is_taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def journal_id(folder: Path) -> str:
    """Read the name under which the lake keeps this journal's position; made once and kept beside the segments."""
    path = folder / "id"
    try:
        known = path.read_text().strip() if path.exists() else ""
        return known or _new_id(path)
    except OSError as error:
        raise _unusable(folder, error) from error


def _new_id(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    name = f"journal-{uuid.uuid4().hex}"
    draft = path.with_suffix(".new")
    draft.write_text(name)
    draft.replace(path)
    _sync_folder(path.parent)
    return name


def _unusable(folder: Path, error: OSError) -> JournalError:
    return JournalError(
        f"cannot open the journal in {folder}: got {error.strerror}, expected a folder to write to; name another"
    )


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
