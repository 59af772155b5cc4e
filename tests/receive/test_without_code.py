"""The way that takes no code: OpenTelemetry's own command around somebody's agent, and the receiver."""

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from serving import ServeFixture, facts
from turnout.outcomes.classify import classify
from turnout.outcomes.facts import TurnFacts

PROGRAM = """
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

agent = Agent(TestModel(), name="weatherbot")
agent.tool_plain(lambda: "rain", name="weather")
print(agent.run_sync("How is it?").output)
"""


def registered(group: str) -> bool:
    """Whether the package is installed with this entry point."""
    return bool(entry_points(group=group, name="turnout"))


def test_the_command_of_opentelemetry_fills_the_lake(serve: ServeFixture, tmp_path: Path) -> None:
    """``opentelemetry-instrument python agent.py`` and an address are all that a person types."""
    pytest.importorskip("pydantic_ai")
    command = Path(sys.executable).with_name("opentelemetry-instrument")
    if not command.exists():
        pytest.skip("opentelemetry-distro is not installed")
    if not registered("opentelemetry_instrumentor"):
        pytest.skip("turnout is not installed with its entry point")
    program = tmp_path / "agent.py"
    program.write_text(PROGRAM)
    service = serve()
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "TURNOUT_"))}
    environ |= {"OTEL_EXPORTER_OTLP_ENDPOINT": service.endpoint, "OTEL_SERVICE_NAME": "shop"}
    if not registered("opentelemetry_environment_variables"):
        environ["OTEL_EXPORTER_OTLP_PROTOCOL"] = "http/protobuf"
    subprocess.run([str(command), sys.executable, str(program)], check=True, timeout=120, env=environ)
    assert service.drain()
    service.stop()
    turns = facts(tmp_path / "lake")
    (turn,) = [turn for turn in turns.values() if isinstance(turn, TurnFacts)]
    assert (turn.service, turn.agent, turn.source) == ("shop", "weatherbot", "pydantic-ai")
    assert [[call.name for call in step.tool_calls] for step in turn.steps] == [["weather"], []]
    assert classify(turn).outcome == "completed"
