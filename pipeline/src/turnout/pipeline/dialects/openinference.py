"""OpenInference: openai-agents, langchain and langgraph, and every other library that sets ``openinference.span.kind``.

| fact | attribute | from | trap |
|---|---|---|---|
| role | ``openinference.span.kind`` | 0.1 | openai-agents: the root is AGENT too, without ``agent.name``; langchain: the turn is the topmost CHAIN, and a node is AGENT when its name has "agent" in it |
| a node of a graph | ``langgraph_node`` in ``metadata`` (JSON) | langchain | |
| agent | ``agent.name``, ``lc_agent_name`` in ``metadata``, else the span's name | | ``X.run``, ``X.kickoff``: the method is no part of the name |
| conversation | ``session.id``, ``thread_id`` in ``metadata`` | | openai-agents exports none |
| finish reason | ``llm.finish_reason`` | | openai-agents, Responses: ``stop`` also for tool calls and refusals; Chat Completions: only in ``output.value`` |
| the provider's word | ``incomplete_details.reason`` and refusal parts in ``output.value`` | Responses | |
| usage | ``llm.token_count.prompt``, ``.completion``, ``.prompt_details.cache_read``, ``.cache_write``, ``.completion_details.reasoning`` | | the same tokens as ``gen_ai.usage.*`` where both are emitted |
| model | ``llm.model_name`` | | |
| provider | ``llm.provider``, ``llm.system`` | | langchain: the client class, not who answered |
| tool call | ``tool.name``; id in ``output.value`` | | no id on the spans of openai-agents |
| tool error | status; ``status`` in ``output.value`` (langchain) | | "(non-fatal)" errors are results |
| end of the turn | status text of the agent span | openai-agents | the root is always OK; a tripwire stands on the ``turn`` span |
| end of the turn | event ``exception`` | langchain | the status text holds a whole traceback |
| end of the turn | ``jump_to`` = ``end`` in a node's ``output.value``, with the limit in its message | langchain middleware | everything is OK |
| hand-over | ``graph.node.parent_id`` on the agent that was handed to | openai-agents | |
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from turnout.outcomes.facts import Output, Refusal, Step, ToolCall, ToolStatus
from turnout.pipeline.dialects import errors, genai, graphs, values
from turnout.pipeline.dialects.messages import valid_arguments
from turnout.pipeline.dialects.reading import ANYONE, Reading, Role
from turnout.pipeline.dialects.tree import Tree
from turnout.pipeline.telemetry import Attributes, Span, Value

SOURCE = "openinference"
KIND = "openinference.span.kind"

_USAGE: Mapping[str, values.Names] = {
    "input_tokens": ("llm.token_count.prompt", *genai.USAGE["input_tokens"]),
    "output_tokens": ("llm.token_count.completion", *genai.USAGE["output_tokens"]),
    "cache_read_tokens": ("llm.token_count.prompt_details.cache_read", *genai.USAGE["cache_read_tokens"]),
    "cache_write_tokens": ("llm.token_count.prompt_details.cache_write", *genai.USAGE["cache_write_tokens"]),
    "reasoning_tokens": ("llm.token_count.completion_details.reasoning", *genai.USAGE["reasoning_tokens"]),
}
_CALL_PART = re.compile(
    r"llm\.output_messages\.(\d+)\.message\.tool_calls\.(\d+)\.tool_call\.(id|function\.name|function\.arguments)"
)
_TEXT_PART = re.compile(r"llm\.output_messages\.(\d+)\.message\.(content|contents\.\d+\.message_content\.text)")


def reading(span: Span, tree: Tree) -> Reading | None:
    """Read a span of OpenInference; its role also hangs on what is above it."""
    kind = values.text(span.attributes, KIND)
    match (kind or "").upper():
        case "LLM":
            return _call(span)
        case "TOOL":
            return _tool(span)
        case "AGENT" | "CHAIN":
            return _structure(span, tree)
        case "":
            return None
        case _:
            return _inner(span)


# --- turns and machinery


def _structure(span: Span, tree: Tree) -> Reading:
    metadata = values.mapping(span.attributes.get("metadata"))
    named = values.text(span.attributes, "agent.name", "gen_ai.agent.name") or values.text(metadata, "lc_agent_name")
    role = _role(span, tree, metadata, named)
    if role is Role.INNER:
        return _inner(span)
    failure = errors.failure_of(span)
    return Reading(
        role=role,
        source=SOURCE,
        agent=named or (None if _of_agents_sdk(span) else span.name or None),
        conversation_id=_conversation(span.attributes, metadata),
        claims=(errors.claim_of(failure),) if failure else (),
        limits=errors.limits_in(failure.message) if failure else None,
        handed_by=values.text(span.attributes, "graph.node.parent_id"),
    )


def _role(span: Span, tree: Tree, metadata: Mapping[str, Value], named: str | None) -> Role:
    node = "langgraph_node" in metadata
    if values.text(span.attributes, KIND) == "AGENT" and not node:
        return Role.RUN if named is None and _of_agents_sdk(span) else Role.AGENT
    return graphs.chain_role(span, tree, is_part=_is_part, node=node, agent=named)


def _of_agents_sdk(span: Span) -> bool:
    return span.scope.name.endswith("openai_agents")


def _is_part(span: Span) -> bool:
    return values.text(span.attributes, KIND) not in {None, "TOOL"}


def _conversation(attributes: Attributes, metadata: Mapping[str, Value]) -> str | None:
    return values.text(attributes, "session.id", "gen_ai.conversation.id") or values.text(
        metadata, "thread_id", "session_id"
    )


def _inner(span: Span) -> Reading:
    read = Reading(role=Role.INNER, source=SOURCE)
    failure = errors.failure_of(span)
    if failure is not None and _of_agents_sdk(span) and span.name == "turn":
        return replace(read, claims=(errors.claim_of(failure),))  # nothing catches what breaks a step of this runtime
    return graphs.ending(span, read)


# --- requests


def _call(span: Span) -> Reading:
    a = span.attributes
    answer = _answer(a)
    failure = errors.failure_of(span)
    usage = values.usage(a, _USAGE)
    reason = values.finish_reason(a, "llm.finish_reason", *genai.FINISH) or answer.reason
    asked = tuple(_asked(a))
    parameters = values.mapping(a.get("llm.invocation_parameters"))
    step = Step(
        message_id=answer.id or values.text(a, "gen_ai.response.id"),
        provider=values.text(a, "llm.provider", "llm.system") or genai.provider(a),
        model=values.model(a, "llm.model_name", *genai.MODEL),
        finish_reason=reason,
        raw_finish_reason=answer.raw_reason,
        refusal=Refusal() if answer.refused else None,
        max_output_tokens=values.whole(parameters, "max_output_tokens", "max_completion_tokens", "max_tokens"),
        usage=usage,
        cost_usd=values.number(a, "llm.cost.total"),
        output=_output(a, len(asked)),
    )
    answered = any(value is not None for value in (reason, usage, failure, a.get("output.value"), step.output)) or bool(
        asked
    )
    metadata = values.mapping(a.get("metadata"))
    return Reading(
        role=Role.CALL,
        source=SOURCE,
        agent=values.text(metadata, "lc_agent_name"),
        conversation_id=_conversation(a, metadata),
        step=errors.with_failure(step, failure),
        asked=asked,
        answered=answered,
    )


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the provider's own response in ``output.value`` says beside its words."""

    id: str | None = None
    reason: str | None = None
    raw_reason: str | None = None
    refused: bool = False


