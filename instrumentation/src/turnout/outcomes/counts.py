"""Counts of one settled turn: steps, calls, errors, unsettled calls."""

from typing import NamedTuple

from turnout.outcomes.facts import Step, ToolCall, ToolStatus
from turnout.outcomes.finishes import finish_of
from turnout.outcomes.providers import FinishClass
from turnout.outcomes.reading import UNSETTLED, at_cap, was_denied


class Counts(NamedTuple):
    """What was counted; attempts of one step are one step."""

    steps: int
    tool_calls: int
    tool_errors: int
    unsettled_tools: int


def counts_of(steps: tuple[Step, ...]) -> Counts:
    """Count the steps and tool calls of a settled turn."""
    indexes: set[int] = set()
    unplaced = calls = errors = unsettled = 0
    for step in steps:
        if step.index is None:
            unplaced += 1
        else:
            indexes.add(step.index)
        for call in step.tool_calls:
            calls += 1
            if call.status is ToolStatus.ERROR and not was_denied(call) and not _was_cut(step, call):
                errors += 1
            elif call.status in UNSETTLED:
                unsettled += 1
    return Counts(len(indexes) + unplaced, calls, errors, unsettled)


def _was_cut(step: Step, call: ToolCall) -> bool:
    """Whether the error of a call is only that its arguments were cut; one that was started ran into its error."""
    if call.arguments_valid is not False or call.started_at is not None:
        return False
    return finish_of(step).kind is FinishClass.LENGTH or at_cap(step)
