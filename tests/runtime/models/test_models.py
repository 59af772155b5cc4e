"""The two real models over real HTTP: whole turns of the loop, read back by the classifier."""

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from turnout.outcomes.classify import classify
from turnout.outcomes.decide import StopReason, StopRequest
from turnout.outcomes.facts import Limits, StopMode, ToolStatus
from turnout.outcomes.verdict import Cause, Outcome, Resumable
from turnout.runtime.messages import AssistantMessage, CallRequest, Message, ToolMessage, UserMessage
from turnout.runtime.turn import Turn

if TYPE_CHECKING:
    from tests.runtime.models.conftest import Anthropic, OpenAI, Played, Server

    Play: TypeAlias = Callable[..., Played]


class TestStreams:
    def test_an_answer(self, play: "Play", sdk: Any) -> None:
        """Text, ids, usage and the provider's own finish value."""
        played = play(sdk, [sdk.answer()])
        assert played.result.decision.reason == "end_turn"
        assert played.result.messages[-1] == AssistantMessage("Done.")
        [step] = played.result.facts.steps
        assert (step.provider, step.api, step.request_id) == (sdk.provider, sdk.api, "req_1")
        assert step.message_id in ("chatcmpl-1", "msg_1")
        assert step.usage == sdk.usage
        verdict = classify(played.result.facts)
        assert verdict.outcome is Outcome.COMPLETED
        assert verdict.usage is not None
        assert verdict.usage.input_tokens == 120, (
            "the cache is counted within the input, wherever the provider counts it"
        )

    def test_tool_calls(self, play: "Play", sdk: Any) -> None:
        """Parallel calls in pieces run, and their results go back in the provider's shape."""
        played = play(sdk, [sdk.calls(), sdk.answer()])
        assert played.result.messages[1] == AssistantMessage(
            "", tuple(CallRequest(name, "read", '{"path": "a"}') for name in ("call_a", "call_b"))
        )
        assert played.result.decision.reason == "end_turn"
        assert played.server.requests[1]["messages"] == sdk.tool_round
        assert [call.status for call in played.result.facts.steps[0].tool_calls] == [ToolStatus.OK, ToolStatus.OK]

    def test_length(self, play: "Play", sdk: Any) -> None:
        """A cut answer can be continued."""
        verdict = classify(play(sdk, [sdk.length()]).result.facts)
        assert (verdict.outcome, verdict.resumable) == (Outcome.LENGTH, Resumable.YES)

    def test_length_inside_a_call(self, play: "Play", sdk: Any) -> None:
        """Half a call does not run."""
        finish = {"openai": "length", "anthropic": "max_tokens"}[sdk.provider]
        played = play(sdk, [sdk.calls(finish, cut=True)])
        assert classify(played.result.facts).outcome is Outcome.LENGTH
        assert {call.status for call in played.result.facts.steps[0].tool_calls} == {ToolStatus.STREAMING}

    @pytest.mark.parametrize("words", ["I cannot help with that.", ""], ids=["with output", "without output"])
    def test_refusal(self, play: "Play", sdk: Any, words: str) -> None:
        """Both of them, with the category where the provider gives one and no words of its own in the facts."""
        played = play(sdk, [sdk.refusal(words)])
        assert played.result.decision.reason == "refusal"
        verdict = classify(played.result.facts)
        assert (verdict.outcome, verdict.cause) == (Outcome.REFUSED, Cause.PROVIDER_REFUSAL)
        [step] = played.result.facts.steps
        assert step.refusal is not None
        assert step.refusal.category == {"openai": None, "anthropic": "cyber"}[sdk.provider]
        assert step.refusal.explanation is None
        assert step.output is not None
        assert step.output.text_chars == len(words)

    def test_a_dropped_stream_with_output(self, play: "Play", sdk: Any) -> None:
        """What a person has seen is not said twice: the turn ends with what there is."""
        played = play(sdk, [sdk.dropped("Hal"), sdk.answer()])
        verdict = classify(played.result.facts)
        assert (verdict.outcome, verdict.cause) == (Outcome.ERROR, Cause.STREAM_TRUNCATED)
        assert played.result.messages[-1] == AssistantMessage("Hal")
        assert len(played.server.requests) == 1

    def test_a_dropped_stream_without_output_is_tried_again(self, play: "Play", sdk: Any) -> None:
        """Nobody has seen anything of it."""
        played = play(sdk, [sdk.dropped(""), sdk.answer()])
        assert played.result.decision.reason == "end_turn"
        assert played.result.facts.steps[0].attempts == 2

    def test_a_slow_stream_comes_as_it_is_sent(self, play: "Play", sdk: Any) -> None:
        """A stop in the middle of it keeps what was there, and the provider's connection is closed."""

        async def stop(turn: Turn, server: "Server") -> None:
            await server.sent.wait()
            await asyncio.sleep(0.3)
            turn.stop(StopRequest(StopMode.IMMEDIATE, StopReason.USER_STOP))
            await asyncio.wait_for(server.gone.wait(), 30)

        played = play(sdk, [sdk.hanging()], during=stop)
        assert played.result.decision.reason == "user_stop"
        assert played.result.messages[-1] == AssistantMessage("Done.")
        [step] = played.result.facts.steps
        assert (step.aborted, step.stream_complete) == (True, False)
        assert classify(played.result.facts).outcome is Outcome.STOPPED

    def test_a_slow_stream_is_cut_by_the_time_limit(self, play: "Play", sdk: Any) -> None:
        """The turn's budget ends a request that does not."""
        played = play(sdk, [sdk.hanging()], limits=Limits(seconds=0.4))
        assert played.result.decision.reason == "time_budget"
        assert classify(played.result.facts).outcome is Outcome.BUDGET

    def test_a_stalled_stream_times_out(self, play: "Play", sdk: Any) -> None:
        """The client's own read timeout is a failed request."""
        played = play(sdk, [sdk.silent()] * 3, timeout=0.5)
        verdict = classify(played.result.facts)
        assert (verdict.outcome, verdict.cause) == (Outcome.ERROR, Cause.TIMEOUT)
        assert len(played.server.requests) == 3

    def test_a_slow_but_steady_stream_is_an_answer(self, play: "Play", sdk: Any) -> None:
        """Slowness alone ends nothing."""
        assert play(sdk, [sdk.answer(seconds=0.03)]).result.decision.reason == "end_turn"


