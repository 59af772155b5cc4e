"""What both OTLP wires share: the identity and the time of an event, and a record that could not be read."""

from dataclasses import dataclass

from turnout.outcomes.facts import Instant
from turnout.outcomes.instants import parse_instant
from turnout.pipeline.telemetry import Attributes, LogRecord, Resource, Scope, SpanStatus, Value

_STATUS = (SpanStatus.UNSET, SpanStatus.OK, SpanStatus.ERROR)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record (of a line: the line) that could not be read, in one sentence."""

    what: str


def span_status(code: int) -> SpanStatus:
    """The status of a code; a code from a later protocol says nothing."""
    return _STATUS[code] if 0 <= code < len(_STATUS) else SpanStatus.UNSET


def log_record(
    *,
    trace_id: str,
    span_id: str,
    event_name: str,
    time: Instant | None,
    observed: Instant | None,
    body: Value,
    attributes: Attributes,
    severity: int,
    scope: Scope,
    resource: Resource,
) -> LogRecord:
    """A log record with its event identity and its time settled.

    The attribute ``event.name`` goes before the event name field, because codex writes a source position into the field.
    """
    named = attributes.get("event.name")
    name = named if isinstance(named, str) and named else event_name or (body if isinstance(body, str) else "")
    return LogRecord(
        trace_id=trace_id,
        span_id=span_id,
        name=name,
        time=time or _stamped(attributes.get("event.timestamp")) or observed,
        body=body,
        attributes=attributes,
        scope=scope,
        resource=resource,
        severity=severity,
        observed=observed,
    )


def _stamped(value: Value) -> Instant | None:
    if not isinstance(value, str):
        return None
    try:
        return parse_instant(value)
    except (ValueError, OverflowError):
        return None
