"""Is a body what it says it is, and how much of it can be used? Answered before it is acknowledged.

A protobuf body is parsed and its ids are looked at, which costs a fiftieth of decoding it; a JSON body likewise.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from turnout.pipeline.receive.bodies import Encoding, Signal
from turnout.pipeline.receive.refusals import Refused, Why

UNNAMED = "(no service.name)"
"""Stands for the service of a resource that names none."""

_SERVICE = "service.name"
_TRACE_ID_BYTES = 16
_SPAN_ID_BYTES = 8
_BAD_IDS = "span without a valid trace id and span id"

Json: TypeAlias = Mapping[str, object]


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
            rejected += sum(1 for span in spans if not _whole_ids(span.trace_id, span.span_id))
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


def _whole_ids(trace_id: bytes, span_id: bytes) -> bool:
    return len(trace_id) == _TRACE_ID_BYTES and len(span_id) == _SPAN_ID_BYTES and any(trace_id) and any(span_id)


def _service(resource: Resource) -> str:
    for attribute in resource.attributes:
        if attribute.key == _SERVICE:
            return attribute.value.string_value or UNNAMED
    return UNNAMED


def _checked(services: Counter[str], rejected: int) -> Checked:
    return Checked(services.total(), rejected, _BAD_IDS if rejected else "", dict(services))


_BLOCKS = {Signal.TRACES: "resourceSpans", Signal.LOGS: "resourceLogs", Signal.METRICS: "resourceMetrics"}
_SCOPES = {Signal.TRACES: "scopeSpans", Signal.LOGS: "scopeLogs", Signal.METRICS: "scopeMetrics"}
_RECORDS = {Signal.TRACES: "spans", Signal.LOGS: "logRecords", Signal.METRICS: "metrics"}


def _check_json(signal: Signal, payload: bytes) -> Checked:
    try:
        document: object = msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _malformed(str(error), "OTLP/JSON") from None
    if not isinstance(document, dict):
        raise _malformed(f"a JSON {type(document).__name__}", f"an object with {_BLOCKS[signal]}")
    services: Counter[str] = Counter()
    rejected = 0
    for block in _objects(document, _BLOCKS[signal], signal):
        records = [
            record
            for scoped in _objects(block, _SCOPES[signal], signal)
            for record in _objects(scoped, _RECORDS[signal], signal)
        ]
        services[_json_service(block)] += len(records)
        if signal is Signal.TRACES:
            rejected += sum(1 for record in records if not _json_ids(record))
    return _checked(services, rejected)


def _objects(parent: Json, key: str, signal: Signal) -> Iterator[Json]:
    """The objects of a list; a missing or null list is empty, as in protobuf."""
    values = parent.get(key)
    if not isinstance(values, list | None):
        raise _malformed(f"{key} that is a JSON {type(values).__name__}", f"a list of {signal} in OTLP/JSON")
    for value in values or ():
        if not isinstance(value, dict):
            raise _malformed(f"a JSON {type(value).__name__} in {key}", "objects")
        yield value


def _json_ids(span: Json) -> bool:
    return _is_hex(span.get("traceId"), _TRACE_ID_BYTES) and _is_hex(span.get("spanId"), _SPAN_ID_BYTES)


def _is_hex(value: object, size: int) -> bool:
    if not isinstance(value, str) or len(value) != 2 * size:
        return False
    try:
        return any(bytes.fromhex(value))
    except ValueError:
        return False


def _json_service(block: Json) -> str:
    resource = block.get("resource")
    attributes = resource.get("attributes") if isinstance(resource, dict) else None
    for attribute in _dicts(attributes):
        if attribute.get("key") == _SERVICE:
            value = attribute.get("value")
            text = value.get("stringValue") if isinstance(value, dict) else None
            return text if isinstance(text, str) and text else UNNAMED
    return UNNAMED


def _dicts(values: object) -> Iterable[Json]:
    return (value for value in values if isinstance(value, dict)) if isinstance(values, list) else ()


def _malformed(got: str, expected: str) -> Refused:
    return Refused(
        Why.MALFORMED, f"cannot read the body: got {got}, expected {expected}; check the exporter's protocol"
    )
