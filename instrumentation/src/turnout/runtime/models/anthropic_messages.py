"""Messages over the Anthropic SDK (extra ``anthropic``).

Thinking is not asked for: its blocks would have to go back with the next request, which this model does not keep.
"""

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from anthropic import APIConnectionError, APIError, APIStatusError, APITimeoutError, AsyncAnthropic, AsyncStream
from anthropic.types import MessageDeltaUsage, RawMessageStreamEvent
from anthropic.types import Usage as MessageUsage
from httpx2 import TimeoutException, TransportError

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

DEFAULT_MAX_TOKENS = 4096
"""The output cap where the agent sets none; the provider demands one."""


class AnthropicMessagesModel:
    """A model behind the messages interface; ``extra`` goes into every request as it is."""

    def __init__(
        self,
        client: AsyncAnthropic,
        name: str,
        *,
        provider: str = "anthropic",
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.provider = provider
        self.api: str | None = "messages"
        self._client = client.with_options(max_retries=0)
        self._extra = dict(extra or {})

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Send the request once and yield what comes."""
        streaming = False
        try:
            stream: AsyncStream[RawMessageStreamEvent] = await self._client.messages.create(**self._body(request))
            streaming = True
            yield ResponseIds(request_id=stream.response.headers.get("request-id"))
            reading = _Reading()
            async with stream:
                async for event in stream:
                    for chunk in reading.chunks(event):
                        yield chunk
        except APIError as error:
            raise self._failure(error, streaming=streaming) from error
        except TransportError as error:  # the SDK lets these through while it reads a stream
            timed_out = isinstance(error, TimeoutException)
            raise unreachable(str(error), streaming=streaming, timed_out=timed_out) from error

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.name,
            "messages": _messages(request.messages),
            "max_tokens": request.max_output_tokens or DEFAULT_MAX_TOKENS,
            "stream": True,
            **self._extra,
        }
        if request.instructions is not None:
            body["system"] = request.instructions
        if request.tools:
            body["tools"] = list(map(_tool, request.tools))
        if request.tools and not request.may_call:
            body["tool_choice"] = {"type": "none"}
        return body

    def _failure(self, error: APIError, *, streaming: bool) -> ModelError:
        if isinstance(error, APIConnectionError):
            return unreachable(str(error), streaming=streaming, timed_out=isinstance(error, APITimeoutError))
        if not isinstance(error, APIStatusError):
            return rejected(self.provider, error.message, code=None, status=None, headers={})
        said = error.api_message or error.message
        return rejected(self.provider, said, code=error.type, status=error.status_code, headers=error.response.headers)


@dataclass(slots=True)
class _Reading:
    """One stream as it is read: the stop reason comes before the event that ends the message."""

    stop_reason: str | None = None

    def chunks(self, event: RawMessageStreamEvent) -> Iterator[Chunk]:
        match event.type:
            case "message_start":
                yield ResponseIds(message_id=event.message.id)
                yield UsageReport(_usage(event.message.usage), cache_in_input=False)
            case "content_block_start":
                block = event.content_block
                if block.type == "tool_use":
                    yield CallDelta(event.index, id=block.id, name=block.name)
            case "content_block_delta":
                if event.delta.type == "text_delta":
                    yield TextDelta(event.delta.text)
                elif event.delta.type == "input_json_delta":
                    yield CallDelta(event.index, event.delta.partial_json)
            case "message_delta":
                self.stop_reason = event.delta.stop_reason
                details = event.delta.stop_details
                if self.stop_reason == "refusal" or details is not None:
                    yield RefusalDelta(category=details.category if details is not None else None)
                yield UsageReport(_usage(event.usage), cache_in_input=False)
            case "message_stop":
                yield StreamEnd(self.stop_reason)
            case _:
                return


def _messages(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Blocks in turns of the two roles: neighbours of one role are one message."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        role, blocks = _blocks(message)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    return turns


def _blocks(message: Message) -> tuple[str, list[dict[str, Any]]]:
    match message:
        case UserMessage(text):
            return "user", [{"type": "text", "text": text}]
        case ToolMessage(call_id, content, is_error):
            return "user", [{"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": is_error}]
        case AssistantMessage(text, calls):
            said: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
            # Half a call reads as one without arguments.
            said += [
                {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments_of(call) or {}}
                for call in calls
            ]
            return "assistant", said


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}


def _usage(usage: MessageUsage | MessageDeltaUsage) -> Usage:
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_input_tokens,
        cache_write_tokens=usage.cache_creation_input_tokens,
    )
