"""OpenLLMetry (Traceloop): GenAI names with ``traceloop.*`` beside them, since semconv-ai 0.5; the older ``llm.*`` names before.

| fact | attribute | from | trap |
|---|---|---|---|
| role | ``gen_ai.operation.name``, else ``traceloop.span.kind`` | | a workflow span may say ``invoke_agent`` and repeat the agent span above it |
| role of a request before 0.5 | ``llm.request.type`` = ``chat``, ``completion`` | | |
| agent | ``gen_ai.agent.name``, ``traceloop.entity.name`` | | a workflow of openai-agents has a name of its own |
| conversation | ``gen_ai.conversation.id``, ``traceloop.association.properties.thread_id``, ``.session_id`` | | |
| finish reason | ``gen_ai.response.finish_reasons``; older: ``.finish_reason``, ``.stop_reason``, ``llm.response.*``, ``gen_ai.completion.0.finish_reason`` | | openai-agents: ``incomplete`` hides whether it was cut or filtered; langchain: empty |
| output, calls before 0.5 | ``gen_ai.completion.0.content``, ``.tool_calls.N.*`` | | the content is JSON in langchain, ``""`` where a reply was refused |
| finish reason, else | ``response_metadata`` of the last message in ``traceloop.entity.output`` | langchain | of the task above the request |
| usage | ``gen_ai.usage.*``; older: ``prompt_tokens``, ``completion_tokens``, ``cache_read_input_tokens`` | | |
| model | ``gen_ai.request.model`` | | ``unknown`` in langchain: then the response's |
| returned | ``gen_ai.task.status`` = ``success`` on the workflow | langchain | also after a cut, filtered or refused reply: proves nothing where the last request tells no end |
| end of the turn | status text of the agent span, a Python dict in text | openai-agents | the root is always OK; requests and tools may hang beside the agent |
| hand-over | ``gen_ai.handoff.to_agent``, ``gen_ai.agent.handoff_parent`` | openai-agents | |
"""

from collections.abc import Iterator
from dataclasses import replace

from turnout.outcomes.facts import Output, Step, ToolCall
from turnout.pipeline.dialects import genai, graphs, values
from turnout.pipeline.dialects.messages import Reply, valid_arguments
from turnout.pipeline.dialects.reading import Reading, Role
from turnout.pipeline.dialects.tree import Tree
from turnout.pipeline.telemetry import Attributes, Span, Value

SOURCE = "openllmetry"
KIND = "traceloop.span.kind"

_KINDS = {"workflow": Role.RUN, "agent": Role.AGENT, "tool": Role.TOOL}
_REQUEST_TYPES = frozenset({"chat", "completion"})
_OLD_FINISH = (
    "llm.response.finish_reason",
    "llm.response.stop_reason",
    "gen_ai.completion.0.finish_reason",
    "llm.completions.0.finish_reason",
)
_OLD_CALL = "gen_ai.completion.0.tool_calls."
_ASSOCIATED = "traceloop.association.properties."
_CONVERSATION = (
    f"{_ASSOCIATED}thread_id",
    f"{_ASSOCIATED}session_id",
    f"{_ASSOCIATED}conversation_id",
    f"{_ASSOCIATED}chat_id",
)
_LANGCHAIN = ".langchain"
_ENTITY = "traceloop.entity.output"


def is_ours(span: Span) -> bool:
    """Whether a span speaks this dialect."""
    a = span.attributes
    return KIND in a or "llm.request.type" in a or "\ntraceloop." in "\n" + "\n".join(a)


def reading(span: Span, tree: Tree) -> Reading | None:
    """Read a span of OpenLLMetry."""
    role = _role(span.attributes)
    if role is None:
        return None
    read = genai.by_role(span, role, SOURCE)
    read = replace(
        read,
        conversation_id=read.conversation_id or values.text(span.attributes, *_CONVERSATION),
        handed_by=values.text(span.attributes, "gen_ai.agent.handoff_parent"),
    )
    match read.role:
        case Role.CALL:
            return _call(span, read, tree)
        case Role.AGENT | Role.RUN:
            return _turn(span, read)
        case Role.TOOL:
            return _tool(span, read)
        case Role.INNER:
            return graphs.ending(span, read)