class TestErrors:
    def test_a_rate_limit_is_waited_out(self, play: "Play", sdk: Any) -> None:
        """As long as the provider says, and only by the seam: the SDK does not retry by itself."""
        played = play(sdk, [sdk.rate_limited(**{"retry-after": "0.05"}), sdk.answer()])
        [step] = played.result.facts.steps
        assert played.result.decision.reason == "end_turn"
        assert (step.attempts, [end.status for end in step.attempt_ends]) == (2, [429])
        assert len(played.server.requests) == 2

    def test_a_rate_limit_that_lasts(self, play: "Play", sdk: Any) -> None:
        """Three tries, and the turn can be continued later."""
        played = play(sdk, [sdk.rate_limited()] * 3)
        verdict = classify(played.result.facts)
        assert (verdict.outcome, verdict.cause) == (Outcome.ERROR, Cause.RATE_LIMIT)
        assert (verdict.resumable, len(played.server.requests)) == (Resumable.YES, 3)

    def test_a_stop_during_the_wait_lets_no_request_out(self, play: "Play", sdk: Any) -> None:
        """The server sees one request."""

        async def stop(turn: Turn, server: "Server") -> None:
            while not server.requests:  # noqa: ASYNC110 - the server is another task's
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
            turn.stop(StopRequest(StopMode.AFTER_STEP, StopReason.USER_STOP))

        played = play(sdk, [sdk.rate_limited(**{"retry-after": "30"})], during=stop)
        assert (played.result.decision.reason, len(played.server.requests)) == ("user_stop", 1)
        assert classify(played.result.facts).outcome is Outcome.STOPPED

    def test_a_context_overflow_as_a_rejected_request(self, play: "Play", sdk: Any) -> None:
        """Never retried, and no Continue: the history only grows."""
        played = play(sdk, [sdk.overflow_rejected()])
        assert played.result.decision.reason == "context_budget_exhausted"
        verdict = classify(played.result.facts)
        assert (verdict.outcome, verdict.cause) == (Outcome.CONTEXT_OVERFLOW, Cause.CONTEXT_REJECTED)
        assert (verdict.resumable, len(played.server.requests)) == (Resumable.NO, 1)

    @pytest.mark.parametrize(
        ("kind", "cause", "tries"), [("unavailable", Cause.PROVIDER_UNAVAILABLE, 3), ("no_key", Cause.AUTH, 1)]
    )
    def test_other_errors(self, play: "Play", sdk: Any, kind: str, cause: Cause, tries: int) -> None:
        """Those that pass are tried again, those that last are not."""
        played = play(sdk, [getattr(sdk, kind)()] * tries)
        verdict = classify(played.result.facts)
        assert (verdict.outcome, verdict.cause) == (Outcome.ERROR, cause)
        assert len(played.server.requests) == tries

    def test_an_error_inside_a_stream(self, play: "Play", sdk: Any) -> None:
        """A stream that began with status 200 may still say that it failed."""
        played = play(sdk, [sdk.error_event()] * 3)
        verdict = classify(played.result.facts)
        assert (verdict.outcome, verdict.cause) == (Outcome.ERROR, Cause.PROVIDER_UNAVAILABLE)
        assert played.result.facts.steps[0].error is not None
        assert played.result.facts.steps[0].error.status is None

    def test_a_server_that_is_not_there(self, play: "Play", sdk: Any) -> None:
        """A connection that is refused is a fault that passes."""
        result = play(sdk, [], serving=False).result
        verdict = classify(result.facts)
        assert (verdict.outcome, verdict.cause) == (Outcome.ERROR, Cause.PROVIDER_UNAVAILABLE)
        assert (result.facts.steps[0].attempts, verdict.resumable) == (3, Resumable.YES)


