"""The message that the next model call reads after a turn that did not end by itself.

PURE. A Continue is a new user message and no replay: the marker says how the turn ended and which calls are settled, whose work stands,
so that going on does not do it again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from turnout.outcomes.facts import ToolCall, ToolStatus, TurnFacts
from turnout.outcomes.state import abandoned, part_of
from turnout.outcomes.verdict import Notice

_OPENINGS: dict[Notice, str] = {
    Notice.LENGTH: (
        "Your previous answer was cut by its output limit. Go on from the exact point where it broke off; do not start again."
    ),
    Notice.BUDGET: (
        "Your previous turn ended because its budget was spent, with work left. Go on with what is left; do not start again."
    ),
    Notice.INTERRUPTED: (
        "Your previous turn was interrupted before it ended. Go on from what is there; do not start again."
    ),
    Notice.REFUSED: (
        "Your previous answer was withheld by a safety refusal. Do not go on with it; answer the user's next message for itself."
    ),
}


@dataclass(frozen=True, slots=True)
class Work:
    """The tool calls of the turn that a next call has to know of."""

    settled: tuple[ToolCall, ...] = ()
    lost: tuple[ToolCall, ...] = ()


def work_of(facts: TurnFacts) -> Work:
    """What the turn did, and what was lost on the way."""
    calls = [call for step in facts.steps for call in step.tool_calls]
    return Work(
        settled=tuple(call for call in calls if call.status is ToolStatus.OK),
        lost=tuple(call for call in calls if abandoned(part_of(call), given_up=True)),
    )


def marker(notice: Notice, work: Work) -> str | None:
    """The message for the next model call; None after an end that needs no word."""
    opening = _OPENINGS.get(notice)
    if opening is None:
        return None
    if notice is Notice.REFUSED:
        return opening
    return "\n".join([opening, *_settled(work.settled), *_lost(work.lost)])


def _settled(calls: Sequence[ToolCall]) -> list[str]:
    if not calls:
        return []
    return [f"These tool calls are done and their effects stand; do not make them again: {_listed(calls)}."]


def _lost(calls: Sequence[ToolCall]) -> list[str]:
    """A call that was still being written never ran; any other may have."""
    written = [call for call in calls if call.status is ToolStatus.STREAMING]
    started = [call for call in calls if call.status is not ToolStatus.STREAMING]
    said: list[str] = []
    if written:
        said.append(f"These tool calls were never run: {_listed(written)}.")
    if started:
        said.append(
            f"These tool calls may or may not have taken effect; check before making them again: {_listed(started)}."
        )
    return said


def _listed(calls: Sequence[ToolCall]) -> str:
    """Name and id of each call, in order."""
    return ", ".join(f"{call.name or 'unnamed'} ({call.id})" if call.id else (call.name or "unnamed") for call in calls)
