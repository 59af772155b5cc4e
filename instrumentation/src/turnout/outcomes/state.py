"""What a person sees of a turn, and what is offered to them.

PURE. The notice is the verdict's where there is a verdict; for a message that has only its transcript metadata, or not even that
because its worker died, the same notice follows from what is there. Nothing is shown while the turn is running.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, assert_never

from turnout.outcomes.facts import Instant, ToolCall, ToolStatus, TurnFacts
from turnout.outcomes.verdict import MetadataFinish, Notice, Outcome, Resumable, Verdict


class PartState(StrEnum):
    """The state of a tool part in a transcript."""

    INPUT_STREAMING = "input-streaming"
    INPUT_AVAILABLE = "input-available"
    APPROVAL_REQUESTED = "approval-requested"
    APPROVAL_RESPONDED = "approval-responded"
    OUTPUT_AVAILABLE = "output-available"
    OUTPUT_ERROR = "output-error"
    OUTPUT_DENIED = "output-denied"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPart:
    """A tool part; ``has_result`` says that it has output or a result, ``client`` that the client itself answers it."""

    state: PartState | None = None
    has_result: bool = False
    client: bool = False
    mutating: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What a transcript keeps of a turn's end, always written as one; all absent while the turn has not ended.

    ``resumable`` is there where a verdict wrote it, which older transcripts have not.
    """

    finish_time: Instant | None = None
    interrupted: bool | None = None
    finish_reason: MetadataFinish | None = None
    stopped: bool | None = None
    failed: bool | None = None
    resumable: Resumable | None = None


NO_METADATA = Metadata()
"""A turn that has not ended, or whose worker died."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A turn as its message shows it."""

    running: bool
    metadata: Metadata = NO_METADATA
    tools: tuple[ToolPart, ...] = ()
    attended: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a person sees and is offered."""

    notice: Notice
    can_continue: bool
    can_regenerate: bool
    suggestions: bool


NOTHING = View(notice=Notice.NONE, can_continue=False, can_regenerate=False, suggestions=False)
"""What there is to see while the turn is running."""

_SETTLED = frozenset({PartState.OUTPUT_AVAILABLE, PartState.OUTPUT_ERROR, PartState.OUTPUT_DENIED})
_PARTS: dict[ToolStatus, PartState | None] = {
    ToolStatus.OK: PartState.OUTPUT_AVAILABLE,
    ToolStatus.ERROR: PartState.OUTPUT_ERROR,
    ToolStatus.DENIED: PartState.OUTPUT_DENIED,
    ToolStatus.STREAMING: PartState.INPUT_STREAMING,
    ToolStatus.RUNNING: PartState.INPUT_AVAILABLE,
    ToolStatus.AWAITING_CLIENT: PartState.INPUT_AVAILABLE,
    ToolStatus.AWAITING_APPROVAL: PartState.APPROVAL_REQUESTED,
    ToolStatus.APPROVED: PartState.APPROVAL_RESPONDED,
    ToolStatus.UNKNOWN: None,
}


def settled(part: ToolPart) -> bool:
    """Whether the call came to its end."""
    return part.has_result or part.state in _SETTLED


def waits(part: ToolPart) -> bool:
    """Whether the call waits for somebody: an approval, or the client's own answer."""
    if settled(part):
        return False
    return part.state is PartState.APPROVAL_REQUESTED or (part.state is PartState.INPUT_AVAILABLE and part.client)


def abandoned(part: ToolPart, *, given_up: bool = False) -> bool:
    """Whether nobody is left to deliver a result, now that the turn is over.

    An approved call waits for its continuation, until recovery is ``given_up``.
    """
    if settled(part) or waits(part):
        return False
    return given_up or part.state is not PartState.APPROVAL_RESPONDED


def part_of(call: ToolCall) -> ToolPart:
    """A recorded call as the part that shows it."""
    state = _PARTS[call.status] if call.status is not None else None
    return ToolPart(state=state, client=call.status is ToolStatus.AWAITING_CLIENT, mutating=call.mutating)