class TestOneProviderOnly:
    def test_a_content_filter(self, play: "Play", openai_wire: "OpenAI") -> None:
        """OpenAI's filter cuts the answer."""
        played = play(openai_wire, [openai_wire.text("Well, fir", "content_filter")])
        assert played.result.decision.reason == "content_filter"
        verdict = classify(played.result.facts)
        assert (verdict.outcome, verdict.cause) == (Outcome.REFUSED, Cause.CONTENT_FILTER)

    def test_a_content_filter_that_rejects_the_prompt(self, play: "Play", openai_wire: "OpenAI") -> None:
        """As Azure does it: the request fails with a code of the filter."""
        played = play(openai_wire, [openai_wire.error(400, "content_filter", "The response was filtered.")])
        assert played.result.decision.reason == "content_filter"
        verdict = classify(played.result.facts)
        assert (verdict.outcome, verdict.cause) == (Outcome.REFUSED, Cause.CONTENT_FILTER)

    def test_a_quota_that_is_used_up(self, play: "Play", openai_wire: "OpenAI") -> None:
        """Status 429 too, but no waiting helps."""
        played = play(openai_wire, [openai_wire.error(429, "insufficient_quota", "You exceeded your current quota.")])
        assert (played.result.decision.reason, len(played.server.requests)) == ("error", 1)
        assert classify(played.result.facts).outcome is Outcome.ERROR

    def test_a_context_overflow_as_a_finish(self, play: "Play", anthropic_wire: "Anthropic") -> None:
        """Anthropic may end a stream because the window is full, which no Continue can help."""
        played = play(anthropic_wire, [anthropic_wire.text("Half", "model_context_window_exceeded")])
        assert played.result.decision.reason == "context_budget_exhausted"
        assert classify(played.result.facts).outcome is Outcome.CONTEXT_OVERFLOW

    @pytest.mark.parametrize("words", ["Half", ""], ids=["with output", "without output"])
    def test_a_context_overflow_as_a_finish_of_a_compatible_server(
        self, play: "Play", openai_wire: "OpenAI", words: str
    ) -> None:
        """OpenAI itself rejects the request; servers that speak its protocol may end the stream instead, in their own words."""
        played = play(openai_wire, [openai_wire.text(words, "model_context_window_exceeded")], speaks="zhipu")
        assert played.result.decision.reason == "context_budget_exhausted"
        verdict = classify(played.result.facts)
        assert (verdict.outcome, verdict.resumable) == (Outcome.CONTEXT_OVERFLOW, Resumable.NO)

    @pytest.mark.parametrize("inside", [False, True], ids=["rejected", "inside the stream"])
    def test_a_content_filter_of_anthropic(self, play: "Play", anthropic_wire: "Anthropic", *, inside: bool) -> None:
        """Beside its refusals Anthropic blocks an output by an error, at once or in the middle of the stream."""
        played = play(anthropic_wire, [anthropic_wire.filtered(inside=inside)])
        assert played.result.decision.reason == "content_filter"
        verdict = classify(played.result.facts)
        assert (verdict.outcome, verdict.cause) == (Outcome.REFUSED, Cause.CONTENT_FILTER)
        assert len(played.server.requests) == 1

    def test_a_pause_is_resumed(self, play: "Play", anthropic_wire: "Anthropic") -> None:
        """The same conversation goes out again with what was said so far."""
        played = play(anthropic_wire, [anthropic_wire.text("Let me see.", "pause_turn"), anthropic_wire.answer()])
        assert played.result.decision.reason == "end_turn"
        assert played.server.requests[1]["messages"][-1] == {
            "role": "assistant",
            "content": [{"type": "text", "text": "Let me see."}],
        }


