"""Facts and claims brought together: which claim is the first valid terminal, and the state the turn was in by then."""

from typing import NamedTuple

from turnout.outcomes.budget import contradicts_budget, forced_by, seconds_not_reached
from turnout.outcomes.claims import TIMEOUT, Said, read_claim
from turnout.outcomes.errors import failure_of
from turnout.outcomes.facts import Claim, Layer, Step, TurnFacts
from turnout.outcomes.finishes import finish_of
from turnout.outcomes.ordering import claim_order
from turnout.outcomes.providers import FinishClass
from turnout.outcomes.reading import Reading, read
from turnout.outcomes.verdict import Outcome


class Heard(NamedTuple):
    """One claim as it was read: what it says, and whether nothing contradicts it."""

    claim: Claim
    said: Said
    valid: bool


class Case:
    """One settled turn, ready for the rules.

    Attributes:
        reading: the evidence up to the first valid terminal, or all of it.
        heard: every claim, in order.
        terminal: the first valid claim.
        marker: the first claim whose message alone tells of an end.
    """

    __slots__ = ("heard", "marker", "reading", "terminal", "turn", "whole")

    def __init__(self, turn: TurnFacts) -> None:
        self.turn = turn
        self.whole = read(turn)
        claims = turn.claims if len(turn.claims) < 2 else sorted(turn.claims, key=claim_order)  # noqa: PLR2004
        self.heard = [_hear(claim, self.whole) for claim in claims]
        self.terminal = next((heard for heard in self.heard if heard.valid), None)
        self.marker = next((heard for heard in self.heard if heard.said.from_text), None)
        self.reading = self.whole if self.terminal is None else self.whole.until(self.terminal.claim.at)

    def claimed(self, outcome: Outcome) -> Said | None:
        """What the first valid terminal says, where it says this outcome."""
        terminal = self.terminal
        return terminal.said if terminal is not None and terminal.said.outcome is outcome else None

    def marked(self, outcome: Outcome) -> Said | None:
        """What a message says of this outcome, where no valid claim says anything but success."""
        if self.marker is None or self.marker.said.outcome is not outcome:
            return None
        settled = self.terminal is not None and self.terminal.said.outcome is not Outcome.COMPLETED
        return None if settled else self.marker.said

    @property
    def open(self) -> bool:
        """Whether the turn never closed: nothing clean ends it and no layer says how it was completed."""
        if not self.turn.open:
            return False
        ended = self.turn.ended_at is not None and not self.reading.contradicts_success and self.reading.ended_itself
        return not ended and self.claimed(Outcome.COMPLETED) is None

    @property
    def lived_on(self) -> bool:
        """Whether the runtime, or its host, said anything at all about the end."""
        return any(heard.claim.by in {Layer.RUNTIME, Layer.HOST} for heard in self.heard)


def _hear(claim: Claim, whole: Reading) -> Heard:
    said = read_claim(claim)
    if said.outcome is None or said.from_text or said.wordless:
        return Heard(claim, said, valid=False)
    reading = whole.until(claim.at)
    if said.timeout and said.outcome is Outcome.BUDGET and seconds_not_reached(whole.turn):
        said = TIMEOUT
    return Heard(claim, said, valid=not _contradicted(claim, said, reading, whole))


def _contradicted(claim: Claim, said: Said, reading: Reading, whole: Reading) -> bool:
    if _of_an_earlier_request(claim, said, whole):
        return True
    match said.outcome:
        case Outcome.COMPLETED:
            return reading.contradicts_success or bool(forced_by(reading))
        case Outcome.BUDGET:
            return contradicts_budget(reading, said.budget_kind)
        case Outcome.REFUSED:
            return reading.denied and not reading.refused
        case _:
            return False


_SAME_AS: dict[Outcome, FinishClass] = {
    Outcome.REFUSED: FinishClass.REFUSAL,
    Outcome.LENGTH: FinishClass.LENGTH,
    Outcome.CONTEXT_OVERFLOW: FinishClass.CONTEXT_OVERFLOW,
}


def _of_an_earlier_request(claim: Claim, said: Said, whole: Reading) -> bool:
    """Whether the word of a provider or a connection is about a request after which another one was made."""
    if claim.by not in {Layer.PROVIDER, Layer.TRANSPORT} or len(whole.steps) == 1:
        return False
    if claim.at is not None and said.outcome is not Outcome.STOPPED:
        return any(step.started_at is not None and step.started_at > claim.at for step in whole.steps)
    return _went_so(whole.steps[:-1], said.outcome) and not _went_so(whole.steps[-1:], said.outcome)


def _went_so(steps: tuple[Step, ...], outcome: Outcome | None) -> bool:
    """Whether a request of these ended as a claim says of the turn."""
    if outcome is Outcome.ERROR:
        return any(failure_of(step) is not None for step in steps)
    kind = _SAME_AS.get(outcome) if outcome is not None else None
    return kind is not None and any(finish_of(step).kind is kind for step in steps)
