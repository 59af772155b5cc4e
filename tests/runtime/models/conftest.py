"""A local server that plays streams of the shapes that the two providers send, and a turn of the loop against it."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from turnout.outcomes.facts import Limits, Usage
from turnout.runtime.agent import Agent, TurnTask
from turnout.runtime.messages import Message, UserMessage
from turnout.runtime.model import Model
from turnout.runtime.request import RetryPolicy
from turnout.runtime.tools import Tool, ToolContext
from turnout.runtime.turn import Turn, TurnResult, start_turn


@dataclass(frozen=True)
class Reply:
    """One HTTP answer: a status with a JSON body, or a stream of events of which ``seconds`` pass before each.

    ``drop`` breaks the connection off after the last event; ``hang`` keeps it open and says nothing more.
    """

    events: list[tuple[str | None, Any]] = field(default_factory=list[tuple[str | None, Any]])
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    seconds: float = 0.0
    drop: bool = False
    hang: bool = False


class Server:
    """Answers the n-th request with the n-th reply; keeps what it was asked, and tells when it has sent all and when a client went away."""

    def __init__(self, replies: list[Reply]) -> None:
        self.replies = list(replies)
        self.requests: list[dict[str, Any]] = []
        self.gone = asyncio.Event()
        self.sent = asyncio.Event()
        self.port = 0

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator["Server"]:
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            yield self

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.split("content-length:")[1].split("\r\n")[0])
            self.requests.append(json.loads(await reader.readexactly(length)))
            await self._answer(self.replies.pop(0), reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.gone.set()
        finally:
            writer.close()

    async def _answer(self, reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        headers = {"connection": "close", "x-request-id": "req_1", "request-id": "req_1", **reply.headers}
        if reply.body is not None:
            body = json.dumps(reply.body).encode()
            headers |= {"content-type": "application/json", "content-length": str(len(body))}
            writer.write(_head(reply.status, headers) + body)
            return
        headers |= {"content-type": "text/event-stream", "transfer-encoding": "chunked"}
        writer.write(_head(reply.status, headers))
        for name, data in reply.events:
            await asyncio.sleep(reply.seconds)
            event = f"event: {name}\n" if name is not None else ""
            payload = f"{event}data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()
            writer.write(f"{len(payload):x}\r\n".encode() + payload + b"\r\n")
            await writer.drain()
        self.sent.set()
        if reply.hang:
            await reader.read()
            self.gone.set()
        elif not reply.drop:
            writer.write(b"0\r\n\r\n")


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Status", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


class Wire:
    """What both providers' streams share."""

    def answer(self, **reply: Any) -> Reply:
        """A whole answer."""
        raise NotImplementedError

    def hanging(self) -> Reply:
        """An answer whose end never comes."""
        return Reply(self.answer().events[:-3], hang=True)

    def silent(self) -> Reply:
        """A stream that opens and says nothing."""
        return Reply(hang=True)


