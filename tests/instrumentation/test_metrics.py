"""What is measured of turns and of model requests."""

import asyncio
from typing import Any

import pytest
from opentelemetry.sdk.metrics.export import AggregationTemporality, HistogramDataPoint
from opentelemetry.sdk.resources import Resource

from turnout.instrumentation import Limits, Recorder, Usage
from turnout.instrumentation.instruments import MAX_SERIES, Count, Distribution
from turnout.instrumentation.metrics import Metering


def test_a_turn_counts_once_and_each_request_by_itself(recorder: Recorder, emitted: Any) -> None:
    """Durations in seconds, tokens by type, and ends by outcome, cause, agent and model."""
    with (
        recorder.turn(agent="support", limits=Limits(steps=1)) as turn,
        turn.step(model="m", provider="openai") as step,
    ):
        step.finish(finish_reason="tool-calls", usage=Usage(input_tokens=100, output_tokens=20))
        step.tool_call("search").ok()
    metrics = emitted.metrics()
    assert sorted(metrics) == [
        "agent.turn.duration",
        "agent.turn.finishes",
        "agent.turn.steps",
        "gen_ai.client.operation.duration",
        "gen_ai.client.token.usage",
    ]
    (finish,) = metrics["agent.turn.finishes"]
    assert (finish.value, dict(finish.attributes)) == (
        1,
        {"agent.turn.outcome": "budget", "gen_ai.agent.name": "support", "gen_ai.request.model": "m"},
    )
    (duration,) = metrics["agent.turn.duration"]
    assert (duration.sum, duration.count) == (5.0, 1)
    (steps,) = metrics["agent.turn.steps"]
    assert (steps.sum, steps.count) == (1, 1)
    request = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "m"}
    assert {
        (dict(point.attributes)["gen_ai.token.type"], point.sum) for point in metrics["gen_ai.client.token.usage"]
    } == {
        ("input", 100),
        ("output", 20),
    }
    (operation,) = metrics["gen_ai.client.operation.duration"]
    assert (operation.sum, dict(operation.attributes)) == (1.0, request)


def test_a_failed_request_is_measured_with_its_error(recorder: Recorder, emitted: Any) -> None:
    """Slow failures are told apart from slow answers."""
    with pytest.raises(ConnectionError), recorder.turn() as turn, turn.step(model="m"):
        raise ConnectionError
    (operation,) = emitted.metrics()["gen_ai.client.operation.duration"]
    assert dict(operation.attributes)["error.type"] == "ConnectionError"


def test_a_cause_is_among_the_ways_to_end(recorder: Recorder, emitted: Any) -> None:
    """A stop by the host is told apart from one by the person."""
    with pytest.raises(asyncio.CancelledError), recorder.turn():
        raise asyncio.CancelledError
    (finish,) = emitted.metrics()["agent.turn.finishes"]
    assert dict(finish.attributes) == {"agent.turn.outcome": "stopped", "agent.turn.cause": "stopped_by_host"}


def test_buckets_hold_their_upper_bound() -> None:
    """A number on a bound belongs to the bucket below it, as OpenTelemetry has it."""
    distribution = Distribution("d", "s", "", (1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 2.0, 9.0):
        distribution.record(value, ())
    (point,) = distribution.metric(0, 1, AggregationTemporality.CUMULATIVE).data.data_points
    assert isinstance(point, HistogramDataPoint)
    assert (list(point.bucket_counts), point.count, point.sum, point.min, point.max) == ([2, 2, 1], 5, 14.0, 0.5, 9.0)


def test_more_series_than_can_be_kept_are_added_up_under_one() -> None:
    """A tool or model name that never repeats does not fill the memory."""
    distribution, count = Distribution("d", "s", "", ()), Count("c", "", "")
    for number in range(MAX_SERIES + 50):
        distribution.record(1, (("model", f"m{number}"),))
        count.add((("model", f"m{number}"),))
    for numbers in (distribution, count):
        points = numbers.metric(0, 1, AggregationTemporality.CUMULATIVE).data.data_points
        assert len(points) == MAX_SERIES + 1
        assert dict(points[-1].attributes or {}) == {"otel.metric.overflow": "true"}


@pytest.mark.parametrize(
    ("temporality", "counts"), [(AggregationTemporality.CUMULATIVE, [1, 2]), (AggregationTemporality.DELTA, [1, 1])]
)
def test_exporters_get_totals_or_differences_as_they_ask(
    temporality: AggregationTemporality, counts: list[int], kept_metrics: Any, losses: Any
) -> None:
    """The standard variable decides it for the exporter."""
    exporter = kept_metrics(temporality)
    metering = Metering(exporter, resource=Resource({"service.name": "shop"}), losses=losses)
    for _ in range(2):
        metering.instruments.step({"index": 1, "started_at": 0, "ended_at": 1})
        assert metering.flush(5)
    exported = [data.resource_metrics[0] for data in exporter.got]
    assert [dict(part.resource.attributes) for part in exported] == [{"service.name": "shop"}] * 2
    assert [part.scope_metrics[0].metrics[0].data.data_points[0].count for part in exported] == counts
    assert metering.close(5)
    assert metering.close(5)
    assert losses.totals() == {}


def test_nothing_new_is_not_exported(kept_metrics: Any, losses: Any) -> None:
    """An idle process sends nothing."""
    exporter = kept_metrics()
    metering = Metering(exporter, resource=Resource({}), losses=losses)
    assert metering.flush(5)
    assert metering.close(5)
    assert exporter.got == []
