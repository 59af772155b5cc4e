"""Frameworks that speak the GenAI conventions in a way of their own.

| framework | scope | fact | attribute | trap |
|---|---|---|---|---|
| pydantic-ai 2 (settings version 2 to 6) | ``pydantic-ai`` | role | ``gen_ai.operation.name``; version 2: span names ``agent run``, ``running tool`` | |
| | | usage of a turn | ``gen_ai.aggregated_usage.*``, or plain ``gen_ai.usage.*`` by setting | the sum of the steps |
| | | finish reason of a step | as in the conventions, from 1.1 | before, nothing tells a whole reply from a cut one |
| | | returned | ``final_result`` | also there after a cut or filtered reply with text, so alone it proves nothing |
| | | limit, cut, filter | exception class; for ``UsageLimitExceeded`` the text tells which | |
| | | cut arguments | ``pydantic_ai.tool.failure_stage`` = ``validation`` | |
| | | waiting for a person | ``pydantic_ai.tool.deferral.name`` | from version 5 no ERROR |
| | | cancelled | nothing: the last request has no response, the turn no ``final_result`` | |
| Strands 1 | ``strands.telemetry.tracer`` | end of the turn | ``finish_reason`` of the event ``gen_ai.choice`` on ``invoke_agent`` (latest: of the output messages in ``gen_ai.client.inference.operation.details``) | status OK on a limit |
| | | cancelled | ``strands.cancellation.type`` | status UNSET |
| | | a workflow of agents | ``invoke_graph``, ``invoke_swarm`` | one message, several agents |
| | | tool error | ``gen_ai.tool.status``, 1.0: ``tool.status`` | absent on a call that was cut off, whose span may even be OK |
| Microsoft agent framework 1 | ``agent_framework`` | finish reason | a JSON array in text | also on the turn span |
| | | a workflow of agents | ``workflow.run`` | one message, several agents |
| AI SDK 7 | ``gen_ai`` | step | ``chat``; ``agent_step`` around it is machinery | a stream without an end exports no ``chat``: the step stands for it. Finish reasons are the SDK's own words |
| | | step limit | turn span ends without error on ``tool-calls`` | so does a stop by a certain tool |
| OTel contrib openai-agents 0.1 | ``opentelemetry.instrumentation.openai_agents`` | envelope | ``invoke_agent`` of kind SERVER | no finish reasons for Responses |
"""

from dataclasses import replace

from turnout.outcomes.facts import Claim, Layer, ToolCall, ToolStatus
from turnout.pipeline.dialects import errors, genai, values
from turnout.pipeline.dialects.reading import Reading, Role
from turnout.pipeline.telemetry import Span

PYDANTIC_AI = "pydantic_ai"
STRANDS = "strands"
AGENT_FRAMEWORK = "agent_framework"
AI_SDK = "ai_sdk"
CONTRIB_AGENTS = "otel_openai_agents"

_SERVER = 2
_AGGREGATED = {
    field: tuple(
        name.replace("gen_ai.usage.", "gen_ai.aggregated_usage.") for name in names if name.startswith("gen_ai.usage.")
    )
    for field, names in genai.USAGE.items()
}
_UNNAMED_WORKFLOW = "WorkflowBuilder-"
"""How the framework names a workflow that has no name; an id follows."""
_STRANDS_CLAIMS = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "max_tokens": "max_tokens",
    "content_filtered": "content_filter",
    "guardrail_intervened": "guardrail",
    "interrupt": "interrupt",
    "cancelled": "cancelled",
    "limit_turns": "limit_turns",
    "limit_total_tokens": "limit_total_tokens",
    "limit_output_tokens": "limit_output_tokens",
}


def pydantic_ai(span: Span) -> Reading | None:
    """A span of pydantic-ai."""
    role = genai.role_of(span.attributes) or _pydantic_role(span.name)
    if role is None:
        return None
    read = genai.by_role(span, role, PYDANTIC_AI)
    match role:
        case Role.AGENT:
            return _pydantic_turn(span, read)
        case Role.TOOL:
            read.tool = _pydantic_tool(span, read.tool or ToolCall())
            return read
        case _:
            return read


