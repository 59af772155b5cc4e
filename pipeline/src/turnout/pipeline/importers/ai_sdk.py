"""Spans of the AI SDK as its exporter prints them: JSON arrays, or objects that group spans by operation.

The outer span of an operation is the turn, the spans of its ``.do…`` calls are the steps; both carry usage, so only the inner
counts. Spans find each other by trace and parent, and where an exporter lost these by operation, function and time.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from turnout.outcomes.facts import (
    Claim,
    Instant,
    Layer,
    Output,
    Step,
    StepError,
    ToolCall,
    ToolStatus,
    TurnFacts,
    Usage,
)
from turnout.pipeline.importers import chat, fields
from turnout.pipeline.importers.base import (
    Damaged,
    Imported,
    Reading,
    Record,
    Skipped,
    Source,
    Tally,
    counted,
    read_records,
)

KIND = "ai-sdk"
_INNER = ".do"
_TOOL = "ai.toolCall"
_EMBED = "ai.embed"
_NANOS = 1_000_000_000
_ERROR_CODE = 2

Value = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One span, as far as turns are made of it."""

    operation: str
    trace_id: str
    span_id: str
    parent_id: str | None
    attributes: Value
    started_at: Instant | None
    ended_at: Instant | None
    failed: bool
    message: str | None

    @property
    def function(self) -> str | None:
        """Name the function that the caller gave to the operation."""
        return fields.text(self.attributes, "ai.telemetry.functionId") or fields.text(self.attributes, "resource.name")

    @property
    def is_outer(self) -> bool:
        """Whether the span is an operation itself."""
        return _INNER not in self.operation and self.operation != _TOOL


def unpack(document: object) -> Iterable[object]:
    """Find the spans of a document: its elements, or those of the lists that it groups them in."""
    if not isinstance(document, Mapping):
        return [document]
    groups = [group for group in document.values() if isinstance(group, list)]
    spans = [span for group in groups for span in group if _is_span(span)]
    return spans or [document]


def recognise(sample: Sequence[Value], name: str) -> bool:
    """Know spans by the names of the operations."""
    del name
    return any(_is_span(value) for value in sample)


def _is_span(value: object) -> bool:
    operation = fields.text(value, "attributes", "ai.operationId")
    return operation is not None and operation.startswith("ai.")


class AiSdkImporter:
    """Spans of one turn may lie in several files: together they are read as one set."""

    kind = KIND
    joins_files = True

    def recognises(self, sample: Sequence[Value], name: str) -> bool:
        """Say whether the first records of a file are such spans."""
        return recognise(sample, name)

    def read(self, path: Path, *, digest_key: bytes | None = None) -> Reading:
        """Read one file by itself."""
        return self.read_all([path], digest_key=digest_key)

    def read_all(self, paths: Sequence[Path], *, digest_key: bytes | None = None) -> Reading:
        """Read the spans of all files, then make turns of them."""

        def make(tally: Tally) -> Iterator[Imported]:
            spans: dict[str, Span] = {}
            for path in paths:
                for record in counted(read_records(path, unpack), tally):
                    if isinstance(record, Damaged):
                        yield record
                    elif isinstance(found := _span(record, path), Span):
                        spans[f"{found.trace_id}:{found.span_id}"] = found
                    else:
                        yield found
            yield from turns(Source(path="", digest_key=digest_key), list(spans.values()))

        return Reading(make)


def _span(record: Record, path: Path) -> Span | Skipped:
    value = record.value
    if not _is_span(value):
        return Skipped(path=str(path), why=f"record {record.number} is no span of the AI SDK: no ai.operationId")
    attributes = fields.mapping(value, "attributes")
    operation = fields.text(attributes, "ai.operationId") or ""
    if operation.startswith(_EMBED):
        return Skipped(path=str(path), why=f"{operation}: an embedding is no turn")
    context = fields.mapping(value, "spanContext")
    parent = fields.text(value, "parentSpanId") or fields.text(value, "parentSpanContext", "spanId")
    return Span(
        operation=operation,
        trace_id=fields.text(context, "traceId") or fields.text(value, "traceId") or "",
        span_id=fields.text(context, "spanId") or fields.text(value, "id") or fields.text(value, "spanId") or "",
        parent_id=parent or fields.text(value, "parentId"),
        attributes=attributes,
        started_at=_time(value.get("startTime")),
        ended_at=_time(value.get("endTime")),
        failed=fields.integer(value, "status", "code") == _ERROR_CODE,
        message=fields.text(value, "status", "message"),
    )


def _time(value: object) -> Instant | None:
    """Read the pair of seconds and nanoseconds that the exporter writes."""
    if isinstance(value, list) and len(value) == len(("seconds", "nanoseconds")):
        seconds, nanos = fields.integer(value[0]), fields.integer(value[1])
        return None if seconds is None or nanos is None else seconds * _NANOS + nanos
    return fields.instant(value)


