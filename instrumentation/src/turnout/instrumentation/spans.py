"""Names and attributes of step, tool and turn spans, as data: PURE, from facts to names and values."""

from turnout.instrumentation import attributes as names
from turnout.instrumentation.columns import Value
from turnout.outcomes.facts import Output, Refusal, Step, StepError, ToolCall, TurnFacts, Usage
from turnout.outcomes.verdict import Verdict

_NO_USAGE = Usage()
_NO_REFUSAL = Refusal()
_NO_OUTPUT = Output()
_NO_ERROR = StepError()


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


def step_attributes(turn: TurnFacts, step: Step) -> dict[str, Value]:
    """The attributes of ``chat``; input tokens include the cache and output tokens the reasoning, as the conventions have it."""
    usage = usage_in_conventions(step)
    error = step.error or _NO_ERROR
    reason = step.finish_reason or step.raw_finish_reason
    output = step.output or _NO_OUTPUT
    values: dict[str, Value | None] = {
        names.OPERATION_NAME: names.CHAT,
        names.TURN_ID: turn.turn_id,
        names.STEP_INDEX: step.index,
        names.AGENT_NAME: turn.agent,
        names.CONVERSATION_ID: turn.conversation_id,
        names.PROVIDER_NAME: step.provider,
        names.STEP_API: step.api,
        names.REQUEST_MODEL: step.model,
        names.REQUEST_MAX_TOKENS: step.max_output_tokens,
        names.RESPONSE_ID: step.message_id,
        names.RESPONSE_FINISH_REASONS: (reason,) if reason is not None else None,
        names.STEP_RAW_FINISH_REASON: step.raw_finish_reason,
        names.STEP_REFUSED: True if step.refusal is not None else None,
        names.TURN_REFUSAL_CATEGORY: (step.refusal or _NO_REFUSAL).category,
        names.STEP_ABORTED: step.aborted,
        names.STEP_STREAM_COMPLETE: step.stream_complete,
        names.STEP_FORCED_FINAL: step.forced_final,
        names.USAGE_INPUT_TOKENS: usage.input_tokens,
        names.USAGE_OUTPUT_TOKENS: usage.output_tokens,
        names.USAGE_CACHE_READ_TOKENS: usage.cache_read_tokens,
        names.USAGE_CACHE_WRITE_TOKENS: usage.cache_write_tokens,
        names.USAGE_REASONING_TOKENS: usage.reasoning_tokens,
        names.STEP_COST_USD: step.cost_usd,
        names.STEP_TEXT_CHARS: output.text_chars,
        names.STEP_PARTS: output.parts,
        names.ERROR_TYPE: step_error(step),
        names.STEP_ERROR_STATUS: error.status,
    }
    return {name: value for name, value in values.items() if value is not None}


def step_error(step: Step) -> str | None:
    """A failed request's error type; ``_OTHER`` where the source names none."""
    if step.error is None:
        return None
    return step.error.type or (str(step.error.status) if step.error.status is not None else "_OTHER")


def tool_attributes(turn: TurnFacts, step: int | None, call: ToolCall) -> dict[str, Value]:
    """The attributes of ``execute_tool``."""
    values: dict[str, Value | None] = {
        names.OPERATION_NAME: names.EXECUTE_TOOL,
        names.TURN_ID: turn.turn_id,
        names.STEP_INDEX: step,
        names.AGENT_NAME: turn.agent,
        names.CONVERSATION_ID: turn.conversation_id,
        names.TOOL_NAME: call.name,
        names.TOOL_CALL_ID: call.id,
        names.TOOL_STATUS: call.status and call.status.value,
        names.TOOL_MUTATING: call.mutating,
        names.TOOL_FINAL: call.final,
        names.ERROR_TYPE: tool_error(call),
    }
    return {name: value for name, value in values.items() if value is not None}


def tool_error(call: ToolCall) -> str | None:
    """A failed call's error type; ``_OTHER`` where only its status says that it failed."""
    if call.error_type is not None:
        return call.error_type
    return "_OTHER" if call.status == "error" else None


def usage_in_conventions(step: Step) -> Usage:
    """The step's usage with the cache inside the input and the reasoning inside the output."""
    usage = step.usage or _NO_USAGE
    cached = (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0) if step.cache_in_input is False else 0
    thought = (usage.reasoning_tokens or 0) if step.reasoning_in_output is False else 0
    if not cached and not thought:
        return usage
    return Usage(
        input_tokens=_plus(usage.input_tokens, cached),
        output_tokens=_plus(usage.output_tokens, thought),
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        reasoning_tokens=usage.reasoning_tokens,
    )


def _plus(tokens: int | None, more: int) -> int | None:
    return tokens + more if tokens is not None else (more or None)
