"""The endings that every framework's table has to hold, and how a table says where it holds each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

LISTED = (
    "normal",
    "tool calls",
    "step limit as an exception",
    "step limit as a silent result",
    "step limit of a middleware",
    "length with text",
    "length empty",
    "length inside a tool call",
    "refusal with text",
    "refusal empty",
    "content filter",
    "context overflow",
    "tool error",
    "model error at step 2",
    "user stop",
    "timeout",
    "cancelled task",
    "stream abandoned by its consumer",
    "finish-hook veto",
)


@dataclass(frozen=True)
class Never:
    """The framework has no such ending; ``why`` says what it does instead."""

    why: str


Held: TypeAlias = str | Callable[..., None] | Never
"""A row of the module's ``ENDINGS``, a test of its own, or the reason why there is neither."""

Coverage: TypeAlias = Mapping[str, tuple[Held, ...]]


def complaints(module: Any) -> list[str]:
    """What is wrong with a module's ``COVERAGE``."""
    coverage: Coverage = module.COVERAGE
    missing = [f"no word on {ending!r}" for ending in LISTED if not coverage.get(ending)]
    unknown = [f"{ending!r} is not listed" for ending in coverage if ending not in LISTED]
    wrong = [
        f"{ending!r}: {complaint}"
        for ending, held in coverage.items()
        for one in held
        if (complaint := _complaint(module, one)) is not None
    ]
    return [*missing, *unknown, *wrong]


def _complaint(module: Any, held: Held) -> str | None:
    if isinstance(held, Never):
        return None if len(held.why.split()) > 3 else "a reason takes a sentence"
    if isinstance(held, str):
        return None if held in module.ENDINGS else f"there is no row {held!r}"
    collected = held.__name__.startswith("test_") and getattr(module, held.__name__, None) is held
    return None if collected else f"{held.__name__} is no test of the module"