def turns(source: Source, spans: Sequence[Span]) -> Iterator[TurnFacts]:
    """Make a turn of every operation, and of every inner span whose operation is not there."""
    outer = [span for span in spans if span.is_outer]
    parts: dict[str, list[Span]] = {span.span_id: [] for span in outer}
    alone: list[Span] = []
    for span in spans:
        if not span.is_outer:
            owner = _owner(span, outer)
            (alone if owner is None else parts[owner.span_id]).append(span)
    for span in outer:
        yield _turn(source, span, parts[span.span_id])
    for span in alone:
        if span.operation != _TOOL:
            yield _turn(source, span, [span])


def _owner(span: Span, outer: Sequence[Span]) -> Span | None:
    """Find the operation of an inner span: its parent, else the one that it fits into."""
    by_parent = next((other for other in outer if other.span_id == span.parent_id), None)
    if by_parent is not None:
        return by_parent
    if span.parent_id is not None:
        near = [other for other in outer if other.trace_id == span.trace_id]
        return near[0] if len(near) == 1 else None
    fitting = [other for other in outer if _fits(span, other)]
    return fitting[0] if len(fitting) == 1 else None


def _fits(span: Span, other: Span) -> bool:
    start, end = span.started_at, span.ended_at
    if other.started_at is None or other.ended_at is None or start is None or end is None:
        return False
    same = span.operation.startswith(f"{other.operation}{_INNER}") and span.function == other.function
    return same and other.started_at <= start and end <= other.ended_at


def _turn(source: Source, span: Span, parts: Sequence[Span]) -> TurnFacts:
    """Make the turn; without its requests the operation tells of its last one, and its usage is the whole turn's."""
    ordered = sorted(parts, key=lambda part: (part.started_at or 0, part.span_id))
    tools = {fields.text(part.attributes, "ai.toolCall.id"): part for part in ordered if part.operation == _TOOL}
    requests = [part for part in ordered if part.operation != _TOOL]
    steps = tuple(_step(source, part, tools, index) for index, part in enumerate(requests, 1))
    return TurnFacts(
        turn_id=f"{span.trace_id}:{span.span_id}",
        trace_id=span.trace_id or None,
        agent=span.function,
        source=KIND,
        started_at=span.started_at,
        ended_at=span.ended_at,
        last_seen_at=span.ended_at,
        steps=steps or (replace(_step(source, span, tools, 1), usage=None, request_id=None),),
        claims=(_failure(span),) if span.failed else (),
        usage=None if requests else _usage(span.attributes),
    )


def _failure(span: Span) -> Claim:
    return Claim(by=Layer.RUNTIME, reason="error", at=span.ended_at, message=span.message)


def _step(source: Source, span: Span, tools: Mapping[str | None, Span], index: int) -> Step:
    at = span.attributes
    said = fields.text(at, "ai.response.text") or fields.text(at, "ai.response.object") or ""
    calls = tuple(_call(source, call, tools) for call in _asked(at))
    reason = fields.text(at, "ai.response.finishReason")
    provider = fields.text(at, "ai.model.provider") or fields.text(at, "gen_ai.system")
    return Step(
        index=index,
        request_id=span.span_id or None,
        message_id=fields.text(at, "ai.response.id") or fields.text(at, "gen_ai.response.id"),
        provider=provider.split(".", 1)[0] if provider is not None else None,
        model=fields.text(at, "ai.response.model") or fields.text(at, "ai.model.id"),
        started_at=span.started_at,
        ended_at=span.ended_at,
        finish_reason=reason,
        max_output_tokens=fields.count(at, "ai.settings.maxOutputTokens")
        or fields.count(at, "ai.settings.maxTokens")
        or fields.count(at, "gen_ai.request.max_tokens"),
        usage=_usage(at),
        output=Output(text_chars=len(said), parts=(said != "") + len(calls)),
        error=StepError(message=span.message) if span.failed else None,
        tool_calls=calls,
    )


def _asked(attributes: Value) -> tuple[Value, ...]:
    return chat.parsed_objects(attributes.get("ai.response.toolCalls"))


def _call(source: Source, call: Value, tools: Mapping[str | None, Span]) -> ToolCall:
    call_id = fields.text(call, "toolCallId")
    ran = tools.get(call_id)
    status = ToolStatus.UNKNOWN if ran is None else ToolStatus.ERROR if ran.failed else ToolStatus.OK
    return ToolCall(
        id=call_id,
        name=fields.text(call, "toolName"),
        status=status,
        arguments_digest=source.digest(call.get("input") or call.get("args")),
        started_at=None if ran is None else ran.started_at,
        ended_at=None if ran is None else ran.ended_at,
    )


def _usage(attributes: Value) -> Usage | None:
    def count(*names: str) -> int | None:
        found = (fields.count(attributes, name) for name in names)
        return next((number for number in found if number is not None), None)

    usage = Usage(
        input_tokens=count("ai.usage.inputTokens", "ai.usage.promptTokens", "gen_ai.usage.input_tokens"),
        output_tokens=count("ai.usage.outputTokens", "ai.usage.completionTokens", "gen_ai.usage.output_tokens"),
        cache_read_tokens=count("ai.usage.cachedInputTokens", "ai.usage.inputTokenDetails.cacheReadTokens"),
        reasoning_tokens=count("ai.usage.reasoningTokens", "ai.usage.outputTokenDetails.reasoningTokens"),
    )
    return None if usage == Usage() else usage
