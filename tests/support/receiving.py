"""Bodies of our own making, and a door of the receiver to send them to."""

import http.client
from collections.abc import Callable
from dataclasses import dataclass, field

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from turnout.pipeline.receive.bodies import Body, Encoding, Signal
from turnout.pipeline.receive.counters import Counters
from turnout.pipeline.receive.journal import Journal
from turnout.pipeline.receive.listener import Listener
from turnout.pipeline.receive.memory import Memory

NOW = 1_800_000_000_000_000_000


def export(spans: int = 1, service: str = "shop", trace: int = 1) -> ExportTraceServiceRequest:
    """A request of ``spans`` good spans."""
    request = ExportTraceServiceRequest()
    block = request.resource_spans.add()
    attribute = block.resource.attributes.add()
    attribute.key, attribute.value.string_value = "service.name", service
    scoped = block.scope_spans.add()
    for number in range(1, spans + 1):
        span = scoped.spans.add()
        span.trace_id, span.span_id = trace.to_bytes(16), number.to_bytes(8)
        span.name = f"span {number}"
    return request


def body_of(payload: bytes, received_at: int = NOW) -> Body:
    """A journal body that holds any bytes."""
    return Body(Signal.TRACES, Encoding.PROTOBUF, received_at, payload)


@dataclass
class Door:
    """A running door: where it is, what it is made of."""

    listener: Listener
    journal: Journal
    counters: Counters
    memory: Memory
    queued: list[int] = field(default_factory=lambda: [0])

    def connect(self) -> http.client.HTTPConnection:
        """A new connection to it."""
        return http.client.HTTPConnection("127.0.0.1", self.listener.port, timeout=30)

    def post(self, body: bytes, path: str = "/v1/traces", **headers: str) -> tuple[int, dict[str, str], bytes]:
        """One request; header names are given with underscores."""
        sent = {"content-type": "application/x-protobuf"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = self.connect()
        connection.request("POST", path, body=body, headers=sent)
        answer = connection.getresponse()
        found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        connection.close()
        return found


OpenDoor = Callable[..., Door]
"""The fixture `open_door`."""
