"""OTLP bodies and files -> records: protobuf and JSON, traces, logs and (counted only) metrics."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from turnout.pipeline import otlp_json, otlp_protobuf
from turnout.pipeline.errors import TurnoutError
from turnout.pipeline.json_text import parse_json
from turnout.pipeline.log_opening import opened
from turnout.pipeline.otlp_records import Rejected
from turnout.pipeline.telemetry import Record

Signal: TypeAlias = Literal["traces", "logs", "metrics"]

PROTOBUF = "application/x-protobuf"
JSON = "application/json"

__all__ = ["JSON", "PROTOBUF", "Decoded", "Line", "OtlpError", "Rejected", "Signal", "decode_request", "read_lines"]


class OtlpError(TurnoutError):
    """A body that is no OTLP message at all; nothing of it could be read."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """What one export request holds; ``metrics`` counts metrics, which are not kept."""

    records: tuple[Record, ...]
    rejected: tuple[Rejected, ...] = ()
    metrics: int = 0


@dataclass(frozen=True, slots=True)
class Line:
    """What one line of an OTLP JSON-lines file holds; a damaged line holds one rejection and nothing else."""

    number: int
    decoded: Decoded


def decode_request(body: bytes, content_type: str, signal: Signal) -> Decoded:
    """Read the (already inflated) body of one export request.

    Raises:
        OtlpError: when the body as a whole is not what the content type says, or the content type is neither of OTLP's two.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == JSON:
        return _decode_json(body)
    if kind != PROTOBUF:
        raise OtlpError(
            f"content type: got {content_type!r}, expected {PROTOBUF} or {JSON}; set OTEL_EXPORTER_OTLP_PROTOCOL"
        )
    return _decode_protobuf(body, signal)


def read_lines(path: Path) -> Iterator[Line]:
    """Read a file of OTLP JSON lines, traces, logs and metrics mixed, one line after the other; blank lines are passed over."""
    with opened(path) as lines:
        for number, line in enumerate(lines, start=1):
            text = line.strip()
            if text:
                yield Line(number, _decode_line(text))


def _decode_line(text: bytes) -> Decoded:
    try:
        return _decode_json(text)
    except OtlpError as error:
        return Decoded((), (Rejected(str(error)),))


def _decode_json(body: bytes) -> Decoded:
    try:
        message = parse_json(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise OtlpError(f"OTLP/JSON body: got {error}, expected one export request") from error
    return _sorted_out(otlp_json.records_of(message), otlp_json.metrics_of(message))


def _decode_protobuf(body: bytes, signal: Signal) -> Decoded:
    try:
        match signal:
            case "traces":
                return _sorted_out(otlp_protobuf.trace_records(body))
            case "logs":
                return _sorted_out(otlp_protobuf.log_records(body))
            case "metrics":
                return Decoded((), metrics=otlp_protobuf.metric_count(body))
    except otlp_protobuf.DAMAGED as error:
        raise OtlpError(f"OTLP protobuf body: got {error}, expected one {signal} export request") from error


def _sorted_out(items: Iterable[Record | Rejected], metrics: int = 0) -> Decoded:
    records: list[Record] = []
    rejected: list[Rejected] = []
    for item in items:
        if isinstance(item, Rejected):
            rejected.append(item)
        else:
            records.append(item)
    return Decoded(tuple(records), tuple(rejected), metrics)
