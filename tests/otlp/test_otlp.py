"""OTLP bodies and files: both wires, what real emitters write, and damage."""

import contextlib
import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from turnout.pipeline.otlp import JSON, PROTOBUF, Decoded, OtlpError, Rejected, Signal, decode_request, read_lines
from turnout.pipeline.telemetry import LogRecord, Resource, Scope, Span, SpanEvent, SpanStatus

SPAN = Span(
    trace_id="0af7651916cd43dd8448eb211c80319c",
    span_id="b7ad6b7169203331",
    parent_id="00f067aa0ba902b7",
    name="chat m",
    kind=3,
    start=1_800_000_000_000_000_001,
    end=1_800_000_000_000_000_002,
    status=SpanStatus.ERROR,
    status_message="boom",
    attributes={"a": "x", "b": True, "c": 7, "d": 0.5, "e": ("x", 1), "f": {"g": "h"}, "i": b"\x01", "j": None},
    events=(SpanEvent("exception", 1_800_000_000_000_000_002, {"exception.type": "Boom"}),),
    scope=Scope("s", "1"),
    resource=Resource({"service.name": "shop"}),
    remote_parent=True,
)
LOG = LogRecord(
    trace_id="0af7651916cd43dd8448eb211c80319c",
    span_id="b7ad6b7169203331",
    name="agent.turn.end",
    time=1_800_000_000_000_000_001,
    body={"turn_id": "t"},
    attributes={"k": 1},
    scope=Scope("s", "1"),
    resource=Resource({"service.name": "shop"}),
    severity=9,
    observed=1_800_000_000_000_000_005,
)


def proto_traces() -> bytes:
    request = ExportTraceServiceRequest()
    block = request.resource_spans.add()
    block.resource.attributes.add(key="service.name").value.string_value = "shop"
    group = block.scope_spans.add()
    group.scope.name, group.scope.version = "s", "1"
    span = group.spans.add(
        trace_id=bytes.fromhex(SPAN.trace_id),
        span_id=bytes.fromhex(SPAN.span_id),
        parent_span_id=bytes.fromhex(SPAN.parent_id),
        name="chat m",
        kind=3,
        start_time_unix_nano=1_800_000_000_000_000_001,
        end_time_unix_nano=1_800_000_000_000_000_002,
        flags=0x301,
    )
    span.status.code, span.status.message = Status.STATUS_CODE_ERROR, "boom"
    span.attributes.add(key="a").value.string_value = "x"
    span.attributes.add(key="b").value.bool_value = True
    span.attributes.add(key="c").value.int_value = 7
    span.attributes.add(key="d").value.double_value = 0.5
    array = span.attributes.add(key="e").value.array_value
    array.values.add().string_value = "x"
    array.values.add().int_value = 1
    span.attributes.add(key="f").value.kvlist_value.values.add(key="g").value.string_value = "h"
    span.attributes.add(key="i").value.bytes_value = b"\x01"
    span.attributes.add(key="j")
    event = span.events.add(name="exception", time_unix_nano=1_800_000_000_000_000_002)
    event.attributes.add(key="exception.type").value.string_value = "Boom"
    return request.SerializeToString()


def proto_logs() -> bytes:
    request = ExportLogsServiceRequest()
    block = request.resource_logs.add()
    block.resource.attributes.add(key="service.name").value.string_value = "shop"
    group = block.scope_logs.add()
    group.scope.name, group.scope.version = "s", "1"
    log = group.log_records.add(
        trace_id=bytes.fromhex(LOG.trace_id),
        span_id=bytes.fromhex(LOG.span_id),
        event_name="agent.turn.end",
        time_unix_nano=1_800_000_000_000_000_001,
        observed_time_unix_nano=1_800_000_000_000_000_005,
        severity_number=9,
    )
    log.attributes.add(key="k").value.int_value = 1
    log.body.kvlist_value.values.add(key="turn_id").value.string_value = "t"
    return request.SerializeToString()


