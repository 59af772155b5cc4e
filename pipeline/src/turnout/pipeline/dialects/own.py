"""Our own telemetry; every name comes from `turnout.instrumentation.attributes`.

| fact | where | from | trap |
|---|---|---|---|
| the whole turn | body of ``agent.turn.end`` and of ``agent.turn.late``: its ``turnout.turn/1`` object | 1 | complete: nothing is added from resource, spans or record times; several bodies of one turn merge |
| a turn that did not end | ``agent.turn.start``: ``agent.turn.id`` and the other attributes of the start | 1 | the only witness of a turn whose process died; open |
| its steps | spans with ``agent.turn.id`` and ``agent.turn.step`` | 1 | only where no body came |
| a turn without events | its ``invoke_agent`` span, with the attributes of the end | 1 | where logs are not exported; closed, but without claims |
| what the emitter concluded | ``agent.turn.outcome`` | 1 | compared with the reader's own verdict, never a fact |
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from turnout.instrumentation import attributes as names
from turnout.outcomes.facts import Limits, Output, Refusal, Step, StepError, ToolCall, ToolStatus, TurnFacts
from turnout.outcomes.settle import merge
from turnout.pipeline.codec import FactsError, decode_turn
from turnout.pipeline.dialects import values
from turnout.pipeline.dialects.tree import Key
from turnout.pipeline.telemetry import Attributes, LogRecord, Span, Value

SOURCE = "turnout"

_WHOLE = frozenset({names.EVENT_END, names.EVENT_LATE})
_EVENTS = frozenset({names.EVENT_START, *_WHOLE})
_USAGE: Mapping[str, values.Names] = {
    "input_tokens": (names.USAGE_INPUT_TOKENS,),
    "output_tokens": (names.USAGE_OUTPUT_TOKENS,),
    "cache_read_tokens": (names.USAGE_CACHE_READ_TOKENS,),
    "cache_write_tokens": (names.USAGE_CACHE_WRITE_TOKENS,),
    "reasoning_tokens": (names.USAGE_REASONING_TOKENS,),
}


def speaks(record: Span | LogRecord) -> bool:
    """Whether a record is ours: it names a turn, in our scope or as one of our events."""
    if names.TURN_ID not in record.attributes:
        return isinstance(record, LogRecord) and record.name in _WHOLE
    return record.scope.name == names.SCOPE or record.name in _EVENTS


def is_relevant(record: Span | LogRecord) -> bool:
    """Whether a record adds to a turn: the abnormal finish only repeats the end."""
    return isinstance(record, Span) or record.name in _EVENTS


def link_keys(record: Span | LogRecord) -> tuple[str, ...]:
    """The turn ties its events and spans to each other, also without a trace."""
    turn = _turn_id(record)
    return (f"{SOURCE}:{turn}",) if turn else ()


def _turn_id(record: Span | LogRecord) -> str | None:
    found = values.text(record.attributes, names.TURN_ID)
    if found is None and isinstance(record, LogRecord) and isinstance(record.body, dict):
        found = values.text(record.body, "turn_id")
    return found


@dataclass(slots=True)
class OwnTurn:
    """The records of one of our turns."""

    id: str
    bodies: list[TurnFacts] = field(default_factory=list[TurnFacts])
    starts: list[LogRecord] = field(default_factory=list[LogRecord])
    spans: list[Span] = field(default_factory=list[Span])
    traces: set[str] = field(default_factory=set[str])

    def facts(self) -> TurnFacts:
        """The facts: those that it sent, else what its start and its spans show."""
        if not self.bodies:
            return _pieced(self)
        first, *others = sorted(self.bodies, key=repr)
        for other in others:
            first = merge(first, other)
        return first


def turns(logs: Iterable[LogRecord], spans: Iterable[Span]) -> tuple[list[OwnTurn], Counter[str]]:
    """Our turns, and how many of our records could not be read, by why."""
    found: dict[str, OwnTurn] = {}
    damaged: Counter[str] = Counter()
    records: list[Span | LogRecord] = [*logs, *spans]
    for record in records:
        turn_id = _turn_id(record)
        if turn_id is None:
            damaged[f"{names.SCOPE} (no turn id)"] += 1
            continue
        turn = found.setdefault(turn_id, OwnTurn(turn_id))
        if record.trace_id:
            turn.traces.add(record.trace_id)
        if isinstance(record, Span):
            turn.spans.append(record)
        elif record.name == names.EVENT_START:
            turn.starts.append(record)
        elif not _read_body(record, turn):
            damaged[f"{names.SCOPE} (damaged body)"] += 1
    # Of a turn that only a damaged body names nothing is known but that it is damaged.
    return [turn for turn in found.values() if turn.bodies or turn.spans or turn.starts], damaged


def _read_body(record: LogRecord, turn: OwnTurn) -> bool:
    body = record.body if isinstance(record.body, dict) else values.mapping(record.body)
    try:
        turn.bodies.append(decode_turn(dict(body)).turn)
    except FactsError:
        return False
    return True


def anchors(spans: Iterable[Span]) -> dict[Key, tuple[str, bool]]:
    """Our spans by key: the turn of each, and whether it is a tool call of that turn."""
    found: dict[Key, tuple[str, bool]] = {}
    for span in spans:
        turn_id = values.text(span.attributes, names.TURN_ID)
        if turn_id is not None:
            found[span.trace_id, span.span_id] = (turn_id, _operation(span) == names.EXECUTE_TOOL)
    return found


# --- a turn without a body


def _operation(span: Span) -> str | None:
    return values.text(span.attributes, names.OPERATION_NAME)


def _pieced(turn: OwnTurn) -> TurnFacts:
    whole = [span for span in turn.spans if _operation(span) == names.INVOKE_AGENT]
    named: dict[str, Value] = {}
    records: list[Span | LogRecord] = [*turn.spans, *whole, *turn.starts]
    for record in records:
        named.update(record.attributes)
    times = [time for span in turn.spans for time in (span.start, span.end) if time]
    begun = [start.time for start in turn.starts if start.time] + [span.start for span in whole if span.start]
    ended = max((span.end for span in whole if span.end), default=None)
    resource = records[-1].resource.attributes
    return TurnFacts(
        turn_id=turn.id,
        root_turn_id=values.text(named, names.TURN_ROOT_ID),
        parent_turn_id=values.text(named, names.TURN_PARENT_ID),
        continues_turn_id=values.text(named, names.TURN_CONTINUES_ID),
        conversation_id=values.text(named, names.CONVERSATION_ID),
        trace_id=min(turn.traces, default=None),
        service=values.text(resource, "service.name"),
        environment=values.text(resource, "deployment.environment.name", "deployment.environment"),
        agent=values.text(named, names.AGENT_NAME),
        agent_version=values.text(named, names.AGENT_VERSION),
        source=values.text(named, names.TURN_SOURCE),
        attended=values.flag(named, names.TURN_ATTENDED),
        started_at=min(begun or times, default=None),
        ended_at=ended,
        last_seen_at=max([*times, *begun], default=None),
        open=None if whole else True,
        limits=_limits(named),
        steps=_steps(turn.spans),
    )


def _limits(named: Attributes) -> Limits | None:
    limits = Limits(
        steps=values.whole(named, names.TURN_LIMIT_STEPS),
        tool_calls=values.whole(named, names.TURN_LIMIT_TOOL_CALLS),
        total_tokens=values.whole(named, names.TURN_LIMIT_TOTAL_TOKENS),
        seconds=values.number(named, names.TURN_LIMIT_SECONDS),
        cost_usd=values.number(named, names.TURN_LIMIT_COST_USD),
    )
    return None if limits == Limits() else limits


def _steps(spans: Iterable[Span]) -> tuple[Step, ...]:
    tools: dict[int | None, list[ToolCall]] = defaultdict(list)
    calls: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start or 0, span.span_id)):
        if _operation(span) == names.EXECUTE_TOOL:
            tools[values.whole(span.attributes, names.STEP_INDEX)].append(_tool(span))
        elif _operation(span) == names.CHAT:
            calls.append(span)
    last = {values.whole(span.attributes, names.STEP_INDEX): span for span in calls}
    steps = [
        _step(span, tools if last[values.whole(span.attributes, names.STEP_INDEX)] is span else {}) for span in calls
    ]
    lone = [
        Step(index=index, tool_calls=tuple(called))
        for index, called in tools.items()
        if index is not None and index not in last
    ]
    return (*steps, *lone)


def _step(span: Span, tools: Mapping[int | None, list[ToolCall]]) -> Step:
    a = span.attributes
    index = values.whole(a, names.STEP_INDEX)
    output = Output(text_chars=values.whole(a, names.STEP_TEXT_CHARS), parts=values.whole(a, names.STEP_PARTS))
    refused = values.flag(a, names.STEP_REFUSED) is True
    return Step(
        index=index,
        request_id=None,
        message_id=values.text(a, names.RESPONSE_ID),
        provider=values.text(a, names.PROVIDER_NAME),
        api=values.text(a, names.STEP_API),
        model=values.text(a, names.REQUEST_MODEL),
        started_at=span.start,
        ended_at=span.end,
        finish_reason=values.finish_reason(a, names.RESPONSE_FINISH_REASONS),
        raw_finish_reason=values.text(a, names.STEP_RAW_FINISH_REASON),
        refusal=Refusal(category=values.text(a, names.TURN_REFUSAL_CATEGORY)) if refused else None,
        stream_complete=values.flag(a, names.STEP_STREAM_COMPLETE),
        forced_final=values.flag(a, names.STEP_FORCED_FINAL),
        aborted=values.flag(a, names.STEP_ABORTED),
        max_output_tokens=values.whole(a, names.REQUEST_MAX_TOKENS),
        usage=values.usage(a, _USAGE),
        cost_usd=values.number(a, names.STEP_COST_USD),
        output=None if output == Output() else output,
        error=_error(a),
        tool_calls=tuple(tools.get(index, ())),
    )


def _error(attributes: Attributes) -> StepError | None:
    kind = values.text(attributes, names.ERROR_TYPE)
    status = values.whole(attributes, names.STEP_ERROR_STATUS)
    return None if kind is None and status is None else StepError(type=kind, status=status)


def _tool(span: Span) -> ToolCall:
    a = span.attributes
    return ToolCall(
        id=values.text(a, names.TOOL_CALL_ID),
        name=values.text(a, names.TOOL_NAME),
        status=_status(values.text(a, names.TOOL_STATUS)),
        final=values.flag(a, names.TOOL_FINAL),
        mutating=values.flag(a, names.TOOL_MUTATING),
        error_type=values.text(a, names.ERROR_TYPE),
        started_at=span.start,
        ended_at=span.end,
    )


def _status(word: str | None) -> ToolStatus | None:
    try:
        return ToolStatus(word) if word else None
    except ValueError:
        return None
