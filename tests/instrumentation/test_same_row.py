"""The file sink and OTLP tell the lake the same of every turn."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

from outcome_cases import OutcomeCase, handed_cases, own_cases
from turn_strategies import turns
from turnout.instrumentation import FileSink, Losses
from turnout.instrumentation.known import known_turn
from turnout.instrumentation.replay import replay
from turnout.outcomes.facts import TurnFacts
from turnout.outcomes.phrases import without_text
from turnout.outcomes.record import turn_record
from turnout.pipeline.dialects import turns_from
from turnout.pipeline.importers.registry import KINDS
from turnout.pipeline.otlp import PROTOBUF, decode_request
from turnout.pipeline.rows import classified, step_rows, tool_call_rows, turn_row

RECEIVED_AT = 1_767_607_200_000_000_000


def rows(facts: TurnFacts) -> dict[str, Any]:
    turn = classified(facts, RECEIVED_AT)
    return {"turn": turn_row(turn), "steps": step_rows(turn), "tool_calls": tool_call_rows(turn)}


def through_file(turn: TurnFacts, path: Path) -> Iterator[TurnFacts]:
    """What `turnout import turns` reads from the file sink's line."""
    sink = FileSink(path, delay_s=0)
    replay(turn, sink)
    sink.close(1)
    for item in KINDS["turns"].read(path):
        assert isinstance(item, TurnFacts)
        yield item


def through_otlp(turn: TurnFacts, emitted: Any) -> tuple[TurnFacts, ...]:
    """What the receiver reads from the OTLP sink's requests."""
    replay(turn, emitted.sink)
    logs = decode_request(encode_logs(emitted.events).SerializeToString(), PROTOBUF, "logs")
    spans = decode_request(encode_spans(emitted.spans).SerializeToString(), PROTOBUF, "traces")
    assert not [*logs.rejected, *spans.rejected]
    return turns_from([*logs.records, *spans.records]).turns


def named(cases: list[OutcomeCase]) -> list[Any]:
    return [pytest.param(case, id=case.name) for case in cases]


@pytest.mark.parametrize("case", named(own_cases()))
def test_the_same_row_by_both_ways(case: OutcomeCase, tmp_path: Path, emitted: Any, losses: Losses) -> None:
    """Every kind of end arrives the same, with the same verdict, steps and calls."""
    (filed,) = through_file(case.turn, tmp_path / "turns.jsonl")
    (received,) = through_otlp(case.turn, emitted)
    assert rows(received) == rows(filed)
    assert losses.totals() == {}


@pytest.mark.skipif(not handed_cases(), reason="TURNOUT_TEST_DATA is not set")
@pytest.mark.parametrize("case", named(handed_cases()))
def test_the_same_row_by_both_ways_for_every_handed_case(
    case: OutcomeCase, tmp_path: Path, emitted: Any, losses: Losses
) -> None:
    """The handed cases arrive the same by both ways."""
    test_the_same_row_by_both_ways(case, tmp_path, emitted, losses)


@given(turn=turns)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_known_values_are_the_facts(turn: TurnFacts) -> None:
    """Facts, their plain values and their record are three forms of one thing."""
    bare = without_text(turn)
    known = known_turn(bare)
    assert known.facts == bare
    assert json.loads(json.dumps(known.record())) == json.loads(json.dumps(turn_record(bare)))
