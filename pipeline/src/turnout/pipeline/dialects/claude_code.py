"""Claude Code: log events of every prompt, and the beta spans where they are on.

| fact | where | from | trap |
|---|---|---|---|
| turn | span ``claude_code.interaction``; ``prompt.id`` of the events | 2.1, 2.1 | status always UNSET, no outcome; without spans no event ends a turn |
| turn id | the interaction's span, which the events name as theirs; without spans ``prompt.id`` | | |
| request | span ``claude_code.llm_request``; event ``api_request`` (or ``api_error``) | | the same request twice: paired by ``request_id``, which some gateways do not give, else by counts and time; a span of a request in flight at the end is missing |
| sub-agent | ``agent_id`` on spans and events, ``agent.name`` | 2.1.300 | its spans may hang below a request or a later tool of its parent, its first request's parent is not exported |
| other requests | ``query_source`` other than the main thread, ``llm_request.context`` = ``standalone``, below a tool | | titles, compaction, sub-agents: turns of their own below the prompt's |
| finish reason | ``stop_reason`` on the span, as the provider spelled it | | events have none |
| refusal | event ``api_refusal``, ``category`` | 2.1 | comes before the event of its request; the CLI may ask another model |
| usage | ``input_tokens``, ``output_tokens``, ``cache_read_tokens``, ``cache_creation_tokens`` | | the input excludes the cache |
| cost | ``cost_usd`` of ``api_request`` | | |
| failure | ``error``, ``status_code``, ``attempt`` (attempts made) | | |
| tool call | span ``claude_code.tool``: ``tool_name``, ``tool_use_id``; event ``tool_result`` | | ``.execution``, ``.blocked_on_user``, ``tool_decision`` are the same call |
| tool error | ``success`` of ``tool_result`` (text!) and of ``claude_code.tool.execution`` | | the tool span itself stays UNSET |
| denial | ``decision`` = ``reject``, ``source`` | | |
| finish hook | event ``hook_execution_complete`` with ``hook_event`` ``Stop``: ``num_blocking`` | 2.1 | |
| conversation | ``session.id`` | | |
| attended | ``terminal.type`` other than ``non-interactive``, unless ``query_source`` is ``sdk`` | | a program's terminal is that of the shell it runs in |
| step limit | nothing: the last ``stop_reason`` is ``tool_use`` | | an interrupt looks the same |
"""

import re
from collections.abc import Mapping

from turnout.outcomes.facts import Step, StepError, ToolCall, ToolStatus
from turnout.outcomes.quick import replace
from turnout.pipeline.dialects import errors, values
from turnout.pipeline.dialects.claude_spans import SOURCE
from turnout.pipeline.dialects.reading import Reading, Role
from turnout.pipeline.telemetry import Attributes, LogRecord, Span

SCOPE = "com.anthropic.claude_code"

_ROLES = {"interaction": Role.AGENT, "llm_request": Role.CALL, "tool": Role.TOOL}
_USAGE: Mapping[str, values.Names] = {
    "input_tokens": ("input_tokens",),
    "output_tokens": ("output_tokens",),
    "cache_read_tokens": ("cache_read_tokens",),
    "cache_write_tokens": ("cache_creation_tokens",),
}
_EVENTS = frozenset(
    {
        "user_prompt",
        "api_request",
        "api_error",
        "api_refusal",
        "tool_result",
        "tool_decision",
        "assistant_response",
        "hook_execution_complete",
    }
)
_PROGRAM = "sdk"
_KIND = re.compile(r"[.:]")
_BY_PERSON = frozenset({"user_reject", "user_abort"})


def speaks(scope: str) -> bool:
    """Whether a scope is Claude Code's."""
    return scope.startswith(SCOPE)


def event_of(log: LogRecord) -> str:
    """The event's name without its prefix."""
    return log.name.removeprefix("claude_code.")


def is_relevant(log: LogRecord) -> bool:
    """Whether an event says anything of a turn."""
    return event_of(log) in _EVENTS