def parts_of(facts: TurnFacts) -> tuple[ToolPart, ...]:
    """All calls of a turn as parts."""
    return tuple(part_of(call) for step in facts.steps for call in step.tool_calls)


def metadata_of(verdict: Verdict, ended_at: Instant | None) -> Metadata:
    """What the transcript keeps of an end: the parts are always written together."""
    return Metadata(
        finish_time=ended_at if verdict.finished else None,
        interrupted=verdict.interrupted,
        finish_reason=verdict.finish_reason,
        stopped=verdict.outcome is Outcome.STOPPED or None,
        failed=verdict.notice is Notice.ERROR or None,
        resumable=verdict.resumable,
    )


Shows: TypeAlias = Callable[[Seen], bool]


def _interrupted(seen: Seen) -> bool:
    """What the metadata says; an abandoned call speaks for itself only where no verdict has looked at it."""
    judged = seen.metadata.resumable is not None
    return bool(seen.metadata.interrupted) or (not judged and any(map(abandoned, seen.tools)))


NOTICES: tuple[tuple[Notice, Shows], ...] = (
    (Notice.STOPPED, lambda seen: bool(seen.metadata.stopped)),
    (Notice.REFUSED, lambda seen: seen.metadata.finish_reason is MetadataFinish.CONTENT_FILTER),
    (Notice.ERROR, lambda seen: bool(seen.metadata.failed)),
    (Notice.BUDGET, lambda seen: seen.metadata.finish_reason is MetadataFinish.BUDGET),
    (Notice.LENGTH, lambda seen: seen.metadata.finish_reason is MetadataFinish.LENGTH),
    (Notice.INTERRUPTED, _interrupted),
)
"""The notices in the order of their right to be shown: the first that holds is the one."""


def notice(seen: Seen, notices: tuple[tuple[Notice, Shows], ...] = NOTICES) -> Notice:
    """The one notice of a turn that is over."""
    if seen.running:
        return Notice.NONE
    return next((kind for kind, shows in notices if shows(seen)), Notice.NONE)


def view(seen: Seen, notices: tuple[tuple[Notice, Shows], ...] = NOTICES) -> View:
    """What a person sees and may do."""
    if seen.running:
        return NOTHING
    shown = notice(seen, notices)
    return View(
        notice=shown,
        can_continue=_continues(seen, shown),
        can_regenerate=_regenerates(seen, shown),
        suggestions=_suggests(seen, shown),
    )


def _continues(seen: Seen, shown: Notice) -> bool:
    match shown:
        case Notice.NONE | Notice.STOPPED | Notice.REFUSED:
            return False
        case Notice.BUDGET | Notice.LENGTH | Notice.INTERRUPTED | Notice.ERROR:
            return seen.attended is not False and _resumable(seen, shown) is Resumable.YES
        case _:
            assert_never(shown)


def _resumable(seen: Seen, shown: Notice) -> Resumable:
    """What the verdict said; without one, a dead turn can be continued unless something may have happened unseen."""
    if seen.metadata.resumable is not None:
        return seen.metadata.resumable
    if shown is Notice.ERROR or any(map(_may_have_run, filter(abandoned, seen.tools))):
        return Resumable.UNKNOWN
    return Resumable.YES


def _regenerates(seen: Seen, shown: Notice) -> bool:
    """Answering once more repeats what the turn did: not where that changed anything, nor where it would be refused again."""
    if seen.attended is False or shown is Notice.REFUSED or any(map(waits, seen.tools)):
        return False
    return not any(map(_may_have_run, seen.tools))


def _suggests(seen: Seen, shown: Notice) -> bool:
    """Only a whole answer is ground for suggestions."""
    return shown is Notice.NONE and seen.metadata.finish_time is not None and all(map(settled, seen.tools))


def _may_have_run(part: ToolPart) -> bool:
    """Whether the call may have changed something: what never started, was denied or only reads did not."""
    never = (
        PartState.INPUT_STREAMING,
        PartState.APPROVAL_REQUESTED,
        PartState.APPROVAL_RESPONDED,
        PartState.OUTPUT_DENIED,
    )
    return part.mutating is not False and part.state not in never
