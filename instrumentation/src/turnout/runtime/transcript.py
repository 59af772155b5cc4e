"""Where conversations are kept."""

from typing import Protocol


class TranscriptStore(Protocol):
    """Keeps."""
