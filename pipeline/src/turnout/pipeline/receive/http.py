"""OTLP over HTTP: the ASGI application. It reads a request within bounds of size and time and leaves the rest to the intake."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import structlog

from turnout.pipeline.receive.bodies import MAX_BODY_BYTES, Encoding, Inflater, Signal, encoding_of, too_large
from turnout.pipeline.receive.intake import Intake
from turnout.pipeline.receive.refusals import Refused, Why
from turnout.pipeline.receive.responses import Response, accepted, document, refused, text

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

_log: structlog.stdlib.BoundLogger = structlog.get_logger("turnout.receive")

PATHS = {"/v1/traces": Signal.TRACES, "/v1/logs": Signal.LOGS, "/v1/metrics": Signal.METRICS}

_WELCOME = "turnout receives OTLP here: POST /v1/traces, /v1/logs, /v1/metrics; point OTEL_EXPORTER_OTLP_ENDPOINT at this address"
_DRAINED_BYTES = 4 * MAX_BODY_BYTES


class _Gone(Exception):  # noqa: N818 - not an error, the sender left
    """The sender left before its request was whole."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long a sender may take: between two chunks, and for a whole request; in seconds."""

    chunk: float = 10.0
    whole: float = 60.0


@dataclass(frozen=True, slots=True)
class HttpApp:
    """The application; ``health`` gives the state of the receiver, ``metrics`` the text of `/metrics` and its content type."""

    intake: Intake
    health: Callable[[], Mapping[str, object]]
    metrics: Callable[[], tuple[bytes, str]]
    timeouts: Timeouts = Timeouts()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            response = await self._respond(scope, receive)
        except _Gone:
            return
        headers = [*response.headers, (b"content-length", str(len(response.body)).encode())]
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        await send({"type": "http.response.body", "body": response.body})

    async def _respond(self, scope: Message, receive: Receive) -> Response:
        path, method = scope["path"], scope["method"]
        signal = PATHS.get(path)
        if signal is None:
            return self._page(path, method)
        if method != "POST":
            return text(405, f"got {method}, expected POST", (b"allow", b"POST"))
        return await self._export(signal, _headers(scope), _Inbound(receive))

    async def _export(self, signal: Signal, headers: Mapping[str, str], receive: "_Inbound") -> Response:
        answer_in = Encoding.JSON if "json" in headers.get("content-type", "") else Encoding.PROTOBUF
        try:
            sender = self.intake.admit(headers.get("authorization", ""))
            encoding = encoding_of(headers.get("content-type", ""))
            with _Reading(self.intake, headers) as reading:
                payload = await self._within(reading.read(_patient(receive, self.timeouts.chunk)))
                return accepted(signal, encoding, await self.intake.accept(signal, encoding, payload, sender))
        except Refused as refusal:
            return await self._refuse(refusal, receive, answer_in)
        except _Gone:
            raise
        except Exception as fault:  # noqa: BLE001 - one bad request must not end the connection without a word
            _log.exception("request_failed", signal=signal.value)
            return await self._refuse(Refused(Why.FAULT, f"the receiver failed: {fault!r}"), receive, answer_in)

    async def _refuse(self, refusal: Refused, receive: "_Inbound", answer_in: Encoding) -> Response:
        self.intake.refused(refusal)
        await _drain(receive)
        return refused(refusal, answer_in)

    async def _within(self, reading: Awaitable[bytes]) -> bytes:
        try:
            return await asyncio.wait_for(reading, self.timeouts.whole)
        except TimeoutError:
            raise Refused(
                Why.TOO_SLOW,
                f"the request took too long: got no whole body in {self.timeouts.whole:g} s; send it faster",
            ) from None

    def _page(self, path: str, method: str) -> Response:
        if method not in {"GET", "HEAD"}:
            return text(404, f"nothing is here: got {path}, expected one of {', '.join(PATHS)}")
        if path == "/metrics":
            body, content_type = self.metrics()
            return Response(200, [(b"content-type", content_type.encode())], body)
        if path in {"/healthz", "/healthz/live", "/healthz/ready"}:
            health = self.health()
            key = path.removeprefix("/healthz").strip("/") or "ready"
            return document(200 if health.get(key) else 503, health)
        return text(200, _WELCOME) if path == "/" else text(404, f"nothing is here: got {path}; {_WELCOME}")


class _Reading:
    """Reads one body; what it holds is reserved while the request lives."""

    def __init__(self, intake: Intake, headers: Mapping[str, str]) -> None:
        self._memory = intake.memory
        self._held = 0
        self._inflater = Inflater(headers.get("content-encoding", ""))
        self._length = _length(headers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self._memory.release(self._held)

    async def read(self, receive: Receive) -> bytes:
        """Collect the chunks."""
        if self._length > MAX_BODY_BYTES:
            raise too_large(MAX_BODY_BYTES)
        self._reserve(0)
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _Gone
            self._reserve(self._inflater.feed(message.get("body", b"")))
            if not message.get("more_body", False):
                return self._inflater.finish()

    def _reserve(self, size: int) -> None:
        self._memory.reserve(size)
        self._held += size


def _patient(receive: Receive, seconds: float) -> Receive:
    """Wait so long for each chunk and no longer."""

    async def next_chunk() -> Message:
        try:
            return await asyncio.wait_for(receive(), seconds)
        except TimeoutError:
            raise Refused(
                Why.TOO_SLOW,
                f"the request stalled: got nothing for {seconds:g} s, expected the rest of the body; send it faster",
            ) from None

    return next_chunk


class _Inbound:
    """What a sender sends; knows when that was all, because asking once more would wait for nothing."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.ended = False

    async def __call__(self) -> Message:
        message = await self._receive()
        self.ended = message["type"] == "http.disconnect" or not message.get("more_body", False)
        return message


async def _drain(receive: _Inbound) -> None:
    """Read what the sender is still sending and drop it, within bounds, so that it gets to hear the answer."""
    left = _DRAINED_BYTES
    try:
        async with asyncio.timeout(5):
            while left > 0 and not receive.ended:
                left -= len((await receive()).get("body", b""))
    except (TimeoutError, RuntimeError):
        return


def _headers(scope: Message) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def _length(headers: Mapping[str, str]) -> int:
    value = headers.get("content-length", "")
    return int(value) if value.isdigit() else 0
