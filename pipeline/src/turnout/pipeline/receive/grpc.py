"""OTLP over gRPC: the same intake, with gRPC's codes; bodies pass through as bytes."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

import grpc
import structlog
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo  # type: ignore[import-untyped]  # it publishes no types
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]  # it publishes no types

from turnout.pipeline.receive.access import Token
from turnout.pipeline.receive.bodies import MAX_BODY_BYTES, Encoding, Signal
from turnout.pipeline.receive.intake import Intake
from turnout.pipeline.receive.listener import ListenError, Tls, bind
from turnout.pipeline.receive.refusals import Refused, Why
from turnout.pipeline.receive.responses import success_message

_log: structlog.stdlib.BoundLogger = structlog.get_logger("turnout.receive")

SERVICES = {
    Signal.TRACES: "opentelemetry.proto.collector.trace.v1.TraceService",
    Signal.LOGS: "opentelemetry.proto.collector.logs.v1.LogsService",
    Signal.METRICS: "opentelemetry.proto.collector.metrics.v1.MetricsService",
}
_CODES = {
    Why.MALFORMED: grpc.StatusCode.INVALID_ARGUMENT,
    Why.UNAUTHENTICATED: grpc.StatusCode.UNAUTHENTICATED,
    Why.FORBIDDEN: grpc.StatusCode.PERMISSION_DENIED,
    Why.TOO_LARGE: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Why.UNSUPPORTED: grpc.StatusCode.UNIMPLEMENTED,
    Why.TOO_SLOW: grpc.StatusCode.DEADLINE_EXCEEDED,
    # What may be sent again says so by RetryInfo; without it a sender must not.
    Why.BUSY: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Why.UNAVAILABLE: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Why.FAULT: grpc.StatusCode.INTERNAL,
}
_THREADS = 8
_DRAIN_SECONDS = 10


class GrpcListener:
    """A gRPC server over an intake."""

    def __init__(self, intake: Intake, host: str, port: int, tls: Tls | None = None) -> None:
        self._server = grpc.server(
            ThreadPoolExecutor(_THREADS, thread_name_prefix="turnout-grpc"),
            options=[("grpc.max_receive_message_length", MAX_BODY_BYTES), ("grpc.so_reuseport", 0)],
        )
        for signal, service in SERVICES.items():
            self._server.add_generic_rpc_handlers((_handlers(intake, signal, service),))
        # gRPC says why it cannot only in a log of its own.
        bind(host, port, " for gRPC").close()
        self.host, self.port = host, self._bind(f"[{host}]:{port}" if ":" in host else f"{host}:{port}", tls)

    def start(self) -> None:
        """Begin to accept."""
        self._server.start()

    def stop(self) -> None:
        """End, after the calls in hand have been answered."""
        self._server.stop(_DRAIN_SECONDS).wait()

    def _bind(self, address: str, tls: Tls | None) -> int:
        try:
            if tls is None:
                return int(self._server.add_insecure_port(address))
            pair = (tls.key.read_bytes(), tls.certificate.read_bytes())
            return int(self._server.add_secure_port(address, grpc.ssl_server_credentials([pair])))
        except (RuntimeError, OSError) as error:
            raise ListenError(
                f"cannot listen on {address} for gRPC: got {error}, expected a free address of this machine; name another"
            ) from error


def _handlers(intake: Intake, signal: Signal, service: str) -> grpc.GenericRpcHandler:
    method: grpc.RpcMethodHandler[bytes, bytes] = grpc.unary_unary_rpc_method_handler(_export(intake, signal))
    return grpc.method_handlers_generic_handler(service, {"Export": method})


def _export(intake: Intake, signal: Signal) -> Callable[[bytes, grpc.ServicerContext], bytes]:
    def export(payload: bytes, context: grpc.ServicerContext) -> bytes:
        try:
            sender = _sender(intake, context)
            with intake.memory.held(len(payload)):
                return success_message(signal, intake.accept_blocking(signal, Encoding.PROTOBUF, payload, sender))
        except Refused as refusal:
            intake.refused(refusal)
            _abort(context, refusal)
        except Exception as fault:  # noqa: BLE001 - told to the sender, and logged
            _log.exception("request_failed", signal=signal.value)
            _abort(context, Refused(Why.FAULT, f"the receiver failed: {fault!r}"))

    return export


def _sender(intake: Intake, context: grpc.ServicerContext) -> Token | None:
    metadata: dict[str, Any] = dict(context.invocation_metadata() or ())
    return intake.admit(str(metadata.get("authorization", "")))


def _abort(context: grpc.ServicerContext, refusal: Refused) -> NoReturn:
    code = _CODES[refusal.why]
    status = Status(code=code.value[0], message=refusal.message)
    if refusal.retry_after is not None:
        detail = AnyMessage()
        detail.Pack(RetryInfo(retry_delay=Duration(seconds=refusal.retry_after)))
        status.details.append(detail)
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(code, refusal.message)
    raise AssertionError  # abort raises
