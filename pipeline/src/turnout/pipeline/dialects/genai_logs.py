"""GenAI events that come as log records, not on the spans.

| event | fact | from | trap |
|---|---|---|---|
| ``gen_ai.choice`` | finish reason, tool calls, refusal: in the body | 1.28 to 1.36 | the only place for them where an emitter keeps them off its spans |
| ``gen_ai.client.inference.operation.details`` | all of a request, as on its span | 1.37 | may come without any span, or within the span of the agent |
| ``gen_ai.client.operation.exception`` (0.1: ``gen_ai.client.inference.exception``, ``gen_ai.execute_tool.exception``) | failure | 1.41 | |
| ``gen_ai.user.message``, ``.assistant.message``, ``.tool.message``, ``.system.message`` | nothing | 1.28 | words only |

An event of a request whose span is here becomes an event on that span. A request of which only its event is told becomes a step of the agent in whose span it
was, else of one turn for its trace.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from turnout.outcomes.quick import replace
from turnout.pipeline.dialects import genai, values
from turnout.pipeline.dialects.events import node_of
from turnout.pipeline.dialects.plan import Plan
from turnout.pipeline.dialects.reading import Node, Reading, Role
from turnout.pipeline.dialects.tree import Key
from turnout.pipeline.telemetry import Attributes, LogRecord, Span, SpanEvent

_CHOICE = "gen_ai.choice"
_DETAILS = "gen_ai.client.inference.operation.details"
_EXCEPTION = "exception"
_EXCEPTIONS = frozenset(
    {"gen_ai.client.operation.exception", "gen_ai.client.inference.exception", "gen_ai.execute_tool.exception"}
)
_EVENTS = _EXCEPTIONS | {_CHOICE, _DETAILS}


def speaks(log: LogRecord) -> bool:
    """Whether a log record is an event of the conventions."""
    return log.name.startswith("gen_ai.")


def is_relevant(log: LogRecord) -> bool:
    """Whether an event says anything of a turn, and of which."""
    return log.name in _EVENTS and bool(log.trace_id)


@dataclass(slots=True)
class Told:
    """The spans with the events that are theirs, and the requests of which only an event is told."""

    spans: list[Span] = field(default_factory=list[Span])
    within: list[Node] = field(default_factory=list[Node])
    """Those in the span of something else that is here."""
    alone: list[Node] = field(default_factory=list[Node])


def attached(spans: Sequence[Span], logs: Iterable[LogRecord]) -> Told:
    """Put the events to the spans that they are of."""
    of_span: dict[Key, list[LogRecord]] = defaultdict(list)
    for log in logs:
        if speaks(log) and is_relevant(log):
            of_span[log.trace_id, log.span_id].append(log)
    told = Told()
    for span in spans:
        events = of_span.pop((span.trace_id, span.span_id), None)
        told.spans.append(_with_events(span, events, told.within) if events else span)
    told.alone = [_request(log, "") for left in of_span.values() for log in left if log.name == _DETAILS]
    return told


def add(plan: Plan, alone: Iterable[Node]) -> None:
    """Make one turn a trace of the requests that nothing else tells."""
    for node in alone:
        draft = plan.make((genai.SOURCE, node.span.trace_id))
        draft.name = f"{genai.SOURCE}:{node.span.trace_id}"
        draft.calls.append(node)


def _with_events(span: Span, logs: Sequence[LogRecord], within: list[Node]) -> Span:
    role = genai.role_of(span.attributes)
    attributes = span.attributes
    events = list(span.events)
    for log in logs:
        if log.name in _EXCEPTIONS:
            if not any(event.name == _EXCEPTION for event in events):
                events.append(SpanEvent(_EXCEPTION, log.time, log.attributes))
        elif role is Role.CALL:
            events.append(SpanEvent(log.name, log.time, _told_by(log)))
            attributes = {**_request_told_by(log), **attributes}
        elif log.name == _DETAILS:
            within.append(_request(log, span.span_id))
    return replace(span, attributes=attributes, events=tuple(events))


def _told_by(log: LogRecord) -> Attributes:
    """What an event says: in its attributes, in its body, or both."""
    return {**log.attributes, **values.mapping(log.body)}


def _request_told_by(log: LogRecord) -> Attributes:
    told = _told_by(log) if log.name == _DETAILS else {}
    return {name: value for name, value in told.items() if name.startswith("gen_ai.")}


def _request(log: LogRecord, parent: str) -> Node:
    node = node_of(log, Reading(role=Role.CALL, source=genai.SOURCE))
    start = node.span.start or node.span.end
    span = replace(node.span, parent_id=parent, start=start, attributes=_request_told_by(log))
    return Node(span, genai.call(span, genai.SOURCE))
