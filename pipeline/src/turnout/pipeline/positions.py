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
    left: tuple[str, ...] = ()
    """Stored turns whose late evidence was left to the caller, who asked patiently, by id; it is no part of the lake."""
    until: int = 0
    """When to give it again."""
