"""The file sink: one ``turnout.turn/1`` JSON line a turn, for processes that cannot afford span encoding."""

import atexit
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from turnout.instrumentation.batch import Batch, Batching
from turnout.instrumentation.known import KnownTurn
from turnout.instrumentation.losses import LOSSES, Losses
from turnout.instrumentation.sink import EndedTurn, TurnsOnly

DELAY_S: Final = 0.05
CLOSE_AT_EXIT_S: Final = 2.0

_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False, default=str).encode


class FileSink(TurnsOnly):
    """Appends a line to ``path`` when a turn ends, and the turn's whole facts once more when more becomes known after it.

    Lines are written by a thread of the sink's, ``delay_s`` after the first of them at the latest; with no delay, by the thread that
    ends the turn, before it goes on. Each write is one in append mode, so that several processes can share a file.
    """

    def __init__(self, path: str | os.PathLike[str], *, delay_s: float = DELAY_S, losses: Losses = LOSSES) -> None:
        self._path = Path(path)
        self._file: int | None = None
        self._batch: Batch[KnownTurn] | None = None
        if delay_s > 0:
            self._batch = Batch(self._write, what="lines", losses=losses, batching=Batching(delay_s=delay_s))
            atexit.register(self.close, CLOSE_AT_EXIT_S)

    def turn_ended(self, turn: EndedTurn) -> None:
        """Append the turn's line."""
        if self._batch is not None:
            self._batch.add(turn.known)
        else:
            self._write([turn.known])

    def turn_late(self, turn: EndedTurn) -> None:
        """Append the turn's line again; readers merge lines of one turn."""
        self.turn_ended(turn)

    def flush(self, timeout_s: float) -> bool:
        """Wait until what is queued is written."""
        return self._batch is None or self._batch.flush(timeout_s)

    def close(self, timeout_s: float) -> bool:
        """Write what is queued and close the file."""
        written = self._batch is None or self._batch.close(timeout_s)
        opened, self._file = self._file, None
        if opened is not None:
            os.close(opened)
        return written

    def _write(self, turns: Sequence[KnownTurn]) -> bool:
        lines = "".join([_encode(turn.record()) + "\n" for turn in turns]).encode("utf-8", "replace")
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self._path, _FLAGS, 0o644)
        written = os.write(self._file, lines)
        if written != len(lines):
            raise OSError(f"wrote {written} of {len(lines)} bytes of turns to {self._path}")
        return True