def json_span(**changes: object) -> dict[str, object]:
    span: dict[str, object] = {
        "traceId": SPAN.trace_id,
        "spanId": SPAN.span_id,
        "parentSpanId": SPAN.parent_id,
        "name": "chat m",
        "kind": 3,
        "startTimeUnixNano": "1800000000000000001",
        "endTimeUnixNano": 1_800_000_000_000_000_002,
        "flags": 0x301,
        "status": {"code": 2, "message": "boom"},
        "attributes": [
            {"key": "a", "value": {"stringValue": "x"}},
            {"key": "b", "value": {"boolValue": True}},
            {"key": "c", "value": {"intValue": "7"}},
            {"key": "d", "value": {"doubleValue": 0.5}},
            {"key": "e", "value": {"arrayValue": {"values": [{"stringValue": "x"}, {"intValue": 1}]}}},
            {"key": "f", "value": {"kvlistValue": {"values": [{"key": "g", "value": {"stringValue": "h"}}]}}},
            {"key": "i", "value": {"bytesValue": "AQ=="}},
            {"key": "j", "value": {}},
        ],
        "events": [
            {
                "name": "exception",
                "timeUnixNano": "1800000000000000002",
                "attributes": [{"key": "exception.type", "value": {"stringValue": "Boom"}}],
            }
        ],
    }
    return {**span, **changes}


def traces(*spans: object) -> dict[str, object]:
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    return {
        "resourceSpans": [
            {"resource": resource, "scopeSpans": [{"scope": {"name": "s", "version": "1"}, "spans": spans}]}
        ]
    }


def logs(*records: object) -> dict[str, object]:
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    return {
        "resourceLogs": [
            {"resource": resource, "scopeLogs": [{"scope": {"name": "s", "version": "1"}, "logRecords": records}]}
        ]
    }


def decoded(message: object, signal: Signal = "traces") -> Decoded:
    return decode_request(json.dumps(message).encode(), JSON, signal)


def only_span(message: object) -> Span:
    (record,) = decoded(message).records
    assert isinstance(record, Span)
    return record


def only_log(record: dict[str, object]) -> LogRecord:
    (found,) = decoded(logs(record), "logs").records
    assert isinstance(found, LogRecord)
    return found


def test_both_wires_give_the_same_span() -> None:
    """Every kind of value, and the remote parent."""
    assert decode_request(proto_traces(), PROTOBUF, "traces") == Decoded((SPAN,))
    assert decoded(traces(json_span())) == Decoded((SPAN,))


def test_both_wires_give_the_same_log_record() -> None:
    """With its event name and its structured body."""
    record = {
        "traceId": LOG.trace_id,
        "spanId": LOG.span_id,
        "eventName": "agent.turn.end",
        "timeUnixNano": "1800000000000000001",
        "observedTimeUnixNano": "1800000000000000005",
        "severityNumber": 9,
        "attributes": [{"key": "k", "value": {"intValue": 1}}],
        "body": {"kvlistValue": {"values": [{"key": "turn_id", "value": {"stringValue": "t"}}]}},
    }
    assert decode_request(proto_logs(), PROTOBUF, "logs") == Decoded((LOG,))
    assert decoded(logs(record), "logs") == Decoded((LOG,))


LOOSE = {
    "status missing": ({"status": None}, ("status", SpanStatus.UNSET)),
    "status empty": ({"status": {}}, ("status", SpanStatus.UNSET)),
    "status by name": ({"status": {"code": "STATUS_CODE_ERROR"}}, ("status", SpanStatus.ERROR)),
    "status of a later protocol": ({"status": {"code": 9}}, ("status", SpanStatus.UNSET)),
    "kind by name": ({"kind": "SPAN_KIND_CLIENT"}, ("kind", 3)),
    "kind of nobody": ({"kind": "SPAN_KIND_LATER"}, ("kind", 0)),
    "parent empty": ({"parentSpanId": ""}, ("parent_id", "")),
    "parent of zeros": ({"parentSpanId": "0000000000000000"}, ("parent_id", "")),
    "parent missing": ({"parentSpanId": None}, ("parent_id", "")),
    "ids in capitals": ({"spanId": "B7AD6B7169203331"}, ("span_id", "b7ad6b7169203331")),
    "ids as base64": ({"spanId": "t61rcWkgMzE="}, ("span_id", "b7ad6b7169203331")),
    "time zero": ({"endTimeUnixNano": 0}, ("end", None)),
    "time as a float": ({"endTimeUnixNano": 5.0}, ("end", 5)),
    "no name": ({"name": None}, ("name", "")),
    "half an emoji": ({"name": "\ud83d \ud83d\ude00"}, ("name", "\ufffd \U0001f600")),
    "a path that looks like one": ({"name": "C:\\\\ud83d"}, ("name", "C:\\\\ud83d")),
    "no events": ({"events": None}, ("events", ())),
    "attributes null": ({"attributes": None}, ("attributes", {})),
}


