"""What is measured of turns and of model requests."""

import asyncio
from typing import Any

import pytest

from turnout.instrumentation import Limits, Recorder, Usage


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
