"""AI SDK 6 and the legacy telemetry of 7."""

import json

from made_telemetry import Attributes, Tape, tell
from turnout.outcomes.facts import Usage
from turnout.pipeline.dialects import turns_from
from turnout.pipeline.telemetry import Span


def told(tape: Tape) -> str:
    return tell(turns_from(tape.records).turns)


def turn(
    tape: Tape, finish: str | None, raised: tuple[str, str] | None = None, operation: str = "ai.generateText"
) -> Span:
    attributes: Attributes = {
        "ai.operationId": operation,
        "ai.telemetry.functionId": "bot",
        "ai.telemetry.metadata.sessionId": "c1",
        **({"ai.response.finishReason": finish, "ai.usage.inputTokens": 240} if finish else {}),
    }
    return tape.span(operation, 0, 20, attributes, raised=raised)


def request(
    tape: Tape, parent: Span, begin: float, finish: str | None, asked: str | None = None, **more: Attributes
) -> Span:
    attributes: Attributes = {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.model.id": "m",
        "ai.model.provider": "openai.chat",
    }
    if finish is not None:
        attributes = {
            **attributes,
            "ai.response.finishReason": finish,
            "ai.response.id": "r",
            "ai.response.text": "",
            "ai.usage.inputTokens": 120,
            "ai.usage.outputTokens": 30,
        }
    if asked is not None:
        attributes = {
            **attributes,
            "ai.response.toolCalls": json.dumps([{"toolCallId": f"k{begin}", "toolName": asked, "input": "{}"}]),
        }
    return tape.span(
        "ai.generateText.doGenerate", begin, begin + 1, {**attributes, **more.get("attributes", {})}, parent=parent
    )


def ran(tape: Tape, parent: Span, begin: float, name: str, call_id: str, raised: tuple[str, str] | None = None) -> Span:
    attributes: Attributes = {"ai.operationId": "ai.toolCall", "ai.toolCall.name": name, "ai.toolCall.id": call_id}
    return tape.span("ai.toolCall", begin, begin + 0.5, attributes, parent=parent, raised=raised)


def test_tools_stand_beside_their_request_or_below_it() -> None:
    """Version 6 and the legacy form of 7 differ in that alone; the sum on the turn is not added."""
    for below in (False, True):
        tape = Tape("ai")
        head = turn(tape, "stop")
        first = request(tape, head, 1, "tool-calls", "search")
        ran(tape, first if below else head, 1.5, "search", "k1", ("Error", "down"))
        request(tape, head, 5, "stop")
        assert told(tape) == "bot | conversation c1\n  1 m tool-calls 120/30 [search error]\n  2 m stop 120/30"


def test_a_loop_on_one_tool_was_ended_by_its_step_count() -> None:
    """Nothing else ends it without an error."""
    tape = Tape("ai")
    head = turn(tape, "tool-calls")
    for begin in (1, 5):
        request(tape, head, begin, "tool-calls", "search")
        ran(tape, head, begin + 2, "search", f"k{begin}")
    assert told(tape).startswith("bot | conversation c1 | runtime says step_limit\n")


def test_an_abort_is_the_hosts_and_its_request_was_cut() -> None:
    """Both spans carry the same exception."""
    tape = Tape("ai")
    head = turn(tape, None, ("AbortError", "aborted"))
    failed = request(tape, head, 1, None)
    tape.records.remove(failed)
    tape.span("ai.generateText.doGenerate", 1, 2, failed.attributes, parent=head, raised=("AbortError", "aborted"))
    assert told(tape) == "bot | conversation c1 | host says cancelled\n  1 m aborted"


def test_every_count_has_its_name() -> None:
    """Cache and reasoning are inside the input and the output."""
    tape = Tape("ai")
    counts: Attributes = {
        "ai.usage.cachedInputTokens": 40,
        "ai.usage.inputTokenDetails.cacheWriteTokens": 10,
        "ai.usage.reasoningTokens": 7,
    }
    request(tape, turn(tape, "stop"), 1, "stop", attributes=counts)
    (facts,) = turns_from(tape.records).turns
    assert facts.steps[0].usage == Usage(
        input_tokens=120, output_tokens=30, cache_read_tokens=40, cache_write_tokens=10, reasoning_tokens=7
    )


def test_two_steps_in_one_millisecond_keep_their_order() -> None:
    """The clock ticks in milliseconds: the request that leaves work comes first."""
    tape = Tape("ai")
    head = turn(tape, "stop")
    request(tape, head, 1, "stop")
    request(tape, head, 1, "tool-calls", "search")
    assert told(tape).endswith("  1 m tool-calls 120/30\n  2 m stop 120/30")


def test_a_failure_in_the_millisecond_of_its_cause_comes_after_it() -> None:
    """The second request failed at once."""
    tape = Tape("ai")
    head = turn(tape, None, ("Error", "boom"))
    failed = request(tape, head, 1, None)
    tape.records.remove(failed)
    tape.span("ai.generateText.doGenerate", 1, 1, failed.attributes, parent=head, raised=("Error", "boom"))
    request(tape, head, 1, "tool-calls", "search")
    assert [step.error is not None for t in turns_from(tape.records).turns for step in t.steps] == [False, True]


def test_an_object_is_a_turn_and_an_embedding_is_not() -> None:
    """Operations without a loop; what its own span says of the response stands for the request that was not exported."""
    tape = Tape("ai")
    turn(tape, "stop", operation="ai.generateObject")
    tape.span("ai.embed", 30, 31, {"ai.operationId": "ai.embed"})
    assert told(tape) == "bot | conversation c1\n  1 stop 240/None"
