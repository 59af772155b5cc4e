"""Finish hooks: whoever wants a word before a turn may end."""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from turnout.outcomes.decide import Finish
from turnout.outcomes.facts import CheckVerdict
from turnout.runtime.messages import Message, Origin, UserMessage
from turnout.runtime.race import Finished, race_abort
from turnout.runtime.stop import StopLatch

if TYPE_CHECKING:
    from turnout.runtime.transcript import TranscriptStore


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a hook is asked about: the end that the provider gave, and the conversation up to it."""

    turn_id: str
    finish: Finish
    text: str
    messages: Sequence[Message]
    reader: "TranscriptStore | None"


@dataclass(frozen=True, slots=True)
class Allow:
    """The turn may end."""


@dataclass(frozen=True, slots=True)
class Veto:
    """The turn may not end as a success; the model reads the feedback next."""

    feedback: str


Answer: TypeAlias = Allow | Veto


@dataclass(frozen=True, slots=True)
class FinishHook:
    """A named check; ``needs_reader`` says that it cannot answer without a transcript that outlives the process."""

    name: str
    check: Callable[[Candidate], Coroutine[Any, Any, Answer]]
    needs_reader: bool = False


@dataclass(frozen=True, slots=True)
class Checked:
    """What one hook said of one candidate, as it is recorded."""

    by: str
    verdict: CheckVerdict
    why: str | None = None
    feedback: str | None = None


@dataclass(frozen=True, slots=True)
class Consulted:
    """What all hooks together said of one candidate."""

    feedback: tuple[str, ...] = ()
    allowed: bool = False

    def message(self) -> UserMessage | None:
        """What the model reads next, where a hook vetoed."""
        return UserMessage("\n\n".join(self.feedback), Origin.FEEDBACK) if self.feedback else None


def together(checks: Sequence[Checked]) -> Consulted:
    """One veto outweighs every allow, and a skipped check allows nothing."""
    feedback = tuple(check.feedback for check in checks if check.feedback is not None)
    verdicts = {check.verdict for check in checks}
    return Consulted(feedback, CheckVerdict.ALLOW in verdicts and CheckVerdict.VETO not in verdicts)


async def consult(hook: FinishHook, candidate: Candidate, stop: StopLatch) -> Checked:
    """Ask one hook, once; what it cannot answer is skipped, which is never an allow."""
    if hook.needs_reader and candidate.reader is None:
        return Checked(hook.name, CheckVerdict.SKIPPED, "there is no durable reader")
    try:
        raced = await race_abort(hook.check(candidate), stop)
    except Exception as error:  # noqa: BLE001 - a hook's fault must not decide how the turn ends
        return Checked(hook.name, CheckVerdict.SKIPPED, f"raised {type(error).__qualname__}")
    match raced:
        case Finished(Allow()):
            return Checked(hook.name, CheckVerdict.ALLOW)
        case Finished(Veto(feedback)):
            return Checked(hook.name, CheckVerdict.VETO, feedback=feedback)
        case _:
            return Checked(hook.name, CheckVerdict.SKIPPED, "the turn was stopped before it answered")
