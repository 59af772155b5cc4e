"""Spans and log records of made-up agent runs, and turns told in a few words, for the tests of the dialects."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from turnout.outcomes.facts import Claim, Limits, Step, ToolCall, TurnFacts
from turnout.pipeline.telemetry import LogRecord, Record, Resource, Scope, Span, SpanEvent, SpanStatus, Value

SECOND = 1_000_000_000
T0 = 1_800_000_000 * SECOND

Attributes = Mapping[str, Value]


@dataclass(slots=True)
class Tape:
    """The records of one trace, in the order in which they are made; times are seconds after a fixed moment."""

    scope: str
    version: str = "1"
    trace: str = "0" * 30 + "a1"
    resource: Attributes = field(default_factory=lambda: {"service.name": "shop"})
    records: list[Record] = field(default_factory=list[Record])

    def span(
        self,
        name: str,
        begin: float,
        end: float,
        attributes: Attributes | None = None,
        *,
        parent: Span | str | None = None,
        status: SpanStatus = SpanStatus.UNSET,
        message: str = "",
        raised: tuple[str, str] | None = None,
        events: Iterable[tuple[str, Attributes]] = (),
        scope: str | None = None,
        kind: int = 1,
        remote: bool = False,
    ) -> Span:
        """Add a span; ``raised`` is the class and the text of an exception that ended it."""
        told = [SpanEvent(event, moment(end), values) for event, values in events]
        if raised is not None:
            told.append(
                SpanEvent("exception", moment(end), {"exception.type": raised[0], "exception.message": raised[1]})
            )
        made = Span(
            trace_id=self.trace,
            span_id=f"{len(self.records) + 1:016x}",
            parent_id=parent if isinstance(parent, str) else parent.span_id if parent else "",
            name=name,
            kind=kind,
            start=moment(begin),
            end=moment(end),
            status=SpanStatus.ERROR if raised is not None else status,
            status_message=message,
            attributes=dict(attributes or {}),
            events=tuple(told),
            scope=Scope(self.scope if scope is None else scope, self.version),
            resource=Resource(self.resource),
            remote_parent=remote,
        )
        self.records.append(made)
        return made

    def log(
        self,
        name: str,
        at: float,
        attributes: Attributes | None = None,
        *,
        body: Value = None,
        within: Span | None = None,
    ) -> LogRecord:
        """Add a log record, which names a span as its own where one is given."""
        made = LogRecord(
            trace_id=within.trace_id if within else "",
            span_id=within.span_id if within else "",
            name=name,
            time=moment(at),
            body=body,
            attributes=dict(attributes or {}),
            scope=Scope(self.scope, self.version),
            resource=Resource(self.resource),
            observed=moment(at) + len(self.records),
        )
        self.records.append(made)
        return made


def moment(seconds: float) -> int:
    """An instant by seconds after the fixed moment."""
    return T0 + round(seconds * 1000) * (SECOND // 1000)


def tell(turns: Iterable[TurnFacts]) -> str:
    """Turns in a few words, by the time of their start: one line a turn, one a step below it."""
    ordered = sorted(turns, key=lambda turn: (turn.started_at or 0, turn.parent_turn_id is not None, turn.agent or ""))
    names = {turn.turn_id: turn.agent or "?" for turn in ordered}
    return "\n".join(line for turn in ordered for line in _turn(turn, names))


def _turn(turn: TurnFacts, names: Mapping[str, str]) -> list[str]:
    words = [
        turn.agent or "?",
        f"conversation {turn.conversation_id}" if turn.conversation_id else "",
        f"below {names.get(turn.parent_turn_id, turn.parent_turn_id)}" if turn.parent_turn_id else "",
        "open" if turn.open else "",
        _limits(turn.limits),
        *(_claim(claim) for claim in turn.claims),
        *(f"check {check.step} {check.verdict}" for check in turn.finish_checks),
        f"yields {turn.yield_.reason} {turn.yield_.tool_call_id or ''}".strip() if turn.yield_ else "",
    ]
    return [" | ".join(word for word in words if word), *(f"  {_step(step)}" for step in turn.steps)]


def _limits(limits: Limits | None) -> str:
    if limits is None:
        return ""
    told = {"steps": limits.steps, "tool_calls": limits.tool_calls, "tokens": limits.total_tokens}
    return "limit " + " ".join(f"{name} {value}" for name, value in told.items() if value is not None)


def _claim(claim: Claim) -> str:
    return f"{claim.by.value if claim.by else None} says {claim.reason}"


def _step(step: Step) -> str:
    usage = step.usage
    words = [
        str(step.index),
        step.model or "",
        step.finish_reason or "",
        f"({step.raw_finish_reason})" if step.raw_finish_reason else "",
        f"{usage.input_tokens}/{usage.output_tokens}" if usage else "",
        "aborted" if step.aborted else "",
        "refused" if step.refusal else "",
        f"error {step.error.type} {step.error.status}" if step.error else "",
        f"attempts {step.attempts}" if step.attempts else "",
        *(_call(call) for call in step.tool_calls),
    ]
    return " ".join(word for word in words if word)


def _call(call: ToolCall) -> str:
    final = "!" if call.final else ""
    cut = "~" if call.arguments_valid is False else ""
    return f"[{call.name}{final}{cut} {call.status.value if call.status else '?'}]"
