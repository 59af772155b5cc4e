"""Codex CLI: log events of a conversation, and spans where the trace exporter is on.

| fact | where | from | trap |
|---|---|---|---|
| event | attribute ``event.name``; the same events stand on spans where only traces are exported | 0.80 | the event name field is a source position; bodies are empty; times are zero: ``event.timestamp`` |
| turn | from one ``codex.user_prompt`` of a ``conversation.id`` to the next | | events have no turn id, and some no trace id |
| turn id, end and totals | span ``session_task.turn``: ``turn.id``, ``codex.turn.token_usage.*`` | 0.150 | missing when the run was interrupted; no status, no outcome |
| request | event ``codex.api_request`` (``codex.websocket_request``), ended by ``codex.sse_event`` of kind ``response.completed``, ``response.incomplete`` or ``response.failed`` | | other endpoints are no model requests; a retry is an ``attempt`` of its own |
| finish | the kind of the last response event | | no finish reason exists; ``completed`` stands beside tool calls too, and beside ``error.message`` where the stream broke off |
| the provider's word | ``Incomplete response returned, reason: …`` in ``error.message`` | 0.150 | ``codex exec`` exports nothing of such a turn |
| usage | ``input_token_count``, ``output_token_count``, ``cached_token_count``, ``cache_write_token_count``, ``reasoning_token_count`` | | a second ``response.completed`` without counts; ``tool_token_count`` is the total |
| tool call | event ``codex.tool_result``: ``call_id``, ``tool_name``, ``success`` (text) | | the spans of the call, ``codex.tool_decision`` and the dispatch are the same call |
| denial | ``decision`` of ``codex.tool_decision`` | | ``abort`` also ends the turn |
| cancelled | ``aborted`` on the span of a tool | | else nothing but what is missing |
| noise | some 500 spans a turn | | only those named here are kept |
| attended | ``service.name``: ``codex_exec`` has nobody, ``codex_tui`` somebody | | |
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from turnout.outcomes.facts import Claim, Instant, Layer, Step, StepError, ToolCall, ToolStatus
from turnout.pipeline.dialects import errors, values
from turnout.pipeline.dialects.events import in_order, node_of, started
from turnout.pipeline.dialects.plan import Plan
from turnout.pipeline.dialects.reading import Node, Reading, Role
from turnout.pipeline.telemetry import Attributes, LogRecord, Span, SpanEvent, Value

SOURCE = "codex"

_SERVICES = ("codex_", "codex-")
_SCOPES = (*_SERVICES, "codex.")
_TURN = "session_task.turn"
_KEPT_SPANS = frozenset({_TURN, "run_sampling_request", "codex.sampling", "run_turn"})
_PROMPT = "codex.user_prompt"
_REQUESTS = frozenset({"codex.api_request", "codex.websocket_request"})
_RESPONSES = frozenset({"codex.sse_event", "codex.websocket_event"})
_KEPT_EVENTS = frozenset(
    {_PROMPT, "codex.conversation_starts", "codex.tool_decision", "codex.tool_result", *_REQUESTS, *_RESPONSES}
)
_KINDS = {
    "response.completed": "completed",
    "response.done": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
}
_CUT = re.compile(r"Incomplete response returned, reason: (\w+)")
_ENDPOINTS = ("/responses", "/chat/completions")
_USAGE: Mapping[str, values.Names] = {
    "input_tokens": ("input_token_count",),
    "output_tokens": ("output_token_count",),
    "cache_read_tokens": ("cached_token_count",),
    "cache_write_tokens": ("cache_write_token_count",),
    "reasoning_tokens": ("reasoning_token_count",),
}
_TOTALS = "codex.turn.token_usage."
_TURN_USAGE: Mapping[str, values.Names] = {
    "input_tokens": (f"{_TOTALS}input_tokens",),
    "output_tokens": (f"{_TOTALS}output_tokens",),
    "cache_read_tokens": (f"{_TOTALS}cached_input_tokens",),
    "cache_write_tokens": (f"{_TOTALS}cache_write_input_tokens",),
    "reasoning_tokens": (f"{_TOTALS}reasoning_output_tokens",),
}
_FAILED = 400
"""The first HTTP status that is a failure."""
_DENIALS = frozenset({"denied", "abort", "rejected"})


def speaks(record: Span | LogRecord) -> bool:
    """Whether a record is Codex's: by its service, its scope, or the name of its event."""
    service = record.resource.attributes.get("service.name")
    return _sends(record.scope.name, service if isinstance(service, str) else "") or record.name.startswith("codex.")


