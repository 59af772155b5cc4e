"""Exceptions and status texts -> what went wrong, and the claim that it makes on the turn.

An exception that ends a turn is often the only place where a limit, a cut, a refusal or a cancellation is named. The class name decides, with the text only
where one class stands for several ends. Everything that is not listed claims ``error``.
"""

import re
from dataclasses import dataclass

from turnout.outcomes.facts import Claim, Instant, Layer, Limits, Step, StepError
from turnout.outcomes.quick import replace
from turnout.pipeline.dialects import spelling
from turnout.pipeline.dialects.values import text, whole
from turnout.pipeline.telemetry import Span, SpanStatus

_LONGEST_MESSAGE = 500
"""Characters of an error text that are read further; some emitters put whole tracebacks into the status."""

_CLASS_CLAIMS = {
    # limits
    "GraphRecursionError": "max_iterations",
    "MaxTurnsExceeded": "max_turns",
    "AgentMaxStepsError": "step_limit",
    "WorkflowTimeoutError": "time_budget",
    "LlmCallsLimitExceededError": "step_limit",
    "ModelCallLimitExceededError": "step_limit",
    "ToolCallLimitExceededError": "tool_calls_limit",
    "RunTimedOut": "time_budget",
    # output cuts
    "OutputTokenLimitExceeded": "max_tokens",
    "IncompleteToolCall": "max_tokens",
    "MaxTokensReachedException": "max_tokens",
    "LengthFinishReasonError": "max_tokens",
    # context windows
    "ContextWindowOverflowException": "prompt_too_long",
    "ContextWindowExceededError": "prompt_too_long",
    "ModelContextWindowExceededError": "prompt_too_long",
    "ContextOverflowError": "prompt_too_long",
    "OpenAIContextOverflowError": "prompt_too_long",
    # refusals
    "ContentFilterError": "content_filter",
    "ContentFilterFinishReasonError": "content_filter",
    "ContentPolicyViolationError": "content_filter",
    "ModelRefusalError": "refusal",
    "InputGuardrailTripwireTriggered": "guardrail",
    "OutputGuardrailTripwireTriggered": "guardrail",
    "ToolInputGuardrailTripwireTriggered": "guardrail",
    "ToolOutputGuardrailTripwireTriggered": "guardrail",
    # cancellations
    "CancelledError": "cancelled",
    "RunCancelled": "cancelled",
    "AbortError": "cancelled",
    "ResponseAborted": "cancelled",
    "GeneratorExit": "cancelled",
    "OperationCanceledException": "cancelled",
    "TaskCanceledException": "cancelled",
    "KeyboardInterrupt": "user_stop",
    "WorkflowCancelledByUser": "user_stop",
    # hand-backs to a person
    "GraphInterrupt": "interrupt",
    "NodeInterrupt": "interrupt",
    "InterruptException": "interrupt",
    "CallDeferred": "interrupt",
    "ApprovalRequired": "interrupt",
}

_TEXT_CLAIMS = (
    ("max turns exceeded", "max_turns"),
    ("guardrail tripwire triggered", "guardrail"),
    ("model refused to produce output", "refusal"),
    ("request_limit of", "step_limit"),
    ("tool_calls_limit of", "tool_calls_limit"),
    ("total_tokens_limit of", "limit_total_tokens"),
    ("output_tokens_limit of", "limit_output_tokens"),
    ("input_tokens_limit of", "token_budget"),
    ("model call limits exceeded", "step_limit"),
    ("tool call limits exceeded", "tool_calls_limit"),
    ("tool call limit reached", "tool_calls_limit"),
    ("recursion limit of", "max_iterations"),
    ("max iterations of", "max_iterations"),
    ("reached maximum number of turns", "error_max_turns"),
    ("error_max_turns", "error_max_turns"),
    ("error_max_budget_usd", "error_max_budget_usd"),
    ("prompt is too long", "prompt_too_long"),
)
"""Texts of runtimes that raise one class for several ends, or that keep no class at all."""

_TEXT_LIMITS = (
    (re.compile(r"max_turns'?\"?: ?(\d{1,9})"), "steps"),
    (re.compile(r"request_limit of (\d{1,9})"), "steps"),
    (re.compile(r"llm calls limit of `?(\d{1,9})"), "steps"),
    (re.compile(r"maximum number of turns \((\d{1,9})\)"), "steps"),
    (re.compile(r"[Mm]ax iterations of (\d{1,9})"), "steps"),
    (re.compile(r"run limit \((?:\d{1,9})/(\d{1,9})\)"), "steps"),
    (re.compile(r"tool_calls_limit of (\d{1,9})"), "tool_calls"),
    (re.compile(r"total_tokens_limit of (\d{1,12})"), "total_tokens"),
)

_STATUS = re.compile(
    r"(?:error code|status_code|status code|status|http)[:= ]{1,3}([45]\d\d)\b|^\W{0,3}([45]\d\d)\b|'error': '([45]\d\d)\b",
    re.IGNORECASE,
)

_INCOMPLETE = re.compile(r"incomplete_details=\w*\(?\W*reason\W{1,4}(\w+)")
_TERMINATED = re.compile(r"terminated with finish_reason='?(\w+)")

