"""From chunks to one settled step."""

import pytest

from turnout.outcomes.facts import AttemptEnd, Output, Refusal, StepError, Usage
from turnout.runtime.messages import AssistantMessage, CallRequest
from turnout.runtime.model import (
    CallDelta,
    Chunk,
    ModelError,
    RefusalDelta,
    ResponseIds,
    StreamEnd,
    TextDelta,
    UsageReport,
)
from turnout.runtime.settle import Attempt, Gathered, cut_between, of_several


def gather(*chunks: Chunk, failure: ModelError | None = None, aborted: bool = False) -> Attempt:
    gathered = Gathered(model="m", provider="openai", api=None, started_at=1)
    for number, chunk in enumerate(chunks):
        gathered.add(chunk, 10 + number)
    return gathered.settled(99, failure=failure, aborted=aborted)


def test_pieces_become_one_message() -> None:
    """Text in order, and calls by their index however their pieces are mixed."""
    attempt = gather(
        TextDelta("Let me "),
        CallDelta(1, id="b", name="grep"),
        CallDelta(0, id="a", name="read"),
        TextDelta("see."),
        CallDelta(0, '{"path"'),
        CallDelta(1, "{}"),
        CallDelta(0, ': "x"}'),
        StreamEnd("tool_calls"),
    )
    assert attempt.message == AssistantMessage(
        "Let me see.", (CallRequest("a", "read", '{"path": "x"}'), CallRequest("b", "grep", "{}"))
    )
    assert attempt.facts.output == Output(text_chars=11, parts=3, last_at=16)


def test_later_usage_replaces_earlier_key_by_key() -> None:
    """A stream reports its input at the start and its output at the end."""
    attempt = gather(
        UsageReport(Usage(input_tokens=50, cache_read_tokens=8, output_tokens=1), cache_in_input=False),
        UsageReport(Usage(output_tokens=9), cost_usd=0.5),
        StreamEnd("stop"),
    )
    assert attempt.facts.usage == Usage(input_tokens=50, cache_read_tokens=8, output_tokens=9)
    assert (attempt.facts.cost_usd, attempt.facts.cache_in_input) == (0.5, False)


def test_ids_come_when_they_come() -> None:
    """The request's id and the message's id from different chunks."""
    attempt = gather(ResponseIds(request_id="r"), ResponseIds(message_id="m"), StreamEnd("stop"))
    assert (attempt.facts.request_id, attempt.facts.message_id) == ("r", "m")


def test_a_refusal_keeps_its_category_and_not_its_words() -> None:
    """Its words are shown like any text, and counted."""
    attempt = gather(RefusalDelta("I can"), RefusalDelta("not.", category="cyber"), RefusalDelta(), StreamEnd("stop"))
    assert attempt.facts.refusal == Refusal(category="cyber")
    assert (attempt.message.text, attempt.silent) == ("I cannot.", False)


def test_a_stream_without_an_end_broke_off() -> None:
    """No terminal chunk and no word on why is a failure of its own, which may pass."""
    attempt = gather(TextDelta("Hal"))
    assert attempt.facts.stream_complete is False
    assert attempt.facts.error == StepError(
        type="stream_truncated", message="the stream ended before its terminal chunk", retryable=True
    )


def test_a_rejected_request_never_was_a_stream() -> None:
    """Whether a stream was complete says nothing of a request that got none."""
    attempt = gather(failure=ModelError("no", type="rate_limit", status=429, retryable=True))
    assert (attempt.facts.stream_complete, attempt.silent) == (None, True)
    assert attempt.facts.error == StepError(type="rate_limit", status=429, message="no", retryable=True)


def test_a_cut_request_has_no_failure() -> None:
    """What was there stays; nothing is made up about its end."""
    attempt = gather(TextDelta("Hal"), aborted=True)
    assert (attempt.facts.aborted, attempt.facts.error, attempt.facts.finish_reason) == (True, None, None)


@pytest.mark.parametrize(
    ("chunks", "silent"),
    [
        ((), True),
        ((ResponseIds(message_id="m"), UsageReport(Usage(input_tokens=1))), True),
        ((TextDelta(""),), True),
        ((TextDelta("H"),), False),
        ((CallDelta(0, id="a", name="read"),), False),
        ((RefusalDelta(),), False),
    ],
)
def test_what_a_person_may_have_seen(chunks: tuple[Chunk, ...], silent: bool) -> None:
    """Words, a call that appeared, and a refusal."""
    assert gather(*chunks).silent is silent


REJECTED = gather(failure=ModelError("no", type="rate_limit", status=429, retryable=True))
ANSWERED = gather(TextDelta("Done."), UsageReport(Usage(input_tokens=5, output_tokens=2)), StreamEnd("stop"))
OVERFLOWN = gather(UsageReport(Usage(input_tokens=90)), StreamEnd("model_context_window_exceeded"))


def test_several_requests_are_one_step() -> None:
    """The last one's answer, the ends of those before it, and the tokens of each."""
    step = of_several([REJECTED, OVERFLOWN, ANSWERED]).facts
    assert step.attempts == 3
    assert step.attempt_ends == (
        AttemptEnd(reason="rate_limit", status=429, at=99),
        AttemptEnd(reason="model_context_window_exceeded", at=99),
    )
    assert (step.raw_finish_reason, step.usage) == ("stop", Usage(input_tokens=95, output_tokens=2))


def test_one_request_is_plainly_a_step() -> None:
    """Nothing is said of attempts."""
    assert (of_several([ANSWERED]).facts.attempts, of_several([ANSWERED]).facts.attempt_ends) == (None, ())


def test_a_step_kept_back_between_its_requests_was_cut() -> None:
    """Its last failure did not end it: the stop did."""
    step = cut_between([REJECTED], now=120).facts
    assert (step.aborted, step.error, step.ended_at, step.stream_complete) == (True, None, 120, None)
