"""The recorder of a turn that nobody records."""

from typing import Any, Final, Self, cast

from turnout.runtime.recorder import Recorder


class _Silent:
    """Takes every message and answers with itself, which is a record of anything."""

    def __getattr__(self, _name: str) -> Self:
        return self

    def __call__(self, *_: Any, **__: Any) -> Self:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


SILENT: Final = cast("Recorder", _Silent())
"""Keeps nothing."""