@pytest.mark.parametrize(("change", "want"), LOOSE.values(), ids=LOOSE)
def test_what_real_emitters_write_is_read(change: dict[str, object], want: tuple[str, object]) -> None:
    """Exporters differ in all of these."""
    assert getattr(only_span(traces(json_span(**change))), want[0]) == want[1]


def test_names_with_underscores_are_the_same_names() -> None:
    """Protobuf's JSON form may be written either way."""
    span = {
        "trace_id": SPAN.trace_id,
        "span_id": SPAN.span_id,
        "parent_span_id": "",
        "start_time_unix_nano": "5",
        "name": "x",
    }
    message = {"resource_spans": [{"scope_spans": [{"spans": [span]}]}]}
    assert (only_span(message).span_id, only_span(message).start) == (SPAN.span_id, 5)


IDENTITIES = {
    "attribute first": (
        {"eventName": "junk", "attributes": [{"key": "event.name", "value": {"stringValue": "a"}}]},
        "a",
    ),
    "then the field": ({"eventName": "b", "body": {"stringValue": "c"}}, "b"),
    "then a body of text": ({"body": {"stringValue": "c"}}, "c"),
    "else nothing": ({"body": {}}, ""),
}


@pytest.mark.parametrize(("record", "name"), IDENTITIES.values(), ids=IDENTITIES)
def test_an_event_is_named_by_the_first_that_names_it(record: dict[str, object], name: str) -> None:
    """One emitter writes a source position into the field."""
    assert only_log(record).name == name


STAMP = {"key": "event.timestamp", "value": {"stringValue": "2027-01-15T08:00:00.5Z"}}
NO_TIME = {"key": "event.timestamp", "value": {"stringValue": "0001-01-01T00:00:00+23:59"}}
TIMES = {
    "its attribute, which lies before all calendars": ({"attributes": [NO_TIME], "observedTimeUnixNano": 9}, 9),
    "its own": ({"timeUnixNano": "7", "attributes": [STAMP], "observedTimeUnixNano": 9}, 7),
    "its attribute": (
        {"timeUnixNano": "0", "attributes": [STAMP], "observedTimeUnixNano": 9},
        1_800_000_000_500_000_000,
    ),
    "observed": (
        {"attributes": [{"key": "event.timestamp", "value": {"stringValue": "later"}}], "observedTimeUnixNano": 9},
        9,
    ),
    "none": ({}, None),
}


@pytest.mark.parametrize(("record", "time"), TIMES.values(), ids=TIMES)
def test_the_time_falls_back(record: dict[str, object], time: int | None) -> None:
    """From the record to its attribute to when it was seen."""
    assert only_log(record).time == time


DAMAGED = {
    "not an object": 7,
    "no id": json_span(spanId=""),
    "time that is none": json_span(startTimeUnixNano="soon"),
    "bytes that are none": json_span(attributes=[{"key": "i", "value": {"bytesValue": "A"}}]),
    "number too long": json_span(attributes=[{"key": "i", "value": {"intValue": "9" * 5000}}]),
    "number of more than 64 bits": json_span(attributes=[{"key": "i", "value": {"intValue": 2**64}}]),
    "time of more than 64 bits": json_span(endTimeUnixNano=str(2**64)),
    "time before all clocks": json_span(startTimeUnixNano=-1),
}


@pytest.mark.parametrize("damaged", DAMAGED.values(), ids=DAMAGED)
def test_one_bad_record_is_reported_and_its_neighbours_are_kept(damaged: object) -> None:
    """Both of them."""
    found = decoded(traces(json_span(), damaged, json_span(spanId="00f067aa0ba902b8")))
    assert ([len(found.records), len(found.rejected)], found.rejected[0].what.startswith("spans: ")) == ([2, 1], True)


def test_a_bad_resource_takes_its_own_records_with_it_alone() -> None:
    """The blocks beside it are kept."""
    bad = {"attributes": [{"key": "n", "value": {"intValue": "many"}}]}
    scopes = {"scopeSpans": [{"spans": [json_span()]}]}
    message: dict[str, object] = {"resourceSpans": [{"resource": bad, **scopes}, scopes]}
    found = decoded(message)
    assert len(found.records) == 1
    assert found.rejected == (Rejected("spans: got text that is no number, expected a number"),)


