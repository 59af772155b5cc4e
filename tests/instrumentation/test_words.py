"""Reasons, statuses and error types are words; what is none of them is said to have been there, and no more."""

from typing import Any

import pytest

from turnout.instrumentation import Losses
from turnout.instrumentation.testing import MemorySink
from turnout.instrumentation.texts import OTHER, word

WORDS = [
    "end_turn",
    "tool-calls",
    "MAX_TOKENS",
    "model_context_window_exceeded",
    "aws.bedrock:throttled",
    "openai.BadRequestError",
    "tests.case.<locals>.HostError",
    "429",
    "exit_137",
    "x" * 128,
]
TEXTS = ["Tell me about the merger", "two\nlines", "a\tb", "x" * 129, "{}", "no!", "\x00", "\u2028"]


@pytest.mark.parametrize("said", WORDS)
def test_a_word_stays_as_it_is(said: str) -> None:
    """As the provider spelled it."""
    assert word(said) == said


@pytest.mark.parametrize("said", TEXTS)
def test_a_text_is_no_word(said: str) -> None:
    """White space, punctuation and length tell."""
    assert word(said) == OTHER


def test_nothing_is_not_recorded() -> None:
    """An empty word and none are the same: nobody said anything."""
    assert (word(None), word("")) == (None, None)


def test_a_text_in_a_words_place_is_counted(memory: MemorySink, make_recorder: Any, losses: Losses) -> None:
    """Something was said, which keeps the turn from passing as one of which nothing is known."""
    with make_recorder(memory).turn() as turn, turn.step(model="m") as step:
        step.finish(raw_finish_reason="I am done now.", output="done")
    (facts,), (verdict,) = memory.turns, memory.verdicts
    assert facts.steps[0].raw_finish_reason == OTHER
    assert (verdict.outcome, verdict.cause) == ("unknown", "unknown_finish_reason")
    assert losses.totals() == {"finish reason: a text where a word belongs": 1}


def test_a_claims_text_is_read_for_what_it_is_known_to_say(memory: MemorySink, make_recorder: Any) -> None:
    """Frameworks of old say their limits in words."""
    with make_recorder(memory).turn() as turn:
        with turn.step(model="m") as step:
            step.finish(finish_reason="stop", output="sorry")
        turn.claim("runtime", "Agent stopped due to iteration limit or time limit.")
    (facts,), (verdict,) = memory.turns, memory.verdicts
    assert (facts.claims[0].reason, facts.claims[0].message) == (OTHER, "agent stopped due to iteration limit")
    assert (verdict.outcome, verdict.budget_kind) == ("budget", "steps")
