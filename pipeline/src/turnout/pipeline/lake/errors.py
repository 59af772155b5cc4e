"""What can go wrong with a lake, as sentences."""

from turnout.pipeline.errors import TurnoutError


class LakeError(TurnoutError):
    """A lake that cannot be read or written; the text says which, why and what to do."""


class ConflictError(Exception):
    """Another writer committed first; the write is done again from the start."""
