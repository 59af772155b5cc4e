"""Every name that the instrumentation emits, and the fixed order of the end event's columns.

No other module may spell such a name. What a reader of our own telemetry needs to know:

- The body of ``agent.turn.end`` (and of ``agent.turn.late``) is the turn's ``turnout.turn/1`` object as an OTLP key-value list, with the
  keys and the RFC 3339 instants of the JSON contract. It is complete: where one came, nothing is added to it from the resource,
  the spans, the start event or the times of the log records. Several bodies of one ``agent.turn.id`` merge.
- The start event and the step and tool spans are for a turn whose end never came. A span names its turn by
  ``agent.turn.id`` and its step by ``agent.turn.step``.
- ``agent.turn.outcome`` is what the emitter concluded from the same body. It is there to be compared with the reader's own verdict; added to
  the facts it would turn derived evidence into reported.
"""

from typing import Final

SCOPE: Final = "turnout"
"""The instrumentation scope of all spans, events and metrics."""

SCHEMA: Final = 1
"""The value of ``agent.turn.schema``."""

# Events (the event name of a log record).
EVENT_START: Final = "agent.turn.start"
EVENT_END: Final = "agent.turn.end"
EVENT_ABNORMAL_FINISH: Final = "agent.turn.abnormal_finish"
EVENT_LATE: Final = "agent.turn.late"
"""What became known after the end: the whole facts once more, so that a turn still has exactly one end event."""

# Operations (`gen_ai.operation.name`); a span is named by its operation and its subject.
INVOKE_AGENT: Final = "invoke_agent"
CHAT: Final = "chat"
EXECUTE_TOOL: Final = "execute_tool"

# GenAI and general conventions.
OPERATION_NAME: Final = "gen_ai.operation.name"
AGENT_NAME: Final = "gen_ai.agent.name"
AGENT_ID: Final = "gen_ai.agent.id"
AGENT_VERSION: Final = "gen_ai.agent.version"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
PROVIDER_NAME: Final = "gen_ai.provider.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
REQUEST_MAX_TOKENS: Final = "gen_ai.request.max_tokens"
RESPONSE_MODEL: Final = "gen_ai.response.model"
RESPONSE_ID: Final = "gen_ai.response.id"
RESPONSE_FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
USAGE_INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
USAGE_OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
USAGE_CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
USAGE_CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_creation.input_tokens"
USAGE_REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOKEN_TYPE: Final = "gen_ai.token.type"  # noqa: S105 - a name, no secret
ERROR_TYPE: Final = "error.type"

# What a turn is.
TURN_SCHEMA: Final = "agent.turn.schema"
TURN_ID: Final = "agent.turn.id"
TURN_ROOT_ID: Final = "agent.turn.root_id"
TURN_PARENT_ID: Final = "agent.turn.parent_id"
TURN_CONTINUES_ID: Final = "agent.turn.continues_id"
TURN_ATTENDED: Final = "agent.turn.attended"
TURN_LIMIT_STEPS: Final = "agent.turn.limit.steps"
TURN_LIMIT_TOOL_CALLS: Final = "agent.turn.limit.tool_calls"
TURN_LIMIT_TOTAL_TOKENS: Final = "agent.turn.limit.total_tokens"
TURN_LIMIT_SECONDS: Final = "agent.turn.limit.seconds"
TURN_LIMIT_COST_USD: Final = "agent.turn.limit.cost_usd"
TURN_SOURCE: Final = "agent.turn.source"

# How a turn ended.
TURN_OUTCOME: Final = "agent.turn.outcome"
TURN_BUDGET_KIND: Final = "agent.turn.budget_kind"
TURN_CAUSE: Final = "agent.turn.cause"
TURN_RESUMABLE: Final = "agent.turn.resumable"
TURN_EVIDENCE: Final = "agent.turn.evidence"
TURN_RULE: Final = "agent.turn.rule"
TURN_FLAGS: Final = "agent.turn.flags"
TURN_FINISH_REASON: Final = "agent.turn.finish_reason"
TURN_RAW_FINISH_REASON: Final = "agent.turn.raw_finish_reason"
TURN_REFUSAL_CATEGORY: Final = "agent.turn.refusal.category"
TURN_STEPS: Final = "agent.turn.steps"
TURN_TOOL_CALLS: Final = "agent.turn.tool_calls"
TURN_TOOL_ERRORS: Final = "agent.turn.tool_errors"
TURN_UNSETTLED_TOOLS: Final = "agent.turn.unsettled_tools"
TURN_USAGE_INPUT_TOKENS: Final = "agent.turn.usage.input_tokens"
TURN_USAGE_OUTPUT_TOKENS: Final = "agent.turn.usage.output_tokens"
TURN_USAGE_CACHE_READ_TOKENS: Final = "agent.turn.usage.cache_read_tokens"
TURN_USAGE_CACHE_WRITE_TOKENS: Final = "agent.turn.usage.cache_write_tokens"
TURN_USAGE_REASONING_TOKENS: Final = "agent.turn.usage.reasoning_tokens"
TURN_USAGE_COMPLETE: Final = "agent.turn.usage_complete"
TURN_DURATION_MS: Final = "agent.turn.duration_ms"
TURN_LAST_TOOL: Final = "agent.turn.last_tool"