def _answer(attributes: Attributes) -> _Answer:
    held = values.document(attributes.get("output.value"))
    value: Value = {"choices": held} if isinstance(held, tuple) else held
    if not isinstance(value, dict):
        return _Answer()
    if value.get("object") == "response":
        return _responses(value)
    reply = graphs.generation(value) if "generations" in value else None
    if reply is not None:
        return _Answer(None, reply.finish_reason, reply.raw_finish_reason, reply.refusal is not None)
    first = next(iter(values.items(value.get("choices"))), None)
    choice = first if isinstance(first, dict) else {}
    message = choice.get("message")
    refusal = values.text(message if isinstance(message, dict) else choice, "refusal")
    found = values.finish_reason(choice, "finish_reason") or values.finish_reason(value, "stop_reason")
    return _Answer(id=values.text(value, "id"), reason=found, refused=refusal is not None)


def _responses(value: Mapping[str, Value]) -> _Answer:
    details = value.get("incomplete_details")
    error = value.get("error")
    parts = [
        part
        for item in values.items(value.get("output"))
        if isinstance(item, dict)
        for part in values.items(item.get("content"))
        if isinstance(part, dict)
    ]
    raw = (values.text(details, "reason") if isinstance(details, dict) else None) or (
        values.text(error, "code") if isinstance(error, dict) else None
    )
    calls = any(
        isinstance(item, dict) and item.get("type") == "function_call" for item in values.items(value.get("output"))
    )
    return _Answer(
        id=values.text(value, "id"),
        reason=None if raw else graphs.response_status(value, calls=calls),
        raw_reason=raw,
        refused=any(part.get("type") == "refusal" for part in parts),
    )