def link_keys(record: Span | LogRecord) -> tuple[str, ...]:
    """The prompt ties events without a trace to each other."""
    prompt = values.text(record.attributes, "prompt.id")
    return (f"{SOURCE}:{prompt}",) if prompt else ()


# --- spans


def reading(span: Span) -> Reading:
    """Read a beta span."""
    kind = values.text(span.attributes, "span.type") or span.name.removeprefix("claude_code.")
    role = _ROLES.get(kind, Role.INNER)
    base = about(role, span.attributes)
    match role:
        case Role.CALL:
            return replace(base, step=_span_step(span), answered=True)
        case Role.TOOL:
            return replace(base, tool=tool_of(span.attributes))
        case _:
            return replace(base, tool=tool_of(span.attributes)) if kind.startswith("tool.") else base


def about(role: Role, attributes: Attributes) -> Reading:
    """What every record says of its turn, in the role of its reading."""
    return Reading(
        role=role,
        source=SOURCE,
        agent=_agent(attributes),
        conversation_id=values.text(attributes, "session.id"),
        attended=_attended(role, attributes),
    )


def _agent(attributes: Attributes) -> str | None:
    """The program, or the kind of its sub-agent, which the source of a request ends with."""
    if "agent_id" not in attributes:
        return "claude-code"
    asked_by = values.text(attributes, "query_source", "query_source_safe") or ""
    kind = _KIND.split(asked_by)[-1] if asked_by.startswith("agent") else ""
    return values.text(attributes, "agent.name") or kind or None


def _attended(role: Role, attributes: Attributes) -> bool | None:
    """Whether somebody is there: the requests of a program say so, though its terminal is that of the shell."""
    terminal = values.text(attributes, "terminal.type")
    asked_by = values.text(attributes, "query_source", "query_source_safe") or ""
    if terminal == "non-interactive" or asked_by.startswith(_PROGRAM):
        return False
    return None if terminal is None or role is Role.AGENT else True


def _span_step(span: Span) -> Step:
    a = span.attributes
    failed = values.flag(a, "success") is False or values.text(a, "error") is not None
    return replace(
        request_of(a),
        finish_reason=values.text(a, "stop_reason"),
        raw_finish_reason=values.text(a, "stop_reason") or values.finish_reason(a, "gen_ai.response.finish_reasons"),
        error=error_of(a) if failed else None,
    )


def request_of(attributes: Attributes) -> Step:
    """A model request by its counts."""
    attempts = values.whole(attributes, "attempt")
    return Step(
        request_id=values.text(attributes, "request_id"),
        provider="anthropic",
        model=values.model(attributes, "model", "gen_ai.request.model"),
        usage=values.usage(attributes, _USAGE),
        cache_in_input=False,
        cost_usd=values.number(attributes, "cost_usd"),
        attempts=attempts if attempts is not None and attempts > 1 else None,
    )


def error_of(attributes: Attributes) -> StepError:
    """The failure of a request."""
    message = values.text(attributes, "error")
    return StepError(
        type=values.text(attributes, "error_class"),
        status=values.whole(attributes, "status_code") or errors.status_in(message),
        message=message,
    )


def tool_of(attributes: Attributes) -> ToolCall:
    """A tool call, or what a part of it says."""
    rejected = values.text(attributes, "decision") == "reject"
    success = values.flag(attributes, "success")
    status = (
        ToolStatus.DENIED if rejected else None if success is None else ToolStatus.OK if success else ToolStatus.ERROR
    )
    return ToolCall(
        id=values.text(attributes, "tool_use_id", "gen_ai.tool.call.id"),
        name=values.text(attributes, "tool_name"),
        status=status,
        error_type=values.text(attributes, "error_type", "error") if success is False else None,
        denied_by=_denier(values.text(attributes, "source", "decision_source")) if rejected else None,
    )


def _denier(source: str | None) -> str | None:
    return "user" if source in _BY_PERSON else source
