"""AI SDK 6, and the legacy telemetry of AI SDK 7: ``ai.*`` names in the scope ``ai``; the own telemetry of AI SDK 7 is GenAI.

| fact | attribute | from | trap |
|---|---|---|---|
| role | ``ai.operationId``: ``ai.generateText``, ``ai.streamText`` and the object forms are turns, ``….doGenerate``, ``….doStream`` requests, ``ai.toolCall`` tools | 3 | the tool span is beside its request in 6, below it in 7 |
| agent | ``ai.telemetry.functionId`` | 3 | |
| conversation | ``ai.telemetry.metadata.sessionId``, ``.conversationId``, ``.threadId``, ``.chatId`` | | whatever the application chose to put there |
| finish reason | ``ai.response.finishReason`` (3: ``ai.finishReason``) | 3 | the SDK's own words, the provider's is not exported; ``other`` where a stream ended without one |
| usage | ``ai.usage.inputTokens``, ``.outputTokens``, ``.cachedInputTokens``, ``.reasoningTokens`` (4: ``.promptTokens``, ``.completionTokens``) | 5 | the turn span carries the sum |
| cache write | ``ai.usage.inputTokenDetails.cacheWriteTokens`` | 6 | |
| model, provider | ``ai.model.id``, ``ai.model.provider`` | 3 | ``openai.chat`` and the like |
| output | length of ``ai.response.text`` | 3 | only where outputs are recorded |
| tool call | ``ai.toolCall.name``, ``.id``; asked for in ``ai.response.toolCalls`` (JSON) | 3 | one without a span waits for the client |
| cancelled | event ``exception`` with ``AbortError`` | 5 | an aborted stream: ``other`` on the turn, its request is not exported |
| step limit | turn span ends without error on ``tool-calls`` | 5 | so does a stop by a certain tool; no limit is exported |
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from turnout.outcomes.facts import Output, Step, ToolCall
from turnout.pipeline.dialects import errors, genai, values
from turnout.pipeline.dialects.frameworks import timed_out
from turnout.pipeline.dialects.messages import valid_arguments
from turnout.pipeline.dialects.reading import Reading, Role
from turnout.pipeline.telemetry import Attributes, Span

SOURCE = "vercel_ai"
OPERATION = "ai.operationId"

_TURNS = frozenset({"ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject"})
_USAGE: Mapping[str, values.Names] = {
    "input_tokens": ("ai.usage.inputTokens", "ai.usage.promptTokens", *genai.USAGE["input_tokens"]),
    "output_tokens": ("ai.usage.outputTokens", "ai.usage.completionTokens", *genai.USAGE["output_tokens"]),
    "cache_read_tokens": ("ai.usage.cachedInputTokens", "ai.usage.inputTokenDetails.cacheReadTokens"),
    "cache_write_tokens": ("ai.usage.inputTokenDetails.cacheWriteTokens",),
    "reasoning_tokens": ("ai.usage.reasoningTokens", "ai.usage.outputTokenDetails.reasoningTokens"),
}
_METADATA = "ai.telemetry.metadata."
_CONVERSATION = tuple(
    f"{_METADATA}{name}"
    for name in ("sessionId", "session_id", "conversationId", "conversation_id", "threadId", "thread_id", "chatId")
)


def reading(span: Span) -> Reading | None:
    """Read a span of the ``ai.*`` names."""
    operation = values.text(span.attributes, OPERATION) or span.name.partition(" ")[0]
    if operation in _TURNS:
        return timed_out(span, _turn(span))
    if operation.endswith((".doGenerate", ".doStream")):
        return timed_out(span, _call(span))
    if operation == "ai.toolCall":
        return _tool(span)
    return Reading(role=Role.INNER, source=SOURCE) if operation.startswith("ai.") else None


def _turn(span: Span) -> Reading:
    a = span.attributes
    failure = errors.failure_of(span)
    return Reading(
        role=Role.AGENT,
        source=SOURCE,
        agent=values.text(a, "ai.telemetry.functionId", "resource.name"),
        conversation_id=_conversation(a),
        claims=(errors.claim_of(failure),) if failure else (),
        usage=values.usage(a, _USAGE),
        finish=values.finish_reason(a, "ai.response.finishReason", "ai.finishReason"),
    )


def _conversation(attributes: Attributes) -> str | None:
    return values.text(attributes, *_CONVERSATION, *genai.CONVERSATION)


def _call(span: Span) -> Reading:
    a = span.attributes
    failure = errors.failure_of(span)
    reason = values.finish_reason(a, "ai.response.finishReason", "ai.finishReason", *genai.FINISH)
    asked = tuple(_asked(a))
    step = Step(
        message_id=values.text(a, "ai.response.id", "gen_ai.response.id"),
        provider=values.text(a, "ai.model.provider", "gen_ai.system"),
        model=values.model(a, "ai.model.id", *genai.MODEL),
        finish_reason=reason,
        max_output_tokens=values.whole(
            a, "gen_ai.request.max_tokens", "ai.settings.maxOutputTokens", "ai.settings.maxTokens"
        ),
        usage=values.usage(a, _USAGE),
        output=_output(_visible_text(a), len(asked)),
    )
    answered = reason is not None or failure is not None or "ai.response.id" in a
    return Reading(
        role=Role.CALL,
        source=SOURCE,
        conversation_id=_conversation(a),
        step=errors.with_failure(step, failure),
        asked=asked,
        answered=answered,
    )


def _output(text: str | None, calls: int) -> Output | None:
    """How much was visible: the text, and each tool call as a part."""
    return None if text is None else Output(text_chars=len(text), parts=bool(text) + calls)


def _visible_text(attributes: Attributes) -> str | None:
    for name in ("ai.response.text", "ai.response.object", "ai.result.text", "ai.result.object"):
        value = attributes.get(name)
        if isinstance(value, str):
            return value
    return None


def _asked(attributes: Attributes) -> Iterator[ToolCall]:
    for call in values.items(attributes.get("ai.response.toolCalls", attributes.get("ai.result.toolCalls"))):
        if isinstance(call, dict):
            arguments = call.get("input") if "input" in call else call.get("args")
            yield ToolCall(
                id=values.text(call, "toolCallId"),
                name=values.text(call, "toolName"),
                arguments_valid=valid_arguments(arguments),
            )


def _tool(span: Span) -> Reading:
    a = span.attributes
    read = genai.tool(span, SOURCE)
    tool = replace(
        read.tool or ToolCall(), id=values.text(a, "ai.toolCall.id"), name=values.text(a, "ai.toolCall.name")
    )
    return replace(read, tool=tool, conversation_id=_conversation(a))
