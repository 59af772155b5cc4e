"""Log records as the parts of a turn: for dialects that tell their turns by events, with spans or without any.

An event that stands for a request or a tool call becomes a node like those of spans, so that both are put together in one way.
"""

from collections.abc import Iterable
from dataclasses import replace

from turnout.outcomes.facts import Instant
from turnout.pipeline.dialects.reading import Node, Reading
from turnout.pipeline.dialects.values import number, whole
from turnout.pipeline.telemetry import LogRecord, Span, SpanStatus

LOG = "log:"
"""How the id of a node begins that stands for a log record."""
_NANOS_PER_MILLI = 1_000_000
_LONGEST = 2**63


def distinct_logs(logs: Iterable[LogRecord]) -> list[LogRecord]:
    """One of each log record; an export that was sent twice is the same record twice."""
    once: dict[str, LogRecord] = {}
    for log in logs:
        once.setdefault(identity(log), log)
    return sorted(once.values(), key=in_order)


def identity(log: LogRecord) -> str:
    """What tells two log records apart: all that they hold."""
    return repr(
        (
            log.trace_id,
            log.span_id,
            log.name,
            log.time,
            log.observed,
            sorted(log.attributes.items(), key=repr),
            log.body,
        )
    )


def in_order(log: LogRecord) -> tuple[int, int, int, str]:
    """The order of events: by time, then by the emitter's own counter, then by when they were seen."""
    sequence = whole(log.attributes, "event.sequence")
    return (log.time or log.observed or 0, sequence or 0, log.observed or 0, identity(log))


def started(log: LogRecord) -> Instant | None:
    """When that began which an event reports at its end."""
    end = log.time or log.observed
    duration = number(log.attributes, "duration_ms")
    took = int(min((duration or 0) * _NANOS_PER_MILLI, _LONGEST))
    return None if end is None or took > end else end - took


def node_of(log: LogRecord, reading: Reading, *, start: Instant | None = None, end: Instant | None = None) -> Node:
    """An event as a node of a turn; its times are those of what it reports."""
    span = Span(
        trace_id=log.trace_id,
        span_id=f"{LOG}{identity(log)}",
        parent_id="",
        name=log.name,
        kind=0,
        start=start if start is not None else started(log),
        end=end if end is not None else (log.time or log.observed),
        status=SpanStatus.UNSET,
        status_message="",
        attributes=log.attributes,
        events=(),
        scope=log.scope,
        resource=log.resource,
    )
    return Node(span, reading)


def ended(node: Node, end: Instant | None) -> Node:
    """The node with a later end."""
    if end is None or (node.span.end or 0) >= end:
        return node
    return Node(replace(node.span, end=end), node.reading)
