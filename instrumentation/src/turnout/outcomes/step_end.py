"""What a settled step means for the loop: the provider's own end, or work that is left.

Pure. What a finish value means is read where the classifier reads it (`turnout.outcomes.finishes`), so that the loop and the record
understand the same step alike.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import assert_never

from turnout.outcomes.decide import Demand, Finish, FinishCandidate, FinishVeto, Steering
from turnout.outcomes.errors import failure_of
from turnout.outcomes.facts import Step
from turnout.outcomes.finishes import finish_of
from turnout.outcomes.providers import FinishClass
from turnout.outcomes.verdict import Cause, Outcome

CONTEXT_LENGTH_EXCEEDED = "context_length_exceeded"
"""The error type of a request that the provider rejected because it does not fit the context."""

ANSWERED = Finish.END_TURN
"""The end of a step whose call is the answer."""

BROKEN = FinishCandidate(Finish.ERROR)
"""What a turn whose own loop broke offers: an end that no hook can help."""

_UNIFIED: Mapping[Finish, str] = MappingProxyType(
    {
        Finish.END_TURN: "stop",
        Finish.LENGTH: "length",
        Finish.CONTENT_FILTER: "content-filter",
    }
)

_FAILED: Mapping[Outcome, Finish] = MappingProxyType(
    {Outcome.CONTEXT_OVERFLOW: Finish.CONTEXT_OVERFLOW, Outcome.REFUSED: Finish.CONTENT_FILTER}
)


def step_finish(step: Step) -> Finish | None:
    """How the provider ended the step; None where work is left: tools to run, or a pause to resume."""
    failure = failure_of(step)
    if failure is not None and failure.outcome is not Outcome.ERROR:
        return _FAILED.get(failure.outcome, Finish.ERROR)
    read = finish_of(step)
    if read.kind is FinishClass.REFUSAL:
        return Finish.CONTENT_FILTER if read.cause is Cause.CONTENT_FILTER else Finish.REFUSAL
    if step.error is not None or step.stream_complete is False:
        return Finish.ERROR
    return _meaning(step, read.kind)


def overflows(step: Step) -> bool:
    """Whether the step ended because the conversation no longer fits the context."""
    return step_finish(step) is Finish.CONTEXT_OVERFLOW


def unified(step: Step) -> str | None:
    """The step's finish in the words that unifying libraries share; None where they have none for it."""
    finish = step_finish(step)
    if finish is not None:
        return _UNIFIED.get(finish)
    return "tool-calls" if step.tool_calls else None


def closes(finish: Finish) -> bool:
    """Whether this end stands whatever a hook or a waiting message asks: after it the same request can only fail again."""
    match finish:
        case Finish.REFUSAL | Finish.CONTENT_FILTER | Finish.CONTEXT_OVERFLOW | Finish.ERROR:
            return True
        case Finish.END_TURN | Finish.LENGTH | Finish.UNKNOWN:
            return False
        case _:
            assert_never(finish)


def stands(finish: Finish) -> bool:
    """Whether the provider's word ended the turn when it came, so that a stop after it changes nothing."""
    return finish in (Finish.REFUSAL, Finish.CONTENT_FILTER)


def vetoed(finish: Finish) -> Demand:
    """What a veto demands: more work; a cut answer, which is no success anyway, keeps its own end where no budget is left."""
    return Steering(finish) if finish is Finish.LENGTH else FinishVeto()


def unanswered(finish: Finish, *, allowed: bool) -> bool:
    """Whether an answer that was forced by disabling the tools leaves open what they were wanted for: only a hook can say that it does not."""
    return finish in (Finish.END_TURN, Finish.UNKNOWN) and not allowed


def consults(finish: Finish) -> bool:
    """Whether there is an answer that hooks can be asked about; a request that failed or did not fit gave none."""
    return finish not in (Finish.ERROR, Finish.CONTEXT_OVERFLOW)


def _meaning(step: Step, means: FinishClass | None) -> Finish | None:
    match means:
        case FinishClass.TOOL_CALLS | FinishClass.PAUSE:
            return None
        case FinishClass.COMPLETED | FinishClass.UNKNOWN | None if step.tool_calls:
            return None
        case FinishClass.COMPLETED:
            return Finish.END_TURN if _visible(step) else Finish.ERROR
        case FinishClass.LENGTH:
            return Finish.LENGTH
        case FinishClass.CONTEXT_OVERFLOW:
            return Finish.CONTEXT_OVERFLOW
        case FinishClass.ERROR | FinishClass.MALFORMED | FinishClass.TIMEOUT | FinishClass.INTERRUPTED:
            return Finish.ERROR
        case _:
            return Finish.UNKNOWN


def _visible(step: Step) -> bool:
    return step.output is None or bool(step.output.text_chars) or bool(step.output.parts)
