"""What a settled step means for the loop, and that it is what the classifier reads of the same step."""

import pytest

from turnout.outcomes.classify import classify
from turnout.outcomes.decide import Finish, FinishVeto, Steering
from turnout.outcomes.facts import (
    Claim,
    Layer,
    Output,
    Refusal,
    Step,
    StepError,
    ToolCall,
    ToolStatus,
    TurnFacts,
)
from turnout.outcomes.step_end import closes, consults, overflows, step_finish, unified, vetoed
from turnout.outcomes.verdict import Outcome

TEXT = Output(text_chars=10, parts=1)
NOTHING = Output(text_chars=0, parts=0)
CALL = ToolCall(id="c", name="read", status=ToolStatus.STREAMING)


def step(raw: str | None, provider: str = "openai", **facts: object) -> Step:
    given = {"stream_complete": True, "output": TEXT, **facts}
    return Step(index=1, provider=provider, raw_finish_reason=raw, **given)  # type: ignore[arg-type]


STEPS: dict[str, tuple[Step, Finish | None]] = {
    "a whole answer": (step("stop"), Finish.END_TURN),
    "an empty answer": (step("stop", output=NOTHING), Finish.ERROR),
    "an answer of unknown size": (step("stop", output=None), Finish.END_TURN),
    "tool calls": (step("tool_calls", tool_calls=(CALL,)), None),
    "tool calls that end as an answer": (step("stop", tool_calls=(CALL,)), None),
    "tool calls without a finish value": (step(None, tool_calls=(CALL,)), None),
    "cut": (step("length"), Finish.LENGTH),
    "cut inside a call": (step("length", tool_calls=(CALL,)), Finish.LENGTH),
    "the provider's pause": (step("pause_turn", "anthropic"), None),
    "a refusal": (step("refusal", "anthropic", output=NOTHING), Finish.REFUSAL),
    "a refusal inside a call": (step("refusal", "anthropic", tool_calls=(CALL,)), Finish.REFUSAL),
    "a refusal behind a stop": (step("stop", refusal=Refusal()), Finish.REFUSAL),
    "a content filter": (step("content_filter"), Finish.CONTENT_FILTER),
    "a safety filter": (step("SAFETY", "google"), Finish.CONTENT_FILTER),
    "a full window": (step("model_context_window_exceeded", "anthropic"), Finish.CONTEXT_OVERFLOW),
    "a rejected overflow": (
        step(None, error=StepError(type="context_length_exceeded", status=400), stream_complete=None),
        Finish.CONTEXT_OVERFLOW,
    ),
    "a rejected overflow by its words": (
        step(None, "anthropic", error=StepError(type="x", status=400, message="prompt is too long"), output=None),
        Finish.CONTEXT_OVERFLOW,
    ),
    "a prompt that the filter rejected": (
        step(None, error=StepError(type="content_filter", status=400), output=None, stream_complete=None),
        Finish.CONTENT_FILTER,
    ),
    "a rate limit": (step(None, error=StepError(type="rate_limit", status=429), output=None), Finish.ERROR),
    "a stream that broke off": (step(None, stream_complete=False), Finish.ERROR),
    "a malformed call": (step("MALFORMED_FUNCTION_CALL", "google", output=NOTHING), Finish.ERROR),
    "an unlisted value": (step("surprise"), Finish.UNKNOWN),
    "no value": (step(None), Finish.UNKNOWN),
}

OUTCOMES = {
    Finish.END_TURN: Outcome.COMPLETED,
    Finish.LENGTH: Outcome.LENGTH,
    Finish.CONTENT_FILTER: Outcome.REFUSED,
    Finish.REFUSAL: Outcome.REFUSED,
    Finish.CONTEXT_OVERFLOW: Outcome.CONTEXT_OVERFLOW,
    Finish.ERROR: Outcome.ERROR,
    Finish.UNKNOWN: Outcome.UNKNOWN,
}


@pytest.mark.parametrize(("facts", "finish"), STEPS.values(), ids=STEPS)
def test_what_a_step_means(facts: Step, finish: Finish | None) -> None:
    """The provider's end, or work that is left; the classifier reads the same from a turn that ends with it."""
    assert step_finish(facts) is finish
    if finish is not None:
        turn = TurnFacts(turn_id="t", steps=(facts,), claims=(Claim(by=Layer.RUNTIME, reason=str(finish)),))
        assert classify(turn).outcome is OUTCOMES[finish]


def test_every_finish_is_met() -> None:
    """The cases above hold each of them."""
    assert {finish for _, finish in STEPS.values()} == {None, *Finish}


def test_what_stands_whatever_anyone_asks() -> None:
    """After a refusal, an overflow or a failure nothing goes on, and of the last two nobody is asked."""
    assert {finish for finish in Finish if closes(finish)} == {
        Finish.REFUSAL,
        Finish.CONTENT_FILTER,
        Finish.CONTEXT_OVERFLOW,
        Finish.ERROR,
    }
    assert {finish for finish in Finish if not consults(finish)} == {Finish.CONTEXT_OVERFLOW, Finish.ERROR}


def test_a_veto_of_a_cut_answer_leaves_the_cut() -> None:
    """A whole answer that is vetoed is work left; a cut one is cut, where no budget is left to go on."""
    assert vetoed(Finish.END_TURN) == vetoed(Finish.UNKNOWN) == FinishVeto()
    assert vetoed(Finish.LENGTH) == Steering(Finish.LENGTH)


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("a whole answer", "stop"),
        ("tool calls", "tool-calls"),
        ("cut", "length"),
        ("a content filter", "content-filter"),
        ("a refusal behind a stop", None),
        ("an unlisted value", None),
        ("the provider's pause", None),
    ],
)
def test_the_unified_word(name: str, word: str | None) -> None:
    """In the words that libraries share; a refusal has none that says whose it was."""
    assert unified(STEPS[name][0]) == word


def test_an_overflow_is_one_however_it_is_told() -> None:
    """As a finish or as a rejected request."""
    told = {name for name, (facts, _) in STEPS.items() if overflows(facts)}
    assert told == {"a full window", "a rejected overflow", "a rejected overflow by its words"}
