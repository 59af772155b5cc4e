"""What can go wrong with a lake, as sentences."""

import re
from typing import Final

from turnout.pipeline.errors import TurnoutError

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_STEP: Final = re.compile(r"\s*(?:↳|\n)\s*")
_FRAME: Final = re.compile(r"(?:\d+: |at \./|at /)")
"""How a line of a stack trace of the library begins."""

_LENGTH: Final = 300


class LakeError(TurnoutError):
    """A lake that cannot be read or written; the text says which, why and what to do."""


class ConflictError(Exception):
    """Another writer committed first; the write is done again from the start."""


def reason_of(error: BaseException) -> str:
    """The text of an error of a library as part of one sentence: its chain of causes on one line, without colours."""
    plain = _COLOUR.sub("", str(error)).removeprefix("Kernel error -> ").split(". Known schemes")[0]
    causes = [part.strip(" .:") for part in _STEP.split(plain)]
    said = ": ".join(part for part in causes if part and not _FRAME.match(part)) or type(error).__name__
    return said if len(said) <= _LENGTH else f"{said[: _LENGTH - 1]}…"
