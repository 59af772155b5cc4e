"""The OTLP sink over a real connection, and without one."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from turnout.instrumentation import Losses, otlp_sink


class Receiver(ThreadingHTTPServer):
    """Keeps every export that it is sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.got: list[tuple[str, bytes, dict[str, str]]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def bodies(self, path: str) -> list[bytes]:
        return [body for at, body, _ in self.got if at == path]


class Handler(BaseHTTPRequestHandler):
    """Takes any POST."""

    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, Receiver)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server.got.append((self.path, body, dict(self.headers)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's word
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver on a port of its own."""
    server = Receiver()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the machine's decides."""
    for name in [name for name in os.environ if name.startswith(("OTEL_", "TURNOUT_"))]:
        monkeypatch.delenv(name)


def one_turn(recorder: Any) -> None:
    with recorder.turn(agent="support") as turn, turn.step(model="m") as step:
        step.finish(finish_reason="stop", output="done")


def test_all_three_signals_arrive(
    receiver: Receiver, make_recorder: Any, losses: Losses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spans, events and metrics go to their paths, with the headers and the resource that are given."""
    monkeypatch.setenv("OTEL_SERVICE_NAME", "shop")
    sink = otlp_sink(receiver.url + "/", headers={"x-key": "1"}, losses=losses)
    recorder = make_recorder(sink)
    one_turn(recorder)
    assert recorder.close(5)
    traces = ExportTraceServiceRequest.FromString(receiver.bodies("/v1/traces")[0])
    logs = ExportLogsServiceRequest.FromString(receiver.bodies("/v1/logs")[0])
    metrics = ExportMetricsServiceRequest.FromString(receiver.bodies("/v1/metrics")[0])
    spans = [span.name for part in traces.resource_spans for scope in part.scope_spans for span in scope.spans]
    events = [log.event_name for part in logs.resource_logs for scope in part.scope_logs for log in scope.log_records]
    named = {one.name for part in metrics.resource_metrics for scope in part.scope_metrics for one in scope.metrics}
    assert spans == ["chat m", "invoke_agent support"]
    assert events == ["agent.turn.start", "agent.turn.end"]
    assert {"agent.turn.duration", "agent.turn.steps", "agent.turn.finishes"} <= named
    assert {headers["x-key"] for _, _, headers in receiver.got} == {"1"}
    resource = {pair.key: pair.value.string_value for pair in logs.resource_logs[0].resource.attributes}
    assert resource["service.name"] == "shop"
    assert losses.totals() == {}


def test_the_standard_variables_say_where(
    receiver: Receiver, make_recorder: Any, monkeypatch: pytest.MonkeyPatch, losses: Losses
) -> None:
    """Endpoint and headers come from the environment where none are given."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=2")
    recorder = make_recorder(otlp_sink(losses=losses))
    one_turn(recorder)
    assert recorder.close(5)
    assert {path for path, _, _ in receiver.got} == {"/v1/traces", "/v1/logs", "/v1/metrics"}
    assert {headers["x-key"] for _, _, headers in receiver.got} == {"2"}


def test_a_signal_can_be_left_out(receiver: Receiver, make_recorder: Any, losses: Losses) -> None:
    """``none`` leaves a signal out, as for every OpenTelemetry SDK."""
    environ = {"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}
    recorder = make_recorder(otlp_sink(receiver.url, environ=environ, losses=losses))
    one_turn(recorder)
    assert recorder.close(5)
    assert {path for path, _, _ in receiver.got} == {"/v1/logs"}


def test_an_exporter_is_found_by_its_name() -> None:
    """Whatever exporter is installed under the name that a variable gives is used."""
    code = (
        "from turnout.instrumentation import Recorder, otlp_sink\n"
        "recorder = Recorder(otlp_sink())\n"
        "with recorder.turn(agent='support'):\n"
        "    pass\n"
    )
    variables = {"OTEL_TRACES_EXPORTER": "console", "OTEL_LOGS_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}
    ended = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        timeout=60,
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
    )
    assert json.loads(ended.stdout)["name"] == "invoke_agent support"


def test_an_unknown_exporter_is_said_and_replaced(
    receiver: Receiver, make_recorder: Any, losses: Losses, caplog: pytest.LogCaptureFixture
) -> None:
    """A slip in a variable loses nothing."""
    environ = {"OTEL_TRACES_EXPORTER": "jaeger-99", "OTEL_METRICS_EXPORTER": "none", "OTEL_BSP_SCHEDULE_DELAY": "soon"}
    recorder = make_recorder(otlp_sink(receiver.url, environ=environ, losses=losses))
    one_turn(recorder)
    assert recorder.close(5)
    assert {path for path, _, _ in receiver.got} == {"/v1/traces", "/v1/logs"}
    assert "OTEL_TRACES_EXPORTER: no exporter 'jaeger-99' is installed" in caplog.text
    assert "OTEL_BSP_SCHEDULE_DELAY: got 'soon', expected a positive number" in caplog.text


def test_the_host_does_not_wait_for_a_receiver_that_is_not_there(
    make_recorder: Any, losses: Losses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Turns go on as if nothing were sent, and what is lost is counted."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.2")
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    recorder = make_recorder(otlp_sink("http://127.0.0.1:9", losses=losses))
    caller = threading.get_ident()
    exporting: list[int] = []

    def post(*_: object, **__: object) -> None:
        exporting.append(threading.get_ident())
        raise ConnectionError

    monkeypatch.setattr("requests.Session.post", post)
    for _ in range(3):
        one_turn(recorder)
    recorder.close(5)
    assert exporting
    assert caller not in exporting
    assert sum(losses.totals().values()) == 3 * 2 + 3 * 2


def test_a_process_ends_although_its_receiver_hangs() -> None:
    """What is queued at the end gets a moment, not a minute."""
    code = (
        "import socket, sys\n"
        "from turnout.instrumentation import Recorder, otlp_sink\n"
        "deaf = socket.create_server(('127.0.0.1', 0))\n"
        "recorder = Recorder(otlp_sink(f'http://127.0.0.1:{deaf.getsockname()[1]}'))\n"
        "with recorder.turn():\n"
        "    pass\n"
        "sys.exit(3)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=False, timeout=60, capture_output=True, text=True)
    assert ended.returncode == 3
    assert "Traceback" not in ended.stderr


def test_a_process_that_ends_sends_what_is_queued(receiver: Receiver) -> None:
    """A command line that ends at once still has its turn recorded."""
    code = (
        "import sys\n"
        "from turnout.instrumentation import Recorder, otlp_sink\n"
        "recorder = Recorder(otlp_sink(sys.argv[1]))\n"
        "with recorder.turn():\n"
        "    pass\n"
    )
    subprocess.run([sys.executable, "-c", code, receiver.url], check=True, timeout=60)
    assert {path for path, _, _ in receiver.got} == {"/v1/traces", "/v1/logs", "/v1/metrics"}
