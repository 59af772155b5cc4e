"""The application's structlog logger beside the sinks."""

from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from structlog.testing import LogCapture

from turnout.instrumentation import Limits, StructlogSink


@pytest.fixture
def capture() -> Iterator[LogCapture]:
    """An application that has configured structlog."""
    capture = LogCapture()
    structlog.configure(processors=[capture])
    yield capture
    structlog.reset_defaults()


def abnormal(recorder: Any) -> None:
    with recorder.turn(limits=Limits(steps=1)) as turn, turn.step() as step:
        step.finish(finish_reason="tool-calls")
        step.tool_call("search").ok()


def test_the_two_end_events_are_logged_with_the_same_attributes(
    make_recorder: Any, logged: StructlogSink, event_log: Any, emitted: Any
) -> None:
    """A team without OpenTelemetry reads what the OTLP events say."""
    abnormal(make_recorder(emitted.sink, logged))
    attributes = dict(emitted.event("agent.turn.end").log_record.attributes)
    assert event_log.lines == [
        ("info", "agent.turn.end", attributes),
        ("error", "agent.turn.abnormal_finish", attributes),
    ]


def test_a_normal_end_is_one_line(make_recorder: Any, logged: StructlogSink, event_log: Any) -> None:
    """Only an abnormal finish is an error."""
    with make_recorder(logged).turn() as turn, turn.step() as step:
        step.finish(finish_reason="stop", output="done")
    assert [(level, event) for level, event, _ in event_log.lines] == [("info", "agent.turn.end")]


def test_the_applications_own_logger_is_used(capture: LogCapture, make_recorder: Any) -> None:
    """Nothing has to be handed over where structlog is configured."""
    abnormal(make_recorder(StructlogSink()))
    assert [(entry["event"], entry["log_level"]) for entry in capture.entries] == [
        ("agent.turn.end", "info"),
        ("agent.turn.abnormal_finish", "error"),
    ]


def test_an_application_without_structlog_sees_nothing(make_recorder: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A command line's output stays its own."""
    abnormal(make_recorder(StructlogSink()))
    assert capsys.readouterr() == ("", "")


def test_what_comes_late_is_not_logged_again(make_recorder: Any, logged: StructlogSink, event_log: Any) -> None:
    """One turn is one end in a log that nobody merges."""
    with make_recorder(logged).turn() as turn:
        pass
    turn.claim("host", "end_turn")
    assert len(event_log.lines) == 1
