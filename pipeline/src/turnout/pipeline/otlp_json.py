"""OTLP/JSON values -> records, tolerant of what real emitters write.

Seen in real telemetry and held here: 64-bit integers as numbers (JavaScript) or text (Python), a status that is missing, empty or coded
as text, ids that are empty or all zeros, enums as numbers or names, an absent body, and ``null`` where a value is missing. One
record that cannot be read is reported and its neighbours are kept.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from turnout.pipeline.otlp_records import Rejected, log_record, span_status
from turnout.pipeline.telemetry import LogRecord, Record, Resource, Scope, Span, SpanEvent, Value

_KINDS = {"INTERNAL": 1, "SERVER": 2, "CLIENT": 3, "PRODUCER": 4, "CONSUMER": 5}
_STATUS_CODES = {"STATUS_CODE_UNSET": 0, "STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": 2}
_REMOTE_FLAGS = 0x300
"""Both bits: the emitter knows whether the parent is remote, and it is."""

_NOT_READABLE = (ValueError, TypeError, AttributeError, KeyError, OverflowError, RecursionError)
_DIGITS = re.compile(r"\s*[+-]?\d{1,40}\s*", re.ASCII)
_LEAST, _MOST = -(2**63), 2**64 - 1
"""What the wire has room for, in signed and in unsigned numbers."""
_R = TypeVar("_R", Span, LogRecord)


def records_of(message: object) -> Iterator[Record | Rejected]:
    """Every span and log record of one export message, in its order; metrics are passed over."""
    if not isinstance(message, dict):
        yield Rejected(
            f"got {type(message).__name__}, expected an object with resourceSpans, resourceLogs or resourceMetrics"
        )
        return
    yield from _blocks(message, "resourceSpans", ("scopeSpans", "instrumentationLibrarySpans"), "spans", _span)
    yield from _blocks(message, "resourceLogs", ("scopeLogs", "instrumentationLibraryLogs"), "logRecords", _log)


def metrics_of(message: object) -> int:
    """How many metrics one export message holds."""
    if not isinstance(message, dict):
        return 0
    scopes = [
        scope
        for block in _objects(_field(message, "resourceMetrics"))
        for name in ("scopeMetrics", "instrumentationLibraryMetrics")
        for scope in _objects(_field(block, name))
    ]
    return sum(len(_objects(_field(scope, "metrics"))) for scope in scopes)


def _blocks(
    message: dict[str, Any],
    outer: str,
    inner: tuple[str, ...],
    leaf: str,
    read: Callable[[dict[str, Any], Scope, Resource], _R],
) -> Iterator[_R | Rejected]:
    for block in _objects(_field(message, outer)):
        resource = _resource_or_fault(block.get("resource"))
        for name in inner:
            for group in _objects(_field(block, name)):
                scope = _scope(group.get("scope") or group.get("instrumentationLibrary"))
                for item in _list(_field(group, leaf)):
                    try:
                        if isinstance(resource, Exception):
                            raise resource
                        yield read(item, scope, resource)
                    except _NOT_READABLE as error:
                        yield Rejected(f"{leaf}: {_why(error)}")


def _resource_or_fault(item: object) -> Resource | Exception:
    """The resource, or why it cannot be read; then the records that it stands for cannot be either."""
    try:
        return _resource(item)
    except _NOT_READABLE as error:
        return error


def _why(error: Exception) -> str:
    """Why a record cannot be read, never with the value itself: reasons are kept and counted, values may be content."""
    return str(error) if type(error) is ValueError else "a value has another type than OTLP gives it"


def _span(item: dict[str, Any], scope: Scope, resource: Resource) -> Span:
    item = _camel(item)
    status = item.get("status") or {}
    span_id = _id(item.get("spanId"))
    if not span_id:
        raise ValueError("a span has no spanId")
    return Span(
        trace_id=_id(item.get("traceId")),
        span_id=span_id,
        parent_id=_id(item.get("parentSpanId")),
        name=str(item.get("name") or ""),
        kind=_enum(item.get("kind"), {f"SPAN_KIND_{name}": number for name, number in _KINDS.items()}),
        start=_nanos(item.get("startTimeUnixNano")),
        end=_nanos(item.get("endTimeUnixNano")),
        status=span_status(_enum(status.get("code"), _STATUS_CODES)),
        status_message=str(status.get("message") or ""),
        attributes=_attributes(item.get("attributes")),
        events=tuple(_event(_camel(event)) for event in _objects(item.get("events"))),
        scope=scope,
        resource=resource,
        remote_parent=_int(item.get("flags") or 0) & _REMOTE_FLAGS == _REMOTE_FLAGS,
    )


def _event(item: dict[str, Any]) -> SpanEvent:
    return SpanEvent(
        name=str(item.get("name") or ""),
        time=_nanos(item.get("timeUnixNano")),
        attributes=_attributes(item.get("attributes")),
    )


def _log(item: dict[str, Any], scope: Scope, resource: Resource) -> LogRecord:
    item = _camel(item)
    return log_record(
        trace_id=_id(item.get("traceId")),
        span_id=_id(item.get("spanId")),
        event_name=str(item.get("eventName") or ""),
        time=_nanos(item.get("timeUnixNano")),
        observed=_nanos(item.get("observedTimeUnixNano")),
        body=_value(item.get("body")),
        attributes=_attributes(item.get("attributes")),
        severity=_severity(item.get("severityNumber")),
        scope=scope,
        resource=resource,
    )


def _resource(item: object) -> Resource:
    return Resource(_attributes(item.get("attributes")) if isinstance(item, dict) else {})


def _scope(item: object) -> Scope:
    return Scope(str(item.get("name") or ""), str(item.get("version") or "")) if isinstance(item, dict) else Scope()


def _attributes(items: object) -> dict[str, Value]:
    return {str(item["key"]): _value(item.get("value")) for item in _objects(items) if "key" in item}


def _value(item: object) -> Value:
    if not isinstance(item, dict):
        return None
    for kind, value in item.items():
        reader = _VALUES.get(kind)
        if reader is not None:
            return reader(value)
    return None


def _array(value: Any) -> tuple[Value, ...]:
    return tuple(_value(item) for item in _list((value or {}).get("values")))


def _double(value: Any) -> float:
    try:
        return float(value)
    except ValueError:
        raise ValueError("got text that is no number, expected a number") from None


def _bool(value: Any) -> bool:
    return value if isinstance(value, bool) else str(value).lower() == "true"


def _bytes(value: Any) -> bytes:
    return b64decode(str(value))


def _mapping(value: Any) -> dict[str, Value]:
    return _attributes((value or {}).get("values"))


def _int(value: Any) -> int:
    found = int(value) if not isinstance(value, str) or _DIGITS.fullmatch(value) else int(_double(value))
    if not _LEAST <= found <= _MOST:
        raise ValueError("an integer has more than 64 bits")
    return found


_VALUES: dict[str, Callable[[Any], Value]] = {
    "stringValue": str,
    "intValue": _int,
    "boolValue": _bool,
    "doubleValue": _double,
    "arrayValue": _array,
    "kvlistValue": _mapping,
    "bytesValue": _bytes,
    "string_value": str,
    "int_value": _int,
    "bool_value": _bool,
    "double_value": _double,
    "array_value": _array,
    "kvlist_value": _mapping,
    "bytes_value": _bytes,
}


def _id(value: object) -> str:
    """An id as lowercase hexadecimal; some emitters write the bytes as base64, as plain protobuf JSON does."""
    text = str(value or "")
    if text.endswith("=") and len(text) in {12, 24}:
        text = b64decode(text).hex()
    return "" if text.strip("0") == "" else text.lower()


def _nanos(value: object) -> int | None:
    nanos = (_int(value) or None) if value is not None and value != "" else None
    if nanos is not None and nanos < 0:
        raise ValueError("a time lies before 1970")
    return nanos


def _enum(value: object, names: dict[str, int]) -> int:
    if isinstance(value, str) and not value.isdigit():
        return names.get(value, 0)
    return _int(value or 0)


def _severity(value: object) -> int:
    return _int(value) if isinstance(value, int | float) or (isinstance(value, str) and value.isdigit()) else 0


def _camel(item: dict[str, Any]) -> dict[str, Any]:
    """The item with the names of protobuf's JSON form, which may also be written with underscores."""
    if not any("_" in key for key in item):
        return item
    return {_to_camel(key): value for key, value in item.items()}


def _to_camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _field(item: dict[str, Any], name: str) -> object:
    found = item.get(name)
    return found if found is not None else item.get("".join(f"_{c.lower()}" if c.isupper() else c for c in name))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in _list(value) if isinstance(item, dict)]
