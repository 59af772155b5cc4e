"""The OpenTelemetry GenAI conventions, old and new, as any library emits them.

| fact | attribute | from | trap |
|---|---|---|---|
| role | ``gen_ai.operation.name`` | 1.28 | values outside the conventions (``agent_step``, ``execute_event_loop_cycle``, ``unknown``) are machinery |
| role, without an operation | ``gen_ai.request.model`` with a response | 1.27 | |
| agent | ``gen_ai.agent.name``, ``.version`` | 1.28 | |
| conversation | ``gen_ai.conversation.id``, else ``session.id`` | 1.30 | never made up from a trace id |
| provider | ``gen_ai.provider.name``, else ``gen_ai.system`` | 1.37, 1.27 | frameworks write their own name there |
| model | ``gen_ai.request.model``, else ``gen_ai.response.model`` | 1.27 | the response's name is dated, so one model would have two; ``unknown`` is none; some exporters copy the request's to the response's, so alike they prove no answer |
| output cap | ``gen_ai.request.max_tokens`` | 1.27 | |
| finish reason | ``gen_ai.response.finish_reasons`` | 1.27 | array, text, or a JSON or Python array in text, enums by their text; no vocabulary; not the provider's own word |
| finish reason | ``anthropic.message.stop_reason`` | Anthropic's client 2 | the only place on its spans |
| finish reason, else | ``finish_reason`` in ``gen_ai.output.messages`` or in the event ``gen_ai.choice`` | 1.36, 1.28 | the messages may also stand in the event ``gen_ai.client.inference.operation.details``, the choice as JSON in ``gen_ai.event.content``, or among all events in ``events`` (pydantic-ai before 1); both events may be log records (`genai_logs`) |
| usage | ``gen_ai.usage.input_tokens``, ``.output_tokens`` (else ``prompt``, ``completion``) | 1.27 | cache and reasoning are inside; several names for one count stand side by side |
| cache | ``gen_ai.usage.cache_read.input_tokens``, ``.cache_creation`` (0.1: ``.cache_write``) | 1.38 | |
| reasoning | ``gen_ai.usage.reasoning.output_tokens``, ``.reasoning_tokens``, ``.details.reasoning_tokens`` | 0.1 | |
| attempts | ``http.request.resend_count`` | | on the spans of Anthropic's client, which trace themselves |
| usage of a turn | the same on ``invoke_agent`` | | the sum of its steps, never added to them |
| tool call | ``gen_ai.tool.name``, ``.call.id`` | 1.31 | ``gen_ai.tool.call_id`` in one emitter |
| tool error | status ERROR, ``error.type``, ``gen_ai.tool.status`` (``tool.status``) | | |
| failure | event ``exception``, else ``error.type``, else status | | a turn that was cut, filtered or cancelled often ends UNSET or OK |
"""

from collections.abc import Callable, Iterator, Mapping

from turnout.outcomes.facts import Claim, Layer, Step, ToolCall, ToolStatus
from turnout.pipeline.dialects import errors, spelling, values
from turnout.pipeline.dialects.messages import Reply, reply_of, reply_of_choice
from turnout.pipeline.dialects.reading import ANYONE, Reading, Role
from turnout.pipeline.telemetry import Attributes, Span

SOURCE = "genai"