@pytest.mark.parametrize("kind", ["intValue", "doubleValue", "bytesValue", "arrayValue", "kvlistValue"])
def test_a_reason_never_holds_the_value(kind: str) -> None:
    """Reasons are kept and counted, and a value may be content."""
    (rejected,) = decoded(traces(json_span(attributes=[{"key": "a", "value": {kind: "my own words"}}]))).rejected
    assert "my own words" not in rejected.what


def test_a_span_without_an_id_is_rejected_on_the_binary_wire_too() -> None:
    """Nothing could be tied to it."""
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.add(name="x")
    assert decode_request(request.SerializeToString(), PROTOBUF, "traces").rejected == (
        Rejected("spans: a span has no span_id"),
    )


def test_metrics_are_counted_and_not_kept() -> None:
    """On both wires."""
    request = ExportMetricsServiceRequest()
    metrics = request.resource_metrics.add().scope_metrics.add().metrics
    metrics.add(name="a")
    metrics.add(name="b")
    message = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "a"}, {"name": "b"}]}]}]}
    assert decode_request(request.SerializeToString(), PROTOBUF, "metrics") == Decoded((), metrics=2)
    assert decoded(message, "metrics") == Decoded((), metrics=2)


WRONG = {
    "truncated protobuf": (proto_traces()[:-3], PROTOBUF, "OTLP protobuf body: "),
    "JSON sent as protobuf": (b'{"resourceSpans": []}', PROTOBUF, "OTLP protobuf body: "),
    "truncated JSON": (b'{"resourceSpans": [', JSON, "OTLP/JSON body: "),
    "text that is no UTF-8": (b'{"a": "\xff"}', JSON, "OTLP/JSON body: "),
    "still compressed": (gzip.compress(b"{}"), JSON, "OTLP/JSON body: "),
    "another type": (
        b"",
        "text/plain",
        "content type: got 'text/plain', expected application/x-protobuf or application/json",
    ),
}


@pytest.mark.parametrize(("body", "kind", "said"), WRONG.values(), ids=WRONG)
def test_a_body_that_is_none_is_refused_in_one_sentence(body: bytes, kind: str, said: str) -> None:
    """Nothing of it can be read."""
    with pytest.raises(OtlpError) as caught:
        decode_request(body, kind, "traces")
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_the_content_type_may_carry_parameters() -> None:
    """Clients add a charset."""
    assert decode_request(b"{}", "Application/JSON; charset=utf-8", "traces") == Decoded(())


def test_a_message_of_another_shape_is_rejected_and_empty_parts_are_fine() -> None:
    """An array is no export request."""
    assert len(decoded([1]).rejected) == 1
    empty: list[dict[str, object]] = [
        {},
        {"resourceSpans": None},
        {"resourceSpans": [{}]},
        {"resourceSpans": [{"scopeSpans": [{"spans": None}]}]},
    ]
    for message in empty:
        assert decoded(message) == Decoded(())


def test_lines_of_all_signals_are_read_and_damage_is_told_by_line(tmp_path: Path) -> None:
    """A blank line is nothing, a damaged one is one rejection."""
    path = tmp_path / "mixed.jsonl"
    lines = [
        json.dumps(traces(json_span())),
        "",
        "{",
        json.dumps(logs({"eventName": "x"})),
        '{"resourceMetrics":[]}',
        "null",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    found = [(line.number, len(line.decoded.records), len(line.decoded.rejected)) for line in read_lines(path)]
    assert found == [(1, 1, 0), (3, 0, 1), (4, 1, 0), (5, 0, 0), (6, 0, 1)]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["key", "value", "intValue", "spans", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = [*json_span(), "resource", "scope"]


@settings(deadline=None, max_examples=200)
@given(changes=st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4))
def test_no_value_anywhere_is_fatal(changes: dict[str, object]) -> None:
    """A mutated span is read or rejected, and its neighbour is kept."""
    found = decoded(traces(json_span(**changes), json_span()))
    assert len(found.records) + len(found.rejected) == 2
    assert found.records[-1] == SPAN


@settings(deadline=None, max_examples=200)
@given(
    body=st.binary(max_size=60),
    kind=st.sampled_from([JSON, PROTOBUF]),
    signal=st.sampled_from(["traces", "logs", "metrics"]),
)
def test_any_bytes_are_read_or_refused(body: bytes, kind: str, signal: Signal) -> None:
    """There is no third way."""
    with contextlib.suppress(OtlpError):
        assert isinstance(decode_request(body, kind, signal), Decoded)
