"""Request bodies that are almost right: good ones of each signal and encoding, and seeded ways to spoil them."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from made_spans import nested, request_of, turn
from otlp_corpus import requests
from receiving import export
from turnout.pipeline.assemble import SECOND, Assembler, Pace
from turnout.pipeline.otlp import decode_request
from turnout.pipeline.receive.bodies import Encoding, Signal
from turnout.pipeline.receive.checking import check
from turnout.pipeline.receive.refusals import Refused


@dataclass(frozen=True)
class Sent:
    """One body as it would be sent."""

    signal: Signal
    encoding: Encoding
    payload: bytes


def mutated(body: bytes, draw: random.Random) -> bytes:
    """A few bytes changed, taken out, doubled or cut off."""
    content = bytearray(body)
    for _ in range(draw.randint(1, 4)):
        if not content:
            break
        start = draw.randrange(len(content))
        end = min(len(content), start + draw.randint(1, 8))
        match draw.randrange(4):
            case 0:
                content[start] = draw.randrange(256)
            case 1:
                del content[start:end]
            case 2:
                content[start:start] = content[start:end]
            case _:
                del content[start:]
    return bytes(content)


def touched(body: bytes, draw: random.Random) -> bytes:
    """One byte changed: much of what comes of it is still a message."""
    content = bytearray(body)
    content[draw.randrange(len(content))] = draw.randrange(256)
    return bytes(content)


def good_bodies() -> list[Sent]:
    """Bodies that are taken whole."""
    small = export(3).SerializeToString()
    spans = ExportTraceServiceRequest.FromString(requests(1)[0].body)
    del spans.resource_spans[0].scope_spans[0].spans[9:]
    found = [
        Sent(Signal.TRACES, Encoding.PROTOBUF, small),
        Sent(Signal.TRACES, Encoding.PROTOBUF, bytes(spans.SerializeToString())),
        Sent(Signal.TRACES, Encoding.JSON, request_of(turn(1, 2))),
        Sent(Signal.TRACES, Encoding.JSON, request_of(nested(1))),
    ]
    return [*found, *_logs(), *_metrics()]


def _logs() -> Iterator[Sent]:
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add()
    record.trace_id, record.span_id, record.event_name = bytes(15) + b"\1", bytes(7) + b"\1", "agent.turn.end"
    record.body.string_value, record.time_unix_nano = "body", SECOND
    record.attributes.add(key="agent.turn.id").value.string_value = "t"
    yield Sent(Signal.LOGS, Encoding.PROTOBUF, request.SerializeToString())
    told = {"eventName": "agent.turn.end", "timeUnixNano": "1", "body": {"stringValue": "body"}, "attributes": []}
    block = {"resourceLogs": [{"scopeLogs": [{"scope": {"name": "s"}, "logRecords": [told, told]}]}]}
    yield Sent(Signal.LOGS, Encoding.JSON, json.dumps(block).encode())


def _metrics() -> Iterator[Sent]:
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add()
    metric.name = "tokens"
    metric.sum.data_points.add(as_int=3)
    yield Sent(Signal.METRICS, Encoding.PROTOBUF, request.SerializeToString())


def spoiled(count: int, seed: int) -> Iterator[Sent]:
    """So many bodies: most with one byte changed, some with several, some cut, some that were never a message."""
    draw = random.Random(seed)
    good = good_bodies()
    for _ in range(count):
        sent = draw.choice(good)
        match draw.randrange(10):
            case 0:
                payload = draw.randbytes(draw.randrange(200))
            case 1 | 2 | 3:
                payload = mutated(sent.payload, draw)
            case _:
                payload = touched(sent.payload, draw)
        yield Sent(sent.signal, sent.encoding, payload)


def taken(sent: Sent) -> bool:
    """Whether a body is acknowledged; one that is can be read back, by as many records as the sender was told, and be assembled."""
    try:
        checked = check(sent.signal, sent.encoding, sent.payload)
    except Refused:
        return False
    decoded = decode_request(sent.payload, sent.encoding, sent.signal.value)
    assert (len(decoded.records) + decoded.metrics, len(decoded.rejected)) == (
        checked.records - checked.rejected,
        checked.rejected,
    )
    assembler = Assembler(Pace())
    assembler.accept(decoded.records, SECOND)
    assembler.advance(SECOND * 10_000)
    assert assembler.failed == 0
    return True