def _pydantic_role(name: str) -> Role | None:
    if name.startswith(("agent run", "invoke_agent")):
        return Role.AGENT
    if name.startswith(("running tool: ", "execute_tool")) or name == "running tool":
        return Role.TOOL
    return Role.INNER if name.startswith("running ") else None


def _pydantic_turn(span: Span, read: Reading) -> Reading:
    returned = "final_result" in span.attributes
    claims = read.claims or ((genai.runtime_claim("completed", span),) if returned else ())
    read.agent = read.agent or values.text(span.attributes, "agent_name")
    read.usage = values.usage(span.attributes, _AGGREGATED) or read.usage
    read.returned = returned
    read.claims = claims
    return read


def _pydantic_tool(span: Span, tool: ToolCall) -> ToolCall:
    a = span.attributes
    match values.text(a, "pydantic_ai.tool.deferral.name"):
        case "ApprovalRequired":
            return replace(tool, status=ToolStatus.AWAITING_APPROVAL, error_type=None)
        case "CallDeferred":
            return replace(tool, status=ToolStatus.AWAITING_CLIENT, error_type=None)
        case _:
            pass
    if "INVALID_JSON" in values.mapping(a.get("gen_ai.tool.call.arguments") or a.get("tool_arguments")):
        return replace(tool, arguments_valid=False)
    return tool


def strands(span: Span) -> Reading | None:
    """A span of Strands."""
    role = genai.role_of(span.attributes)
    if role is None:
        return None
    read = genai.by_role(span, role, STRANDS)
    if role is Role.TOOL and read.tool is not None and not any(name in span.attributes for name in genai.TOOL_STATUS):
        read.tool = replace(read.tool, status=ToolStatus.RUNNING)
    if role is not Role.AGENT:
        return read
    kind = values.text(span.attributes, "strands.cancellation.type")
    if kind is not None:
        return replace(read, claims=(Claim(by=Layer.HOST, reason="cancelled", at=span.end, error_type=kind),))
    reason = _STRANDS_CLAIMS.get(read.finish or "")
    if read.claims or reason is None:
        return read
    by = Layer.HOST if reason == "cancelled" else Layer.RUNTIME
    return replace(read, claims=(Claim(by=by, reason=reason, at=span.end),))


def agent_framework(span: Span) -> Reading | None:
    """A span of the Microsoft agent framework."""
    role = genai.role_of(span.attributes)
    workflow = role is None and span.name.startswith("workflow.run")
    read = genai.by_role(span, Role.RUN if workflow else role or Role.INNER, AGENT_FRAMEWORK)
    if workflow:
        read.one_message = True
        name = values.text(span.attributes, "workflow.name")
        read.agent = None if name is None or name.startswith(_UNNAMED_WORKFLOW) else name
    return read


def ai_sdk(span: Span) -> Reading | None:
    """A span of AI SDK 7."""
    role = genai.role_of(span.attributes)
    if role is None:
        return None
    if values.text(span.attributes, "gen_ai.operation.name") == "agent_step":
        step = genai.by_role(span, Role.CALL, AI_SDK)
        return timed_out(span, replace(step, stand_in=True, answered=None))
    return timed_out(span, genai.by_role(span, role, AI_SDK))


def timed_out(span: Span, read: Reading) -> Reading:
    """An abort signal with a time is the host's limit: the request in flight is cut, not failed."""
    failure = errors.failure_of(span)
    if failure is None or failure.name != "TimeoutError":
        return read
    if read.role is Role.CALL and read.step is not None:
        return replace(read, step=replace(read.step, error=None, aborted=True))
    claims = tuple(replace(claim, by=Layer.HOST, reason="timeout", status=None) for claim in read.claims)
    return replace(read, claims=claims)


def contrib_agents(span: Span) -> Reading | None:
    """A span of OpenTelemetry contrib's openai-agents instrumentation."""
    role = genai.role_of(span.attributes)
    if role is Role.AGENT and span.kind == _SERVER:
        role = Role.RUN
    if role is None:
        return None
    read = genai.by_role(span, role, CONTRIB_AGENTS)
    if read.handoff_to is not None and read.tool is not None:
        return replace(read, tool=replace(read.tool, name=None))
    return replace(read, agent=None) if role is Role.RUN else read
