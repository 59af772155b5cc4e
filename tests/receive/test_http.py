"""OTLP over HTTP, spoken to a real server: what is taken, what is refused, and that taken means on disk."""

import asyncio
import gzip
import json
import socket
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]  # it publishes no types
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from receiving import NOW, Door, OpenDoor, export
from serving import wait_for
from turnout.pipeline.receive.access import Access, Token
from turnout.pipeline.receive.bodies import Body, Encoding, Signal
from turnout.pipeline.receive.counters import Count
from turnout.pipeline.receive.http import Timeouts
from turnout.pipeline.receive.memory import Memory
from turnout.pipeline.receive.reader import Reader

GOOD = export(3).SerializeToString()
GOOD_JSON = json.dumps(
    {
        "resourceSpans": [
            {
                "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]},
                "scopeSpans": [{"spans": [{"traceId": "0" * 31 + "1", "spanId": "0" * 15 + "1", "name": "a"}]}],
            }
        ]
    }
).encode()


def raw_deflate(body: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(body) + stream.flush()


@dataclass(frozen=True)
class Taken:
    name: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    path: str = "/v1/traces"
    kept: bytes | None = GOOD


TAKEN = [
    Taken("plain protobuf", GOOD),
    Taken("a charset", GOOD, {"content_type": "application/x-protobuf; charset=utf-8"}),
    Taken("gzip", gzip.compress(GOOD), {"content_encoding": "gzip"}),
    Taken("gzip of two members", gzip.compress(GOOD[:50]) + gzip.compress(GOOD[50:]), {"content_encoding": "gzip"}),
    Taken("deflate", zlib.compress(GOOD), {"content_encoding": "deflate"}),
    Taken("deflate without its header", raw_deflate(GOOD), {"content_encoding": "deflate"}),
    Taken("JSON", GOOD_JSON, {"content_type": "application/json"}, kept=GOOD_JSON),
    Taken(
        "JSON in gzip",
        gzip.compress(GOOD_JSON),
        {"content_type": "application/json", "content_encoding": "gzip"},
        kept=GOOD_JSON,
    ),
    Taken("an empty request", b"", kept=None),
    Taken("metrics", b"", path="/v1/metrics", kept=None),
]


@pytest.mark.parametrize("case", TAKEN, ids=lambda case: case.name)
def test_what_is_taken_is_in_the_journal_when_it_is_acknowledged(door: Door, case: Taken) -> None:
    """200, an empty response message, and the inflated body on disk."""
    status, _, body = door.post(case.body, case.path, **case.headers)
    encoding = Encoding.JSON if "json" in case.headers.get("content_type", "") else Encoding.PROTOBUF
    assert (status, body) == (200, b"{}" if encoding is Encoding.JSON else b"")
    expected = [] if case.kept is None else [Body(Signal.TRACES, encoding, NOW, case.kept)]
    assert [stored.body for stored in Reader(door.journal, 0).next(1 << 20)] == expected


@dataclass(frozen=True)
class RefusedCase:
    name: str
    body: bytes
    status: int
    words: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


REFUSED = [
    RefusedCase("no protobuf", b"\xff" * 40, 400, "expected protobuf ExportTraceServiceRequest"),
    RefusedCase("a truncated body", GOOD[:-3], 400, "expected protobuf"),
    RefusedCase("no JSON", b"{", 400, "expected OTLP/JSON", {"content_type": "application/json"}),
    RefusedCase("JSON that is no object", b"[]", 400, "got a JSON list", {"content_type": "application/json"}),
    RefusedCase(
        "JSON of another shape",
        b'{"resourceSpans": 3}',
        400,
        "resourceSpans that is a JSON int",
        {"content_type": "application/json"},
    ),
    RefusedCase("a cut gzip", gzip.compress(GOOD)[:-9], 400, "gzip body is cut off", {"content_encoding": "gzip"}),
    RefusedCase("no gzip", GOOD, 400, "cannot inflate the body", {"content_encoding": "gzip"}),
    RefusedCase("another content type", GOOD, 415, "got content type 'text/plain'", {"content_type": "text/plain"}),
    RefusedCase("another content encoding", GOOD, 415, "got content encoding 'br'", {"content_encoding": "br"}),
    RefusedCase("a large body", bytes(50_000_000), 413, "got more than 16777216 bytes"),
    RefusedCase(
        "a gzip bomb",
        gzip.compress(bytes(200_000_000)),
        413,
        "got more than 16777216 bytes",
        {"content_encoding": "gzip"},
    ),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_what_is_refused_is_said_in_a_status_message(door: Door, case: RefusedCase) -> None:
    """The status, one sentence in a google.rpc.Status of the sender's encoding, a count, and nothing kept."""
    status, headers, body = door.post(case.body, **case.headers)
    if headers["content-type"] == "application/json":
        message = json.loads(body)["message"]
    else:
        message = Status.FromString(body).message
    assert (status, case.words in message, message.count("\n")) == (case.status, True, 0)
    assert door.counters.count(Count.REQUESTS_REFUSED) == 1
    assert (door.journal.last, door.memory.in_flight) == (0, 0)


def test_a_large_chunked_body_is_refused(door: Door) -> None:
    """A body that does not say its length is measured as it comes."""
    connection = door.connect()
    chunks = (bytes(1 << 20) for _ in range(20))
    connection.request("POST", "/v1/traces", body=chunks, headers={"content-type": "application/x-protobuf"})
    assert connection.getresponse().status == 413


def test_bad_spans_are_rejected_and_the_rest_is_taken(door: Door) -> None:
    """partial_success has their number and the reason; the body is kept for the good ones."""
    request = export(3)
    request.resource_spans[0].scope_spans[0].spans[1].span_id = bytes(8)
    status, _, body = door.post(request.SerializeToString())
    partial = ExportTraceServiceResponse.FromString(body).partial_success
    assert (status, partial.rejected_spans, partial.error_message) == (
        200,
        1,
        "spans: a span has no span_id",
    )
    assert door.journal.last == 1


def test_bad_json_spans_are_rejected_in_json(door: Door) -> None:
    """The same in OTLP/JSON, where 64-bit numbers are strings."""
    document = json.loads(GOOD_JSON)
    document["resourceSpans"][0]["scopeSpans"][0]["spans"].append({"traceId": "xyz", "spanId": "", "name": "b"})
    status, _, body = door.post(json.dumps(document).encode(), content_type="application/json")
    partial = json.loads(body)["partialSuccess"]
    assert (status, partial["rejectedSpans"], "spanId" in partial["errorMessage"]) == (200, "1", True)


PAGES = [
    ("GET", "/", 200),
    ("GET", "/healthz", 200),
    ("GET", "/healthz/live", 200),
    ("GET", "/healthz/ready", 200),
    ("GET", "/metrics", 200),
    ("GET", "/v1/traces", 405),
    ("GET", "/other", 404),
    ("POST", "/v1/profiles", 404),
]


@pytest.mark.parametrize(("method", "path", "status"), PAGES)
def test_other_addresses_answer_too(door: Door, method: str, path: str, status: int) -> None:
    """Each address has one answer, with words for a person."""
    connection = door.connect()
    connection.request(method, path)
    assert connection.getresponse().status == status


def test_metrics_show_what_was_received_and_what_was_not(door: Door) -> None:
    """The text format of Prometheus, with every count there from the start and its reasons as labels."""
    door.post(GOOD)
    door.post(b"\xff" * 40)
    connection = door.connect()
    connection.request("GET", "/metrics")
    lines = connection.getresponse().read().decode().splitlines()
    for line in (
        'turnout_receiver_spans_received_total{reason=""} 3.0',
        'turnout_receiver_requests_journaled_total{reason=""} 1.0',
        'turnout_receiver_requests_refused_total{reason="malformed"} 1.0',
        'turnout_receiver_damaged_total{reason=""} 0.0',
        "turnout_receiver_queued_bytes 0.0",
        'turnout_receiver_source_age_seconds{service="shop"} 0.0',
    ):
        assert line in lines


def test_a_full_queue_asks_to_come_back(open_door: OpenDoor) -> None:
    """429 with Retry-After while the lake is behind, and 200 once it has caught up."""
    door = open_door(queue_bytes=100)
    door.queued[0] = 101
    status, headers, _ = door.post(GOOD)
    assert (status, headers["retry-after"]) == (429, "5")
    door.queued[0] = 0
    assert door.post(GOOD)[0] == 200


def test_the_memory_bound_asks_to_come_back(open_door: OpenDoor) -> None:
    """503 with Retry-After past the bound, for this request alone."""
    door = open_door(memory=Memory(bound=4000))
    status, headers, _ = door.post(export(200).SerializeToString())
    assert (status, headers["retry-after"]) == (503, "1")
    assert door.post(GOOD)[0] == 200


def test_a_process_over_the_bound_takes_nothing(open_door: OpenDoor) -> None:
    """While the process itself holds more than the bound each request is answered 503."""
    size = [2000]
    door = open_door(memory=Memory(bound=1000, resident=lambda: size[0]))
    door.memory.look()
    assert door.post(GOOD)[0] == 503
    size[0] = 900
    door.memory.look()
    assert door.post(export().SerializeToString())[0] == 200


TOKENS = Access((Token("shop team", b"one", frozenset({"shop"})), Token("anyone", b"two")))


@pytest.mark.parametrize(
    ("header", "service", "status"),
    [
        ("", "shop", 401),
        ("Bearer wrong", "shop", 401),
        ("Basic one", "shop", 401),
        ("Bearer one", "shop", 200),
        ("bearer one", "shop", 200),
        ("Bearer one", "bank", 403),
        ("Bearer two", "bank", 200),
    ],
)
def test_tokens_say_who_may_write_what(open_door: OpenDoor, header: str, service: str, status: int) -> None:
    """Without a known token nothing is taken; a bound token writes its own services only."""
    door = open_door(access=TOKENS)
    found, headers, _ = door.post(export(service=service).SerializeToString(), authorization=header)
    assert (found, headers.get("www-authenticate")) == (status, "Bearer" if status == 401 else None)
    assert door.journal.last == (status == 200)


def started(door: Door, length: int = 1000) -> socket.socket:
    stream = socket.create_connection(("127.0.0.1", door.listener.port), timeout=30)
    stream.sendall(
        f"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Length: {length}\r\n\r\n".encode()
    )
    return stream


def test_a_body_that_stalls_is_given_up(open_door: OpenDoor) -> None:
    """408 once nothing has come for the time of a chunk."""
    door = open_door(timeouts=Timeouts(chunk=0.2))
    with started(door) as stream:
        stream.sendall(b"abc")
        assert b" 408 " in stream.recv(1000)


def test_a_body_that_trickles_is_given_up(open_door: OpenDoor) -> None:
    """408 once the whole took too long, however steadily it drips."""
    door = open_door(timeouts=Timeouts(chunk=5, whole=0.5))
    with started(door) as stream:
        stream.settimeout(0.05)
        answer = b""
        while not answer:
            stream.sendall(b"a")
            try:
                answer = stream.recv(1000)
            except TimeoutError:
                continue
        assert b" 408 " in answer


def test_a_sender_that_leaves_holds_nothing(open_door: OpenDoor) -> None:
    """A connection that is closed in the middle of a body gives its memory back, and others are served."""
    door = open_door()
    for _ in range(50):
        with started(door) as stream:
            stream.sendall(b"abc")
    assert door.post(GOOD)[0] == 200
    wait_for(lambda: door.memory.in_flight == 0)
    assert door.journal.last == 1


def test_a_thousand_open_connections_leave_room_for_one_more(open_door: OpenDoor) -> None:
    """Idle and half-sent connections do not keep others from being served."""
    door = open_door()
    streams = [started(door) for _ in range(500)]
    streams += [socket.create_connection(("127.0.0.1", door.listener.port)) for _ in range(500)]
    assert door.post(GOOD)[0] == 200
    for stream in streams:
        stream.close()


def test_a_refusal_waits_for_no_more_than_was_sent(open_door: OpenDoor) -> None:
    """Once the whole body is there, asking for more would hold the answer back; the sender is not asked again."""
    door = open_door()
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/traces",
        "headers": [(b"content-type", b"application/x-protobuf")],
    }
    messages = [{"type": "http.request", "body": b"no protobuf", "more_body": False}]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    listener: Any = door.listener
    app = listener._app
    asyncio.run(app(scope, receive, send))
    assert [message.get("status") for message in sent if message["type"] == "http.response.start"] == [400]
