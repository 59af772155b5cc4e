"""Whether a turn can be continued from where it ended, and whether a side effect may have happened unseen."""

from typing import assert_never

from turnout.outcomes.case import Case
from turnout.outcomes.facts import ToolStatus, TurnFacts
from turnout.outcomes.finding import Finding
from turnout.outcomes.providers import FinishClass
from turnout.outcomes.reading import at_cap
from turnout.outcomes.verdict import Outcome, Resumable

# A call whose arguments were still streaming never ran; one that waits for somebody has not run yet.
_MAY_HAVE_RUN = frozenset({ToolStatus.RUNNING, ToolStatus.APPROVED, ToolStatus.UNKNOWN})


def resumable(case: Case, finding: Finding) -> Resumable:
    """Whether the turn can go on, by how it ended."""
    match finding.outcome:
        case Outcome.BUDGET:
            return Resumable.YES
        case Outcome.INTERRUPTED:
            return Resumable.UNKNOWN if _effects_unknown(case.turn) else Resumable.YES
        case Outcome.ERROR:
            safe = finding.passing and not _effects_unknown(case.turn)
            return Resumable.YES if safe else Resumable.UNKNOWN
        case Outcome.LENGTH:
            return _after_length(case)
        case Outcome.UNKNOWN:
            return Resumable.UNKNOWN
        case Outcome.COMPLETED | Outcome.YIELDED | Outcome.STOPPED | Outcome.REFUSED | Outcome.CONTEXT_OVERFLOW:
            return Resumable.NO
        case _:
            assert_never(finding.outcome)


def _after_length(case: Case) -> Resumable:
    """Going on helps after a cut by the output cap, not where the context may be full."""
    reading = case.reading
    if reading.last is None:
        return Resumable.YES
    if at_cap(reading.last):
        return Resumable.YES
    if reading.finish.kind is FinishClass.LENGTH:
        return reading.finish.resumable
    return Resumable.YES


def side_effect_unknown(turn: TurnFacts) -> bool:
    """Whether a call that changes something may have run without anybody knowing its end."""
    return any(call.mutating and call.status in _MAY_HAVE_RUN for step in turn.steps for call in step.tool_calls)


def _effects_unknown(turn: TurnFacts) -> bool:
    """Whether a call that may have run changes something, or is not known not to."""
    return any(
        call.mutating is not False and call.status in _MAY_HAVE_RUN for step in turn.steps for call in step.tool_calls
    )
