"""Model responses in message form -> what of them is a fact: tool calls, how much was visible, a refusal, a finish reason.

Read from ``gen_ai.output.messages`` (and the forms close to it) and thrown away: no text of a message leaves this module.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from turnout.outcomes.facts import Output, Refusal, ToolCall
from turnout.pipeline.dialects.values import document, finish_reason, items, mapping, text
from turnout.pipeline.telemetry import Value

_HIDDEN = frozenset({"thinking", "reasoning", "redacted_thinking", "tool_call_response", "tool_result"})
_CALLS = frozenset({"tool_call", "tool_use", "tool-call", "function_call", "server_tool_call"})
_TEXTS = ("content", "text")


@dataclass(frozen=True, slots=True)
class Reply:
    """A response without its words."""

    finish_reason: str | None = None
    raw_finish_reason: str | None = None
    calls: tuple[ToolCall, ...] = ()
    output: Output | None = None
    refusal: Refusal | None = None


def reply_of(value: Value) -> Reply | None:
    """Read the messages of one response; ``None`` where there is none."""
    messages = [message for message in items(value) if isinstance(message, dict)]
    if not messages:
        return None
    parts = [part for message in messages for part in _parts(message)]
    reasons = [reason for message in messages if (reason := finish_reason(message, "finish_reason"))]
    return Reply(
        finish_reason=reasons[-1] if reasons else None,
        calls=tuple(_call(part) for part in parts if part.get("type") in _CALLS),
        output=_output(parts),
        refusal=Refusal() if any(part.get("type") == "refusal" for part in parts) else None,
    )


def reply_of_choice(choice: Mapping[str, Value]) -> Reply | None:
    """Read one choice of a response, as the event of it has it; ``None`` where there is no message in it."""
    message = document(choice.get("message"))
    held = message if isinstance(message, dict) else {}
    asked = [*items(held.get("tool_calls")), *items(choice.get("tool_calls"))]
    calls = [{**call, **mapping(call.get("function"))} for call in asked if isinstance(call, dict)]
    if not isinstance(message, dict) and not calls:
        return None
    content = held.get("content")
    return Reply(
        finish_reason=finish_reason(choice, "finish_reason"),
        calls=tuple(_call(call) for call in calls),
        output=_output([*_parts(held), *({**call, "type": "tool_call"} for call in calls)]) if content else None,
        refusal=Refusal() if text(held, "refusal") else None,
    )


def _parts(message: Mapping[str, Value]) -> Iterator[Mapping[str, Value]]:
    parts = message.get("parts")
    if parts is None:
        parts = message.get("content")
    if isinstance(parts, str):
        yield {"type": "text", "content": parts}
        return
    for part in items(parts):
        if isinstance(part, dict):
            yield part


def _call(part: Mapping[str, Value]) -> ToolCall:
    return ToolCall(
        id=text(part, "id"), name=text(part, "name"), arguments_valid=valid_arguments(part.get("arguments"))
    )


def valid_arguments(value: Value) -> bool | None:
    """Whether the arguments of a tool call are whole: text that is no JSON was cut."""
    if isinstance(value, str):
        return document(value) is not None or value.strip() in {"", "null"}
    return True if isinstance(value, dict) else None


def _output(parts: list[Mapping[str, Value]]) -> Output:
    """How much was visible; a tool call is a part that a person sees, though it has no text."""
    visible = [part for part in parts if part.get("type") not in _HIDDEN and part.get("type") not in _CALLS]
    lengths = [_length(part) for part in visible]
    known = [length for length in lengths if length is not None]
    calls = sum(part.get("type") in _CALLS for part in parts)
    return Output(
        text_chars=sum(known) if len(known) == len(lengths) else None,
        parts=sum(length != 0 for length in lengths) + calls,
    )


def _length(part: Mapping[str, Value]) -> int | None:
    texts = (part.get(name) for name in _TEXTS)
    return next((len(value) for value in texts if isinstance(value, str)), None)
