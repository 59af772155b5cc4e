"""OTLP protobuf with as little of it read as is needed: the same wire, with attributes, resources and scopes left as the bytes they came in.

Most attributes of a stream of telemetry repeat byte by byte, from span to span and from export to export. Told as bytes they can be looked up whole, and only
what was not seen lately is parsed (`turnout.pipeline.otlp_protobuf`). Reading each as a message of its own is most of what decoding costs.
"""

from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias, cast

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

_PACKAGE = "turnout.wire"


class WireEvent(Protocol):
    """An event of a span."""

    time: int
    name: str
    attributes: Iterable[bytes]


class WireSpan(Protocol):
    """A span."""

    trace_id: bytes
    span_id: bytes
    parent_span_id: bytes
    name: str
    kind: int
    start: int
    end: int
    attributes: Iterable[bytes]
    events: Iterable[WireEvent]
    status: bytes
    flags: int


class WireLog(Protocol):
    """A log record."""

    time: int
    observed: int
    severity: int
    body: bytes
    attributes: Iterable[bytes]
    trace_id: bytes
    span_id: bytes
    event_name: str


class WireGroup(Protocol):
    """What one scope emitted; an export of traces has spans, one of logs has logs."""

    scope: bytes
    spans: Iterable[WireSpan]
    logs: Iterable[WireLog]


class WireBlock(Protocol):
    """What one resource emitted."""

    resource: bytes
    groups: Iterable[WireGroup]


class _Export(Protocol):
    blocks: Iterable[WireBlock]


_Field: TypeAlias = tuple[str, int, "FieldDescriptorProto.Type.ValueType | str", bool]
"""Name, number, its type or the message that it is, and whether it repeats."""

_BYTES, _STRING = FieldDescriptorProto.TYPE_BYTES, FieldDescriptorProto.TYPE_STRING
_TIME, _BITS = FieldDescriptorProto.TYPE_FIXED64, FieldDescriptorProto.TYPE_FIXED32
_NUMBER = FieldDescriptorProto.TYPE_INT32

_MESSAGES: dict[str, tuple[_Field, ...]] = {
    "Event": (("time", 1, _TIME, False), ("name", 2, _STRING, False), ("attributes", 3, _BYTES, True)),
    "Span": (
        ("trace_id", 1, _BYTES, False),
        ("span_id", 2, _BYTES, False),
        ("parent_span_id", 4, _BYTES, False),
        ("name", 5, _STRING, False),
        ("kind", 6, _NUMBER, False),
        ("start", 7, _TIME, False),
        ("end", 8, _TIME, False),
        ("attributes", 9, _BYTES, True),
        ("events", 11, "Event", True),
        ("status", 15, _BYTES, False),
        ("flags", 16, _BITS, False),
    ),
    "Log": (
        ("time", 1, _TIME, False),
        ("severity", 2, _NUMBER, False),
        ("body", 5, _BYTES, False),
        ("attributes", 6, _BYTES, True),
        ("trace_id", 9, _BYTES, False),
        ("span_id", 10, _BYTES, False),
        ("observed", 11, _TIME, False),
        ("event_name", 12, _STRING, False),
    ),
    "SpanGroup": (("scope", 1, _BYTES, False), ("spans", 2, "Span", True)),
    "LogGroup": (("scope", 1, _BYTES, False), ("logs", 2, "Log", True)),
    "SpanBlock": (("resource", 1, _BYTES, False), ("groups", 2, "SpanGroup", True)),
    "LogBlock": (("resource", 1, _BYTES, False), ("groups", 2, "LogGroup", True)),
    "Traces": (("blocks", 1, "SpanBlock", True),),
    "Logs": (("blocks", 1, "LogBlock", True),),
}
"""By the names used here; the numbers and the types are those of opentelemetry-proto 1, where a message may also be told as bytes."""


def traces(body: bytes) -> Iterable[WireBlock]:
    """The blocks of one trace export.

    Raises:
        DecodeError: when it is none.
    """
    return _traces(body).blocks


def logs(body: bytes) -> Iterable[WireBlock]:
    """The blocks of one logs export.

    Raises:
        DecodeError: when it is none.
    """
    return _logs(body).blocks


def _field(
    name: str, number: int, kind: "FieldDescriptorProto.Type.ValueType | str", *, repeats: bool
) -> FieldDescriptorProto:
    label = FieldDescriptorProto.LABEL_REPEATED if repeats else FieldDescriptorProto.LABEL_OPTIONAL
    if isinstance(kind, str):
        kind_of_message = FieldDescriptorProto.TYPE_MESSAGE
        return FieldDescriptorProto(
            name=name, number=number, label=label, type=kind_of_message, type_name=f".{_PACKAGE}.{kind}"
        )
    return FieldDescriptorProto(name=name, number=number, label=label, type=kind)


def _pool() -> DescriptorPool:
    """A pool of our own: the numbers stand for the same messages as in the pool that the exporters' library uses."""
    file = FileDescriptorProto(name="turnout/wire.proto", package=_PACKAGE, syntax="proto3")
    for name, parts in _MESSAGES.items():
        known = [_field(*part[:3], repeats=part[3]) for part in parts]
        file.message_type.append(DescriptorProto(name=name, field=known))
    pool = DescriptorPool()
    pool.Add(file)
    return pool


def _reader(pool: DescriptorPool, name: str) -> Any:
    return GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")).FromString


_POOL = _pool()
_read_traces, _read_logs = _reader(_POOL, "Traces"), _reader(_POOL, "Logs")


def _traces(body: bytes) -> _Export:
    return cast("_Export", _read_traces(body))


def _logs(body: bytes) -> _Export:
    return cast("_Export", _read_logs(body))
