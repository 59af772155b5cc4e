"""Spans of the AI SDK: operations as turns, inner spans as steps, usage counted once."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

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
from turnout.pipeline.importers import KINDS, Imported, Skipped

Document = Callable[[str, object], Path]
Value = dict[str, Any]

SECOND = 1_000_000_000


def span(operation: str, span_id: str, start: int, end: int, trace: str = "tr1", **more: Any) -> Value:
    attributes = {
        "ai.operationId": operation,
        "ai.telemetry.functionId": more.pop("function", "writer"),
        "ai.model.provider": "openai.responses",
        "ai.model.id": "gpt-x",
        **more.pop("attributes", {}),
    }
    return {
        "name": operation,
        "spanContext": {"traceId": trace, "spanId": span_id},
        "attributes": attributes,
        "status": {"code": 0},
        "startTime": [start, 0],
        "endTime": [end, 500],
        **more,
    }


def inner(span_id: str, start: int, end: int, reason: str = "stop", **more: Any) -> Value:
    attributes = {
        "ai.response.finishReason": reason,
        "ai.response.text": "hello",
        "ai.response.id": f"resp-{span_id}",
        "ai.usage.inputTokens": 20,
        "ai.usage.outputTokens": 4,
        **more.pop("attributes", {}),
    }
    return span("ai.generateText.doGenerate", span_id, start, end, attributes=attributes, **more)


def outer(start: int = 1, end: int = 9, **more: Any) -> Value:
    attributes = {"ai.usage.inputTokens": 20, "ai.usage.outputTokens": 4, "ai.response.finishReason": "stop"}
    return span("ai.generateText", "o1", start, end, attributes=attributes, **more)


def read(*paths: Path) -> list[Imported]:
    return list(KINDS["ai-sdk"].read_all(paths))


def turns(items: Sequence[Imported]) -> list[TurnFacts]:
    return [item for item in items if isinstance(item, TurnFacts)]


def step(number: int, span_id: str, start: int, end: int, **more: Any) -> Step:
    return Step(
        index=number,
        request_id=span_id,
        message_id=f"resp-{span_id}",
        provider="openai",
        model="gpt-x",
        started_at=start * SECOND,
        ended_at=end * SECOND + 500,
        usage=Usage(input_tokens=20, output_tokens=4),
        **more,
    )


def test_an_operation_is_a_turn_and_counts_once(document: Document) -> None:
    """The usage of the outer span repeats that of its steps, so only theirs counts; tools settle by their spans."""
    asked = '[{"toolCallId":"c1","toolName":"look","input":"{}"}]'
    first = inner("i1", 2, 3, "tool-calls", parentSpanId="o1", attributes={"ai.response.toolCalls": asked})
    tool = span("ai.toolCall", "t1", 4, 5, parentSpanId="o1", attributes={"ai.toolCall.id": "c1"})
    path = document("x.json", [tool, inner("i2", 6, 7, parentSpanId="o1"), outer(), first])
    assert read(path) == [
        TurnFacts(
            turn_id="tr1:o1",
            trace_id="tr1",
            agent="writer",
            source="ai-sdk",
            started_at=SECOND,
            ended_at=9 * SECOND + 500,
            last_seen_at=9 * SECOND + 500,
            steps=(
                step(
                    1,
                    "i1",
                    2,
                    3,
                    finish_reason="tool-calls",
                    output=Output(text_chars=5, parts=2),
                    tool_calls=(
                        ToolCall(
                            id="c1",
                            name="look",
                            status=ToolStatus.OK,
                            started_at=4 * SECOND,
                            ended_at=5 * SECOND + 500,
                        ),
                    ),
                ),
                step(2, "i2", 6, 7, finish_reason="stop", output=Output(text_chars=5, parts=1)),
            ),
        )
    ]


def test_spans_that_lost_their_parents_find_them_by_time_and_function(document: Document) -> None:
    """An exporter may lose trace and parent: the operation, the function and the time tell what belongs together."""
    path = document(
        "x.json",
        [
            outer(),
            inner("i1", 2, 3, trace="tr2"),
            inner("i2", 2, 3, trace="tr3", function="reader"),
            inner("i3", 8, 10, trace="tr4"),
        ],
    )
    found = [(turn.turn_id, [part.request_id for part in turn.steps]) for turn in turns(read(path))]
    assert found == [("tr1:o1", ["i1"]), ("tr3:i2", ["i2"]), ("tr4:i3", ["i3"])]


def test_an_operation_alone_tells_of_its_last_step(document: Document) -> None:
    """Without inner spans the finish is known, and the usage is the whole turn's."""
    (turn,) = turns(read(document("x.json", [outer()])))
    assert turn.usage == Usage(input_tokens=20, output_tokens=4)
    assert [(part.finish_reason, part.usage, part.request_id) for part in turn.steps] == [("stop", None, None)]


def test_files_complete_each_other(document: Document) -> None:
    """Read together, spans of several files make one turn, and a span that stands in two counts once."""
    one, two = document("1.json", [outer()]), document("2.json", {"ai.x": [inner("i1", 2, 3), outer()]})
    (turn,) = turns(read(one, two))
    assert [part.request_id for part in turn.steps] == ["i1"]
    assert turn.usage is None


def test_a_failed_span_is_an_error(document: Document) -> None:
    """An error of a request is the step's, one of the operation the runtime's word."""
    failed = {"code": 2, "message": "boom"}
    path = document("x.json", [outer(status=failed), inner("i1", 2, 3, parentSpanId="o1", status=failed)])
    (turn,) = turns(read(path))
    assert turn.steps[0].error == StepError(message="boom")
    assert turn.claims == (Claim(by=Layer.RUNTIME, reason="error", at=9 * SECOND + 500, message="boom"),)


def test_embeddings_and_other_files_are_skipped(document: Document) -> None:
    """An embedding is no turn, and a list of something else holds no span."""
    items = read(document("x.json", [span("ai.embed", "e1", 1, 2)]), document("y.json", {"results": []}))
    assert [type(item) for item in items] == [Skipped, Skipped]
