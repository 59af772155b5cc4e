"""Google ADK as its first releases told it: names of its own, and the response as JSON."""

import json

import pytest

from made_telemetry import Attributes, Tape, tell
from turnout.outcomes.facts import Usage
from turnout.pipeline.dialects import turns_from
from turnout.pipeline.telemetry import Span

COUNTS = {
    "prompt_token_count": 120,
    "candidates_token_count": 23,
    "thoughts_token_count": 7,
    "cached_content_token_count": 40,
    "total_token_count": 150,
}


def told(tape: Tape) -> str:
    return tell(turns_from(tape.records).turns)


def run(tape: Tape, name: str = "bot", parent: Span | None = None, times: tuple[float, float] = (0, 9)) -> Span:
    if parent is None:
        parent = tape.span("invocation", *times)
    return tape.span(f"agent_run [{name}]", *times, parent=parent)


def request(
    tape: Tape,
    parent: Span,
    begin: float,
    response: dict[str, object] | None = None,
    raised: tuple[str, str] | None = None,
) -> Span:
    named: Attributes = {
        "gen_ai.system": "gcp.vertex.agent",
        "gen_ai.request.model": "m",
        "gcp.vertex.agent.session_id": "s1",
    }
    answer: Attributes = {
        "gcp.vertex.agent.llm_response": json.dumps({"usage_metadata": COUNTS, **(response or {})}),
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 150,
    }
    told = named if raised else {**named, **answer}
    return tape.span("call_llm", begin, begin + 1, told, parent=parent, raised=raised)


def test_the_counts_of_the_response_stand_for_the_total() -> None:
    """The output that the span names is the sum of all tokens."""
    tape = Tape("gcp.vertex.agent")
    request(tape, run(tape), 1)
    (turn,) = turns_from(tape.records).turns
    assert (turn.agent, turn.conversation_id) == ("bot", "s1")
    assert [(step.usage, step.provider) for step in turn.steps] == [
        (Usage(input_tokens=120, output_tokens=30, cache_read_tokens=40, reasoning_tokens=7), None)
    ]


ENDS: dict[str, tuple[dict[str, object], str]] = {
    "finish reason": ({"finish_reason": "FinishReason.MAX_TOKENS"}, "1 m MAX_TOKENS 120/30"),
    "error code": ({"error_code": "SAFETY"}, "1 m SAFETY 120/30"),
    "none": ({}, "1 m 120/30"),
}


@pytest.mark.parametrize(("response", "said"), ENDS.values(), ids=ENDS)
def test_the_response_says_how_it_ended(response: dict[str, object], said: str) -> None:
    """No attribute does."""
    tape = Tape("gcp.vertex.agent")
    request(tape, run(tape), 1, response)
    assert told(tape) == f"bot | conversation s1\n  {said}"


def test_the_request_that_the_limit_forbade_was_never_made() -> None:
    """Its span fails with the limit, as the run does."""
    tape = Tape("gcp.vertex.agent")
    limit = ("LlmCallsLimitExceededError", "Max number of llm calls limit of `1` exceeded")
    root = tape.span("invocation", 0, 9, raised=limit)
    head = run(tape, parent=root)
    request(tape, head, 1)
    request(tape, head, 3, raised=limit)
    assert told(tape) == "bot | conversation s1 | limit steps 1 | runtime says step_limit\n  1 m 120/30"


def test_the_agents_of_a_sequence_are_its_children() -> None:
    """The sequence makes no request of its own; it came back."""
    tape = Tape("gcp.vertex.agent")
    outer = run(tape, "seq")
    for begin, name in ((1, "a"), (4, "b")):
        request(tape, run(tape, name, outer, (begin, begin + 2)), begin)
    assert [(turn.agent, len(turn.steps), turn.parent_turn_id is None) for turn in turns_from(tape.records).turns] == [
        ("seq", 0, True),
        ("a", 1, False),
        ("b", 1, False),
    ]
