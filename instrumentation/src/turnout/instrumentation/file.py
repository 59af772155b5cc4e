"""The file sink: one ``turnout.turn/1`` JSON line a turn, for processes that cannot afford span encoding."""

import json
import os
from pathlib import Path
from typing import Final

from opentelemetry.trace import SpanContext

from turnout.instrumentation.sink import EndedTurn, OpenTurn, Place
from turnout.outcomes.facts import Step, ToolCall
from turnout.outcomes.record import turn_record

_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)


class FileSink:
    """Appends a line to ``path`` when a turn ends, and the turn's whole facts once more when more becomes known after it.

    Each line is one write in append mode, so that several processes can share a file. The file is opened with the first turn.
    """

    traces = False

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._file: int | None = None

    def samples(self, context: SpanContext, parent: SpanContext | None, name: str) -> bool:
        """No spans are written."""
        del context, parent, name
        return False

    def turn_started(self, turn: OpenTurn) -> None:
        """Nothing: a line is written at the end."""

    def step_ended(self, turn: OpenTurn, step: Step, place: Place, response_model: str | None) -> None:
        """Nothing: the step is in the turn's line."""

    def tool_ended(self, turn: OpenTurn, step: int | None, call: ToolCall, place: Place) -> None:
        """Nothing: the call is in the turn's line."""

    def turn_ended(self, turn: EndedTurn) -> None:
        """Append the turn's line."""
        line = json.dumps(turn_record(turn.facts), ensure_ascii=False, separators=(",", ":"))
        self._write(line.encode("utf-8", "replace") + b"\n")

    def turn_late(self, turn: EndedTurn) -> None:
        """Append the turn's line again; readers merge lines of one turn."""
        self.turn_ended(turn)

    def flush(self, timeout_s: float) -> bool:
        """Nothing is held back."""
        del timeout_s
        return True

    def close(self, timeout_s: float) -> bool:
        """Close the file; a later turn opens it again."""
        del timeout_s
        opened, self._file = self._file, None
        if opened is not None:
            os.close(opened)
        return True

    def _write(self, line: bytes) -> None:
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self._path, _FLAGS, 0o644)
        written = os.write(self._file, line)
        if written != len(line):
            raise OSError(f"wrote {written} of {len(line)} bytes of a turn to {self._path}")