@lru_cache(maxsize=4096)
def _sends(scope: str, service: str) -> bool:
    """Every record is asked, several times, and few scopes and services send them."""
    return scope.startswith(_SCOPES) or service.startswith(_SERVICES)


def is_relevant(record: Span | LogRecord) -> bool:
    """Whether a record says anything of a turn."""
    if isinstance(record, LogRecord):
        return record.name in _KEPT_EVENTS and _counts(record.name, record.attributes)
    return record.name in _KEPT_SPANS or "call_id" in record.attributes or any(True for _ in _events_on(record))


def link_keys(record: Span | LogRecord) -> tuple[str, ...]:
    """The conversation ties events without a trace to the others."""
    conversation = _conversation(record)
    return (f"{SOURCE}:{conversation}",) if conversation else ()


def _conversation(record: Span | LogRecord) -> str | None:
    a = record.attributes
    if isinstance(record, LogRecord):
        return values.text(a, "conversation.id")
    if record.name == _TURN:
        return values.text(a, "thread.id", "conversation.id")
    found = values.text(a, "conversation.id")
    return found or next(
        (text for event in _events_on(record) if (text := values.text(event.attributes, "conversation.id"))), None
    )


def _counts(name: str, attributes: Attributes) -> bool:
    """Of the many response events only those that end a response count."""
    return name not in _RESPONSES or values.text(attributes, "event.kind") in _KINDS


def _events_on(span: Span) -> Iterator[SpanEvent]:
    for event in span.events:
        name = values.text(event.attributes, "event.name") or ""
        if name in _KEPT_EVENTS and _counts(name, event.attributes):
            yield event


# --- conversations and turns


@dataclass(slots=True)
class _Turn:
    """The records of one turn."""

    id: str
    events: list[LogRecord] = field(default_factory=list[LogRecord])
    spans: list[Span] = field(default_factory=list[Span])


def add(plan: Plan, logs: Iterable[LogRecord], spans: Iterable[Span]) -> None:
    """Make the drafts of all turns of all conversations."""
    by_conversation: dict[str, list[LogRecord]] = defaultdict(list)
    spans = list(spans)
    told = list(logs) or [log for span in spans for log in _as_logs(span)]
    for log in told:
        by_conversation[_conversation(log) or ""].append(log)
    for conversation, events in sorted(by_conversation.items()):
        if conversation:
            own = [span for span in spans if _conversation(span) == conversation or _turn_id(span) is not None]
            for turn in _turns(conversation, sorted(events, key=in_order), own):
                _put(plan, conversation, turn)


def _as_logs(span: Span) -> Iterator[LogRecord]:
    for event in _events_on(span):
        name = values.text(event.attributes, "event.name") or event.name
        yield LogRecord(
            trace_id=span.trace_id,
            span_id=span.span_id,
            name=name,
            time=values.instant(event.attributes, "event.timestamp") or event.time,
            body=None,
            attributes=event.attributes,
            scope=span.scope,
            resource=span.resource,
            observed=event.time,
        )


def _turn_id(span: Span) -> str | None:
    return values.text(span.attributes, "turn.id", "turn_id")


