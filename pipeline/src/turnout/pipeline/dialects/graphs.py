"""What the dialects of langchain and langgraph share: which chain is the turn, and which ends only the machinery shows."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from turnout.outcomes.facts import Claim, Layer, Output, Refusal, ToolCall
from turnout.pipeline.dialects import errors, values
from turnout.pipeline.dialects.messages import Reply, valid_arguments
from turnout.pipeline.dialects.reading import Reading, Role
from turnout.pipeline.dialects.tree import Tree
from turnout.pipeline.telemetry import Span, Value

_ENDING = frozenset({"guardrail", "interrupt"})
"""Failures of the machinery that end the turn whatever the spans above say."""

_REASONS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
"""Where the message metadata of langchain's integrations has the finish reason."""

_OUTPUTS = ("output.value", "gen_ai.completion", "traceloop.entity.output")


def chain_role(span: Span, tree: Tree, *, is_part: Callable[[Span], bool], node: bool, agent: str | None) -> Role:
    """The role of a chain: the topmost of its kind is the turn, where it is an agent or a graph; else an envelope.

    ``is_part`` tells whether a span above belongs to the same run; ``node`` that this one is a node of a graph.
    """
    if node or not _topmost(span, tree, is_part):
        return Role.INNER
    return Role.AGENT if agent is not None or span.name == "LangGraph" else Role.RUN


def _topmost(span: Span, tree: Tree, is_part: Callable[[Span], bool]) -> bool:
    parent = tree.parent(span)
    return not tree.cut_off(span) if parent is None else not is_part(parent)


def ending(span: Span, read: Reading) -> Reading:
    """Machinery with the end that it shows: a tripwire, a wait for a person, a middleware that leaves the loop."""
    failure = errors.failure_of(span)
    if failure is not None and errors.reason_of(failure) in _ENDING:
        return replace(read, claims=(errors.claim_of(failure),))
    said = _jumped_to_end(span)
    reason = errors.text_reason(said)
    if reason is None:
        return read
    claim = Claim(by=Layer.RUNTIME, reason=reason, at=span.end, message=said)
    return replace(read, claims=(claim,), limits=errors.limits_in(said))


def structured(span: Span) -> bool:
    """Whether a graph returned a structured response: the call that holds it was the answer."""
    for name in _OUTPUTS:
        value = span.attributes.get(name)
        if isinstance(value, str) and '"structured_response"' in value:
            output = values.mapping(value)
            inside = values.mapping(output.get("outputs")) or output
            return inside.get("structured_response") is not None
    return False


def returned(span: Span, read: Reading) -> Reading:
    """The turn with the result that it returned, where that is an answer of its own."""
    if read.claims or not structured(span):
        return read
    claim = Claim(by=Layer.RUNTIME, reason="completed", at=span.end)
    return replace(read, structured=True, returned=True, claims=(claim,))


def _jumped_to_end(span: Span) -> str | None:
    """The message with which a middleware ended the loop."""
    for name in _OUTPUTS:
        value = span.attributes.get(name)
        if isinstance(value, str) and '"jump_to"' in value:
            output = values.mapping(value)
            inside = output.get("outputs", output)
            return _last_word(inside) if isinstance(inside, dict) and inside.get("jump_to") == "end" else None
    return None


def _last_word(output: dict[str, Value]) -> str | None:
    texts = [text for message in values.items(output.get("messages")) if (text := _said(message))]
    return texts[-1] if texts else None


def _said(message: Value) -> str | None:
    if not isinstance(message, dict):
        return None
    inside = message.get("data") or message.get("kwargs") or message
    return values.text(inside, "content") if isinstance(inside, dict) else None


def message_end(message: Mapping[str, Value], more: Mapping[str, Value] | None = None) -> Reply:
    """How a message of langchain says that its response ended; ``more`` is what stands beside its metadata.

    The Responses API has a status in place of a finish reason: with tool calls in it, ``completed`` asks for them.
    """
    metadata = {**(more or {}), **values.mapping(message.get("response_metadata"))}
    reason = values.finish_reason(metadata, *_REASONS)
    cut = values.finish_reason(values.mapping(metadata.get("incomplete_details")), "reason")
    if reason is None and cut is None and metadata.get("object") == "response":
        reason = response_status(metadata, calls=bool(values.items(message.get("tool_calls"))))
    parts = [part for part in values.items(message.get("content")) if isinstance(part, dict)]
    said = values.text(values.mapping(message.get("additional_kwargs")), "refusal")
    refused = said is not None or any(part.get("type") == "refusal" for part in parts)
    return Reply(finish_reason=reason, raw_finish_reason=cut, refusal=Refusal() if refused else None)


def response_status(response: Mapping[str, Value], *, calls: bool) -> str | None:
    """The status of a response of the Responses API as its finish reason."""
    status = values.finish_reason(response, "status")
    return "tool_calls" if status == "completed" and calls else status


def generation(value: Value) -> Reply | None:
    """The first generation of a langchain result (``{"generations": [[...]]}``), without its words."""
    batch = next(iter(values.items(values.mapping(value).get("generations"))), None)
    first = next(iter(values.items(batch)), None)
    if not isinstance(first, dict):
        return None
    message = values.mapping(first.get("message"))
    inside = values.mapping(message.get("kwargs") or message.get("data") or dict(message))
    end = message_end(inside, values.mapping(first.get("generation_info")))
    calls = [call for call in values.items(inside.get("tool_calls")) if isinstance(call, dict)]
    text = first.get("text")
    chars = len(text) if isinstance(text, str) else None
    return replace(
        end,
        calls=tuple(
            ToolCall(
                id=values.text(c, "id"), name=values.text(c, "name"), arguments_valid=valid_arguments(c.get("args"))
            )
            for c in calls
        ),
        output=Output(text_chars=chars, parts=bool(chars) + len(calls)),
    )
