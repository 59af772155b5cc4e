"""The attributes of the turn events, as data: PURE, from facts and verdict to names and values."""

from turnout.instrumentation import attributes as names
from turnout.outcomes.facts import Limits, Refusal, Step, TurnFacts, Usage
from turnout.outcomes.verdict import Verdict

Value = str | bool | int | float | tuple[str, ...]
"""What an event attribute can hold."""

_NO_LIMITS = Limits()
_NO_USAGE = Usage()
_NO_STEP = Step()
_NO_REFUSAL = Refusal()
_NANOS_PER_MILLI = 1_000_000


def start_attributes(facts: TurnFacts) -> dict[str, Value]:
    """What all three events carry, in column order, without what is not recorded."""
    return _recorded(_start_values(facts))


def end_attributes(facts: TurnFacts, verdict: Verdict) -> dict[str, Value]:
    """What the end events carry, in column order, without what is not recorded."""
    return _recorded(_start_values(facts) | _end_values(facts, verdict))


def end_row(facts: TurnFacts, verdict: Verdict) -> tuple[Value | None, ...]:
    """One value for each of `attributes.END_COLUMNS`, for stores that address by position."""
    values = _start_values(facts) | _end_values(facts, verdict)
    return tuple(values[name] for name in names.END_COLUMNS)


def last_step(facts: TurnFacts) -> Step | None:
    """The step with the highest index; of several attempts at it, the one that ended last."""
    return max(facts.steps, key=lambda step: (step.index or 0, step.ended_at or step.started_at or 0), default=None)


def last_tool(facts: TurnFacts) -> str | None:
    """The name of the tool that was called last, in the order of the steps."""
    for step in sorted(facts.steps, key=lambda step: step.index or 0, reverse=True):
        for call in reversed(step.tool_calls):
            if call.name is not None:
                return call.name
    return None


def _recorded(values: dict[str, Value | None]) -> dict[str, Value]:
    return {name: value for name, value in values.items() if value is not None}


def _start_values(facts: TurnFacts) -> dict[str, Value | None]:
    limits = facts.limits or _NO_LIMITS
    return {
        names.TURN_SCHEMA: names.SCHEMA,
        names.TURN_ID: facts.turn_id,
        names.TURN_ROOT_ID: facts.root_turn_id,
        names.TURN_PARENT_ID: facts.parent_turn_id,
        names.TURN_CONTINUES_ID: facts.continues_turn_id,
        names.CONVERSATION_ID: facts.conversation_id,
        names.AGENT_NAME: facts.agent,
        names.AGENT_VERSION: facts.agent_version,
        names.TURN_SOURCE: facts.source,
        names.TURN_ATTENDED: facts.attended,
        names.TURN_LIMIT_STEPS: limits.steps,
        names.TURN_LIMIT_TOOL_CALLS: limits.tool_calls,
        names.TURN_LIMIT_TOTAL_TOKENS: limits.total_tokens,
        names.TURN_LIMIT_SECONDS: limits.seconds,
        names.TURN_LIMIT_COST_USD: limits.cost_usd,
    }


def _end_values(facts: TurnFacts, verdict: Verdict) -> dict[str, Value | None]:
    step = last_step(facts) or _NO_STEP
    usage = verdict.usage or _NO_USAGE
    return {
        names.TURN_OUTCOME: verdict.outcome.value,
        names.TURN_BUDGET_KIND: verdict.budget_kind and verdict.budget_kind.value,
        names.TURN_CAUSE: verdict.cause and verdict.cause.value,
        names.TURN_RESUMABLE: verdict.resumable.value,
        names.TURN_EVIDENCE: verdict.evidence.value,
        names.TURN_RULE: verdict.rule,
        names.TURN_FLAGS: tuple([flag.value for flag in verdict.flags]) or None,
        names.TURN_FINISH_REASON: step.finish_reason,
        names.TURN_RAW_FINISH_REASON: step.raw_finish_reason,
        names.TURN_REFUSAL_CATEGORY: (step.refusal or _NO_REFUSAL).category,
        names.TURN_STEPS: verdict.steps,
        names.TURN_TOOL_CALLS: verdict.tool_calls,
        names.TURN_TOOL_ERRORS: verdict.tool_errors,
        names.TURN_UNSETTLED_TOOLS: verdict.unsettled_tools,
        names.TURN_USAGE_INPUT_TOKENS: usage.input_tokens,
        names.TURN_USAGE_OUTPUT_TOKENS: usage.output_tokens,
        names.TURN_USAGE_CACHE_READ_TOKENS: usage.cache_read_tokens,
        names.TURN_USAGE_CACHE_WRITE_TOKENS: usage.cache_write_tokens,
        names.TURN_USAGE_REASONING_TOKENS: usage.reasoning_tokens,
        names.TURN_USAGE_COMPLETE: verdict.usage_complete,
        names.TURN_DURATION_MS: _duration_ms(facts),
        names.TURN_LAST_TOOL: last_tool(facts),
    }


def _duration_ms(facts: TurnFacts) -> float | None:
    if facts.started_at is None or facts.ended_at is None:
        return None
    return (facts.ended_at - facts.started_at) / _NANOS_PER_MILLI
