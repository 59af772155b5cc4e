"""Senders that are slow, gone, many or mad: each gets its answer or is given up, and nobody else waits for them."""

import asyncio
import contextlib
import gzip
import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mutated_bodies import Sent, good_bodies, spoiled
from receiving import Door, OpenDoor, export
from serving import wait_for
from turnout.pipeline.otlp import decode_request
from turnout.pipeline.receive import listener
from turnout.pipeline.receive.bodies import Encoding, Signal
from turnout.pipeline.receive.counters import Count
from turnout.pipeline.receive.memory import resident_bytes
from turnout.pipeline.receive.reader import Reader

GOOD = export(3).SerializeToString()
HEAD = "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"
REQUEST = f"{HEAD}Content-Length: {len(GOOD)}\r\n\r\n".encode() + GOOD


def connected(door: Door) -> socket.socket:
    return socket.create_connection(("127.0.0.1", door.listener.port), timeout=30)


def test_a_client_that_reads_byte_by_byte_gets_every_answer(door: Door) -> None:
    """While it takes its time others are served; its requests are answered in order, each once."""
    with connected(door) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        slow.sendall(REQUEST * 20)
        answer = b""
        while answer.count(b"HTTP/1.1 200") < 10:
            answer += slow.recv(1)
        assert door.post(GOOD)[0] == 200
        while answer.count(b"HTTP/1.1 200") < 20:
            answer += slow.recv(1)
    assert door.journal.last == 21
    assert door.memory.in_flight == 0


def test_a_client_that_never_reads_holds_nobody_up(door: Door) -> None:
    """It sends and sends; its unread answers pile up with it, not here, and others are served."""
    with connected(door) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        deaf.settimeout(0.5)
        with contextlib.suppress(TimeoutError):
            for _ in range(500):
                deaf.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        for _ in range(5):
            assert door.post(GOOD)[0] == 200
    assert door.journal.last == 5


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch, open_door: OpenDoor) -> Door:
    """A door that waits half a second for the head of a request, instead of ten."""
    monkeypatch.setattr(listener, "_HEADER_MILLISECONDS", 500)
    return open_door()


def test_a_head_that_trickles_is_given_up(impatient: Door) -> None:
    """Slowloris: header after header without an end; the connections are closed, and others are served meanwhile."""
    held = [connected(impatient) for _ in range(100)]
    for stream in held:
        stream.sendall(HEAD.encode())
    assert impatient.post(GOOD)[0] == 200
    deadline = time.monotonic() + 20
    open_ones = list(held)
    while open_ones and time.monotonic() < deadline:
        open_ones = [stream for stream in open_ones if drips(stream)]
        time.sleep(0.1)
    for stream in held:
        stream.close()
    assert open_ones == []
    assert impatient.journal.last == 1


def drips(stream: socket.socket) -> bool:
    """Send one more header; false once the other side has closed."""
    try:
        stream.sendall(b"X-More: 1\r\n")
        stream.settimeout(0.001)
        return stream.recv(100) != b""
    except TimeoutError:
        return True
    except OSError:
        return False


def test_half_closed_and_reset_connections_leave_nothing(door: Door) -> None:
    """A sender that shuts its side is answered or let go, one that is torn off in the middle is forgotten; others are served."""
    with connected(door) as half:
        half.sendall(REQUEST)
        half.shutdown(socket.SHUT_WR)
        assert half.recv(1000)[:12] in {b"HTTP/1.1 200", b""}
    for _ in range(100):
        with connected(door) as torn:
            torn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset instead of an end
            torn.sendall(REQUEST[:-20])
    assert door.post(GOOD)[0] == 200
    wait_for(lambda: door.memory.in_flight == 0)
    assert door.journal.last in {1, 2}


def test_a_gzip_bomb_costs_no_memory(door: Door) -> None:
    """A body of kilobytes that would be a quarter of a gigabyte is refused before it is, again and again, and several at once."""
    bomb = gzip.compress(bytes(1 << 28), 1)
    before = resident_bytes()
    with ThreadPoolExecutor(4) as senders:
        sent = [senders.submit(door.post, bomb, content_encoding="gzip") for _ in range(8)]
        statuses = [one.result()[0] for one in sent]
    assert set(statuses) <= {413, 503}
    assert 413 in statuses
    assert resident_bytes() - before < 256 << 20
    assert (door.memory.in_flight, door.journal.last) == (0, 0)


SPOILED = 3000


def test_spoiled_requests_are_answered_and_counted(door: Door) -> None:
    """Through the application, a hundred at once: each has an answer of the protocol, and the journal holds what was acknowledged, no more."""
    whole: Any = door.listener
    app = whole._app
    sent = [*spoiled(SPOILED, seed=77), *good_bodies()]
    statuses = asyncio.run(all_answers(app, sent))
    assert set(statuses) == {200, 400}
    counted = [door.counters.count(count) for count in (Count.REQUESTS_RECEIVED, Count.REQUESTS_REFUSED)]
    assert counted == [len(sent), statuses[400]]
    kept = list(journaled(door))
    assert len(kept) == door.counters.count(Count.REQUESTS_JOURNALED)
    for one in kept:
        assert decode_request(one.payload, one.encoding, one.signal.value).records


async def all_answers(app: Any, sent: list[Sent]) -> Counter[int]:
    found: Counter[int] = Counter()
    for start in range(0, len(sent), 100):
        found.update(await asyncio.gather(*(answer(app, one) for one in sent[start : start + 100])))
    return found


async def answer(app: Any, sent: Sent) -> int:
    """The status that the application gives one body."""
    scope = {
        "type": "http",
        "method": "POST",
        "path": f"/v1/{sent.signal.value}",
        "headers": [(b"content-type", sent.encoding.value.encode())],
    }
    statuses: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": sent.payload, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    await app(scope, receive, send)
    (status,) = statuses
    return status


def journaled(door: Door) -> Iterator[Sent]:
    reader = Reader(door.journal, 0)
    while bodies := reader.next(1 << 20):
        for stored in bodies:
            body = stored.body
            yield Sent(Signal(body.signal), Encoding(body.encoding), body.payload)
    assert reader.damaged == 0
