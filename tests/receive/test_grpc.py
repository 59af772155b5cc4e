"""OTLP over gRPC, spoken to a real server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo  # type: ignore[import-untyped]  # it publishes no types
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]  # it publishes no types
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from receiving import NOW, export
from turnout.pipeline.receive.access import Access, Token
from turnout.pipeline.receive.bodies import Body, Encoding, Signal
from turnout.pipeline.receive.commit import GroupCommit
from turnout.pipeline.receive.counters import Counters
from turnout.pipeline.receive.grpc import SERVICES, GrpcListener
from turnout.pipeline.receive.intake import Intake
from turnout.pipeline.receive.journal import Journal
from turnout.pipeline.receive.listener import ListenError
from turnout.pipeline.receive.memory import Memory
from turnout.pipeline.receive.reader import Reader

TOKENS = Access((Token("shop team", b"one", frozenset({"shop"})),))


class Door:
    """A running gRPC door."""

    def __init__(self, folder: Path, access: Access = Access()) -> None:  # noqa: B008 - a frozen value
        self.journal = Journal(folder)
        self.commit = GroupCommit(self.journal)
        self.queued = 0
        counters = Counters(clock=lambda: NOW)
        intake = Intake(self.commit, counters, Memory(), access, lambda: NOW, lambda: self.queued, 100)
        self.listener = GrpcListener(intake, "127.0.0.1", 0)
        self.listener.start()

    def call(
        self,
        payload: bytes,
        signal: Signal = Signal.TRACES,
        compression: grpc.Compression | None = None,
        token: str = "",
    ) -> bytes:
        metadata = (("authorization", f"Bearer {token}"),) if token else ()
        with grpc.insecure_channel(f"127.0.0.1:{self.listener.port}") as channel:
            method: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(f"/{SERVICES[signal]}/Export")
            return method(payload, compression=compression, metadata=metadata, timeout=30)

    def close(self) -> None:
        self.listener.stop()
        self.commit.close()
        self.journal.close()


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    """An open door."""
    opened = Door(tmp_path / "journal")
    yield opened
    opened.close()


def kept(door: Door) -> list[Body]:
    return [stored.body for stored in Reader(door.journal, 0).next(1 << 20)]


@pytest.mark.parametrize("compression", [None, grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_what_is_taken_is_in_the_journal_when_it_is_acknowledged(
    door: Door, compression: grpc.Compression | None
) -> None:
    """An empty response message, and the body on disk, however it was compressed."""
    payload = export(3).SerializeToString()
    assert door.call(payload, compression=compression) == b""
    assert kept(door) == [Body(Signal.TRACES, Encoding.PROTOBUF, NOW, payload)]


def test_logs_and_metrics_have_their_own_services(door: Door) -> None:
    """Logs are kept; metrics are accepted and not stored."""
    request = ExportLogsServiceRequest()
    request.resource_logs.add().scope_logs.add().log_records.add(event_name="agent.turn.start")
    assert door.call(request.SerializeToString(), Signal.LOGS) == b""
    assert door.call(b"", Signal.METRICS) == b""
    assert kept(door) == [Body(Signal.LOGS, Encoding.PROTOBUF, NOW, request.SerializeToString())]


def test_bad_spans_are_rejected_and_the_rest_is_taken(door: Door) -> None:
    """partial_success has their number."""
    request = export(3)
    request.resource_spans[0].scope_spans[0].spans[1].span_id = b""
    answer = ExportTraceServiceResponse.FromString(door.call(request.SerializeToString()))
    assert (answer.partial_success.rejected_spans, door.journal.last) == (1, 1)


def refusal(door: Door, payload: bytes, token: str = "") -> tuple[grpc.StatusCode, Status]:
    with pytest.raises(grpc.RpcError) as caught:
        door.call(payload, token=token)
    failed = caught.value
    assert isinstance(failed, grpc.Call)
    trailing: list[Any] = list(failed.trailing_metadata() or ())
    details = [value for key, value in trailing if key == "grpc-status-details-bin"]
    return failed.code(), Status.FromString(details[0]) if details else Status()


def test_a_damaged_body_is_an_invalid_argument(door: Door) -> None:
    """A sender must not send it again: no RetryInfo."""
    code, status = refusal(door, b"\xff" * 30)
    assert (code, list(status.details)) == (grpc.StatusCode.INVALID_ARGUMENT, [])
    assert "expected protobuf ExportTraceServiceRequest" in status.message


def test_a_full_queue_is_resource_exhausted_with_a_time_to_retry(door: Door) -> None:
    """RetryInfo is what makes it one that a sender repeats."""
    door.queued = 101
    code, status = refusal(door, export().SerializeToString())
    retry = RetryInfo()
    status.details[0].Unpack(retry)
    assert (code, retry.retry_delay.seconds) == (grpc.StatusCode.RESOURCE_EXHAUSTED, 5)


def test_a_large_body_is_resource_exhausted(door: Door) -> None:
    """Past 16 MiB nothing reaches the intake."""
    code, status = refusal(door, bytes(17 * 1024 * 1024))
    assert (code, list(status.details), door.journal.last) == (grpc.StatusCode.RESOURCE_EXHAUSTED, [], 0)


@pytest.mark.parametrize(
    ("token", "service", "code"),
    [
        ("", "shop", grpc.StatusCode.UNAUTHENTICATED),
        ("wrong", "shop", grpc.StatusCode.UNAUTHENTICATED),
        ("one", "bank", grpc.StatusCode.PERMISSION_DENIED),
    ],
)
def test_tokens_say_who_may_write_what(tmp_path: Path, token: str, service: str, code: grpc.StatusCode) -> None:
    """The same tokens as over HTTP, in the call's metadata."""
    door = Door(tmp_path / "journal", TOKENS)
    assert refusal(door, export(service=service).SerializeToString(), token)[0] == code
    assert door.call(export().SerializeToString(), token="one") == b""
    door.close()


def test_a_port_in_use_is_one_sentence(door: Door) -> None:
    """A second server on the port is refused; ports are not shared in silence."""
    with pytest.raises(ListenError, match="for gRPC: got Address already in use"):
        GrpcListener(
            Intake(door.commit, Counters(clock=lambda: NOW), Memory(), Access(), lambda: NOW, lambda: 0),
            "127.0.0.1",
            door.listener.port,
        )
