"""GenAI events as log records: on the spans that they are of, within others, and alone."""

from dataclasses import replace

import pytest

from made_telemetry import Attributes, Tape, tell
from turnout.pipeline.dialects import is_relevant, turns_from, unrecognised_scope
from turnout.pipeline.telemetry import LogRecord, Span, Value

CHOICE = "gen_ai.choice"
DETAILS = "gen_ai.client.inference.operation.details"
BARE: Attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
WHOLE: Attributes = {
    **BARE,
    "gen_ai.response.finish_reasons": ("length",),
    "gen_ai.usage.input_tokens": 120,
    "gen_ai.usage.output_tokens": 30,
}


def told(tape: Tape) -> str:
    return tell(turns_from(tape.records).turns)


CHOICES: dict[str, tuple[Attributes, Value, str]] = {
    "in the body": ({}, {"finish_reason": "length", "message": {"content": "x"}}, "1 m length"),
    "in the attributes": ({"finish_reason": "stop"}, None, "1 m stop"),
    "as JSON": ({}, '{"finish_reason": "content_filter"}', "1 m content_filter"),
    "with a refusal": ({}, {"finish_reason": "stop", "message": {"refusal": "no"}}, "1 m stop refused"),
}


@pytest.mark.parametrize(("attributes", "body", "said"), CHOICES.values(), ids=CHOICES)
def test_a_choice_is_of_the_request_whose_span_it_names(attributes: Attributes, body: Value, said: str) -> None:
    """The span itself has no finish reason."""
    tape = Tape("client")
    tape.log(CHOICE, 2, attributes, body=body, within=tape.span("chat m", 1, 2, BARE))
    assert told(tape) == f"?\n  {said}"


def test_the_tool_calls_of_a_choice_are_those_that_run() -> None:
    """The id stands in the choice alone, and cut arguments show there."""
    tape = Tape("client")
    request = tape.span("chat m", 1, 2, BARE)
    asked: Value = {"id": "k1", "function": {"name": "find", "arguments": '{"cit'}}
    body: Value = {"finish_reason": "tool_calls", "message": {"tool_calls": (asked,)}}
    tape.log(CHOICE, 2, body=body, within=request)
    ran: Attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find", "gen_ai.tool.call.id": "k1"}
    tape.span("execute_tool find", 2, 3, ran, parent=request)
    assert told(tape) == "?\n  1 m tool_calls [find~ ok]"


def test_a_choice_as_json_on_a_span_event() -> None:
    """One emitter puts the whole choice into one attribute of the event."""
    tape = Tape("az.ai.inference")
    content = '{"finish_reason": "stop", "index": 0, "message": {"content": "x"}}'
    tape.span("chat m", 1, 2, BARE, events=[(CHOICE, {"gen_ai.event.content": content})])
    assert told(tape) == "?\n  1 m stop"


def test_details_fill_the_span_that_they_are_of() -> None:
    """What the span has itself stays."""
    tape = Tape("client")
    request = tape.span("chat m", 1, 2, {**BARE, "gen_ai.usage.output_tokens": 31})
    tape.log(DETAILS, 2, WHOLE, within=request)
    assert told(tape) == "?\n  1 m length 120/31"


def test_details_within_an_agent_are_its_requests() -> None:
    """The request has no span of its own."""
    tape = Tape("framework")
    head = tape.span("invoke_agent bot", 0, 9, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "bot"})
    for at in (2, 4):
        tape.log(DETAILS, at, WHOLE, within=head)
    assert told(tape) == "bot\n  1 m length 120/30\n  2 m length 120/30"


def without_spans(log: LogRecord, span: str) -> LogRecord:
    return replace(log, trace_id="0" * 31 + "7", span_id=span)


def test_details_alone_are_one_turn_a_trace() -> None:
    """Where no traces are exported, the trace id still ties them."""
    tape = Tape("client")
    logs = [without_spans(tape.log(DETAILS, at, WHOLE), f"{at:016x}") for at in (1, 2)]
    (turn,) = turns_from([*logs, logs[0]]).turns
    assert tell([turn]) == "?\n  1 m length 120/30\n  2 m length 120/30"
    assert (turn.turn_id, turn.open) == ("genai:" + "0" * 31 + "7", None)


def test_an_exception_beside_the_span_is_its_failure() -> None:
    """It counts once where the span has it, too."""
    tape = Tape("client")
    thrown: Attributes = {"exception.type": "RateLimitError", "exception.message": "Error code: 429"}
    request = tape.span("chat m", 1, 2, BARE)
    tape.log("gen_ai.client.inference.exception", 2, thrown, within=request)
    assert told(tape) == "?\n  1 m error RateLimitError 429"


def test_the_words_of_a_conversation_are_known_and_say_nothing() -> None:
    """They are no gap in what is understood."""
    tape = Tape("client")
    request: Span = tape.span("chat m", 1, 2, BARE)
    log = tape.log("gen_ai.user.message", 1, body={"content": "x"}, within=request)
    choice = tape.log(CHOICE, 1, {"finish_reason": "stop"})
    assert (is_relevant(log), unrecognised_scope(log), is_relevant(choice)) == (False, None, False)
    assert turns_from(tape.records).unrecognised == {}