def _turns(conversation: str, events: Sequence[LogRecord], spans: Sequence[Span]) -> list[_Turn]:
    """The events cut at every prompt; what comes before the first belongs to the first."""
    starts = [log for log in events if log.name == _PROMPT]
    traces = {span.trace_id: found for span in spans if (found := _turn_id(span)) is not None and span.trace_id}
    turns: list[_Turn] = []
    for position, start in enumerate(starts):
        until = starts[position + 1].time if position + 1 < len(starts) else None
        since = None if position == 0 else start.time
        inside = [log for log in events if _within(log.time, since, until)]
        known = next((traces[log.trace_id] for log in inside if log.trace_id in traces), None)
        turn = _Turn(known or f"{conversation}:{start.time or start.observed or 0}", inside)
        turn.spans = [span for span in spans if known is not None and _turn_id(span) == known]
        turns.append(turn)
    if not starts and events:
        known = next((traces[log.trace_id] for log in events if log.trace_id in traces), None)
        turns.append(
            _Turn(known or conversation, list(events), [span for span in spans if known and _turn_id(span) == known])
        )
    return turns


def _within(time: Instant | None, since: Instant | None, until: Instant | None) -> bool:
    at = time or 0
    return (since is None or at >= since) and (until is None or at < until)


def _put(plan: Plan, conversation: str, turn: _Turn) -> None:
    draft = plan.make((SOURCE, turn.id))
    draft.name = f"{SOURCE}:{turn.id}"
    draft.calls = list(_calls(turn, conversation))
    draft.tools = list(_tools(turn, conversation))
    whole = next((span for span in turn.spans if span.name == _TURN), None)
    if whole is not None:
        draft.heads = [
            Node(
                whole,
                replace(_about(Role.AGENT, whole, conversation), usage=values.usage(whole.attributes, _TURN_USAGE)),
            )
        ]
    draft.cut_off = whole is None and bool(turn.spans)
    draft.claims = list(_claims(turn))


def _about(role: Role, record: Span | LogRecord, conversation: str) -> Reading:
    service = values.text(record.resource.attributes, "service.name") or ""
    attended = False if service.endswith("exec") else True if service.endswith("tui") else None
    return Reading(role=role, source=SOURCE, agent="codex", conversation_id=conversation, attended=attended)


# --- requests


@dataclass(slots=True)
class _Request:
    """One model request: what opened it and what answered it."""

    opened: LogRecord
    answers: list[LogRecord] = field(default_factory=list[LogRecord])


def _calls(turn: _Turn, conversation: str) -> Iterator[Node]:
    provider = next((text for log in turn.events if (text := values.text(log.attributes, "provider_name"))), None)
    for request in _requests(turn.events):
        about = _about(Role.CALL, request.opened, conversation)
        end = max((log.time or 0 for log in request.answers), default=0) or request.opened.time
        step = _step(request, provider)
        read = replace(about, step=step, answered=bool(request.answers) or step.error is not None)
        yield node_of(request.opened, read, start=started(request.opened), end=end)


def _requests(events: Sequence[LogRecord]) -> list[_Request]:
    found: list[_Request] = []
    for log in sorted(events, key=in_order):
        if log.name in _REQUESTS and _is_model(log):
            found.append(_Request(log))
        elif log.name in _RESPONSES and _counts(log.name, log.attributes):
            if not found or _complete(found[-1]):
                found.append(_Request(log))
            found[-1].answers.append(log)
    return found


def _is_model(log: LogRecord) -> bool:
    endpoint = values.text(log.attributes, "endpoint")
    return endpoint is None or endpoint.endswith(_ENDPOINTS)


def _complete(request: _Request) -> bool:
    """Whether the last record of an end is here: first comes one without the counts, then one with them."""
    return any("input_token_count" in log.attributes or _said(log) is not None for log in request.answers)


