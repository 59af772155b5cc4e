"""Is a body what it says it is, and how much of it can be used? Answered before it is acknowledged.

A protobuf body is only parsed and its ids are looked at, a small part of what reading it into records costs; JSON is read whole. What is
rejected here is what `turnout.pipeline.otlp` rejects.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from turnout.pipeline.json_text import parse_json
from turnout.pipeline.otlp import decode_request
from turnout.pipeline.receive.bodies import Encoding, Signal
from turnout.pipeline.receive.refusals import Refused, Why

UNNAMED = "(no service.name)"
"""Stands for the service of a resource that names none."""

_SERVICE = "service.name"
_NO_ID = "spans: a span has no span_id"


@dataclass(frozen=True, slots=True)
class Checked:
    """How many records a request has, how many of them cannot be used and why, and how many came from each service."""

    records: int = 0
    rejected: int = 0
    reason: str = ""
    services: Mapping[str, int] = field(default_factory=dict[str, int])


def check(signal: Signal, encoding: Encoding, payload: bytes) -> Checked:
    """Look through one inflated body, or refuse it whole."""
    match encoding:
        case Encoding.PROTOBUF:
            return _CHECKS[signal](payload)
        case Encoding.JSON:
            return _check_json(signal, payload)


def _check_traces(payload: bytes) -> Checked:
    request = ExportTraceServiceRequest()
    _parse(request, payload)
    services: Counter[str] = Counter()
    rejected = 0
    for block in request.resource_spans:
        count = 0
        for scoped in block.scope_spans:
            spans = scoped.spans
            count += len(spans)
            rejected += sum(1 for span in spans if not any(span.span_id))
        services[_service(block.resource)] += count
    return _checked(services, rejected)


def _check_logs(payload: bytes) -> Checked:
    request = ExportLogsServiceRequest()
    _parse(request, payload)
    services: Counter[str] = Counter()
    for block in request.resource_logs:
        services[_service(block.resource)] += sum(len(scoped.log_records) for scoped in block.scope_logs)
    return _checked(services, 0)


def _check_metrics(payload: bytes) -> Checked:
    request = ExportMetricsServiceRequest()
    _parse(request, payload)
    services: Counter[str] = Counter()
    for block in request.resource_metrics:
        services[_service(block.resource)] += sum(len(scoped.metrics) for scoped in block.scope_metrics)
    return _checked(services, 0)


_CHECKS = {Signal.TRACES: _check_traces, Signal.LOGS: _check_logs, Signal.METRICS: _check_metrics}


def _parse(request: Message, payload: bytes) -> None:
    try:
        request.ParseFromString(payload)
    except DecodeError as error:
        raise _malformed(str(error) or "bytes that do not parse", f"protobuf {request.DESCRIPTOR.name}") from None


def _service(resource: Resource) -> str:
    for attribute in resource.attributes:
        if attribute.key == _SERVICE:
            return attribute.value.string_value or UNNAMED
    return UNNAMED


def _checked(services: Counter[str], rejected: int) -> Checked:
    return Checked(services.total(), rejected, _NO_ID if rejected else "", dict(services))


_BLOCKS = {Signal.TRACES: "resourceSpans", Signal.LOGS: "resourceLogs", Signal.METRICS: "resourceMetrics"}


def _check_json(signal: Signal, payload: bytes) -> Checked:
    try:
        document: object = parse_json(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _malformed(str(error), "OTLP/JSON") from None
    if not isinstance(document, dict):
        raise _malformed(f"a JSON {type(document).__name__}", f"an object with {_BLOCKS[signal]}")
    blocks: object = document.get(_BLOCKS[signal])
    if not isinstance(blocks, list | None):
        raise _malformed(f"{_BLOCKS[signal]} that is a JSON {type(blocks).__name__}", "a list")
    decoded = decode_request(payload, Encoding.JSON, signal.value)
    services = Counter(_named(record.resource.attributes.get(_SERVICE)) for record in decoded.records)
    rejected = len(decoded.rejected)
    total = len(decoded.records) + rejected + decoded.metrics
    return Checked(total, rejected, decoded.rejected[0].what if rejected else "", dict(services))


def _named(service: object) -> str:
    return service if isinstance(service, str) and service else UNNAMED


def _malformed(got: str, expected: str) -> Refused:
    return Refused(
        Why.MALFORMED, f"cannot read the body: got {got}, expected {expected}; check the exporter's protocol"
    )
