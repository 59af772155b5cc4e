"""What is said of a write into the lake, also by those who ask another process for it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Position:
    """Up to where a journal has been taken in; each journal counts for itself."""

    journal: str
    offset: int


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did, in turns."""

    new: int
    replaced: int
    unchanged: int
    withdrawn: int = 0
