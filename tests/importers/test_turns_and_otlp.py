"""Turn facts and OTLP lines: read as the contract and the dialects say, damage counted and never fatal."""

from collections.abc import Callable
from pathlib import Path

from turnout.outcomes.facts import Claim, Layer, TurnFacts
from turnout.pipeline.importers import KINDS, Damaged, Skipped

Lines = Callable[..., Path]


def test_turn_facts_are_read_line_by_line(lines: Lines) -> None:
    """A line that is no turn facts is damaged, unknown keys are named once a file, the source says what it is."""
    path = lines(
        "turns.jsonl",
        {
            "schema": "turnout.turn/1",
            "turn_id": "a",
            "colour": "red",
            "claims": [{"by": "runtime", "reason": "success"}],
        },
        '{"turn_id": ',
        {"turn_id": ""},
        "",
        {"turn_id": "b", "source": "mine", "colour": "blue"},
    )
    reading = KINDS["turns"].read(path)
    items = list(reading)
    assert [item for item in items if isinstance(item, TurnFacts)] == [
        TurnFacts(turn_id="a", source="turns", claims=(Claim(by=Layer.RUNTIME, reason="success"),)),
        TurnFacts(turn_id="b", source="mine"),
    ]
    assert [item.line for item in items if isinstance(item, Damaged)] == [2, 3]
    assert [item for item in items if isinstance(item, Skipped)] == [
        Skipped(path=str(path), why="unknown keys were kept out: colour (2)")
    ]
    assert reading.records == len(["a", "cut", "nameless", "b"])


def test_a_negative_count_is_damage_and_the_turn_stays(lines: Lines) -> None:
    """What is below zero and should be a count is kept out of the turn and told with its line."""
    path = lines("turns.jsonl", {"schema": "turnout.turn/1", "turn_id": "a", "limits": {"steps": -2}})
    damaged, turn = KINDS["turns"].read(path)
    assert damaged == Damaged(path=str(path), line=1, what="limits.steps: got -2, expected a number from 0; kept out")
    assert isinstance(turn, TurnFacts)
    assert turn.turn_id == "a"


def span(span_id: str, parent: str, operation: str, start: int, **attributes: object) -> dict[str, object]:
    values = {"gen_ai.operation.name": operation, **attributes}
    return {
        "traceId": "0" * 31 + "1",
        "spanId": span_id,
        "parentSpanId": parent,
        "name": operation,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 10),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in values.items()],
    }


def block(*spans: dict[str, object]) -> dict[str, object]:
    return {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "any"}, "spans": list(spans)}]}]}


AGENT = span("000000000000000a", "", "invoke_agent", 1)
CHAT = span("000000000000000b", "000000000000000a", "chat", 2, **{"gen_ai.request.model": "gpt-x"})


def test_spans_of_one_file_make_its_turns(lines: Lines) -> None:
    """Each file is read by itself; a damaged line is reported and the rest is read."""
    path = lines(
        "otlp.jsonl", block(CHAT), "{cut", block(AGENT), {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{}]}]}]}
    )
    items = list(KINDS["otlp"].read(path))
    (turn,) = (item for item in items if isinstance(item, TurnFacts))
    assert [step.model for step in turn.steps] == ["gpt-x"]
    assert [item.line for item in items if isinstance(item, Damaged)] == [2]
    assert [item.why for item in items if isinstance(item, Skipped)] == ["metrics, which are not kept"]


def test_files_are_assembled_as_one_set(lines: Lines) -> None:
    """Spans of one turn may lie in two files, and stand in both."""
    one, two = lines("1.jsonl", block(AGENT)), lines("2.jsonl", block(CHAT), block(AGENT))
    together = [item for item in KINDS["otlp"].read_all([one, two]) if isinstance(item, TurnFacts)]
    assert [[step.model for step in turn.steps] for turn in together] == [["gpt-x"]]


def test_a_scope_that_no_dialect_knows_is_said(lines: Lines) -> None:
    """Records that are nobody's are counted by their scope."""
    stranger = span("000000000000000c", "", "unheard_of", 5)
    stranger["attributes"] = []
    (item,) = KINDS["otlp"].read(lines("otlp.jsonl", block(stranger)))
    assert isinstance(item, Skipped)
    assert item.why == "scope any: 1 records that no dialect knows"