class OpenAI(Wire):
    """Streams as chat completions send them."""

    provider, api = "openai", "chat.completions"
    usage = Usage(input_tokens=120, output_tokens=9, cache_read_tokens=64, cache_write_tokens=0, reasoning_tokens=4)

    def model(self, server: Server, *, speaks: str = "openai", **options: Any) -> Model:
        from openai import AsyncOpenAI

        from turnout.runtime.models.openai_chat import OpenAIChatModel

        client = AsyncOpenAI(api_key="k", base_url=f"http://127.0.0.1:{server.port}/v1", **options)
        return OpenAIChatModel(client, "gpt-5", provider=speaks)

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> tuple[None, dict[str, Any]]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-5-2025"}
        return None, {**head, "choices": [choice], "usage": None}

    def _usage(self) -> tuple[None, dict[str, Any]]:
        _, chunk = self._chunk({})
        usage = {
            "prompt_tokens": 120,
            "completion_tokens": 9,
            "total_tokens": 129,
            "prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 0, "cache_write_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 4, "audio_tokens": 0},
        }
        return None, {**chunk, "choices": [], "usage": usage}

    def text(self, text: str, finish: str, **reply: Any) -> Reply:
        pieces = [self._chunk({"content": piece}) for piece in (text[:3], text[3:]) if piece]
        opening = self._chunk({"role": "assistant", "content": "", "refusal": None})
        return Reply([opening, *pieces, self._chunk({}, finish), self._usage(), (None, "[DONE]")], **reply)

    def answer(self, **reply: Any) -> Reply:
        return self.text("Done.", "stop", **reply)

    def length(self) -> Reply:
        return self.text("Half an ans", "length")

    def calls(self, finish: str = "tool_calls", *, cut: bool = False) -> Reply:
        deltas = []
        for index, name in enumerate(("call_a", "call_b")):
            function = {"name": "read", "arguments": ""}
            start = {"index": index, "id": name, "type": "function", "function": function}
            deltas.append(self._chunk({"role": "assistant", "content": None, "tool_calls": [start]}))
            rest = ['{"path"'] if cut else ['{"path"', ': "a"}']
            deltas += [
                self._chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}) for piece in rest
            ]
        return Reply([*deltas, self._chunk({}, finish), self._usage(), (None, "[DONE]")])

    def refusal(self, words: str) -> Reply:
        said = [self._chunk({"refusal": words})] if words else [self._chunk({"refusal": ""})]
        return Reply([self._chunk({"role": "assistant"}), *said, self._chunk({}, "stop"), self._usage()])

    def dropped(self, text: str) -> Reply:
        said = [self._chunk({"content": text})] if text else []
        return Reply([self._chunk({"role": "assistant", "content": ""}), *said], drop=True)

    def error(self, status: int, code: str, message: str, **headers: str) -> Reply:
        error = {"message": message, "type": "invalid_request_error", "param": "messages", "code": code}
        return Reply(status=status, body={"error": error}, headers=headers)

    def overflow_rejected(self) -> Reply:
        return self.error(400, "context_length_exceeded", "This model's maximum context length is 400000 tokens.")

    def rate_limited(self, **headers: str) -> Reply:
        return self.error(429, "rate_limit_exceeded", "Rate limit reached for gpt-5.", **headers)

    def unavailable(self) -> Reply:
        return self.error(503, "server_error", "The server is overloaded.")

    def no_key(self) -> Reply:
        return self.error(401, "invalid_api_key", "Incorrect API key provided.")

    def error_event(self) -> Reply:
        error = {"message": "The server had an error.", "type": "server_error", "code": "server_error"}
        return Reply([(None, {"error": error})])

    tool_round: ClassVar[list[dict[str, Any]]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Do it."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": i, "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}
                for i in ("call_a", "call_b")
            ],
        },
        {"role": "tool", "tool_call_id": "call_a", "content": "content of a"},
        {"role": "tool", "tool_call_id": "call_b", "content": "content of a"},
    ]


