"""Chat completions over the OpenAI SDK, for OpenAI and for every server that speaks its protocol (extra ``openai``)."""

from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any

from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError, AsyncOpenAI, AsyncStream
from openai.types import CompletionUsage
from openai.types.chat import ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import ChoiceDelta

from turnout.outcomes.facts import Usage
from turnout.runtime.messages import AssistantMessage, Message, ToolMessage, UserMessage
from turnout.runtime.model import (
    CallDelta,
    Chunk,
    ModelError,
    ModelRequest,
    RefusalDelta,
    ResponseIds,
    StreamEnd,
    TextDelta,
    ToolSpec,
    UsageReport,
)
from turnout.runtime.models.failures import rejected, unreachable
from turnout.runtime.tools import arguments_of

_LASTING = frozenset({"insufficient_quota"})


class OpenAIChatModel:
    """A model behind chat completions.

    ``provider`` names whose vocabulary the finish reasons are; ``cap_field`` is what the server calls the output cap (older ones say
    ``max_tokens``), and ``extra`` goes into every request as it is.
    """

    def __init__(
        self,
        client: AsyncOpenAI,
        name: str,
        *,
        provider: str = "openai",
        cap_field: str = "max_completion_tokens",
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.provider = provider
        self.api: str | None = "chat.completions"
        self._client = client.with_options(max_retries=0)
        self._cap_field = cap_field
        self._extra = dict(extra or {})

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Send the request once and yield what comes."""
        streaming = False
        try:
            stream: AsyncStream[ChatCompletionChunk] = await self._client.chat.completions.create(**self._body(request))
            streaming = True
            yield ResponseIds(request_id=stream.response.headers.get("x-request-id"))
            async with stream:
                async for event in stream:
                    for chunk in _chunks(event):
                        yield chunk
        except APIError as error:
            raise self._failure(error, streaming=streaming) from error

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [*_system(request.instructions), *map(_message, request.messages)],
            "stream": True,
            "stream_options": {"include_usage": True},
            **self._extra,
        }
        if request.tools:
            body["tools"] = list(map(_tool, request.tools))
        if request.tools and not request.may_call:
            body["tool_choice"] = "none"
        if request.max_output_tokens is not None:
            body[self._cap_field] = request.max_output_tokens
        return body

    def _failure(self, error: APIError, *, streaming: bool) -> ModelError:
        if isinstance(error, APIConnectionError):
            return unreachable(str(error), streaming=streaming, timed_out=isinstance(error, APITimeoutError))
        status = error.status_code if isinstance(error, APIStatusError) else None
        headers = error.response.headers if isinstance(error, APIStatusError) else {}
        code = error.code or error.type
        return rejected(self.provider, error.message, code=code, status=status, headers=headers, lasting=_LASTING)


def _system(instructions: str | None) -> list[dict[str, Any]]:
    return [] if instructions is None else [{"role": "system", "content": instructions}]


def _message(message: Message) -> dict[str, Any]:
    match message:
        case UserMessage(text):
            return {"role": "user", "content": text}
        case ToolMessage(call_id, content):
            return {"role": "tool", "tool_call_id": call_id, "content": content}
        case AssistantMessage(text, calls):
            said: dict[str, Any] = {"role": "assistant", "content": text or None}
            # Servers parse the arguments of past calls; half a call reads as one without any.
            functions = [
                {"name": call.name, "arguments": call.arguments if arguments_of(call) is not None else "{}"}
                for call in calls
            ]
            if calls:
                said["tool_calls"] = [
                    {"id": call.id, "type": "function", "function": function}
                    for call, function in zip(calls, functions, strict=True)
                ]
            return said


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _chunks(event: ChatCompletionChunk) -> Iterator[Chunk]:
    if event.id:
        yield ResponseIds(message_id=event.id)
    for choice in event.choices:
        yield from _deltas(choice.delta)
        if choice.finish_reason is not None:
            yield StreamEnd(choice.finish_reason)
    if event.usage is not None:
        yield UsageReport(_usage(event.usage))


def _deltas(delta: ChoiceDelta) -> Iterator[Chunk]:
    if delta.content:
        yield TextDelta(delta.content)
    if delta.refusal is not None:
        yield RefusalDelta(delta.refusal)
    for call in delta.tool_calls or ():
        function = call.function
        yield CallDelta(
            call.index,
            (function.arguments or "") if function is not None else "",
            id=call.id,
            name=function.name if function is not None else None,
        )


def _usage(usage: CompletionUsage) -> Usage:
    prompt, completion = usage.prompt_tokens_details, usage.completion_tokens_details
    return Usage(
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens,
        cache_read_tokens=prompt.cached_tokens if prompt is not None else None,
        cache_write_tokens=prompt.cache_write_tokens if prompt is not None else None,
        reasoning_tokens=completion.reasoning_tokens if completion is not None else None,
    )