# What a step or a tool call of a turn is, beside the GenAI names.
STEP_INDEX: Final = "agent.turn.step"
STEP_RAW_FINISH_REASON: Final = "agent.turn.step.raw_finish_reason"
STEP_API: Final = "agent.turn.step.api"
STEP_ABORTED: Final = "agent.turn.step.aborted"
STEP_REFUSED: Final = "agent.turn.step.refused"
STEP_TEXT_CHARS: Final = "agent.turn.step.text_chars"
STEP_PARTS: Final = "agent.turn.step.parts"
STEP_STREAM_COMPLETE: Final = "agent.turn.step.stream_complete"
STEP_FORCED_FINAL: Final = "agent.turn.step.forced_final"
STEP_ERROR_STATUS: Final = "agent.turn.step.error_status"
STEP_COST_USD: Final = "agent.turn.step.cost_usd"
TOOL_STATUS: Final = "agent.turn.tool.status"
TOOL_MUTATING: Final = "agent.turn.tool.mutating"
TOOL_FINAL: Final = "agent.turn.tool.final"

# Metrics.
METRIC_TURN_DURATION: Final = "agent.turn.duration"
METRIC_TURN_STEPS: Final = "agent.turn.steps"
METRIC_TURN_FINISHES: Final = "agent.turn.finishes"
METRIC_TOKEN_USAGE: Final = "gen_ai.client.token.usage"  # noqa: S105 - a name, no secret
METRIC_OPERATION_DURATION: Final = "gen_ai.client.operation.duration"

START_COLUMNS: Final = (
    TURN_SCHEMA,
    TURN_ID,
    TURN_ROOT_ID,
    TURN_PARENT_ID,
    TURN_CONTINUES_ID,
    CONVERSATION_ID,
    AGENT_NAME,
    AGENT_VERSION,
    TURN_SOURCE,
    TURN_ATTENDED,
    TURN_LIMIT_STEPS,
    TURN_LIMIT_TOOL_CALLS,
    TURN_LIMIT_TOTAL_TOKENS,
    TURN_LIMIT_SECONDS,
    TURN_LIMIT_COST_USD,
)
"""The attributes that all three events carry, where recorded."""

END_COLUMNS: Final = (
    TURN_SCHEMA,
    TURN_ID,
    TURN_ROOT_ID,
    TURN_PARENT_ID,
    TURN_CONTINUES_ID,
    CONVERSATION_ID,
    AGENT_NAME,
    AGENT_VERSION,
    TURN_SOURCE,
    TURN_ATTENDED,
    TURN_LIMIT_STEPS,
    TURN_LIMIT_TOOL_CALLS,
    TURN_LIMIT_TOTAL_TOKENS,
    TURN_LIMIT_SECONDS,
    TURN_LIMIT_COST_USD,
    TURN_OUTCOME,
    TURN_BUDGET_KIND,
    TURN_CAUSE,
    TURN_RESUMABLE,
    TURN_EVIDENCE,
    TURN_RULE,
    TURN_FLAGS,
    TURN_FINISH_REASON,
    TURN_RAW_FINISH_REASON,
    TURN_REFUSAL_CATEGORY,
    TURN_STEPS,
    TURN_TOOL_CALLS,
    TURN_TOOL_ERRORS,
    TURN_UNSETTLED_TOOLS,
    TURN_USAGE_INPUT_TOKENS,
    TURN_USAGE_OUTPUT_TOKENS,
    TURN_USAGE_CACHE_READ_TOKENS,
    TURN_USAGE_CACHE_WRITE_TOKENS,
    TURN_USAGE_REASONING_TOKENS,
    TURN_USAGE_COMPLETE,
    TURN_DURATION_MS,
    TURN_LAST_TOOL,
)
"""The columns of ``agent.turn.end`` in their fixed order, for stores that address by position; it only ever grows at the end."""
