"""Loaded by ``opentelemetry-instrument`` before it starts the program: a protocol that works where none is chosen.

OpenTelemetry's distribution chooses gRPC, and without the gRPC exporter, which is none of our requirements, its whole start fails and
nothing is recorded. A protocol that somebody chose stays as it is.
"""

import os
from importlib.util import find_spec

PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL"


def choose_protocol() -> None:
    """Choose HTTP, unless gRPC can be had or something else was chosen."""
    if not _installed("opentelemetry.exporter.otlp.proto.grpc"):
        os.environ.setdefault(PROTOCOL, "http/protobuf")


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:
        return False


choose_protocol()