def _role(attributes: Attributes) -> Role | None:
    by_kind = _KINDS.get(values.text(attributes, KIND) or "")
    if values.text(attributes, "llm.request.type") in _REQUEST_TYPES:
        return Role.CALL
    by_operation = genai.role_of(attributes)
    if by_operation in {None, Role.INNER}:
        return by_kind or by_operation or (Role.INNER if KIND in attributes else None)
    return by_operation


def _turn(span: Span, read: Reading) -> Reading:
    succeeded = values.text(span.attributes, "gen_ai.task.status") == "success"
    claims = read.claims or ((genai.runtime_claim("success", span),) if succeeded else ())
    named = read.role is Role.AGENT or span.scope.name.endswith(_LANGCHAIN)
    name = values.text(span.attributes, "traceloop.entity.name") if named else None
    read = graphs.returned(span, replace(read, agent=read.agent or name, returned=succeeded))
    return replace(read, claims=claims or read.claims)


def _tool(span: Span, read: Reading) -> Reading:
    if read.tool is None or "gen_ai.tool.name" in span.attributes:
        return read
    if read.handoff_to is not None:
        return replace(read, tool=replace(read.tool, name=None))
    name = values.text(span.attributes, "traceloop.entity.name") or span.name.removesuffix(".tool")
    return replace(read, tool=replace(read.tool, name=name))


def _call(span: Span, read: Reading, tree: Tree) -> Reading:
    step = read.step or Step()
    asked = read.asked or tuple(_old_calls(span.attributes))
    step = replace(step, output=step.output or _old_output(span.attributes, len(asked)))
    if step.finish_reason is None:
        step = replace(step, finish_reason=values.finish_reason(span.attributes, *_OLD_FINISH))
    if _says_nothing(step, asked):
        step = _with_end(step, _task_end(span, tree))
    model = step.model or values.model(span.attributes, "llm.request.model", "llm.response.model")
    answered = read.answered or step.finish_reason is not None
    return replace(read, step=replace(step, model=model), asked=asked, answered=answered)


def _old_calls(attributes: Attributes) -> Iterator[ToolCall]:
    """The tool calls of a response before 0.5, one attribute a part."""
    number = 0
    while any(f"{_OLD_CALL}{number}.{part}" in attributes for part in ("id", "name")):
        part = f"{_OLD_CALL}{number}."
        yield ToolCall(
            id=values.text(attributes, f"{part}id"),
            name=values.text(attributes, f"{part}name"),
            arguments_valid=valid_arguments(attributes.get(f"{part}arguments")),
        )
        number += 1


def _old_output(attributes: Attributes, calls: int) -> Output | None:
    """How much was visible before 0.5: text, or the JSON of it or of its parts."""
    content = attributes.get("gen_ai.completion.0.content")
    if not isinstance(content, str):
        return None
    said = values.document(content) if content[:1] in {'"', "["} else content
    if isinstance(said, tuple):
        texts = [values.text(part, "text") or "" for part in said if isinstance(part, dict)]
        return Output(text_chars=sum(map(len, texts)), parts=len(said) + calls)
    shown = said if isinstance(said, str) else content
    return Output(text_chars=len(shown), parts=bool(shown) + calls)


def _says_nothing(step: Step, asked: tuple[ToolCall, ...]) -> bool:
    """Whether a request that did not fail tells no end, or an answer that nobody could see."""
    if step.error is not None or step.aborted:
        return False
    told = step.finish_reason or step.raw_finish_reason
    return told is None or (not asked and step.output is not None and step.output.text_chars == 0)


def _with_end(step: Step, end: Reply) -> Step:
    return replace(
        step,
        finish_reason=step.finish_reason or end.finish_reason,
        raw_finish_reason=step.raw_finish_reason or end.raw_finish_reason,
        refusal=step.refusal or end.refusal,
    )


def _task_end(span: Span, tree: Tree) -> Reply:
    """The end of the last message in the output of the task that made the request."""
    parent = tree.parent(span)
    if parent is None or _role(parent.attributes) is not Role.INNER:
        return Reply()
    ends = list(_ends(values.document(parent.attributes.get(_ENTITY))))
    return ends[-1] if ends else Reply()


def _ends(value: Value) -> Iterator[Reply]:
    """How every message in a value ended, in order."""
    if isinstance(value, tuple):
        for item in value:
            yield from _ends(item)
    elif isinstance(value, dict):
        if isinstance(value.get("response_metadata"), dict):
            yield graphs.message_end(value)
        for name, item in value.items():
            if name != "response_metadata":
                yield from _ends(item)
