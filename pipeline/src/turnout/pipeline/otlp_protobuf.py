"""OTLP protobuf messages -> records."""

from collections.abc import Iterable, Iterator
from sys import intern

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord as LogMessage
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from turnout.pipeline.otlp_records import Rejected, log_record, span_status
from turnout.pipeline.telemetry import LogRecord, Record, Resource, Scope, Span, SpanEvent, Value

_REMOTE_FLAGS = 0x300
"""Both bits: the emitter knows whether the parent is remote, and it is."""

DAMAGED = DecodeError
"""What a body raises that is no message of its kind."""


def trace_records(body: bytes) -> Iterator[Record | Rejected]:
    """Every span of one trace export."""
    for block in ExportTraceServiceRequest.FromString(body).resource_spans:
        resource = Resource(_attributes(block.resource.attributes))
        for group in block.scope_spans:
            scope = _scope(group.scope)
            for item in group.spans:
                yield _span(item, scope, resource) if item.span_id else Rejected("spans: a span has no span_id")


def log_records(body: bytes) -> Iterator[Record | Rejected]:
    """Every log record of one logs export."""
    for block in ExportLogsServiceRequest.FromString(body).resource_logs:
        resource = Resource(_attributes(block.resource.attributes))
        for group in block.scope_logs:
            scope = _scope(group.scope)
            for item in group.log_records:
                yield _log(item, scope, resource)


def metric_count(body: bytes) -> int:
    """How many metrics one metrics export holds."""
    message = ExportMetricsServiceRequest.FromString(body)
    return sum(len(group.metrics) for block in message.resource_metrics for group in block.scope_metrics)


def _span(item: SpanMessage, scope: Scope, resource: Resource) -> Span:
    return Span(
        trace_id=_id(item.trace_id),
        span_id=_id(item.span_id),
        parent_id=_id(item.parent_span_id),
        name=item.name,
        kind=item.kind,
        start=item.start_time_unix_nano or None,
        end=item.end_time_unix_nano or None,
        status=span_status(item.status.code),
        status_message=item.status.message,
        attributes=_attributes(item.attributes),
        events=tuple(
            SpanEvent(event.name, event.time_unix_nano or None, _attributes(event.attributes)) for event in item.events
        ),
        scope=scope,
        resource=resource,
        remote_parent=item.flags & _REMOTE_FLAGS == _REMOTE_FLAGS,
    )


def _log(item: LogMessage, scope: Scope, resource: Resource) -> LogRecord:
    return log_record(
        trace_id=_id(item.trace_id),
        span_id=_id(item.span_id),
        event_name=item.event_name,
        time=item.time_unix_nano or None,
        observed=item.observed_time_unix_nano or None,
        body=_value(item.body),
        attributes=_attributes(item.attributes),
        severity=item.severity_number,
        scope=scope,
        resource=resource,
    )


def _scope(item: InstrumentationScope) -> Scope:
    return Scope(item.name, item.version)


def _id(value: bytes) -> str:
    return value.hex() if any(value) else ""


def _attributes(items: Iterable[KeyValue]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for item in items:
        value = item.value
        # Most values are text, and looking at the text costs less than asking which kind it is.
        # One object a name, however many records carry it: names are most of what a record holds in memory.
        found[intern(item.key)] = value.string_value or _value(value)
    return found


def _value(value: AnyValue) -> Value:
    return _typed(value, value.WhichOneof("value"))


def _typed(value: AnyValue, kind: str | None) -> Value:
    match kind:
        case "string_value":
            return value.string_value
        case "int_value":
            return value.int_value
        case "bool_value":
            return value.bool_value
        case "double_value":
            return value.double_value
        case "array_value":
            return tuple(_value(item) for item in value.array_value.values)
        case "kvlist_value":
            return _attributes(value.kvlist_value.values)
        case "bytes_value":
            return value.bytes_value
        case _:
            return None
