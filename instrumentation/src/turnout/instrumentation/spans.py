"""Names and attributes of step, tool and turn spans, as data: PURE, from what is known to names and values."""

from typing import Final

from turnout.instrumentation import attributes as names
from turnout.instrumentation.columns import Value
from turnout.instrumentation.known import Values
from turnout.instrumentation.texts import OTHER
from turnout.outcomes.verdict import Verdict

_NOTHING: Values = {}
_STEP_NAMES: Final = {
    "index": names.STEP_INDEX,
    "provider": names.PROVIDER_NAME,
    "api": names.STEP_API,
    "model": names.REQUEST_MODEL,
    "max_output_tokens": names.REQUEST_MAX_TOKENS,
    "message_id": names.RESPONSE_ID,
    "raw_finish_reason": names.STEP_RAW_FINISH_REASON,
    "aborted": names.STEP_ABORTED,
    "stream_complete": names.STEP_STREAM_COMPLETE,
    "forced_final": names.STEP_FORCED_FINAL,
    "cost_usd": names.STEP_COST_USD,
}
_USAGE_NAMES: Final = {
    "input_tokens": names.USAGE_INPUT_TOKENS,
    "output_tokens": names.USAGE_OUTPUT_TOKENS,
    "cache_read_tokens": names.USAGE_CACHE_READ_TOKENS,
    "cache_write_tokens": names.USAGE_CACHE_WRITE_TOKENS,
    "reasoning_tokens": names.USAGE_REASONING_TOKENS,
}
_OUTPUT_NAMES: Final = {"text_chars": names.STEP_TEXT_CHARS, "parts": names.STEP_PARTS}
_CALL_NAMES: Final = {
    "name": names.TOOL_NAME,
    "id": names.TOOL_CALL_ID,
    "status": names.TOOL_STATUS,
    "mutating": names.TOOL_MUTATING,
    "final": names.TOOL_FINAL,
}


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
    values = _of_turn(names.CHAT, turn)
    values.update({_STEP_NAMES[key]: value for key, value in step.items() if key in _STEP_NAMES})
    reason = step.get("finish_reason") or step.get("raw_finish_reason")
    if reason is not None:
        values[names.RESPONSE_FINISH_REASONS] = (reason,)
    if "usage" in step:
        usage = usage_in_conventions(step)
        values.update({_USAGE_NAMES[key]: tokens for key, tokens in usage.items() if tokens is not None})
    if "output" in step:
        values.update({_OUTPUT_NAMES[key]: value for key, value in step["output"].items() if key in _OUTPUT_NAMES})
    if "refusal" in step:
        values[names.STEP_REFUSED] = True
        if "category" in step["refusal"]:
            values[names.TURN_REFUSAL_CATEGORY] = step["refusal"]["category"]
    if "error" in step:
        values[names.ERROR_TYPE] = step_error(step) or OTHER
        if "status" in step["error"]:
            values[names.STEP_ERROR_STATUS] = step["error"]["status"]
    return values


def step_error(step: Values) -> str | None:
    """A failed request's error type; its HTTP status, else ``_OTHER``, where the source names none."""
    error = step.get("error")
    if error is None:
        return None
    status = error.get("status")
    return error.get("type") or (str(status) if status is not None else OTHER)


def tool_attributes(turn: Values, step: int | None, call: Values) -> dict[str, Value]:
    """The attributes of ``execute_tool``."""
    values = _of_turn(names.EXECUTE_TOOL, turn)
    if step is not None:
        values[names.STEP_INDEX] = step
    values.update({_CALL_NAMES[key]: value for key, value in call.items() if key in _CALL_NAMES})
    error = tool_error(call)
    if error is not None:
        values[names.ERROR_TYPE] = error
    return values


def tool_error(call: Values) -> str | None:
    """A failed call's error type; ``_OTHER`` where only its status says that it failed."""
    error_type: str | None = call.get("error_type")
    if error_type is not None:
        return error_type
    return OTHER if call.get("status") == "error" else None


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


def _of_turn(operation: str, turn: Values) -> dict[str, Value]:
    values: dict[str, Value] = {names.OPERATION_NAME: operation, names.TURN_ID: turn["turn_id"]}
    if "agent" in turn:
        values[names.AGENT_NAME] = turn["agent"]
    if "conversation_id" in turn:
        values[names.CONVERSATION_ID] = turn["conversation_id"]
    return values