_TRACEBACK = "Traceback (most recent call last)"
_REPR = re.compile(r"([A-Z]\w*)\(")
"""An exception in text, as `repr` writes it."""
_STEERING = frozenset({"ParentCommand", "GraphBubbleUp"})
"""Exceptions by which a runtime steers itself: nothing went wrong, though their spans end in ERROR."""
_NO_CLASSES = frozenset({None, "Exception", "BaseException"})
"""What stands for the class where the emitter did not have it."""

CANCELLED = frozenset({"cancelled", "user_stop"})
"""Claims of an end that came from outside."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What a span says went wrong."""

    type: str | None
    message: str | None
    status: int | None
    at: Instant | None

    @property
    def name(self) -> str:
        """The class name without its module."""
        return (self.type or "").rpartition(".")[2].rpartition("::")[2]


@dataclass(frozen=True, slots=True)
class SpokenEnd:
    """How a response ended of which a runtime made an exception."""

    finish_reason: str | None = None
    raw_finish_reason: str | None = None


def spoken_end(failure: Failure | None) -> SpokenEnd | None:
    """The end of a response that an error text names: the request was answered, its answer was cut or withheld."""
    message = (failure.message if failure else None) or ""
    incomplete = _INCOMPLETE.search(message)
    if incomplete:
        return SpokenEnd(raw_finish_reason=incomplete.group(1))
    terminated = _TERMINATED.search(message)
    return SpokenEnd(finish_reason=terminated.group(1)) if terminated else None


def is_cancelled(kind: str | None) -> bool:
    """Whether an error class is that of a cancellation."""
    return _CLASS_CLAIMS.get((kind or "").rpartition(".")[2]) in CANCELLED


def failure_of(span: Span) -> Failure | None:
    """The failure that a span records: its last exception, else ``error.type``, else a status of ERROR."""
    if not span.events and span.status is not SpanStatus.ERROR and "error.type" not in span.attributes:
        return None
    thrown = [event for event in reversed(span.events) if event.name == "exception"]
    raised = max(thrown, key=lambda event: event.time or 0, default=None)
    kind = text(raised.attributes, "exception.type") if raised else None
    kind = spelling.error_class(kind or text(span.attributes, "error.type"))
    if kind is None and raised is None and span.status is not SpanStatus.ERROR:
        return None
    message = (text(raised.attributes, "exception.message") if raised else None) or span.status_message or None
    status = whole(span.attributes, "http.response.status_code", "http.status_code", "status_code")
    short = message.partition(_TRACEBACK)[0][:_LONGEST_MESSAGE].strip() if message else None
    if kind in _NO_CLASSES:
        named = _REPR.match(short or "")
        kind = named.group(1) if named else kind
    failure = Failure(kind, short, status or status_in(short), (raised.time if raised else None) or span.end)
    return None if failure.name in _STEERING else failure


def status_in(message: str | None) -> int | None:
    """The HTTP status that an error text names where it is clearly one."""
    found = _STATUS.search(message or "")
    return int(next(group for group in found.groups() if group)) if found else None


def reason_of(failure: Failure) -> str:
    """The claim reason that a failure stands for."""
    known = _CLASS_CLAIMS.get(failure.name)
    if known is not None:
        return known
    return text_reason(failure.message) or "error"


def text_reason(message: str | None) -> str | None:
    """The claim reason that an error text stands for, where it is one that runtimes write."""
    lowered = (message or "").lower()
    return next((reason for marker, reason in _TEXT_CLAIMS if marker in lowered), None)


def limits_in(message: str | None) -> Limits | None:
    """The limit that an error text names."""
    for pattern, field in _TEXT_LIMITS:
        found = pattern.search(message or "")
        if found:
            return Limits(**{field: int(found.group(1))})
    return None


def claim_of(failure: Failure) -> Claim:
    """The claim that a failure of a turn span makes; a cancellation comes from the host, a refusal from the provider."""
    reason = reason_of(failure)
    status = "error" if reason == "error" else None
    return Claim(
        by=_layer(reason),
        reason=reason,
        status=status,
        at=failure.at,
        error_type=failure.name or None,
        message=failure.message,
    )


def _layer(reason: str) -> Layer:
    if reason in CANCELLED:
        return Layer.HOST
    return Layer.PROVIDER if reason == "refusal" else Layer.RUNTIME


def step_error(failure: Failure) -> StepError:
    """The failure of a model request."""
    if "terminal event `response.failed`" in (failure.message or ""):
        return StepError(type=failure.name or "response_failed", status=failure.status)
    return StepError(type=failure.name or None, status=failure.status, message=failure.message)


def with_failure(step: Step, failure: Failure | None) -> Step:
    """A request with the failure of its span: cut off, ended as the text says, or failed."""
    if failure is None:
        return step
    if reason_of(failure) in CANCELLED:
        return replace(step, aborted=True)
    spoken = spoken_end(failure)
    if spoken is not None:
        return replace(
            step,
            finish_reason=step.finish_reason or spoken.finish_reason,
            raw_finish_reason=step.raw_finish_reason or spoken.raw_finish_reason,
        )
    return replace(step, error=step_error(failure))
