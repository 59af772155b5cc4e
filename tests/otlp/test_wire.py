"""Attributes looked up by their bytes are those that the library itself reads."""

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from turnout.pipeline.otlp import OtlpError, decode_request
from turnout.pipeline.otlp_protobuf import trace_records
from turnout.pipeline.otlp_records import Rejected
from turnout.pipeline.telemetry import Attributes, Record, Value

PROTOBUF = "application/x-protobuf"

texts = st.text(max_size=3) | st.sampled_from(["x" * n for n in (119, 120, 121, 127, 128, 129, 300)])
numbers = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 127, 128, 16383, 16384, 2**21 - 1, 2**21, -1])
values = st.recursive(
    st.none() | texts | numbers | st.booleans() | st.floats(allow_nan=False) | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=2).map(tuple) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)


def told(value: Value) -> AnyValue:
    """A value as a message."""
    match value:
        case None:
            return AnyValue()
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case str():
            return AnyValue(string_value=value)
        case bytes():
            return AnyValue(bytes_value=value)
        case tuple():
            return AnyValue(array_value=ArrayValue(values=map(told, value)))
        case dict():
            return AnyValue(kvlist_value=KeyValueList(values=pairs(value)))


def pairs(attributes: Attributes) -> list[KeyValue]:
    """Attributes as messages."""
    return [KeyValue(key=name, value=told(value)) for name, value in attributes.items()]


def export(*spans: Span) -> bytes:
    """A request of these spans."""
    blocks = [ResourceSpans(scope_spans=[ScopeSpans(spans=spans)])]
    return ExportTraceServiceRequest(resource_spans=blocks).SerializeToString()


def records(body: bytes) -> tuple[Record, ...]:
    """What is read of a request."""
    return decode_request(body, PROTOBUF, "traces").records


@given(st.dictionaries(texts, values, max_size=4))
def test_attributes_come_back_as_they_were_sent(attributes: dict[str, Value]) -> None:
    """Of every kind and length, seen before or not."""
    body = export(Span(span_id=b"1", attributes=pairs(attributes)))
    assert [(record.attributes, type(record.attributes)) for record in records(body) * 2] == [(attributes, dict)] * 2


@given(texts, numbers | texts, st.integers(0, 400), st.integers(0, 255))
def test_a_changed_byte_reads_as_the_library_reads_it(name: str, value: Value, place: int, byte: int) -> None:
    """Lengths that do not fit, unknown fields, text that is none: the same value, or the same refusal."""
    raw = bytearray(KeyValue(key=name, value=told(value)).SerializeToString())
    raw[place % len(raw)] = byte
    span = b"\x12\x011\x4a" + _length(len(raw)) + bytes(raw)
    body = _wrapped(b"\x0a", _wrapped(b"\x12", _wrapped(b"\x12", span)))
    try:
        ExportTraceServiceRequest.FromString(body)
        item = KeyValue.FromString(bytes(raw))
    except DecodeError:
        with pytest.raises(OtlpError):
            records(body)
        return
    (record,) = records(body)
    again = export(Span(span_id=b"1", attributes=[KeyValue.FromString(item.SerializeToString())]))
    assert record.attributes == records(again)[0].attributes


def _wrapped(tag: bytes, inside: bytes) -> bytes:
    return tag + _length(len(inside)) + inside


def _length(size: int) -> bytes:
    return bytes([size]) if size < 128 else bytes([size & 0x7F | 0x80, size >> 7])


def test_an_id_of_zeros_alone_is_no_id() -> None:
    """What the receiver tells the sender it rejected is what is rejected."""
    body = export(Span(span_id=bytes(8)), Span(span_id=b"12345678", trace_id=bytes(16)))
    items = list(trace_records(body))
    assert [item.what if isinstance(item, Rejected) else (item.trace_id, item.span_id) for item in items] == [
        "spans: a span has no span_id",
        ("", b"12345678".hex()),
    ]
