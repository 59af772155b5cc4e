"""OpenInference: openai-agents, langchain and langgraph, and every other library that sets ``openinference.span.kind``.

| fact | attribute | from | trap |
|---|---|---|---|
| role | ``openinference.span.kind`` | 0.1 | openai-agents: the root is AGENT too, without ``agent.name``; langchain: the turn is the topmost CHAIN, and a node is AGENT when its name has "agent" in it |
| a node of a graph | ``langgraph_node`` in ``metadata`` (JSON) | langchain | |
| agent | ``agent.name``, ``lc_agent_name`` in ``metadata``, else the span's name | | ``X.run``, ``X.kickoff``: the method is no part of the name |
| conversation | ``session.id``, ``thread_id`` in ``metadata`` | | openai-agents exports none |
| everything of a turn | ``llm.*`` on the AGENT span | claude-agent-sdk | no request has a span; the span that failed has a made-up model and finish |
| a crew, a team, a workflow | the CHAIN of a framework's own method (``Crew.kickoff``, ``Team.run_stream``) over several agents | crewai, autogen, llama-index | one message; a CHAIN of the application's own may hold several |
| finish reason | ``llm.finish_reason`` | | openai-agents, Responses: ``stop`` also for tool calls and refusals; Chat Completions: only in ``output.value`` |
| finish reason, refusal, else | the provider's response in ``output.value`` (see `answers`) | | smolagents and autogen have it nowhere else; agno has none at all |
| no request | LLM spans named ``_prepare…`` | llama-index | an outer streaming span is empty, the one inside has the answer |
| usage | ``llm.token_count.prompt``, ``.completion``, ``.prompt_details.cache_read``, ``.cache_write``, ``.completion_details.reasoning`` | | the same tokens as ``gen_ai.usage.*`` where both are emitted |
| model | ``llm.model_name`` | | |
| provider | ``llm.provider``, ``llm.system`` | | langchain: the client class, not who answered |
| tool call | ``tool.name``; id in ``output.value`` | | no id on the spans of openai-agents |
| tool error | status; ``status`` in ``output.value`` (langchain) | | "(non-fatal)" errors are results |
| end of the turn | status text of the agent span | openai-agents | the root is always OK; a tripwire stands on the ``turn`` span |
| end of the turn | event ``exception`` | langchain | the status text holds a whole traceback; with status OK (autogen) it only closed a stream |
| cancelled | event ``span.cancelled`` | llama-index | the status is OK |
| step limit | ``smolagents.max_steps``, and a last request beside the steps | smolagents | everything is OK |
| the answer | tool ``final_answer``; ``structured_response`` in ``output.value`` | smolagents; langchain | the last response asks for a tool |
| end of the turn | ``jump_to`` = ``end`` in a node's ``output.value``, with the limit in its message | langchain middleware | everything is OK |
| hand-over | ``graph.node.parent_id`` on the agent that was handed to | openai-agents | |
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from turnout.outcomes.facts import Limits, Output, Refusal, Step, ToolCall, ToolStatus
from turnout.pipeline.dialects import errors, genai, graphs, spelling, values
from turnout.pipeline.dialects.answers import answer_of
from turnout.pipeline.dialects.messages import valid_arguments
from turnout.pipeline.dialects.reading import ANYONE, Reading, Role
from turnout.pipeline.dialects.tree import Tree
from turnout.pipeline.telemetry import Attributes, Span, SpanStatus, Value

SOURCE = "openinference"
SMOLAGENTS = "smolagents"
"""How the scope of that instrumentation ends."""
_FINAL = "final_answer"
"""Its tool whose call is the answer."""
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


_METHOD = re.compile(r"\.\w+$")
_UNIQUE = re.compile(r"_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_OWN_ROOT = re.compile(r"[\w -]+\.\w+")
"""Names of the envelopes that a framework's own method makes; one that an application made may hold a whole conversation."""
_PREPARES = re.compile(r"(.*\.)?_prepare\w*")
"""Names of LLM spans of llama-index that make no request."""


def reading(span: Span, tree: Tree) -> Reading | None:
    """Read a span of OpenInference; its role also hangs on what is above it."""
    kind = values.text(span.attributes, KIND)
    match (kind or "").upper():
        case "LLM" if _PREPARES.fullmatch(span.name) is None:
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
    failure = _failure(span) or _cancelled(span)
    read = Reading(
        role=role,
        source=SOURCE,
        agent=named or (None if _of_agents_sdk(span) else _named_after(span)),
        conversation_id=_conversation(span.attributes, metadata),
        claims=(errors.claim_of(failure),) if failure else (),
        limits=errors.limits_in(failure.message) if failure else _limits(span.attributes),
        usage=values.usage(span.attributes, _USAGE),
        finish=values.finish_reason(span.attributes, "llm.finish_reason"),
        handed_by=values.text(span.attributes, "graph.node.parent_id"),
        one_message=role is Role.RUN and _OWN_ROOT.fullmatch(span.name) is not None,
    )
    return graphs.returned(span, read)


def _failure(span: Span) -> errors.Failure | None:
    """The failure of a turn; a cancellation on a span that is OK only closed the stream that was read to its end."""
    failure = errors.failure_of(span)
    closed = failure is not None and span.status is SpanStatus.OK and errors.is_cancelled(failure.name)
    return None if closed else failure


def _named_after(span: Span) -> str | None:
    """The class or the agent in a span name such as ``bot.run``, without the id that some classes carry."""
    return _UNIQUE.sub("", _METHOD.sub("", span.name)) or None


def _cancelled(span: Span) -> errors.Failure | None:
    """The end of a workflow of llama-index that was stopped: an event, and the status stays OK."""
    event = next((event for event in span.events if event.name == "span.cancelled"), None)
    if event is None:
        return None
    by_person = "by user" in (values.text(event.attributes, "reason") or "")
    return errors.Failure("WorkflowCancelledByUser" if by_person else "CancelledError", None, None, event.time)


def _limits(attributes: Attributes) -> Limits | None:
    steps = values.whole(attributes, "smolagents.max_steps")
    return Limits(steps=steps) if steps else None


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
    answer = answer_of(a.get("output.value"))
    failure = errors.failure_of(span)
    usage = values.usage(a, _USAGE)
    reason = values.finish_reason(a, "llm.finish_reason", *genai.FINISH) or answer.reason
    asked = tuple(_asked(a))
    parameters = values.mapping(a.get("llm.invocation_parameters"))
    step = Step(
        message_id=answer.id or values.text(a, "gen_ai.response.id"),
        provider=spelling.provider(values.text(a, "llm.provider", "llm.system")) or genai.provider(a),
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
    name = values.text(a, "tool.name", "gen_ai.tool.name") or _METHOD.sub("", span.name) or None
    return Reading(
        role=Role.TOOL,
        source=SOURCE,
        conversation_id=_conversation(a, metadata),
        tool=ToolCall(
            id=values.text(a, "tool_call.id", "tool.id", "tool.call_id", "gen_ai.tool.call.id")
            or values.text(told, "tool_call_id"),
            name=name,
            status=ToolStatus.UNKNOWN
            if _without_result(span, failure)
            else genai.tool_status(failure, values.text(told, "status")),
            final=True if name == _FINAL and span.scope.name.endswith(SMOLAGENTS) else None,
            error_type=(failure.name or None) if failure else None,
        ),
    )
