"""Text is read for a closed list of phrases and kept as nothing else."""

import pytest
from hypothesis import given

from outcome_cases import OutcomeCase
from turn_strategies import turns
from turnout.outcomes.classify import classify
from turnout.outcomes.facts import Claim, FinishCheck, Layer, Refusal, Step, StepError, TurnFacts
from turnout.outcomes.phrases import (
    CAUSES,
    ENDS,
    FILTERED,
    OVERFLOW,
    Phrase,
    phrase_of_claim,
    phrase_of_error,
    without_text,
)
from turnout.outcomes.record import turn_record

SPELLINGS = [(phrase, spelling) for phrase in (*ENDS, *CAUSES) for spelling in phrase.spellings]


@pytest.mark.parametrize(("phrase", "spelling"), SPELLINGS, ids=[spelling for _, spelling in SPELLINGS])
def test_every_spelling(phrase: Phrase, spelling: str) -> None:
    """A spelling is read for what its phrase says."""
    found = phrase_of_claim(f"so: {spelling} (7)")
    assert found is not None
    assert (found.outcome, found.budget_kind, found.cause) == (phrase.outcome, phrase.budget_kind, phrase.cause)


@pytest.mark.parametrize("phrase", [*ENDS, *CAUSES], ids=lambda phrase: phrase.text)
def test_the_phrase_that_stands_for_all_is_read_as_itself(phrase: Phrase) -> None:
    """Every kept phrase is found again as the phrase it was kept for."""
    assert phrase_of_claim(phrase.text) is phrase


@pytest.mark.parametrize("phrase", [OVERFLOW, FILTERED, *CAUSES], ids=lambda phrase: phrase.text)
def test_the_same_in_errors(phrase: Phrase) -> None:
    """Every phrase kept of an error is found again as the phrase it was kept for."""
    assert phrase_of_error(phrase.text) is phrase


def test_words_between() -> None:
    """Case, line breaks and whatever stands around a phrase do not count."""
    found = phrase_of_claim("...\nAGENT stopped due to\n  iteration LIMIT or time limit.")
    assert found is ENDS[0]


@given(turns)
def test_the_verdict_needs_no_text(turn: TurnFacts) -> None:
    """Facts without text get the verdict that they got with it."""
    assert classify(without_text(turn)) == classify(turn)


def test_the_verdict_of_a_case_needs_no_text(own_case: OutcomeCase) -> None:
    """No case loses its verdict with its text."""
    assert classify(without_text(own_case.turn)) == classify(own_case.turn)


@given(turns)
def test_nothing_else_is_kept(turn: TurnFacts) -> None:
    """No text but the phrases themselves is left, and taking it away twice changes nothing."""
    stripped = without_text(turn)
    assert "secret" not in str(turn_record(stripped))
    assert without_text(stripped) == stripped


def test_every_free_text() -> None:
    """A message becomes its phrase or nothing, an explanation and a reason of a check nothing."""
    turn = TurnFacts(
        turn_id="t",
        steps=(
            Step(
                index=1,
                error=StepError(message="Dear Ann, your prompt is too long: 9 > 1"),
                refusal=Refusal(explanation="no"),
            ),
            Step(index=2, error=StepError(message="Dear Ann")),
        ),
        finish_checks=(FinishCheck(step=1, why="Ann is not pleased"),),
        claims=(
            Claim(by=Layer.HOST, message="Ann: Agent stopped due to max iterations."),
            Claim(by=Layer.RUNTIME, message="Dear Ann"),
        ),
    )
    assert without_text(turn) == TurnFacts(
        turn_id="t",
        steps=(
            Step(index=1, error=StepError(message="prompt is too long"), refusal=Refusal()),
            Step(index=2, error=StepError()),
        ),
        finish_checks=(FinishCheck(step=1),),
        claims=(
            Claim(by=Layer.HOST, message="agent stopped due to iteration limit"),
            Claim(by=Layer.RUNTIME),
        ),
    )
