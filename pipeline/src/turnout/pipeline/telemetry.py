"""Spans and log records as plain values, whatever wire they came over; what every dialect reads.

Ids are lowercase hexadecimal text, empty where the source gave none. Instants are nanoseconds since the Unix epoch, UTC;
zero and absent times are ``None``. Attribute values keep their OTLP types: text, bool, int, float, bytes, a tuple for an array and a
dict for a key-value list.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from turnout.outcomes.facts import Instant
from turnout.outcomes.quick import quick

Value: TypeAlias = "str | bool | int | float | bytes | tuple[Value, ...] | dict[str, Value] | None"
Attributes: TypeAlias = Mapping[str, Value]


class SpanStatus(StrEnum):
    """The status that the emitter set on a span."""

    UNSET = "unset"
    OK = "ok"
    ERROR = "error"


@quick
@dataclass(frozen=True, slots=True)
class Resource:
    """Who sent the record; one object is shared by all records of one block of an export."""

    attributes: Attributes = field(default_factory=dict[str, Value])


@quick
@dataclass(frozen=True, slots=True)
class Scope:
    """The instrumentation scope: the library that emitted the record."""

    name: str = ""
    version: str = ""


@quick
@dataclass(frozen=True, slots=True)
class SpanEvent:
    """A timed event inside a span."""

    name: str
    time: Instant | None
    attributes: Attributes


@quick
@dataclass(frozen=True, slots=True)
class Span:
    """One finished span."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    kind: int
    start: Instant | None
    end: Instant | None
    status: SpanStatus
    status_message: str
    attributes: Attributes
    events: tuple[SpanEvent, ...]
    scope: Scope
    resource: Resource
    remote_parent: bool = False
    """The emitter said that the parent lies in another process: this span is the topmost that can be expected here."""


@quick
@dataclass(frozen=True, slots=True)
class LogRecord:
    """One log record; ``name`` is its event identity: ``event.name``, else the event name field, else a text body.

    ``time`` falls back from the record's own time to the attribute ``event.timestamp`` and then to the observed time.
    """

    trace_id: str
    span_id: str
    name: str
    time: Instant | None
    body: Value
    attributes: Attributes
    scope: Scope
    resource: Resource
    severity: int = 0
    observed: Instant | None = None
    """When the record was first seen; finer than ``time`` where that comes from an attribute, so it orders what is equal there."""


Record: TypeAlias = Span | LogRecord
