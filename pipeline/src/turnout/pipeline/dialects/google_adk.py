"""Google ADK: GenAI names in 1.18 and 2, its own before, and the response as JSON on every request of 1.

| fact | where | from | trap |
|---|---|---|---|
| role | ``gen_ai.operation.name`` (1.18); the names of spans (1.5): ``agent_run [name]``, ``call_llm`` | | ``call_llm`` may hold ``generate_content``: one request |
| a workflow of agents | ``invocation``; ``invoke_workflow``; an agent that makes no request | | one message, several agents |
| conversation | ``gcp.vertex.agent.session_id`` | 1.5 | |
| finish reason | ``gen_ai.response.finish_reasons`` (1.18), else ``finish_reason``, ``error_code`` in ``gcp.vertex.agent.llm_response`` | 1.5 | 1.5: a reply with text tells nothing, an empty one has the reason as its error code |
| usage | ``usage_metadata`` in ``gcp.vertex.agent.llm_response``, else ``gen_ai.usage.*`` | 1.5 | ``gen_ai.usage.output_tokens`` is the total in 1.5, and leaves the thoughts out in 1.18 |
| tool call | ``gen_ai.tool.name``, ``gen_ai.tool.call.id`` | 1.5 | |
| hand-over | tool ``transfer_to_agent``: ``agent_name`` in ``gcp.vertex.agent.tool_call_args`` | 1.5 | the other agent hangs below the first, or below its request |
| step limit | ``LlmCallsLimitExceededError`` | 1.5 | ``call_llm`` fails with it, too: that request was never made |
"""

import re
from collections.abc import Mapping

from turnout.outcomes.facts import Step, Usage
from turnout.outcomes.quick import replace
from turnout.pipeline.dialects import errors, genai, values
from turnout.pipeline.dialects.reading import ANYONE, Reading, Role
from turnout.pipeline.telemetry import Span, Value

SOURCE = "google_adk"

_AGENT_RUN = re.compile(r"agent_run \[(.*)\]")
_OWN = "gcp.vertex.agent."
_SYSTEM = "gcp.vertex.agent"
"""What it writes where the provider belongs."""
_LIMIT = "LlmCallsLimitExceededError"


def reading(span: Span) -> Reading | None:
    """A span of the Google ADK."""
    role = _role(span)
    if role is None:
        return None
    read = genai.by_role(span, role, SOURCE)
    read.one_message = role is Role.RUN
    read.conversation_id = read.conversation_id or values.text(span.attributes, f"{_OWN}session_id")
    match role:
        case Role.CALL:
            read.step = _step(span, read.step or Step())
            read.answered = read.answered or read.step.usage is not None
        case Role.AGENT:
            named = _AGENT_RUN.fullmatch(span.name)
            read.agent = read.agent or (named.group(1) if named else None)
        case Role.TOOL if read.tool is not None and read.tool.name == "transfer_to_agent":
            target = values.mapping(span.attributes.get(f"{_OWN}tool_call_args"))
            read.handoff_to = values.text(target, "agent_name") or ANYONE
        case _:
            pass
    return read


def _role(span: Span) -> Role | None:
    if span.name == "invocation":
        return Role.RUN
    if _AGENT_RUN.fullmatch(span.name):
        return Role.AGENT
    role = genai.role_of(span.attributes)
    if role in {None, Role.INNER} and span.name.startswith("call_llm"):
        role = Role.CALL
    if role is Role.CALL and _never_made(span):
        return Role.INNER
    return role


def _never_made(span: Span) -> bool:
    failure = errors.failure_of(span)
    return failure is not None and failure.name == _LIMIT


def _step(span: Span, step: Step) -> Step:
    """A request with what the response that stands on it as JSON says."""
    response = values.mapping(span.attributes.get(f"{_OWN}llm_response"))
    ended = values.finish_reason(response, "finish_reason", "finishReason", "error_code")
    return replace(
        step,
        provider=None if step.provider == _SYSTEM else step.provider,
        finish_reason=step.finish_reason or ended,
        usage=_usage(values.mapping(response.get("usage_metadata"))) or step.usage,
    )


def _usage(counts: Mapping[str, Value]) -> Usage | None:
    asked = values.whole(counts, "prompt_token_count")
    shown = values.whole(counts, "candidates_token_count")
    thought = values.whole(counts, "thoughts_token_count")
    if asked is None and shown is None:
        return None
    return Usage(
        input_tokens=asked,
        output_tokens=None if shown is None and thought is None else (shown or 0) + (thought or 0),
        cache_read_tokens=values.whole(counts, "cached_content_token_count"),
        reasoning_tokens=thought,
    )
