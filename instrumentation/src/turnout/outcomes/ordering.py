"""The one order of rows: by instant, then sequence, then layer; what has no instant stands last."""

from collections.abc import Callable, Hashable
from typing import TypeVar

from turnout.outcomes.facts import Claim, Layer, Step, StopRecord, ToolCall

_T = TypeVar("_T", bound=Hashable)

NEVER = 1 << 80
"""The place of what has no instant: after everything that has one."""

_LAYER_RANK: dict[Layer | None, int] = {layer: rank for rank, layer in enumerate((*Layer, None))}


def place(instant: int | None) -> int:
    """An instant as a place in order; what has none stands last."""
    return NEVER if instant is None else instant


def claim_order(claim: Claim) -> tuple[int, int, int]:
    """Where a claim stands among claims."""
    return (place(claim.at), place(claim.seq), _LAYER_RANK[claim.by])


def stop_order(stop: StopRecord) -> tuple[int, int]:
    """Where a request to stop stands among its like."""
    return (place(stop.at), place(stop.seq))


def tool_order(call: ToolCall) -> tuple[int, int, str]:
    """Where a tool call stands among the calls of its step."""
    return (place(call.started_at), place(call.ended_at), call.id or "")


def failed_first(step: Step) -> int:
    """Of attempts without times, one that failed came before one that did not: nobody tries again after success."""
    return 0 if step.error is not None or step.aborted or step.stream_complete is False else 1


def step_time(step: Step) -> int | None:
    """When a row is known to have been under way; its start before its end."""
    return step.ended_at if step.started_at is None else step.started_at


def unique(rows: tuple[_T, ...], order: Callable[[_T], object]) -> tuple[_T, ...]:
    """Each row once, in order; equal places are told apart by content, so that the result never hangs on the input's order."""
    if len(rows) < 2:  # noqa: PLR2004 - one row is in order
        return rows
    return tuple(sorted(dict.fromkeys(rows), key=lambda row: (order(row), repr(row))))
