"""The seam: retries, overflow recovery, and what a request costs."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from turnout.instrumentation.recorder import Recorder
from turnout.instrumentation.testing import MemorySink
from turnout.outcomes.classify import classify
from turnout.outcomes.decide import BudgetReason, Finish, StopReason, StopRequest, Terminate
from turnout.outcomes.facts import Limits, StopMode, Usage
from turnout.outcomes.verdict import Flag, Outcome
from turnout.runtime.messages import Message, UserMessage
from turnout.runtime.request import RetryPolicy
from turnout.runtime.scripted import (
    CallsTools,
    Drops,
    Overflows,
    Rejects,
    Says,
    Scripted,
    ScriptedCall,
)
from turnout.runtime.turn import Turn

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

CALL = CallsTools(calls=(ScriptedCall("read", {"path": "a"}),), seconds=1)
SAY = Says(text="Done.", seconds=1)


class TestRequests:
    def test_the_provider_says_how_long_to_wait(self, stage: "Stage") -> None:
        """A retry waits as told; without a word, twice as long each time, and never longer than allowed."""
        script: list[Scripted] = [Rejects(status=429, retry_after=7), Rejects(status=503), Rejects(status=503), SAY]
        retry = RetryPolicy(max_attempts=4, first_wait_seconds=2, longest_wait_seconds=5)
        result = stage.play(script, retry=retry)
        [step] = result.facts.steps
        assert step.started_at is not None
        waits = [(end.at or 0) - step.started_at for end in step.attempt_ends]
        assert [wait / 1e9 for wait in waits] == [0, 5, 9]
        assert (step.attempts, [end.status for end in step.attempt_ends]) == (4, [429, 503, 503])

    def test_the_record_knows_when_each_request_ended(self, stage: "Stage") -> None:
        """The end of a failed request is its own, not the moment at which the next one goes out."""
        sink = MemorySink()
        recorder = Recorder(sink, clock=stage.clock.now)
        script: list[Scripted] = [Rejects(status=429, retry_after=7, seconds=1), Rejects(status=503, seconds=2), SAY]
        result = stage.play(script, recorder=recorder)
        [kept], [told] = result.facts.steps, sink.turns[0].steps
        assert (told.attempts, told.attempt_ends) == (kept.attempts, kept.attempt_ends)
        started = told.started_at or 0
        assert [((end.at or 0) - started) / 1e9 for end in told.attempt_ends] == [1, 10]

    @pytest.mark.parametrize("mode", StopMode)
    def test_a_request_that_failed_before_a_stop_is_on_record(self, stage: "Stage", mode: StopMode) -> None:
        """The wait for the next one is cut, and no next one was made."""
        sink = MemorySink()

        async def stop(turn: Turn) -> None:
            await asyncio.sleep(3)
            turn.stop(StopRequest(mode, StopReason.USER_STOP))

        script: list[Scripted] = [Rejects(status=429, retry_after=9, seconds=1)]
        recorder = Recorder(sink, clock=stage.clock.now)
        result = stage.play(script, during=stop, recorder=recorder)
        for facts in (result.facts, sink.turns[0]):
            [step] = facts.steps
            [end] = step.attempt_ends
            assert (step.attempts, step.aborted, step.error) == (1, True, None)
            assert (end.reason, end.status, ((end.at or 0) - (step.started_at or 0)) / 1e9) == ("rate_limit", 429, 1)
            assert (classify(facts).outcome, classify(facts).flags) == (Outcome.STOPPED, (Flag.USAGE_MISSING,))

    def test_what_a_person_has_seen_is_not_tried_again(self, stage: "Stage") -> None:
        """A stream that broke off after words would say them twice."""
        result = stage.play([Drops(text="Hal"), SAY])
        assert (len(stage.model.requests), result.decision) == (1, Terminate(Finish.ERROR))

    def test_an_overflow_is_recovered_once(self, stage: "Stage") -> None:
        """The smaller conversation goes out in the same step; what does not fit again is the end."""
        smaller: tuple[Message, ...] = (UserMessage("In short: do it."),)

        async def compact(_: tuple[Message, ...]) -> tuple[Message, ...]:
            return smaller

        result = stage.play([Overflows(), SAY], compact=compact)
        assert stage.model.requests[1].messages == smaller
        assert (result.decision, len(result.facts.steps)) == (Terminate(Finish.END_TURN), 1)
        assert stage.play([Overflows(), Overflows(), SAY], compact=compact).decision == Terminate(
            Finish.CONTEXT_OVERFLOW
        )

    def test_a_compactor_that_cannot_help(self, stage: "Stage") -> None:
        """Nothing smaller means the overflow is the end."""

        async def compact(_: Sequence[Message]) -> None:
            return None

        result = stage.play([Overflows(), SAY], compact=compact)
        assert (result.decision, len(stage.model.requests)) == (Terminate(Finish.CONTEXT_OVERFLOW), 1)

    def test_a_model_that_raises_anything_is_a_failed_request(self, stage: "Stage") -> None:
        """The fault is kept beside the result."""
        result = stage.play([])
        assert result.decision == Terminate(Finish.ERROR)
        assert result.failure is not None
        assert result.failure.type == "script_over"

    def test_usage_of_every_request_counts(self, stage: "Stage") -> None:
        """A recovered overflow costs what both requests cost."""
        usage = Usage(input_tokens=100, output_tokens=10)

        async def compact(messages: tuple[Message, ...]) -> tuple[Message, ...]:
            return messages

        script: list[Scripted] = [Overflows(as_finish=True, usage=usage), Says(text="Done.", usage=usage)]
        result = stage.play(script, compact=compact, provider="anthropic")
        assert result.facts.steps[0].usage == Usage(input_tokens=200, output_tokens=20)

    def test_a_price_is_applied_where_the_model_reports_none(self, stage: "Stage") -> None:
        """Cost limits work with a price list."""

        def price(usage: Usage) -> float:
            return (usage.output_tokens or 0) * 0.1

        script: list[Scripted] = [
            replace(CALL, usage=Usage(output_tokens=5)),
            replace(CALL, usage=Usage(output_tokens=5), cost_usd=2.0),
        ]
        result = stage.play(script, price=price, limits=Limits(cost_usd=2.5))
        assert [step.cost_usd for step in result.facts.steps] == [0.5, 2.0]
        assert result.decision == Terminate(BudgetReason.EXIT_COST)
