"""What the environment says of a process's recorder."""

import json
import os
from pathlib import Path

import pytest
from opentelemetry.sdk.resources import Resource

from turnout.instrumentation.environment import Settings, identity, settings
from turnout.instrumentation.integrations.default import from_environment


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the machine's decides."""
    for name in [name for name in os.environ if name.startswith(("OTEL_", "TURNOUT_"))]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({}, Settings(file=None, hash_key=None, disabled=False)),
        ({"TURNOUT_FILE": "", "TURNOUT_HASH_KEY": ""}, Settings(file=None, hash_key=None, disabled=False)),
        (
            {"TURNOUT_FILE": "/t.jsonl", "TURNOUT_HASH_KEY": "key"},
            Settings(file="/t.jsonl", hash_key=b"key", disabled=False),
        ),
        ({"TURNOUT_DISABLED": " True "}, Settings(file=None, hash_key=None, disabled=True)),
        ({"OTEL_SDK_DISABLED": "true"}, Settings(file=None, hash_key=None, disabled=True)),
        ({"OTEL_SDK_DISABLED": "no"}, Settings(file=None, hash_key=None, disabled=False)),
    ],
)
def test_our_own_variables(environ: dict[str, str], said: Settings) -> None:
    """Empty is not set."""
    assert settings(environ) == said


@pytest.mark.parametrize(
    ("attributes", "named"),
    [
        ({"service.name": "shop", "deployment.environment.name": "prod"}, ("shop", "prod")),
        ({"service.name": "unknown_service:python", "deployment.environment": "dev"}, (None, "dev")),
        ({}, (None, None)),
    ],
)
def test_who_sends(attributes: dict[str, str], named: tuple[str | None, str | None]) -> None:
    """A name that the SDK made up is none."""
    assert identity(Resource(attributes)) == named


def test_a_file_by_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process's own recorder writes where it is told, and says who it is."""
    path = tmp_path / "turns.jsonl"
    monkeypatch.setenv("TURNOUT_FILE", str(path))
    monkeypatch.setenv("OTEL_SERVICE_NAME", "shop")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=prod")
    recorder = from_environment()
    with recorder.turn():
        pass
    assert recorder.close()
    turn = json.loads(path.read_text())
    assert (turn["service"], turn["environment"]) == ("shop", "prod")


def test_a_process_that_is_switched_off_records_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop runs on as it is."""
    path = tmp_path / "turns.jsonl"
    monkeypatch.setenv("TURNOUT_FILE", str(path))
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    recorder = from_environment()
    with recorder.turn() as turn, turn.step() as step:
        step.finish(finish_reason="stop")
    assert recorder.close()
    assert not path.exists()
