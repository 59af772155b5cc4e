"""Langfuse exports: where finish reasons hide, in which shapes calls are logged, and what settles them."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from turnout.outcomes.facts import (
    Claim,
    Layer,
    Output,
    Step,
    StepError,
    ToolCall,
    ToolStatus,
    TurnFacts,
    Usage,
)
from turnout.outcomes.instants import parse_instant
from turnout.pipeline.importers import KINDS, Damaged, Skipped

Document = Callable[[str, object], Path]
Value = dict[str, Any]


def stamp(second: int) -> str:
    return f"2026-01-05T10:00:{second:02d}.000Z"


def at(second: int) -> int:
    return parse_instant(stamp(second))


def observation(kind: str, number: int, start: int = 1, end: int = 2, **more: Any) -> Value:
    return {
        "id": f"o{number}",
        "type": kind,
        "name": "step",
        "startTime": stamp(start),
        "endTime": stamp(end),
        "parentObservationId": "o0",
        "level": "DEFAULT",
        **more,
    }


def generation(number: int = 1, start: int = 1, end: int = 2, **more: object) -> Value:
    return {**observation("GENERATION", number, start, end), "model": "gpt-x", **more}


def export(*observations: Value) -> Value:
    trace = {"id": "tr1", "name": "agent", "sessionId": "s1", "environment": "default", "timestamp": stamp(0)}
    return {"trace": trace, "observations": list(observations)}


def turn_of(document: Document, *observations: Value) -> TurnFacts:
    (turn,) = KINDS["langfuse"].read(document("x.json", export(*observations)))
    assert isinstance(turn, TurnFacts)
    return turn


def test_a_trace_is_one_turn(document: Document) -> None:
    """Generations are steps by their end, a tool's observation settles the call that asked for it."""
    asked = {"choices": [{"finish_reason": "tool_calls", "message": {"tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    ]}}]}  # fmt: skip
    metadata = {"attributes": {"gen_ai.system": "OpenAI", "gen_ai.response.id": "resp-1"}}
    turn = turn_of(
        document,
        generation(2, start=4, end=5, output="all is well", usageDetails={"input": 30, "output": 3, "total": 40}),
        observation("SPAN", 3, 2, 3, name="look"),
        generation(1, output=json.dumps(asked), metadata=json.dumps(metadata), totalCost=0.5, usageDetails={
            "input": 20, "output": 4, "input_cache_read": 8, "output_reasoning": 1,
        }),
    )  # fmt: skip
    assert turn == TurnFacts(
        turn_id="langfuse:tr1",
        trace_id="tr1",
        conversation_id="s1",
        environment="default",
        agent="agent",
        source="langfuse",
        started_at=at(1),
        ended_at=at(5),
        last_seen_at=at(5),
        steps=(
            Step(
                index=1,
                request_id="o1",
                message_id="resp-1",
                provider="openai",
                model="gpt-x",
                started_at=at(1),
                ended_at=at(2),
                raw_finish_reason="tool_calls",
                usage=Usage(input_tokens=20, output_tokens=4, cache_read_tokens=8, reasoning_tokens=1),
                cost_usd=0.5,
                output=Output(text_chars=0, parts=1),
                tool_calls=(ToolCall(id="c1", name="look", status=ToolStatus.OK, started_at=at(2), ended_at=at(3)),),
            ),
            Step(
                index=2,
                request_id="o2",
                provider="openai",
                model="gpt-x",
                started_at=at(4),
                ended_at=at(5),
                usage=Usage(input_tokens=30, output_tokens=3),
                output=Output(text_chars=11, parts=1),
            ),
        ),
    )


FINISHES: Mapping[str, tuple[dict[str, object], str | None, str | None]] = {
    "absent": ({"output": {"content": "hi"}}, None, None),
    "chat": ({"output": {"choices": [{"finish_reason": "length"}]}}, None, "length"),
    "messages of anthropic": ({"output": {"stop_reason": "max_tokens"}}, None, "max_tokens"),
    "google": ({"output": {"candidates": [{"finishReason": "SAFETY"}]}}, None, "SAFETY"),
    "google by number": ({"output": {"finish_reason": 2}}, None, "MAX_TOKENS"),
    "langchain": ({"output": {"response_metadata": {"finish_reason": "stop"}}}, None, "stop"),
    "langchain metadata": ({"metadata": {"response_metadata": {"stop_reason": "end_turn"}}}, None, "end_turn"),
    "conventions": ({"metadata": {"attributes": {"gen_ai.response.finish_reasons": '["stop"]'}}}, "stop", None),
    "conventions, python": ({"metadata": {"attributes": {"gen_ai.response.finish_reasons": "['length']"}}}, "length", None),
    "conventions, messages": ({"output": [{"parts": [], "finish_reason": "stop"}]}, "stop", None),
    "ai sdk": ({"metadata": {"attributes": {"ai.response.finishReason": "tool-calls"}}}, "tool-calls", None),
    "parameters": ({"modelParameters": {"finishReason": "length"}}, "length", None),
    "responses": ({"output": {"object": "response", "status": "completed"}}, None, "completed"),
    "responses, cut": (
        {"output": {"object": "response", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}},
        None,
        "max_output_tokens",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FINISHES, ids=list(FINISHES))
def test_the_finish_reason_is_found_where_libraries_put_it(document: Document, name: str) -> None:
    """In the output or the metadata, as an object or as text; what a convention says is told apart from the provider's word."""
    fields, reported, raw = FINISHES[name]
    plain = turn_of(document, generation(1, 1, 2, **fields)).steps[0]
    text = {key: json.dumps(value) for key, value in fields.items() if key != "modelParameters"} or fields
    inside = turn_of(document, generation(1, 1, 2, **text)).steps[0]
    assert (plain.finish_reason, plain.raw_finish_reason) == (reported, raw)
    assert (inside.finish_reason, inside.raw_finish_reason) == (reported, raw)


CALLS: Mapping[str, object] = {
    "chat": {"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
    "choices": {"choices": [{"message": {"tool_calls": [{"id": "c1", "function": {"name": "look"}}]}}]},
    "anthropic": {"content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {}}]},
    "responses": {"object": "response", "output": [{"type": "function_call", "call_id": "c1", "name": "look"}]},
    "google": {"content": {"parts": [{"function_call": {"name": "look", "args": {}}, "id": "c1"}]}},
    "conventions": [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look"}]}],
    "ai sdk": [{"toolCallId": "c1", "toolName": "look", "input": "{}"}],
    "langchain": {"tool_calls": [{"id": "c1", "name": "look", "args": {}, "type": "tool_call"}]},
}


@pytest.mark.parametrize("name", CALLS, ids=list(CALLS))
def test_calls_are_found_in_every_shape(document: Document, name: str) -> None:
    """Each library logs a call in its own shape; one without an observation is not known to have run."""
    calls = turn_of(document, generation(output=CALLS[name])).steps[0].tool_calls
    assert calls == (ToolCall(id="c1", name="look", status=ToolStatus.UNKNOWN),)


def test_calls_without_ids_stay_apart(document: Document) -> None:
    """Two calls of one tool are two, also where the library gives them no ids."""
    part = {"function_call": {"name": "look", "args": {}}}
    calls = turn_of(document, generation(output={"content": {"parts": [part, part]}})).steps[0].tool_calls
    assert [call.id for call in calls] == ["o1/1", "o1/2"]


def test_an_output_tool_is_the_answer(document: Document) -> None:
    """It does not run, so nothing settles it, and it is not unsettled."""
    output = [{"parts": [{"type": "tool_call", "id": "c1", "name": "final_result"}], "finish_reason": "tool_call"}]
    calls = turn_of(document, generation(output=output)).steps[0].tool_calls
    assert calls == (ToolCall(id="c1", name="final_result", status=ToolStatus.OK, final=True),)


def test_a_wrapper_and_what_it_wraps_log_a_call_once(document: Document) -> None:
    """Both generations stay steps, the wrapper last, and the call stays with it."""
    output = {"tool_calls": [{"id": "c1", "function": {"name": "look"}}]}
    turn = turn_of(
        document,
        generation(1, start=1, end=5, output=output),
        generation(2, start=2, end=5, output=output),
        observation("TOOL", 3, 5, 6, name="execute_tool look"),
    )
    assert [(step.request_id, [call.status for call in step.tool_calls]) for step in turn.steps] == [
        ("o2", []),
        ("o1", [ToolStatus.OK]),
    ]


def test_a_tool_that_nobody_is_seen_to_ask_for_belongs_to_the_step_before(document: Document) -> None:
    """Its observation is all there is of the call; an error of it is the call's."""
    turn = turn_of(
        document,
        generation(1),
        observation("TOOL", 3, 3, 4, name="running tool: look", level="ERROR"),
        generation(2, start=5, end=6),
    )
    assert [[(call.id, call.name, call.status) for call in step.tool_calls] for step in turn.steps] == [
        [("o3", "look", ToolStatus.ERROR)],
        [],
    ]


def test_errors_are_told_by_level(document: Document) -> None:
    """A failed generation is a failed request, a failed root the runtime's word on the end."""
    turn = turn_of(
        document,
        observation("AGENT", 0, 1, 9, parentObservationId=None, level="ERROR", statusMessage="it broke"),
        generation(1, level="ERROR", statusMessage="429"),
    )
    assert turn.steps[0].error == StepError(message="429")
    assert turn.claims == (Claim(by=Layer.RUNTIME, reason="error", at=at(9), message="it broke"),)


def test_a_cap_is_recorded_where_it_is_one(document: Document) -> None:
    """Minus one and text are no caps."""
    caps = [turn_of(document, generation(modelParameters={"max_tokens": cap})).steps[0] for cap in (100, -1, "many")]
    assert [step.max_output_tokens for step in caps] == [100, None, None]


def test_traces_without_a_generation_and_other_files_are_skipped(document: Document, tmp_path: Path) -> None:
    """A trace of something else is no turn of an agent."""
    (plain,) = KINDS["langfuse"].read(document("a.json", export(observation("SPAN", 1))))
    (other,) = KINDS["langfuse"].read(document("b.json", {"a": 1}))
    broken = tmp_path / "c.json"
    broken.write_text('{"trace"')
    (damaged,) = KINDS["langfuse"].read(broken)
    assert [type(item) for item in (plain, other, damaged)] == [Skipped, Skipped, Damaged]


def test_a_trace_around_its_observations_is_read_too(document: Document) -> None:
    """The public interface nests the observations into the trace."""
    value = {"id": "tr1", "projectId": "p", "observations": [generation()]}
    (turn,) = KINDS["langfuse"].read(document("x.json", value))
    assert isinstance(turn, TurnFacts)
    assert turn.turn_id == "langfuse:tr1"


def test_several_traces_beside_their_observations(document: Document) -> None:
    """Each trace of a list gets its own observations, and one without a generation is skipped."""
    value = {
        "traces": [{"id": "a", "name": "x"}, {"id": "b"}, {"id": "c"}],
        "observations": [
            {**generation(1), "traceId": "a"},
            {**generation(2), "traceId": "b"},
            {**observation("SPAN", 3), "traceId": "c"},
        ],
    }
    path = document("x.json", value)
    first, second, skipped = KINDS["langfuse"].read(path)
    assert isinstance(first, TurnFacts)
    assert isinstance(second, TurnFacts)
    assert [turn.turn_id for turn in (first, second)] == ["langfuse:a", "langfuse:b"]
    assert [step.request_id for step in (*first.steps, *second.steps)] == ["o1", "o2"]
    assert skipped == Skipped(path=str(path), why="trace c: got no generation, so no turn of an agent")


@pytest.mark.parametrize(
    ("columns", "usage"),
    [
        ({"inputUsage": 7, "outputUsage": 2}, Usage(input_tokens=7, output_tokens=2)),
        ({"inputUsage": 0, "outputUsage": 0}, None),
        ({"usage": {"input": 7, "output": 0, "unit": "TOKENS"}}, Usage(input_tokens=7, output_tokens=0)),
        (
            {"inputUsage": 9, "outputUsage": 9, "usageDetails": {"input": 7, "output": 2}},
            Usage(input_tokens=7, output_tokens=2),
        ),
    ],
    ids=["columns", "zeros are nothing", "an object", "details come first"],
)
def test_counts_stand_in_columns_where_there_are_no_details(
    document: Document, columns: Value, usage: Usage | None
) -> None:
    """Exports without details still say what a generation used."""
    (step,) = turn_of(document, generation(**columns)).steps
    assert step.usage == usage


def test_a_tool_that_is_named_by_its_attributes(document: Document) -> None:
    """A span settles the call whose id it carries, whatever the span itself is called."""

    def ran(number: int, call: str, level: str) -> Value:
        attributes = {"gen_ai.tool.name": "look", "gen_ai.tool.call.id": call}
        return {
            **observation("SPAN", number, 3, 4),
            "name": "tool.look",
            "metadata": {"attributes": attributes},
            "level": level,
        }

    calls = [{"id": name, "type": "function", "function": {"name": "look", "arguments": "{}"}} for name in ("c1", "c2")]
    turn = turn_of(
        document,
        generation(output=[{"role": "assistant", "tool_calls": calls}]),
        ran(2, "c2", "ERROR"),
        ran(3, "c1", "DEFAULT"),
    )
    assert {call.id: call.status for call in turn.steps[0].tool_calls} == {"c1": ToolStatus.OK, "c2": ToolStatus.ERROR}


def test_providers_by_the_names_of_a_library(document: Document) -> None:
    """What LangChain calls a provider is that provider."""
    (step,) = turn_of(document, generation(metadata={"ls_provider": "google_vertexai"})).steps
    assert step.provider == "google"
