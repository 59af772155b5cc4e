"""LangSmith's OpenTelemetry export: GenAI names with ``langsmith.*`` beside them.

| fact | attribute | from | trap |
|---|---|---|---|
| role | ``langsmith.span.kind``: ``llm``, ``tool``, ``chain`` | 0.4 | the topmost chain is the turn; a node of a graph is a chain too |
| a node of a graph | ``langsmith.metadata.langgraph_node`` | | |
| agent | ``langsmith.metadata.lc_agent_name``, else the name of the topmost chain | | |
| conversation | ``langsmith.metadata.thread_id``, ``.session_id``, ``.conversation_id`` | | ``langsmith.trace.session_id`` is the project, not a conversation |
| finish reason | ``gen_ai.response.finish_reasons`` | | from the choices or the stop reason, as the provider spelled it |
| finish reason, else | ``response_metadata`` in ``gen_ai.completion`` (JSON) | langchain | |
| usage | ``gen_ai.usage.*``; cache and reasoning in ``gen_ai.usage.input_token_details``, ``.output_token_details`` (JSON) | | |
| model, provider | ``gen_ai.request.model``, ``gen_ai.system``, else ``langsmith.metadata.ls_provider`` | | ``gen_ai.system`` is the framework |
| failure | event ``exception`` | | the class is ``Exception``; the text begins with the real one and holds a whole traceback |
"""

from dataclasses import replace

from turnout.outcomes.facts import Step, Usage
from turnout.pipeline.dialects import genai, graphs, spelling, values
from turnout.pipeline.dialects.reading import Reading, Role
from turnout.pipeline.dialects.tree import Tree
from turnout.pipeline.telemetry import Attributes, Span

SOURCE = "langsmith"
KIND = "langsmith.span.kind"

_METADATA = "langsmith.metadata."
_CONVERSATION = tuple(f"{_METADATA}{name}" for name in ("thread_id", "session_id", "conversation_id"))
_ROLES = {"llm": Role.CALL, "tool": Role.TOOL, "chain": Role.AGENT}


def reading(span: Span, tree: Tree) -> Reading | None:
    """Read a span of LangSmith; the role of a chain also hangs on what is above it."""
    a = span.attributes
    role = _ROLES.get((values.text(a, KIND) or "").lower(), Role.INNER)
    if role is Role.AGENT:
        role = graphs.chain_role(span, tree, is_part=_is_part, node=f"{_METADATA}langgraph_node" in a, agent=_agent(a))
    read = genai.by_role(span, role, SOURCE)
    read = replace(read, conversation_id=values.text(a, *_CONVERSATION) or read.conversation_id)
    match role:
        case Role.CALL:
            return _call(a, read)
        case Role.AGENT | Role.RUN:
            return graphs.returned(span, replace(read, agent=_agent(a) or span.name or None))
        case Role.INNER:
            return graphs.ending(span, read)
        case Role.TOOL:
            return read


def _call(attributes: Attributes, read: Reading) -> Reading:
    step = _with_details(attributes, read.step or Step())
    reply = graphs.generation(attributes.get("gen_ai.completion"))
    provider = spelling.provider(values.text(attributes, f"{_METADATA}ls_provider"))
    step = replace(step, provider=step.provider or provider)
    if reply is None:
        return replace(read, agent=_agent(attributes), step=step)
    step = replace(
        step,
        finish_reason=step.finish_reason or reply.finish_reason,
        raw_finish_reason=step.raw_finish_reason or reply.raw_finish_reason,
        refusal=step.refusal or reply.refusal,
        output=step.output or reply.output,
    )
    return replace(read, agent=_agent(attributes), step=step, asked=read.asked or reply.calls, answered=True)


def _is_part(span: Span) -> bool:
    return (values.text(span.attributes, KIND) or "tool").lower() != "tool"


def _agent(attributes: Attributes) -> str | None:
    return values.text(attributes, f"{_METADATA}lc_agent_name", "gen_ai.agent.name")


def _with_details(attributes: Attributes, step: Step) -> Step:
    held = step.usage or Usage()
    inputs = values.mapping(attributes.get("gen_ai.usage.input_token_details"))
    outputs = values.mapping(attributes.get("gen_ai.usage.output_token_details"))
    usage = Usage(
        input_tokens=held.input_tokens,
        output_tokens=held.output_tokens,
        cache_read_tokens=values.whole(inputs, "cache_read")
        if held.cache_read_tokens is None
        else held.cache_read_tokens,
        cache_write_tokens=values.whole(inputs, "cache_creation")
        if held.cache_write_tokens is None
        else held.cache_write_tokens,
        reasoning_tokens=values.whole(outputs, "reasoning") if held.reasoning_tokens is None else held.reasoning_tokens,
    )
    return replace(step, usage=None if usage == Usage() else usage)
