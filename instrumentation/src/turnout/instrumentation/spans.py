"""Names and attributes of step, tool and turn spans, as data: PURE, from what is known to names and values."""

from turnout.instrumentation import attributes as names
from turnout.instrumentation.columns import Value
from turnout.instrumentation.known import Values
from turnout.outcomes.verdict import Verdict

_OTHER = "_OTHER"
_NOTHING: Values = {}


def span_name(operation: str, subject: str | None) -> str:
    """``chat gpt-5``, or the bare operation where its subject is not known."""
    return f"{operation} {subject}" if subject else operation


def turn_attributes(event: dict[str, Value], agent_id: str | None) -> dict[str, Value]:
    """The turn span's attributes: those of its end event, so that a backend without logs still has the outcome."""
    span = {names.OPERATION_NAME: names.INVOKE_AGENT, **event}
    if agent_id is not None:
        span[names.AGENT_ID] = agent_id
    return span


def turn_error(verdict: Verdict) -> str | None:
    """The turn span's ``error.type``: its outcome, when that is abnormal."""
    return verdict.outcome.value if verdict.abnormal else None


def step_attributes(turn: Values, step: Values) -> dict[str, Value]:
    """The attributes of ``chat``; input tokens include the cache and output tokens the reasoning, as the conventions have it."""
    known = step.get
    reason = known("finish_reason") or known("raw_finish_reason")
    usage = usage_in_conventions(step)
    output = known("output") or _NOTHING
    refusal = known("refusal")
    values: dict[str, Value | None] = {
        names.OPERATION_NAME: names.CHAT,
        names.TURN_ID: turn["turn_id"],
        names.STEP_INDEX: known("index"),
        names.AGENT_NAME: turn.get("agent"),
        names.CONVERSATION_ID: turn.get("conversation_id"),
        names.PROVIDER_NAME: known("provider"),
        names.STEP_API: known("api"),
        names.REQUEST_MODEL: known("model"),
        names.REQUEST_MAX_TOKENS: known("max_output_tokens"),
        names.RESPONSE_ID: known("message_id"),
        names.RESPONSE_FINISH_REASONS: (reason,) if reason is not None else None,
        names.STEP_RAW_FINISH_REASON: known("raw_finish_reason"),
        names.STEP_REFUSED: None if refusal is None else True,
        names.TURN_REFUSAL_CATEGORY: (refusal or _NOTHING).get("category"),
        names.STEP_ABORTED: known("aborted"),
        names.STEP_STREAM_COMPLETE: known("stream_complete"),
        names.STEP_FORCED_FINAL: known("forced_final"),
        names.USAGE_INPUT_TOKENS: usage.get("input_tokens"),
        names.USAGE_OUTPUT_TOKENS: usage.get("output_tokens"),
        names.USAGE_CACHE_READ_TOKENS: usage.get("cache_read_tokens"),
        names.USAGE_CACHE_WRITE_TOKENS: usage.get("cache_write_tokens"),
        names.USAGE_REASONING_TOKENS: usage.get("reasoning_tokens"),
        names.STEP_COST_USD: known("cost_usd"),
        names.STEP_TEXT_CHARS: output.get("text_chars"),
        names.STEP_PARTS: output.get("parts"),
        names.ERROR_TYPE: step_error(step),
        names.STEP_ERROR_STATUS: (known("error") or _NOTHING).get("status"),
    }
    return {name: value for name, value in values.items() if value is not None}


def step_error(step: Values) -> str | None:
    """A failed request's error type; its HTTP status, else ``_OTHER``, where the source names none."""
    error = step.get("error")
    if error is None:
        return None
    status = error.get("status")
    return error.get("type") or (str(status) if status is not None else _OTHER)


def tool_attributes(turn: Values, step: int | None, call: Values) -> dict[str, Value]:
    """The attributes of ``execute_tool``."""
    known = call.get
    values: dict[str, Value | None] = {
        names.OPERATION_NAME: names.EXECUTE_TOOL,
        names.TURN_ID: turn["turn_id"],
        names.STEP_INDEX: step,
        names.AGENT_NAME: turn.get("agent"),
        names.CONVERSATION_ID: turn.get("conversation_id"),
        names.TOOL_NAME: known("name"),
        names.TOOL_CALL_ID: known("id"),
        names.TOOL_STATUS: known("status"),
        names.TOOL_MUTATING: known("mutating"),
        names.TOOL_FINAL: known("final"),
        names.ERROR_TYPE: tool_error(call),
    }
    return {name: value for name, value in values.items() if value is not None}


def tool_error(call: Values) -> str | None:
    """A failed call's error type; ``_OTHER`` where only its status says that it failed."""
    error_type: str | None = call.get("error_type")
    if error_type is not None:
        return error_type
    return _OTHER if call.get("status") == "error" else None


def usage_in_conventions(step: Values) -> Values:
    """The step's usage with the cache inside the input and the reasoning inside the output."""
    usage: Values = step.get("usage") or _NOTHING
    if step.get("cache_in_input") is False:
        cached = (usage.get("cache_read_tokens") or 0) + (usage.get("cache_write_tokens") or 0)
        usage = {**usage, "input_tokens": _plus(usage.get("input_tokens"), cached)}
    if step.get("reasoning_in_output") is False:
        usage = {**usage, "output_tokens": _plus(usage.get("output_tokens"), usage.get("reasoning_tokens") or 0)}
    return usage


def _plus(tokens: int | None, more: int) -> int | None:
    return tokens + more if tokens is not None else (more or None)