class Anthropic(Wire):
    """Streams as the messages interface sends them."""

    provider, api = "anthropic", "messages"
    usage = Usage(input_tokens=56, output_tokens=9, cache_read_tokens=64, cache_write_tokens=0)

    def model(self, server: Server, **options: Any) -> Model:
        from anthropic import AsyncAnthropic

        from turnout.runtime.models.anthropic_messages import AnthropicMessagesModel

        client = AsyncAnthropic(api_key="k", base_url=f"http://127.0.0.1:{server.port}", **options)
        return AnthropicMessagesModel(client, "claude-test")

    def _stream(self, blocks: list[list[tuple[str, Any]]], stop: str, details: Any = None, **reply: Any) -> Reply:
        usage = {
            "input_tokens": 56,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 64,
            "output_tokens": 1,
        }
        message: dict[str, Any] = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-test",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        delta = {"stop_reason": stop, "stop_sequence": None, "stop_details": details}
        events: list[tuple[str | None, Any]] = [
            ("message_start", {"type": "message_start", "message": message}),
            ("ping", {"type": "ping"}),
            *(event for block in blocks for event in block),
            ("message_delta", {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}}),
            ("message_stop", {"type": "message_stop"}),
        ]
        return Reply(events, **reply)

    def _block(self, index: int, block: dict[str, Any], deltas: list[dict[str, Any]]) -> list[tuple[str, Any]]:
        return [
            ("content_block_start", {"type": "content_block_start", "index": index, "content_block": block}),
            *(
                ("content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta})
                for delta in deltas
            ),
            ("content_block_stop", {"type": "content_block_stop", "index": index}),
        ]

    def _text(self, text: str) -> list[list[tuple[str, Any]]]:
        if not text:
            return []
        deltas = [{"type": "text_delta", "text": piece} for piece in (text[:3], text[3:]) if piece]
        return [self._block(0, {"type": "text", "text": ""}, deltas)]

    def text(self, text: str, stop: str, **reply: Any) -> Reply:
        return self._stream(self._text(text), stop, **reply)

    def answer(self, **reply: Any) -> Reply:
        return self.text("Done.", "end_turn", **reply)

    def length(self) -> Reply:
        return self.text("Half an ans", "max_tokens")

    def calls(self, finish: str = "tool_use", *, cut: bool = False) -> Reply:
        rest = ['{"path"'] if cut else ['{"path"', ': "a"}']
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *rest)]
        blocks = [
            self._block(index, {"type": "tool_use", "id": name, "name": "read", "input": {}}, deltas)
            for index, name in enumerate(("call_a", "call_b"))
        ]
        return self._stream(blocks, finish)

    def refusal(self, words: str) -> Reply:
        details = {"type": "refusal", "category": "cyber", "explanation": "It could do harm."}
        return self._stream(self._text(words), "refusal", details)

    def dropped(self, text: str) -> Reply:
        whole = self.text(text, "end_turn")
        return Reply(whole.events[:-3], drop=True)

    def error(self, status: int, kind: str, message: str, **headers: str) -> Reply:
        body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
        return Reply(status=status, body=body, headers=headers)

    def overflow_rejected(self) -> Reply:
        message = "prompt is too long: 210423 tokens > 200000 maximum"
        return self.error(400, "invalid_request_error", message)

    def filtered(self, *, inside: bool) -> Reply:
        kind, message = "invalid_request_error", "Output blocked by content filtering policy"
        if not inside:
            return self.error(400, kind, message)
        begun = self.text("", "end_turn").events[:2]
        return Reply([*begun, ("error", {"type": "error", "error": {"type": kind, "message": message}})])

    def rate_limited(self, **headers: str) -> Reply:
        return self.error(429, "rate_limit_error", "This request would exceed your rate limit.", **headers)

    def unavailable(self) -> Reply:
        return self.error(529, "overloaded_error", "Overloaded")

    def no_key(self) -> Reply:
        return self.error(401, "authentication_error", "invalid x-api-key")

    def error_event(self) -> Reply:
        error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        return Reply([("error", error)])

    tool_round: ClassVar[list[dict[str, Any]]] = [
        {"role": "user", "content": [{"type": "text", "text": "Do it."}]},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": i, "name": "read", "input": {"path": "a"}} for i in ("call_a", "call_b")
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": i, "content": "content of a", "is_error": False}
                for i in ("call_a", "call_b")
            ],
        },
    ]


async def _read(context: ToolContext) -> str:
    return f"content of {context.arguments['path']}"


@dataclass
class Played:
    result: TurnResult
    server: Server


def play(
    sdk: Any,
    replies: list[Reply],
    *,
    during: Callable[[Turn, Server], Any] | None = None,
    limits: Limits | None = None,
    messages: tuple[Message, ...] = (UserMessage("Do it."),),
    serving: bool = True,
    forced_final: bool = False,
    **options: Any,
) -> Played:
    """Take a whole turn against the server, or against a port where none is any more."""

    async def take(server: Server) -> Played:
        agent = Agent(
            name="agent",
            model=sdk.model(server, **options),
            instructions="Be brief.",
            tools=(Tool(name="read", run=_read, description="Read a file.", mutating=False),),
            max_output_tokens=1000,
            retry=RetryPolicy(first_wait_seconds=0.01),
            forced_final=forced_final,
        )
        turn = start_turn(agent, TurnTask(turn_id="t", messages=messages, limits=limits or Limits()))
        beside = asyncio.ensure_future(during(turn, server)) if during is not None else None
        result = await turn
        if beside is not None:
            await beside
        return Played(result, server)

    async def main() -> Played:
        async with Server(replies).serving() as server:
            if serving:
                return await take(server)
        return await take(server)

    return asyncio.run(main())


WIRES: list[Any] = [OpenAI(), Anthropic()]


@pytest.fixture(params=WIRES, ids=[wire.provider for wire in WIRES])
def sdk(request: pytest.FixtureRequest) -> Any:
    """Both providers, one after the other."""
    pytest.importorskip(request.param.provider)
    return request.param


@pytest.fixture
def openai_wire() -> OpenAI:
    pytest.importorskip("openai")
    return OpenAI()


@pytest.fixture
def anthropic_wire() -> Anthropic:
    pytest.importorskip("anthropic")
    return Anthropic()


@pytest.fixture(name="play")
def _play() -> Callable[..., Played]:
    return play
