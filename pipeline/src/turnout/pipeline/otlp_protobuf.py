"""OTLP protobuf messages -> records."""

from collections.abc import Iterable, Iterator
from sys import intern

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope as ScopeMessage
from opentelemetry.proto.resource.v1.resource_pb2 import Resource as ResourceMessage
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from turnout.pipeline import otlp_wire
from turnout.pipeline.otlp_records import Rejected, log_record, span_status
from turnout.pipeline.telemetry import LogRecord, Record, Resource, Scope, Span, SpanEvent, SpanStatus, Value

_REMOTE_FLAGS = 0x300
"""Both bits: the emitter knows whether the parent is remote, and it is."""

DAMAGED = DecodeError
"""What a body raises that is no message of its kind."""

_MOST_PAIRS, _LONGEST_PAIR = 10_000, 200
_MOST_SENDERS = 1000
_UNSET: tuple[SpanStatus, str] = SpanStatus.UNSET, ""


def trace_records(body: bytes) -> Iterator[Record | Rejected]:
    """Every span of one trace export."""
    ids = _Ids()
    for block in otlp_wire.traces(body):
        resource = _RESOURCES[block.resource]
        for group in block.groups:
            scope = _SCOPES[group.scope]
            for item in group.spans:
                yield (
                    _span(item, ids, scope, resource) if ids[item.span_id] else Rejected("spans: a span has no span_id")
                )


def log_records(body: bytes) -> Iterator[Record | Rejected]:
    """Every log record of one logs export."""
    ids = _Ids()
    for block in otlp_wire.logs(body):
        resource = _RESOURCES[block.resource]
        for group in block.groups:
            scope = _SCOPES[group.scope]
            for item in group.logs:
                yield _log(item, ids, scope, resource)


def metric_count(body: bytes) -> int:
    """How many metrics one metrics export holds."""
    message = ExportMetricsServiceRequest.FromString(body)
    return sum(len(group.metrics) for block in message.resource_metrics for group in block.scope_metrics)


class _Ids(dict[bytes, str]):
    """Ids of one export as text, each made once: most stand in several records."""

    def __missing__(self, value: bytes) -> str:
        text = self[value] = value.hex() if value.strip(b"\0") else ""
        return text


def _span(item: otlp_wire.WireSpan, ids: _Ids, scope: Scope, resource: Resource) -> Span:
    told = item.status
    status, message = _status(told) if told else _UNSET
    return Span(
        ids[item.trace_id],
        ids[item.span_id],
        ids[item.parent_span_id],
        item.name,
        item.kind,
        item.start or None,
        item.end or None,
        status,
        message,
        _attributes(item.attributes),
        _events(item.events) if item.events else (),
        scope,
        resource,
        item.flags & _REMOTE_FLAGS == _REMOTE_FLAGS,
    )


def _events(items: Iterable[otlp_wire.WireEvent]) -> tuple[SpanEvent, ...]:
    return tuple(SpanEvent(event.name, event.time or None, _attributes(event.attributes)) for event in items)


def _log(item: otlp_wire.WireLog, ids: _Ids, scope: Scope, resource: Resource) -> LogRecord:
    return log_record(
        trace_id=ids[item.trace_id],
        span_id=ids[item.span_id],
        event_name=item.event_name,
        time=item.time or None,
        observed=item.observed or None,
        body=_value(AnyValue.FromString(item.body)),
        attributes=_attributes(item.attributes),
        severity=item.severity,
        scope=scope,
        resource=resource,
    )


def _status(told: bytes) -> tuple[SpanStatus, str]:
    status = Status.FromString(told)
    return span_status(status.code), status.message


# --- what repeats from export to export


class _Scopes(dict[bytes, Scope]):
    """Scopes by their bytes."""

    def __missing__(self, told: bytes) -> Scope:
        message = ScopeMessage.FromString(told)
        if len(self) >= _MOST_SENDERS:
            self.clear()
        scope = self[told] = Scope(intern(message.name), message.version)
        return scope


class _Resources(dict[bytes, Resource]):
    """Resources by their bytes."""

    def __missing__(self, told: bytes) -> Resource:
        message = ResourceMessage.FromString(told)
        if len(self) >= _MOST_SENDERS:
            self.clear()
        resource = self[told] = Resource(dict(map(_pair_of, message.attributes)))
        return resource


class _Pairs(dict[bytes, tuple[str, Value]]):
    """Attributes by their bytes; long ones are text that is never the same again."""

    def __missing__(self, told: bytes) -> tuple[str, Value]:
        pair = _short_pair(told) or _pair_of(KeyValue.FromString(told))
        if len(told) <= _LONGEST_PAIR:
            if len(self) >= _MOST_PAIRS:
                self.clear()
            self[told] = pair
        return pair


class _Names(dict[bytes, str]):
    """Names of attributes: one object a name, however many records carry it, since names are most of what a record holds in memory."""

    def __missing__(self, told: bytes) -> str:
        name = intern(told.decode())
        if len(self) >= _MOST_SENDERS:
            self.clear()
        self[told] = name
        return name


_SCOPES, _RESOURCES, _PAIRS, _NAMES = _Scopes(), _Resources(), _Pairs(), _Names()


def _attributes(items: Iterable[bytes]) -> dict[str, Value]:
    return dict(map(_PAIRS.__getitem__, items))


def _short_pair(told: bytes) -> tuple[str, Value] | None:
    """An attribute in the form that nearly all have: a key and a text or a small number, all of it in single-byte lengths. None for any other form."""
    try:
        end = told[1] + 2
        size = len(told)
        inside = size - end - 2
        if told[0] != _KEY or told[1] >= _LONG or told[end] != _VALUE or told[end + 1] != inside or inside >= _LONG:
            return None
        kind = told[end + 2]
        if kind == _TEXT and told[end + 3] == inside - 2 > 0:
            return _NAMES[told[2:end]], told[end + 4 :].decode()
        if kind == _NUMBER and (number := _number(told[end + 3 :])) is not None:
            return _NAMES[told[2:end]], number
    except (IndexError, UnicodeDecodeError):
        pass
    return None


_KEY, _VALUE, _TEXT, _NUMBER, _LONG = 0x0A, 0x12, 0x0A, 0x18, 0x80
"""Tags of the fields of `KeyValue` and `AnyValue`, and the first length that takes two bytes."""


def _number(told: bytes) -> int | None:
    """A varint of up to three bytes; None for any other."""
    match len(told):
        case 1 if told[0] < _LONG:
            return told[0]
        case 2 if told[0] >= _LONG > told[1]:
            return told[0] & 0x7F | told[1] << 7
        case 3 if told[0] >= _LONG <= told[1] and told[2] < _LONG:
            return told[0] & 0x7F | (told[1] & 0x7F) << 7 | told[2] << 14
        case _:
            return None


# --- values


def _pair_of(item: KeyValue) -> tuple[str, Value]:
    return intern(item.key), _value(item.value)


def _value(value: AnyValue) -> Value:
    match value.WhichOneof("value"):
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
            return dict(map(_pair_of, value.kvlist_value.values))
        case "bytes_value":
            return value.bytes_value
        case _:
            return None
