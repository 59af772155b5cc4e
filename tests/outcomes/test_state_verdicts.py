"""What a person sees of a turn whose transcript was written from its verdict is what the verdict says."""

from hypothesis import given

from outcome_cases import OutcomeCase
from turn_strategies import turns
from turnout.outcomes.classify import classify
from turnout.outcomes.facts import TurnFacts
from turnout.outcomes.state import NOTHING, Seen, metadata_of, parts_of, view
from turnout.outcomes.verdict import Notice, Outcome


def seen(turn: TurnFacts, *, running: bool = False) -> Seen:
    return Seen(
        running=running,
        metadata=metadata_of(classify(turn), turn.ended_at),
        tools=parts_of(turn),
        attended=turn.attended,
    )


def agrees(turn: TurnFacts) -> None:
    verdict, shown = classify(turn), view(seen(turn))
    assert (shown.notice, shown.can_continue) == (verdict.notice, verdict.can_continue)
    if verdict.outcome is not Outcome.COMPLETED and verdict.outcome is not Outcome.YIELDED:
        assert not shown.suggestions
    assert view(seen(turn, running=True)) == NOTHING


def test_a_case_shows_its_verdict(own_case: OutcomeCase) -> None:
    """The notice and the Continue of the verdict."""
    agrees(own_case.turn)


def test_a_handed_case_shows_its_verdict(handed_case: OutcomeCase) -> None:
    """The notice and the Continue of the verdict."""
    agrees(handed_case.turn)


@given(turn=turns)
def test_any_turn_shows_its_verdict(turn: TurnFacts) -> None:
    """The notice and the Continue of the verdict, and never suggestions on a refusal or a partial answer."""
    agrees(turn)


@given(turn=turns)
def test_a_refusal_can_never_be_continued(turn: TurnFacts) -> None:
    """However many tools are unsettled."""
    shown = view(seen(turn))
    if shown.notice is Notice.REFUSED:
        assert (shown.can_continue, shown.can_regenerate, shown.suggestions) == (False, False, False)