USAGE: Mapping[str, values.Names] = {
    "input_tokens": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    "output_tokens": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
    "cache_read_tokens": (
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "gen_ai.usage.details.cache_read_tokens",
    ),
    "cache_write_tokens": (
        "gen_ai.usage.cache_write.input_tokens",
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
        "gen_ai.usage.cache_write_input_tokens",
        "gen_ai.usage.details.cache_write_tokens",
    ),
    "reasoning_tokens": (
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.usage.reasoning_tokens",
        "gen_ai.usage.details.reasoning_tokens",
        "ai.usage.outputTokenDetails.reasoningTokens",
    ),
}
FINISH = (
    "gen_ai.response.finish_reasons",
    "gen_ai.response.finish_reason",
    "gen_ai.response.stop_reason",
    "anthropic.message.stop_reason",
)
PROVIDER = ("gen_ai.provider.name", "gen_ai.system")
MODEL = ("gen_ai.request.model", "gen_ai.response.model")
CONVERSATION = ("gen_ai.conversation.id", "session.id")
_ANSWER = ("gen_ai.response.id", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens")
_RESPONSE = ("gen_ai.response.model", *_ANSWER)

_ROLES = {
    "invoke_agent": Role.AGENT,
    "invoke_workflow": Role.RUN,
    "invoke_graph": Role.RUN,
    "invoke_swarm": Role.RUN,
    "chat": Role.CALL,
    "generate_content": Role.CALL,
    "text_completion": Role.CALL,
    "completion": Role.CALL,
    "responses": Role.CALL,
    "execute_tool": Role.TOOL,
}
_NO_CALLS = frozenset({"embeddings", "retrieval", "create_agent", "plan"})
TOOL_STATUS = ("gen_ai.tool.status", "tool.status")
_HANDOFFS = frozenset({"handoff", "agent_handoff"})
_NO_PROVIDERS = frozenset(
    {"strands-agents", "langchain", "langgraph", "autogen", "crewai", "microsoft.agent_framework"}
)
"""Names of frameworks, which some emitters write where the provider belongs."""


def reading(span: Span) -> Reading | None:
    """Read a span by the conventions; ``None`` where it carries none of them."""
    role = role_of(span.attributes)
    return None if role is None else by_role(span, role, SOURCE)


def role_of(attributes: Attributes) -> Role | None:
    """The role that the conventions give a span."""
    operation = values.text(attributes, "gen_ai.operation.name")
    if operation is not None:
        return _ROLES.get(operation.lower(), Role.INNER)
    if "gen_ai.request.model" in attributes and any(name in attributes for name in (*_RESPONSE, *FINISH)):
        return Role.CALL
    return None


def by_role(span: Span, role: Role, source: str) -> Reading:
    """Read a span by the conventions in a role that is known."""
    read = _READERS[role](span, source)
    if read.role is not Role.TOOL:
        read.role = role
    return read


def inner(span: Span, source: str) -> Reading:
    """Machinery: nothing of it is a fact, but that a turn was handed over."""
    operation = (values.text(span.attributes, "gen_ai.operation.name") or "").lower()
    if operation in _HANDOFFS:
        to = values.text(span.attributes, "gen_ai.handoff.to_agent") or ANYONE
        read = tool(span, source)
        read.handoff_to = to
        return read
    return Reading(role=Role.INNER, source=source, conversation_id=values.text(span.attributes, *CONVERSATION))


def agent(span: Span, source: str) -> Reading:
    """A turn span."""
    a = span.attributes
    failure = errors.failure_of(span)
    return Reading(
        role=Role.AGENT,
        source=source,
        agent=values.text(a, "gen_ai.agent.name", "gen_ai.workflow.name"),
        agent_version=values.text(a, "gen_ai.agent.version"),
        conversation_id=values.text(a, *CONVERSATION),
        claims=(errors.claim_of(failure),) if failure else (),
        limits=errors.limits_in(failure.message) if failure else None,
        usage=values.usage(a, USAGE),
        finish=turn_finish(span),
        one_message=_ROLES.get(values.text(a, "gen_ai.operation.name") or "") is Role.RUN,
    )


def turn_finish(span: Span) -> str | None:
    """The finish reason on a turn span, wherever it stands."""
    found = values.finish_reason(span.attributes, *FINISH) or _chosen(span)
    if found is None:
        reply = _reply(span)
        found = reply.finish_reason if reply else None
    return found


def call(span: Span, source: str) -> Reading:
    """A model request."""
    a = span.attributes
    reply = _reply(span)
    reason = values.finish_reason(a, *FINISH) or _chosen(span) or (reply.finish_reason if reply else None)
    usage = values.usage(a, USAGE)
    step = Step(
        message_id=values.text(a, "gen_ai.response.id"),
        provider=provider(a),
        model=values.model(a, *MODEL),
        finish_reason=reason,
        refusal=reply.refusal if reply else None,
        max_output_tokens=values.whole(a, "gen_ai.request.max_tokens"),
        attempts=_attempts(a),
        usage=usage,
        cost_usd=values.number(a, "operation.cost", "gen_ai.usage.cost"),
        output=reply.output if reply else None,
    )
    return Reading(
        role=Role.CALL,
        source=source,
        agent=None,
        conversation_id=values.text(a, *CONVERSATION),
        step=errors.with_failure(step, errors.failure_of(span)),
        asked=reply.calls if reply else (),
        answered=answered(span, reason, reply),
    )


def _attempts(attributes: Attributes) -> int | None:
    """The requests that a client made, where it says how often it sent one again."""
    again = values.whole(attributes, "http.request.resend_count")
    return again + 1 if again else None


def answered(span: Span, reason: str | None, reply: Reply | None) -> bool:
    """Whether anything of a response, or a failure, is on the span."""
    a = span.attributes
    return (
        reason is not None
        or reply is not None
        or any(name in a for name in _ANSWER)
        or values.text(a, "gen_ai.response.model") not in {None, values.text(a, "gen_ai.request.model")}
        or errors.failure_of(span) is not None
    )


def provider(attributes: Attributes) -> str | None:
    """The provider, unless a framework wrote its own name there."""
    found = values.text(attributes, *PROVIDER)
    return None if found is None or found.lower() in _NO_PROVIDERS else spelling.provider(found)


def tool(span: Span, source: str) -> Reading:
    """A tool call."""
    a = span.attributes
    failure = errors.failure_of(span)
    return Reading(
        role=Role.TOOL,
        source=source,
        conversation_id=values.text(a, *CONVERSATION),
        tool=ToolCall(
            id=values.text(a, "gen_ai.tool.call.id", "gen_ai.tool.call_id"),
            name=values.text(a, "gen_ai.tool.name") or tool_name(span.name),
            status=tool_status(failure, values.text(a, *TOOL_STATUS)),
            error_type=(failure.name or None) if failure else None,
        ),
    )


def tool_name(span_name: str) -> str | None:
    """The tool in a span name such as ``execute_tool weather``."""
    _, _, name = span_name.partition(" ")
    return name or None


def tool_status(failure: errors.Failure | None, status: str | None = None) -> ToolStatus:
    """The state of an ended tool span; one that was cancelled may have run on, one that waits for a person is not settled."""
    if failure is not None:
        match errors.reason_of(failure):
            case "cancelled" | "user_stop":
                return ToolStatus.RUNNING
            case "interrupt":
                return ToolStatus.AWAITING_APPROVAL
            case _:
                return ToolStatus.ERROR
    return ToolStatus.ERROR if (status or "").lower() in {"error", "failed", "failure"} else ToolStatus.OK


def _chosen(span: Span) -> str | None:
    """The finish reason of the event ``gen_ai.choice``; the last one says how it ended."""
    reasons = [found for choice in _choices(span) if (found := values.finish_reason(choice, "finish_reason"))]
    return reasons[-1] if reasons else None


def _choices(span: Span) -> Iterator[Attributes]:
    """The events ``gen_ai.choice``; some emitters have the whole choice, or all events, as JSON in one attribute."""
    for told in values.items(span.attributes.get("events")):
        if isinstance(told, dict) and told.get("event.name") == "gen_ai.choice":
            yield told
    for event in span.events:
        if event.name == "gen_ai.choice":
            content = event.attributes.get("gen_ai.event.content")
            yield event.attributes if content is None else {**values.mapping(content), **event.attributes}


def _reply(span: Span) -> Reply | None:
    held = span.attributes.get("gen_ai.output.messages")
    if held is not None:
        return reply_of(held)
    if not span.events and "events" not in span.attributes:
        return None
    details = [
        event.attributes["gen_ai.output.messages"]
        for event in span.events
        if "gen_ai.output.messages" in event.attributes
    ]
    if details:
        return reply_of(details[-1])
    replies = [reply for choice in _choices(span) if (reply := reply_of_choice(choice)) is not None]
    return replies[-1] if replies else None


def runtime_claim(reason: str, span: Span) -> Claim:
    """A claim that the runtime makes at the end of a span."""
    return Claim(by=Layer.RUNTIME, reason=reason, at=span.end)


_READERS: Mapping[Role, Callable[[Span, str], Reading]] = {
    Role.CALL: call,
    Role.TOOL: tool,
    Role.AGENT: agent,
    Role.RUN: agent,
    Role.INNER: inner,
}
