"""The columns that metrics can be grouped by, for each of the counted views, as data."""

from collections.abc import Mapping
from typing import Final

_SHARED: Final = ("hour", "day", "service", "environment", "agent", "agent_version", "source", "attended", "outcome")

_TURNS: Final = (
    *_SHARED,
    "model",
    "provider",
    "tool",
    "step",
    "budget_kind",
    "cause",
    "resumable",
    "evidence",
    "rule",
    "refusal_category",
    "limit_steps",
    "steps_charged",
    "cap",
    "last_finish_reason",
    "last_raw_finish_reason",
)

DIMENSIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "counted_turns": _TURNS,
    "counted_links": _TURNS,
    "counted_tools_used": _TURNS,
    "counted_steps": (
        *_SHARED,
        "model",
        "provider",
        "api",
        "step",
        "cap",
        "finish_class",
        "finish_reason",
        "raw_finish_reason",
        "refusal_category",
        "error_type",
        "error_status",
    ),
    "counted_tool_calls": (*_SHARED, "model", "tool", "step", "status", "error_type", "denied_by", "mutating"),
}
"""For turns, ``model``, ``provider``, ``tool`` and ``step`` are those of the last step, where the turn ended."""

EVERYTHING: Final = "everything"
"""The column of every counted view that has one value: what a metric is grouped by when nothing is asked for."""
