"""A provider's own response, exported whole -> its id, how it ended, whether it was refused.

Read from JSON in a span and thrown away: nothing of the words leaves this module. Where each API says how a response ended:

| API | where | trap |
|---|---|---|
| Chat Completions | ``choices[0].finish_reason``, ``message.refusal`` | a refusal stops cleanly |
| Responses | ``status``, ``incomplete_details.reason``, ``error.code``, parts of type ``refusal`` | ``completed`` stands beside tool calls and refusals |
| Messages (Anthropic), Converse (Bedrock) | ``stop_reason``, ``stopReason`` | |
| Gemini | ``candidates[0].finish_reason`` (``finishReason``), ``prompt_feedback.block_reason`` | a blocked prompt has no candidate |
| clients of frameworks | ``finish_reason`` beside the content; the response itself in ``raw``, also as the text of an object | |
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from turnout.pipeline.dialects import graphs, values
from turnout.pipeline.telemetry import Value

_STOPS = ("finish_reason", "stop_reason", "stopReason", "finishReason", "done_reason")
_IN_TEXT = re.compile(r"finish_reason='(\w{1,40})'")
_BLOCKED = ("block_reason", "blockReason")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a response says of itself beside its words."""

    id: str | None = None
    reason: str | None = None
    raw_reason: str | None = None
    refused: bool = False


def answer_of(held: Value) -> Answer:
    """Read a response, as JSON or as the text of one."""
    found = values.document(held)
    value: Value = {"choices": found} if isinstance(found, tuple) else found
    if not isinstance(value, dict):
        return Answer()
    if value.get("object") == "response":
        return _responses(value)
    reply = graphs.generation(value) if "generations" in value else None
    if reply is not None:
        return Answer(None, reply.finish_reason, reply.raw_finish_reason, reply.refusal is not None)
    return _other(value)


def _other(value: Mapping[str, Value]) -> Answer:
    raw = value.get("raw")
    inside = values.mapping(raw) if isinstance(raw, dict) else {}
    choice = _first(value, "choices") or _first(value, "candidates") or _first(inside, "choices")
    message = values.mapping(choice.get("message")) or choice
    feedback = values.mapping(value.get("prompt_feedback")) or values.mapping(value.get("promptFeedback"))
    return Answer(
        id=values.text(value, "id", "response_id") or values.text(inside, "id"),
        reason=values.finish_reason(choice, *_STOPS) or values.finish_reason(value, *_STOPS) or _in_text(raw),
        refused=values.text(message, "refusal") is not None or values.text(feedback, *_BLOCKED) is not None,
    )


def _first(value: Mapping[str, Value], name: str) -> Mapping[str, Value]:
    first = next(iter(values.items(value.get(name))), None)
    return first if isinstance(first, dict) else {}


def _in_text(raw: Value) -> str | None:
    """The finish reason in the text of a response object."""
    found = _IN_TEXT.search(raw) if isinstance(raw, str) else None
    return found.group(1) if found else None


def _responses(value: Mapping[str, Value]) -> Answer:
    cut = values.text(values.mapping(value.get("incomplete_details")), "reason")
    raw = cut or values.text(values.mapping(value.get("error")), "code")
    output = [item for item in values.items(value.get("output")) if isinstance(item, dict)]
    calls = any(item.get("type") == "function_call" for item in output)
    return Answer(
        id=values.text(value, "id"),
        reason=None if raw else graphs.response_status(value, calls=calls),
        raw_reason=raw,
        refused=any(part.get("type") == "refusal" for part in _parts(output)),
    )


def _parts(output: list[dict[str, Value]]) -> Iterator[Mapping[str, Value]]:
    for item in output:
        for part in values.items(item.get("content")):
            if isinstance(part, dict):
                yield part
