"""What a generation of a Langfuse export said of itself: its finish, its tool calls and how much text it gave.

There is no column for the finish reason: it stands in the output or in the metadata, under the name that the instrumented library gives
it, at times as the number of an enumeration, or nowhere.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from turnout.outcomes.facts import ToolCall
from turnout.pipeline.importers import chat, fields
from turnout.pipeline.importers.base import Source

_GOOGLE_FINISHES = (
    "FINISH_REASON_UNSPECIFIED",
    "STOP",
    "MAX_TOKENS",
    "SAFETY",
    "RECITATION",
    "OTHER",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MALFORMED_FUNCTION_CALL",
)
"""The members of Google's FinishReason in the order of their numbers."""

_NAMES = ("finish_reason", "finishReason", "stop_reason", "stopReason", "native_finish_reason")
_INSIDE = ("response_metadata", "generation_info", "generationInfo", "additional_kwargs", "kwargs", "message")
_REPORTED = ("gen_ai.response.finish_reasons", "ai.response.finishReason", "llm.finish_reason", "finish_reason")
_CALLS = ("tool_use", "tool_call", "function_call", "tool-call")
_OUTPUT_TOOLS = frozenset({"final_result"})
_DEPTH = 4

Value = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one generation said."""

    raw_finish: str | None
    reported_finish: str | None
    api: str | None
    response_id: str | None
    text_chars: int
    calls: tuple[ToolCall, ...]


def read_output(source: Source, observation: Value) -> Said:
    """Read the output and the metadata of a generation."""
    output = chat.parsed(observation.get("output"))
    metadata = chat.parsed(observation.get("metadata"))
    attributes = chat.parsed(fields.value_at(metadata, "attributes"))
    is_response = fields.text(output, "object") == "response"
    reported = next((word for name in _REPORTED if (word := _word(fields.value_at(attributes, name)))), None)
    reported = reported or _word(fields.value_at(observation, "modelParameters", "finishReason"))
    found = _response_finish(output) if is_response else _finish(output, _DEPTH) or _finish(metadata, 2)
    unified = _is_unified(output)
    return Said(
        raw_finish=None if unified else found,
        reported_finish=reported or (found if unified else None),
        api="responses" if is_response else None,
        response_id=_response_id(attributes) or fields.text(output, "id"),
        text_chars=sum(_texts(output, _DEPTH)),
        calls=tuple(_distinct(_calls(source, output, _DEPTH), fields.text(observation, "id") or "")),
    )


def _is_unified(output: object) -> bool:
    """Messages in the shape of the GenAI conventions carry the finish reason of the conventions, not the provider's."""
    last = output[-1] if isinstance(output, list) and output else None
    return isinstance(fields.value_at(last, "parts"), list)


def _response_finish(output: object) -> str | None:
    return fields.text(output, "incomplete_details", "reason") or fields.text(output, "status")


def _response_id(attributes: object) -> str | None:
    return fields.text(attributes, "gen_ai.response.id") or fields.text(attributes, "ai.response.id")


def _word(value: object) -> str | None:
    """Read a reason: a word, a number of Google's, or a list of one, which may stand as text."""
    value = chat.parsed(value)
    if isinstance(value, str) and value.startswith("["):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            return None
    if isinstance(value, list):
        return _word(value[-1]) if value else None
    number = fields.integer(value)
    if number is not None:
        return _GOOGLE_FINISHES[number] if 0 <= number < len(_GOOGLE_FINISHES) else str(number)
    return fields.text(value)


def _finish(value: object, depth: int) -> str | None:
    """Look for a reason in an object and in the parts that may carry one, the last of several first."""
    if depth == 0:
        return None
    if isinstance(value, list):
        return next((word for item in reversed(value) if (word := _finish(item, depth - 1))), None)
    if not isinstance(value, Mapping):
        return None
    own = next((word for name in _NAMES if (word := _word(value.get(name)))), None)
    parts = (value.get(name) for name in ("choices", "candidates", "generations", "messages", *_INSIDE))
    return own or next((word for part in parts if (word := _finish(chat.parsed(part), depth - 1))), None)


def _texts(value: object, depth: int) -> Iterator[int]:
    """Measure the text that a person could read."""
    if depth == 0:
        return
    if isinstance(value, str):
        yield len(value) if value != "None" else 0
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, depth) if isinstance(item, Mapping) else ()
    elif isinstance(value, Mapping):
        words = value.get("text") or value.get("content")
        yield from (len(words),) if isinstance(words, str) else _texts(words, depth - 1)
        for name in ("choices", "message", "parts", "output", "candidates"):
            yield from _texts(value.get(name), depth - 1)


def _calls(source: Source, value: object, depth: int) -> Iterator[ToolCall]:
    """Find the calls in any of the shapes that libraries log."""
    if depth == 0:
        return
    if isinstance(value, list):
        for item in value:
            yield from _calls(source, item, depth - (not isinstance(item, Mapping)))
    elif isinstance(value, Mapping):
        found = _call(source, value)
        if found is not None:
            yield found
            return
        for name in ("choices", "message", "tool_calls", "content", "parts", "output", "candidates", "toolCalls"):
            yield from _calls(source, chat.parsed(value.get(name)), depth - (name != "tool_calls"))


def _call(source: Source, value: Value) -> ToolCall | None:
    inner = fields.mapping(value, "function") or fields.mapping(value, "function_call") or value
    kind = fields.text(value, "type")
    name = fields.text(inner, "name") or fields.text(value, "toolName")
    named = kind in _CALLS or inner is not value or "toolName" in value
    is_call = named or ("args" in value and "name" in value)
    if name is None or not is_call:
        return None
    asked = next((inner[key] for key in ("arguments", "args", "input") if key in inner), None)
    call_id = fields.text(value, "call_id") or fields.text(value, "id") or fields.text(value, "toolCallId")
    return ToolCall(
        id=call_id,
        name=name,
        final=True if name in _OUTPUT_TOOLS else None,
        arguments_digest=source.digest(asked),
    )


def _distinct(calls: Iterator[ToolCall], observation: str) -> Iterator[ToolCall]:
    """Drop what one output says twice; a call without an id gets one, so that two alike stay two."""
    seen: set[str] = set()
    for number, call in enumerate(calls, 1):
        if call.id is None:
            yield replace(call, id=f"{observation}/{number}")
        elif call.id not in seen:
            seen.add(call.id)
            yield call
