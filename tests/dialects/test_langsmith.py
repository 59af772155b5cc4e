"""LangSmith's export: chains, results in text, and exceptions without a class."""

import json

from made_telemetry import Attributes, Tape, tell
from turnout.outcomes.facts import Usage
from turnout.pipeline.dialects import turns_from
from turnout.pipeline.telemetry import Span, SpanStatus


def told(tape: Tape) -> str:
    return tell(turns_from(tape.records).turns)


def chain(
    tape: Tape, name: str, parent: Span | None = None, raised: tuple[str, str] | None = None, **metadata: str
) -> Span:
    named: Attributes = {f"langsmith.metadata.{key}": value for key, value in metadata.items()}
    attributes: Attributes = {"langsmith.span.kind": "chain", "gen_ai.operation.name": "chain", **named}
    return tape.span(name, 0, 10, attributes, parent=parent, raised=raised)


def llm(tape: Tape, parent: Span, begin: float, finish: str) -> Span:
    message = {"kwargs": {"response_metadata": {"finish_reason": finish}, "tool_calls": []}}
    attributes: Attributes = {
        "langsmith.span.kind": "llm",
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.system": "langchain",
        "langsmith.metadata.ls_provider": "anthropic",
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 30,
        "gen_ai.usage.input_token_details": '{"cache_read": 40}',
        "gen_ai.completion": json.dumps({"generations": [[{"text": "hello", "message": message}]]}),
    }
    return tape.span("Chat", begin, begin + 1, attributes, parent=parent)


def test_the_topmost_chain_is_the_turn() -> None:
    """A node is a chain too; the reason stands in the result."""
    tape = Tape("langsmith")
    head = chain(tape, "bot", lc_agent_name="bot", thread_id="c1")
    llm(tape, chain(tape, "model", head, langgraph_node="model"), 1, "max_tokens")
    (turn,) = turns_from(tape.records).turns
    assert tell([turn]) == "bot | conversation c1\n  1 m max_tokens 120/30"
    assert (turn.steps[0].provider, turn.steps[0].usage) == (
        "anthropic",
        Usage(input_tokens=120, output_tokens=30, cache_read_tokens=40),
    )


def test_the_class_of_an_exception_begins_its_text() -> None:
    """The recorded class is always the same."""
    tape = Tape("langsmith")
    head = chain(
        tape,
        "bot",
        raised=("Exception", "CancelledError()Traceback (most recent call last):\n secret"),
        lc_agent_name="bot",
    )
    llm(tape, head, 1, "tool_calls")
    assert told(tape) == "bot | host says cancelled\n  1 m tool_calls 120/30"
    assert "secret" not in repr(turns_from(tape.records))


def test_a_wait_for_a_person_is_told_by_its_node() -> None:
    """The turn itself ends well."""
    tape = Tape("langsmith")
    head = chain(tape, "bot", lc_agent_name="bot")
    llm(tape, head, 1, "tool_calls")
    chain(tape, "hitl", head, ("Exception", "GraphInterrupt((Interrupt(value=1),))"), langgraph_node="hitl")
    assert told(tape) == "bot | runtime says interrupt\n  1 m tool_calls 120/30"


def test_a_refusal_and_a_cut_stand_in_the_message() -> None:
    """The Responses API has no finish reason, and a refusal hides behind a stop."""
    tape = Tape("langsmith")
    head = chain(tape, "bot", lc_agent_name="bot")
    for begin, message in (
        (1, {"response_metadata": {"incomplete_details": {"reason": "max_output_tokens"}}}),
        (3, {"response_metadata": {"finish_reason": "stop"}, "additional_kwargs": {"refusal": "no"}}),
    ):
        value = json.dumps({"generations": [[{"text": "", "message": {"kwargs": message}}]]})
        attributes: Attributes = {"langsmith.span.kind": "llm", "gen_ai.request.model": "m", "gen_ai.completion": value}
        tape.span("Chat", begin, begin + 1, attributes, parent=head)
    assert told(tape) == "bot\n  1 m (max_output_tokens)\n  2 m stop refused"


def test_a_cancelled_chain_has_the_status_ok() -> None:
    """The export sets that status whatever happened; the event tells."""
    tape = Tape("langsmith")
    thrown: Attributes = {"exception.type": "Exception", "exception.message": "CancelledError()Traceback ..."}
    named: Attributes = {"langsmith.span.kind": "chain", "langsmith.metadata.lc_agent_name": "bot"}
    head = tape.span("bot", 0, 9, named, status=SpanStatus.OK, events=[("exception", thrown)])
    llm(tape, head, 1, "tool_calls")
    assert told(tape) == "bot | host says cancelled\n  1 m tool_calls 120/30"
