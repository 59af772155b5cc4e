"""From the chunks of one request to one settled step: what it said, and the facts of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

from turnout.outcomes.facts import AttemptEnd, Instant, Output, Refusal, Step, StepError, ToolCall, ToolStatus, Usage
from turnout.outcomes.step_end import unified
from turnout.runtime.messages import AssistantMessage, CallRequest
from turnout.runtime.model import (
    CallDelta,
    Chunk,
    ModelError,
    RefusalDelta,
    ResponseIds,
    StreamEnd,
    TextDelta,
    UsageReport,
)

STREAM_TRUNCATED = "stream_truncated"
"""The error type of a stream that ended without a word on why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One request, settled: its message for the conversation, its facts, and the failure behind them if there was one."""

    message: AssistantMessage
    facts: Step
    failure: ModelError | None = None

    @property
    def silent(self) -> bool:
        """Whether nothing of it reached a person."""
        return not self.message.text and not self.message.calls and self.facts.refusal is None


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class Gathered:
    """What came of one request so far; whoever cuts the stream settles with what is there."""

    model: str
    provider: str
    api: str | None
    started_at: Instant | None = None
    _ids: ResponseIds = field(default_factory=ResponseIds)
    _text: list[str] = field(default_factory=list[str])
    _calls: dict[int, _Call] = field(default_factory=dict[int, _Call])
    _refusal: Refusal | None = None
    _usage: Usage | None = None
    _cost_usd: float | None = None
    _cache_in_input: bool | None = None
    _end: StreamEnd | None = None
    _last_at: Instant | None = None

    def add(self, chunk: Chunk, now: Instant) -> None:
        """Take in one chunk."""
        match chunk:
            case ResponseIds():
                self._ids = _newer(self._ids, chunk)
            case TextDelta(text):
                self._show(text, now)
            case RefusalDelta(words, category):
                self._show(words, now)
                self._refusal = Refusal(
                    category=category or (self._refusal.category if self._refusal is not None else None)
                )
            case CallDelta():
                self._add_call(chunk)
                self._last_at = now
            case UsageReport():
                self._add_usage(chunk)
            case StreamEnd():
                self._end = chunk

    def settled(self, now: Instant, *, failure: ModelError | None = None, aborted: bool = False) -> Attempt:
        """The request as it stands now; without a terminal chunk it is a stream that broke off."""
        if failure is None and not aborted and self._end is None:
            failure = ModelError("the stream ended before its terminal chunk", type=STREAM_TRUNCATED, retryable=True)
        message = AssistantMessage("".join(self._text), self._requests())
        facts = Step(
            request_id=self._ids.request_id,
            message_id=self._ids.message_id,
            provider=self.provider,
            api=self.api,
            model=self.model,
            started_at=self.started_at,
            ended_at=now,
            raw_finish_reason=self._end.raw_finish_reason if self._end is not None else None,
            refusal=self._refusal,
            stream_complete=None if failure is not None and failure.status is not None else self._end is not None,
            aborted=aborted or None,
            usage=self._usage,
            cost_usd=self._cost_usd,
            cache_in_input=self._cache_in_input,
            output=Output(
                text_chars=len(message.text),
                parts=bool(message.text) + len(message.calls),
                last_at=self._last_at,
            ),
            error=_step_error(failure) if failure is not None else None,
            tool_calls=tuple(map(_streamed, message.calls)),
        )
        if not aborted:
            facts = replace(facts, finish_reason=unified(facts))
        return Attempt(message=message, facts=facts, failure=failure)

    def _show(self, text: str, now: Instant) -> None:
        if text:
            self._text.append(text)
            self._last_at = now

    def _add_call(self, delta: CallDelta) -> None:
        call = self._calls.setdefault(delta.index, _Call())
        call.id = delta.id or call.id
        call.name = delta.name or call.name
        call.arguments += delta.arguments

    def _add_usage(self, report: UsageReport) -> None:
        self._usage = report.usage if self._usage is None else _newer(self._usage, report.usage)
        if report.cost_usd is not None:
            self._cost_usd = report.cost_usd
        if report.cache_in_input is not None:
            self._cache_in_input = report.cache_in_input

    def _requests(self) -> tuple[CallRequest, ...]:
        calls = (self._calls[index] for index in sorted(self._calls))
        return tuple(CallRequest(call.id, call.name, call.arguments) for call in calls)


def attempt_end(attempt: Attempt) -> AttemptEnd:
    """How one of several requests of a step ended."""
    error = attempt.facts.error
    reason = error.type if error is not None else attempt.facts.raw_finish_reason
    return AttemptEnd(reason=reason, status=error.status if error is not None else None, at=attempt.facts.ended_at)


def of_several(attempts: Sequence[Attempt]) -> Attempt:
    """The step of several requests: the last one's facts, the ends of those before it, and the usage of each counted."""
    last = attempts[-1]
    facts = replace(
        last.facts,
        started_at=attempts[0].facts.started_at,
        attempts=len(attempts) if len(attempts) > 1 else None,
        attempt_ends=tuple(map(attempt_end, attempts[:-1])),
        usage=_summed([attempt.facts.usage for attempt in attempts]),
    )
    return replace(last, facts=facts)


def cut_between(attempts: Sequence[Attempt], now: Instant) -> Attempt:
    """The step whose next request a stop kept back: it was cut, and its last failure did not end it."""
    whole = of_several(attempts)
    ends = tuple(map(attempt_end, attempts))
    facts = replace(whole.facts, attempts=len(attempts), attempt_ends=ends, aborted=True, error=None, ended_at=now)
    return replace(whole, facts=facts)


def _streamed(call: CallRequest) -> ToolCall:
    return ToolCall(id=call.id, name=call.name, status=ToolStatus.STREAMING)


def _step_error(failure: ModelError) -> StepError:
    return StepError(type=failure.type, status=failure.status, message=str(failure), retryable=failure.retryable)


_Known = TypeVar("_Known", Usage, ResponseIds)


def _newer(old: _Known, new: _Known) -> _Known:
    known = {f.name: value for f in fields(new) if (value := getattr(new, f.name)) is not None}
    return replace(old, **known)


def _summed(usages: list[Usage | None]) -> Usage | None:
    known = [usage for usage in usages if usage is not None]
    if not known:
        return None
    sums = {f.name: [v for usage in known if (v := getattr(usage, f.name)) is not None] for f in fields(Usage)}
    return Usage(**{name: sum(values) for name, values in sums.items() if values})