def _step(request: _Request, provider: str | None) -> Step:
    a = request.opened.attributes
    counts: dict[str, Value] = {}
    for log in request.answers:
        counts.update({name: value for name, value in log.attributes.items() if name.endswith("_token_count")})
    failed = next((log for log in request.answers if _said(log) is not None), None)
    cut = _CUT.search((_said(failed) if failed else None) or "")
    kinds = [] if failed else [_KINDS[kind] for log in request.answers if (kind := _kind(log)) in _KINDS]
    return Step(
        provider=provider,
        api="responses",
        model=values.model(a, "model"),
        finish_reason=None if kinds[-1:] == ["failed"] else (kinds[-1] if kinds else None),
        raw_finish_reason=cut.group(1) if cut else None,
        stream_complete=True if kinds or cut else None,
        usage=values.usage(counts, _USAGE),
        error=None if cut else _error((failed or request.opened).attributes),
    )


def _kind(log: LogRecord) -> str | None:
    return values.text(log.attributes, "event.kind")


def _said(log: LogRecord) -> str | None:
    """The failure of a response; its record has the kind of one that was completed."""
    return values.text(log.attributes, "error.message", "error")


def _error(attributes: Attributes) -> StepError | None:
    message = values.text(attributes, "error.message", "error")
    status = values.whole(attributes, "http.response.status_code")
    failed = status if status is not None and status >= _FAILED else None
    if message is None and failed is None:
        return None
    return StepError(status=failed or errors.status_in(message), message=message)


# --- tools


def _tools(turn: _Turn, conversation: str) -> Iterator[Node]:
    results = [log for log in turn.events if log.name == "codex.tool_result"]
    seen: set[tuple[str | None, str | None]] = set()
    for log in results:
        key = (values.text(log.attributes, "call_id"), values.text(log.attributes, "tool_result_seq"))
        if key not in seen:
            seen.add(key)
            yield node_of(log, replace(_about(Role.TOOL, log, conversation), tool=_tool(log, turn)))
    known = {call_id for call_id, _ in seen}
    for log in turn.events:
        call_id = values.text(log.attributes, "call_id")
        if log.name == "codex.tool_decision" and call_id not in known:
            known.add(call_id)
            yield node_of(log, replace(_about(Role.TOOL, log, conversation), tool=_undecided(log)))


def _tool(log: LogRecord, turn: _Turn) -> ToolCall:
    a = log.attributes
    call_id = values.text(a, "call_id")
    denied = any(_denied(other) and values.text(other.attributes, "call_id") == call_id for other in turn.events)
    ok = values.flag(a, "success")
    status = (
        ToolStatus.DENIED if denied else ToolStatus.UNKNOWN if ok is None else ToolStatus.OK if ok else ToolStatus.ERROR
    )
    return ToolCall(id=call_id, name=values.text(a, "tool_name"), status=status, denied_by="user" if denied else None)


def _undecided(log: LogRecord) -> ToolCall:
    denied = _denied(log)
    return ToolCall(
        id=values.text(log.attributes, "call_id"),
        name=values.text(log.attributes, "tool_name"),
        status=ToolStatus.DENIED if denied else ToolStatus.RUNNING,
        denied_by=_decider(log) if denied else None,
    )


def _denied(log: LogRecord) -> bool:
    return log.name == "codex.tool_decision" and (values.text(log.attributes, "decision") or "").lower() in _DENIALS


def _decider(log: LogRecord) -> str | None:
    source = values.text(log.attributes, "source")
    return source.lower() if source else None


def _claims(turn: _Turn) -> Iterator[Claim]:
    """What says that the turn was aborted: a tool cut off, a person's answer that means stop."""
    for span in turn.spans:
        if values.flag(span.attributes, "aborted") is True:
            yield Claim(by=Layer.HOST, reason="turn_aborted", at=span.end)
    for log in turn.events:
        if log.name == "codex.tool_decision" and (values.text(log.attributes, "decision") or "").lower() == "abort":
            yield Claim(by=Layer.HOST, reason="user_stop", at=log.time)
