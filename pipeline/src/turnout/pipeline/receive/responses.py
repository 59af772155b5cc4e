"""What a sender is answered over HTTP: the response messages of OTLP and `google.rpc.Status`, in the encoding that it spoke."""

import json
from dataclasses import dataclass

from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]  # it publishes no types
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsPartialSuccess, ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsPartialSuccess,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from turnout.pipeline.receive.bodies import Encoding, Signal
from turnout.pipeline.receive.checking import Checked
from turnout.pipeline.receive.refusals import Refused, Why

Headers = list[tuple[bytes, bytes]]

STATUS = {
    Why.MALFORMED: (400, 3),
    Why.UNAUTHENTICATED: (401, 16),
    Why.FORBIDDEN: (403, 7),
    Why.TOO_LARGE: (413, 8),
    Why.UNSUPPORTED: (415, 12),
    Why.TOO_SLOW: (408, 4),
    Why.BUSY: (429, 8),
    Why.UNAVAILABLE: (503, 14),
    Why.FAULT: (500, 13),
}
"""HTTP status and gRPC code of each refusal."""

_REJECTED_KEY = {
    Signal.TRACES: "rejectedSpans",
    Signal.LOGS: "rejectedLogRecords",
    Signal.METRICS: "rejectedDataPoints",
}


@dataclass(frozen=True, slots=True)
class Response:
    """Status, headers and body."""

    status: int
    headers: Headers
    body: bytes


def accepted(signal: Signal, encoding: Encoding, checked: Checked) -> Response:
    """Answer a request that was taken, whole or in part."""
    body = _json_success(signal, checked) if encoding is Encoding.JSON else success_message(signal, checked)
    return Response(200, [(b"content-type", encoding.value.encode())], body)


def success_message(signal: Signal, checked: Checked) -> bytes:
    """Write the protobuf response of a signal."""
    if not checked.rejected:
        return b""
    match signal:
        case Signal.TRACES:
            spans = ExportTracePartialSuccess(rejected_spans=checked.rejected, error_message=checked.reason)
            return ExportTraceServiceResponse(partial_success=spans).SerializeToString()
        case Signal.LOGS:
            logs = ExportLogsPartialSuccess(rejected_log_records=checked.rejected, error_message=checked.reason)
            return ExportLogsServiceResponse(partial_success=logs).SerializeToString()
        case Signal.METRICS:
            points = ExportMetricsPartialSuccess(rejected_data_points=checked.rejected, error_message=checked.reason)
            return ExportMetricsServiceResponse(partial_success=points).SerializeToString()


def refused(refusal: Refused, encoding: Encoding) -> Response:
    """Answer a request that was not taken with a `google.rpc.Status`."""
    status, code = STATUS[refusal.why]
    headers: Headers = [(b"content-type", encoding.value.encode())]
    if refusal.retry_after is not None:
        headers.append((b"retry-after", str(refusal.retry_after).encode()))
    if refusal.why is Why.UNAUTHENTICATED:
        headers.append((b"www-authenticate", b"Bearer"))
    if encoding is Encoding.JSON:
        return Response(status, headers, json.dumps({"code": code, "message": refusal.message}).encode())
    return Response(status, headers, Status(code=code, message=refusal.message).SerializeToString())


def text(status: int, words: str, *more: tuple[bytes, bytes]) -> Response:
    """Answer with plain text."""
    return Response(status, [(b"content-type", b"text/plain; charset=utf-8"), *more], f"{words}\n".encode())


def document(status: int, value: object) -> Response:
    """Answer with JSON."""
    return Response(status, [(b"content-type", b"application/json")], json.dumps(value).encode())


def _json_success(signal: Signal, checked: Checked) -> bytes:
    if not checked.rejected:
        return b"{}"
    partial = {_REJECTED_KEY[signal]: str(checked.rejected), "errorMessage": checked.reason}
    return json.dumps({"partialSuccess": partial}).encode()