def test_half_a_call_of_an_older_turn_goes_back_whole(play: "Play", sdk: Any) -> None:
    """A conversation with a cut call is repaired on its way out: no arguments, and a result that says so."""
    history: tuple[Message, ...] = (
        UserMessage("Write it."),
        AssistantMessage("", (CallRequest("call_a", "write", '{"path'),)),
        UserMessage("Continue."),
    )
    played = play(sdk, [sdk.answer()], messages=history)
    sent = json.dumps(played.server.requests[0]["messages"])
    assert '{\\"path' not in sent
    assert "No result: the call did not come to an end." in sent
    assert played.result.messages[:3] == history


def test_what_is_asked_for(play: "Play", sdk: Any) -> None:
    """Model, instructions, tools and cap, in the provider's own words."""
    request = play(sdk, [sdk.answer()]).server.requests[0]
    parameters = {"type": "object", "properties": {}}
    if sdk.provider == "openai":
        assert request["max_completion_tokens"] == 1000
        assert request["stream_options"] == {"include_usage": True}
        function = {"name": "read", "description": "Read a file.", "parameters": parameters}
        assert request["tools"] == [{"type": "function", "function": function}]
    else:
        assert (request["max_tokens"], request["system"]) == (1000, "Be brief.")
        assert request["tools"] == [{"name": "read", "description": "Read a file.", "input_schema": parameters}]


def test_a_forced_answer_keeps_the_tools_and_forbids_them(play: "Play", sdk: Any) -> None:
    """A conversation with calls in it needs their tools; the provider is told to call none."""
    played = play(sdk, [sdk.calls(), sdk.answer()], limits=Limits(steps=2), forced_final=True)
    first, last = played.server.requests
    assert ("tool_choice" in first, first["tools"]) == (False, last["tools"])
    assert last["tool_choice"] == {"openai": "none", "anthropic": {"type": "none"}}[sdk.provider]
    assert played.result.decision.reason == "step_limit"


def test_tool_results_and_a_message_share_a_turn(play: "Play", anthropic_wire: "Anthropic") -> None:
    """Anthropic wants the two roles in turns: what a person says after results stands with them."""
    history: tuple[Message, ...] = (
        UserMessage("Read it."),
        AssistantMessage("Yes.", (CallRequest("call_a", "read", '{"path": "a"}'),)),
        ToolMessage("call_a", "no such file", is_error=True),
        UserMessage("Then b."),
    )
    sent = play(anthropic_wire, [anthropic_wire.answer()], messages=history).server.requests[0]["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert [block["type"] for block in sent[2]["content"]] == ["tool_result", "text"]