def _asked(attributes: Attributes) -> Iterator[ToolCall]:
    """The tool calls in the flattened output messages."""
    found: dict[tuple[int, int], dict[str, Value]] = {}
    for name, value in attributes.items():
        part = _CALL_PART.fullmatch(name) if name.startswith("llm.output_messages.") else None
        if part is not None:
            found.setdefault((int(part.group(1)), int(part.group(2))), {})[part.group(3)] = value
    for _, call in sorted(found.items()):
        yield ToolCall(
            id=values.text(call, "id"),
            name=values.text(call, "function.name"),
            arguments_valid=valid_arguments(call.get("function.arguments")),
        )


def _output(attributes: Attributes, calls: int) -> Output | None:
    """How much was visible; a message has its text whole, in parts, or both."""
    whole: dict[str, int] = {}
    parts: dict[str, int] = {}
    seen = False
    for name, value in attributes.items():
        if not name.startswith("llm.output_messages."):
            continue
        seen = True
        found = _TEXT_PART.fullmatch(name)
        if found is not None and isinstance(value, str):
            held = whole if found.group(2) == "content" else parts
            held[found.group(1)] = held.get(found.group(1), 0) + len(value)
    if not seen:
        return None
    lengths = whole | parts
    return Output(text_chars=sum(lengths.values()), parts=sum(1 for length in lengths.values() if length) + calls)


# --- tools


def _without_result(span: Span, failure: errors.Failure | None) -> bool:
    """A call of openai-agents that was cut off, or waits for a person: it ends OK, but returned nothing."""
    a = span.attributes
    return _of_agents_sdk(span) and failure is None and "input.value" in a and "output.value" not in a


def _tool(span: Span) -> Reading:
    a = span.attributes
    if _of_agents_sdk(span) and span.name.startswith("handoff"):
        to = values.text(a, "output.value") or span.name.removeprefix("handoff to ") or ANYONE
        read = genai.tool(span, SOURCE)
        return replace(read, tool=replace(read.tool or ToolCall(), name=None), handoff_to=to)
    failure = errors.failure_of(span)
    result = values.mapping(a.get("output.value")) if str(a.get("output.value"))[:1] == "{" else {}
    data = result.get("data") if isinstance(result.get("data"), dict) else result
    told = data if isinstance(data, dict) and (result.get("type") == "tool" or "tool_call_id" in data) else {}
    metadata = values.mapping(a.get("metadata"))
    return Reading(
        role=Role.TOOL,
        source=SOURCE,
        conversation_id=_conversation(a, metadata),
        tool=ToolCall(
            id=values.text(a, "tool_call.id", "tool.call_id", "gen_ai.tool.call.id")
            or values.text(told, "tool_call_id"),
            name=values.text(a, "tool.name", "gen_ai.tool.name") or span.name or None,
            status=ToolStatus.UNKNOWN
            if _without_result(span, failure)
            else genai.tool_status(failure, values.text(told, "status")),
            error_type=(failure.name or None) if failure else None,
        ),
    )
