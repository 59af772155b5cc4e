"""The two real models over real HTTP: a local server plays streams of the shapes that the providers send.

Each scene is played through both SDKs where both providers have it, by a whole turn of the loop, and is read back by the classifier.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from turnout.outcomes.classify import classify
from turnout.outcomes.decide import StopReason, StopRequest
from turnout.outcomes.facts import Limits, StopMode, ToolStatus, Usage
from turnout.outcomes.verdict import Cause, Outcome, Resumable
from turnout.runtime.agent import Agent, TurnTask
from turnout.runtime.messages import AssistantMessage, CallRequest, Message, ToolMessage, UserMessage
from turnout.runtime.model import Model
from turnout.runtime.request import RetryPolicy
from turnout.runtime.tools import Tool, ToolContext
from turnout.runtime.turn import Turn, TurnResult, start_turn

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")


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
    """Answers the n-th request with the n-th reply; keeps what it was sent, and whether a client went away."""

    def __init__(self, replies: list[Reply]) -> None:
        self.replies = list(replies)
        self.requests: list[dict[str, Any]] = []
        self.gone = asyncio.Event()
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
        if reply.hang:
            await reader.read()
            self.gone.set()
        elif not reply.drop:
            writer.write(b"0\r\n\r\n")


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Status", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


class OpenAI:
    """Streams as chat completions send them."""

    provider, api = "openai", "chat.completions"
    usage = Usage(input_tokens=120, output_tokens=9, cache_read_tokens=64, cache_write_tokens=0, reasoning_tokens=4)

    def model(self, server: Server, **options: Any) -> Model:
        from turnout.runtime.models.openai_chat import OpenAIChatModel

        client = openai.AsyncOpenAI(api_key="k", base_url=f"http://127.0.0.1:{server.port}/v1", **options)
        return OpenAIChatModel(client, "gpt-5")

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


class Anthropic:
    """Streams as the messages interface sends them."""

    provider, api = "anthropic", "messages"
    usage = Usage(input_tokens=56, output_tokens=9, cache_read_tokens=64, cache_write_tokens=0)

    def model(self, server: Server, **options: Any) -> Model:
        from turnout.runtime.models.anthropic_messages import AnthropicMessagesModel

        client = anthropic.AsyncAnthropic(api_key="k", base_url=f"http://127.0.0.1:{server.port}", **options)
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


BOTH: list[Any] = [OpenAI(), Anthropic()]
SDK = pytest.mark.parametrize("sdk", BOTH, ids=[sdk.provider for sdk in BOTH])


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
    **options: Any,
) -> Played:
    """Take a whole turn against the server."""

    async def main() -> Played:
        async with Server(replies).serving() as server:
            agent = Agent(
                name="agent",
                model=sdk.model(server, **options),
                instructions="Be brief.",
                tools=(Tool(name="read", run=_read, description="Read a file.", mutating=False),),
                max_output_tokens=1000,
                retry=RetryPolicy(first_wait_seconds=0.01),
            )
            turn = start_turn(agent, TurnTask(turn_id="t", messages=messages, limits=limits or Limits()))
            beside = asyncio.ensure_future(during(turn, server)) if during is not None else None
            result = await turn
            if beside is not None:
                await beside
            await result.work_ended()
            return Played(result, server)

    return asyncio.run(main())


@SDK
class TestStreams:
    def test_an_answer(self, sdk: Any) -> None:
        """Text, ids, usage and the provider's own finish value."""
        played = play(sdk, [sdk.answer()])
        assert played.result.decision.reason == "end_turn"
        assert played.result.messages[-1] == AssistantMessage("Done.")
        [step] = played.result.facts.steps
        assert (step.provider, step.api, step.request_id) == (sdk.provider, sdk.api, "req_1")
        assert step.message_id in ("chatcmpl-1", "msg_1")
        assert step.usage == sdk.usage
        verdict = classify(played.result.facts)
        assert verdict.outcome is Outcome.COMPLETED
        assert verdict.usage is not None
        assert verdict.usage.input_tokens == 120, (
            "the cache is counted within the input, wherever the provider counts it"
        )

    def test_tool_calls(self, sdk: Any) -> None:
        """Parallel calls in pieces run, and their results go back in the provider's shape."""
        played = play(sdk, [sdk.calls(), sdk.answer()])
        assert played.result.messages[1] == AssistantMessage(
            "", tuple(CallRequest(name, "read", '{"path": "a"}') for name in ("call_a", "call_b"))
        )
        assert played.result.decision.reason == "end_turn"
        assert played.server.requests[1]["messages"] == sdk.tool_round
        assert [call.status for call in played.result.facts.steps[0].tool_calls] == [ToolStatus.OK, ToolStatus.OK]

    def test_length(self, sdk: Any) -> None:
        """A cut answer can be continued."""
        verdict = classify(play(sdk, [sdk.length()]).result.facts)
        assert (verdict.outcome, verdict.resumable) == (Outcome.LENGTH, Resumable.YES)

    def test_length_inside_a_call(self, sdk: Any) -> None:
        """Half a call does not run."""
        finish = {"openai": "length", "anthropic": "max_tokens"}[sdk.provider]
        played = play(sdk, [sdk.calls(finish, cut=True)])
        assert classify(played.result.facts).outcome is Outcome.LENGTH
        assert {call.status for call in played.result.facts.steps[0].tool_calls} == {ToolStatus.STREAMING}

    @pytest.mark.parametrize("words", ["I cannot help with that.", ""], ids=["with output", "without output"])
    def test_refusal(self, sdk: Any, words: str) -> None:
        """Both of them, with the category where the provider gives one and no words of its own in the facts."""
        played = play(sdk, [sdk.refusal(words)])
        assert played.result.decision.reason == "refusal"
        verdict = classify(played.result.facts)
        assert (verdict.outcome, verdict.cause) == (Outcome.REFUSED, Cause.PROVIDER_REFUSAL)
        [step] = played.result.facts.steps
        assert step.refusal is not None
        assert step.refusal.category == {"openai": None, "anthropic": "cyber"}[sdk.provider]
        assert step.refusal.explanation is None
        assert step.output is not None
        assert step.output.text_chars == len(words)

    def test_a_dropped_stream_with_output(self, sdk: Any) -> None:
        """What a person has seen is not said twice: the turn ends with what there is."""
        played = play(sdk, [sdk.dropped("Hal"), sdk.answer()])
        verdict = classify(played.result.facts)
        assert (verdict.outcome, verdict.cause) == (Outcome.ERROR, Cause.STREAM_TRUNCATED)
        assert played.result.messages[-1] == AssistantMessage("Hal")
        assert len(played.server.requests) == 1

    def test_a_dropped_stream_without_output_is_tried_again(self, sdk: Any) -> None:
        """Nobody has seen anything of it."""
        played = play(sdk, [sdk.dropped(""), sdk.answer()])
        assert played.result.decision.reason == "end_turn"
        assert played.result.facts.steps[0].attempts == 2

    def test_a_slow_stream_comes_as_it_is_sent(self, sdk: Any) -> None:
        """A stop in the middle of it keeps what was there, and the provider's connection is closed."""

        async def stop(turn: Turn, server: Server) -> None:
            await asyncio.sleep(0.5)
            turn.stop(StopRequest(StopMode.IMMEDIATE, StopReason.USER_STOP))
            await asyncio.wait_for(server.gone.wait(), 10)

        events = sdk.answer().events[:-3]
        played = play(sdk, [Reply(events, hang=True)], during=stop)
        assert played.result.decision.reason == "user_stop"
        assert isinstance(played.result.messages[-1], AssistantMessage)
        assert "Done.".startswith(played.result.messages[-1].text)
        [step] = played.result.facts.steps
        assert (step.aborted, step.stream_complete) == (True, False)
        assert classify(played.result.facts).outcome is Outcome.STOPPED

    def test_a_slow_stream_is_cut_by_the_time_limit(self, sdk: Any) -> None:
        """The turn's budget ends a request that does not."""
        played = play(sdk, [Reply(sdk.answer().events[:-3], hang=True)], limits=Limits(seconds=0.4))
        assert played.result.decision.reason == "time_budget"
        assert classify(played.result.facts).outcome is Outcome.BUDGET

    def test_a_stalled_stream_times_out(self, sdk: Any) -> None:
        """The client's own read timeout is a failed request."""
        silent = Reply([], hang=True)
        played = play(sdk, [silent] * 3, timeout=0.2)
        verdict = classify(played.result.facts)
        assert (verdict.outcome, verdict.cause) == (Outcome.ERROR, Cause.TIMEOUT)
        assert len(played.server.requests) == 3

    def test_a_slow_but_steady_stream_is_an_answer(self, sdk: Any) -> None:
        """Slowness alone ends nothing."""
        assert play(sdk, [sdk.answer(seconds=0.03)]).result.decision.reason == "end_turn"


@SDK
class TestErrors:
    def test_a_rate_limit_is_waited_out(self, sdk: Any) -> None:
        """As long as the provider says, and only by the seam: the SDK does not retry by itself."""
        played = play(sdk, [sdk.rate_limited(**{"retry-after": "0.05"}), sdk.answer()])
        [step] = played.result.facts.steps
        assert played.result.decision.reason == "end_turn"
        assert (step.attempts, [end.status for end in step.attempt_ends]) == (2, [429])
        assert len(played.server.requests) == 2

    def test_a_rate_limit_that_lasts(self, sdk: Any) -> None:
        """Three tries, and the turn can be continued later."""
        played = play(sdk, [sdk.rate_limited()] * 3)
        verdict = classify(played.result.facts)
        assert (verdict.outcome, verdict.cause) == (Outcome.ERROR, Cause.RATE_LIMIT)
        assert (verdict.resumable, len(played.server.requests)) == (Resumable.YES, 3)

    def test_a_stop_during_the_wait_lets_no_request_out(self, sdk: Any) -> None:
        """The server sees one request."""

        async def stop(turn: Turn, server: Server) -> None:
            while not server.requests:  # noqa: ASYNC110 - the server is another task's
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
            turn.stop(StopRequest(StopMode.AFTER_STEP, StopReason.USER_STOP))

        played = play(sdk, [sdk.rate_limited(**{"retry-after": "30"})], during=stop)
        assert (played.result.decision.reason, len(played.server.requests)) == ("user_stop", 1)
        assert classify(played.result.facts).outcome is Outcome.STOPPED

    def test_a_context_overflow_as_a_rejected_request(self, sdk: Any) -> None:
        """Never retried, and no Continue: the history only grows."""
        played = play(sdk, [sdk.overflow_rejected()])
        assert played.result.decision.reason == "context_budget_exhausted"
        verdict = classify(played.result.facts)
        assert (verdict.outcome, verdict.cause) == (Outcome.CONTEXT_OVERFLOW, Cause.CONTEXT_REJECTED)
        assert (verdict.resumable, len(played.server.requests)) == (Resumable.NO, 1)

    @pytest.mark.parametrize(
        ("kind", "cause", "tries"), [("unavailable", Cause.PROVIDER_UNAVAILABLE, 3), ("no_key", Cause.AUTH, 1)]
    )
    def test_other_errors(self, sdk: Any, kind: str, cause: Cause, tries: int) -> None:
        """Those that pass are tried again, those that last are not."""
        played = play(sdk, [getattr(sdk, kind)()] * tries)
        verdict = classify(played.result.facts)
        assert (verdict.outcome, verdict.cause) == (Outcome.ERROR, cause)
        assert len(played.server.requests) == tries

    def test_an_error_inside_a_stream(self, sdk: Any) -> None:
        """A stream that began with status 200 may still say that it failed."""
        played = play(sdk, [sdk.error_event()] * 3)
        verdict = classify(played.result.facts)
        assert (verdict.outcome, verdict.cause) == (Outcome.ERROR, Cause.PROVIDER_UNAVAILABLE)
        assert played.result.facts.steps[0].error is not None
        assert played.result.facts.steps[0].error.status is None

    def test_a_server_that_is_not_there(self, sdk: Any) -> None:
        """A connection that is refused is a fault that passes."""

        async def main() -> TurnResult:
            server = Server([])
            async with server.serving():
                pass
            agent = Agent(name="agent", model=sdk.model(server), retry=RetryPolicy(first_wait_seconds=0.01))
            return await start_turn(agent, TurnTask(turn_id="t", messages=(UserMessage("Do it."),)))

        result = asyncio.run(main())
        verdict = classify(result.facts)
        assert (verdict.outcome, verdict.cause) == (Outcome.ERROR, Cause.PROVIDER_UNAVAILABLE)
        assert (result.facts.steps[0].attempts, verdict.resumable) == (3, Resumable.YES)


class TestOneProviderOnly:
    def test_a_content_filter(self) -> None:
        """OpenAI's filter cuts the answer."""
        sdk = OpenAI()
        played = play(sdk, [sdk.text("Well, fir", "content_filter")])
        assert played.result.decision.reason == "content_filter"
        verdict = classify(played.result.facts)
        assert (verdict.outcome, verdict.cause) == (Outcome.REFUSED, Cause.CONTENT_FILTER)

    def test_a_content_filter_that_rejects_the_prompt(self) -> None:
        """As Azure does it: the request fails with a code of the filter."""
        sdk = OpenAI()
        played = play(sdk, [sdk.error(400, "content_filter", "The response was filtered.")])
        assert played.result.decision.reason == "content_filter"
        verdict = classify(played.result.facts)
        assert (verdict.outcome, verdict.cause) == (Outcome.REFUSED, Cause.CONTENT_FILTER)

    def test_a_quota_that_is_used_up(self) -> None:
        """Status 429 too, but no waiting helps."""
        sdk = OpenAI()
        played = play(sdk, [sdk.error(429, "insufficient_quota", "You exceeded your current quota.")])
        assert (played.result.decision.reason, len(played.server.requests)) == ("error", 1)
        assert classify(played.result.facts).outcome is Outcome.ERROR

    def test_a_context_overflow_as_a_finish(self) -> None:
        """Anthropic may end a stream because the window is full, which no Continue can help."""
        sdk = Anthropic()
        played = play(sdk, [sdk.text("Half", "model_context_window_exceeded")])
        assert played.result.decision.reason == "context_budget_exhausted"
        assert classify(played.result.facts).outcome is Outcome.CONTEXT_OVERFLOW

    def test_a_pause_is_resumed(self) -> None:
        """The same conversation goes out again with what was said so far."""
        sdk = Anthropic()
        played = play(sdk, [sdk.text("Let me see.", "pause_turn"), sdk.answer()])
        assert played.result.decision.reason == "end_turn"
        assert played.server.requests[1]["messages"][-1] == {
            "role": "assistant",
            "content": [{"type": "text", "text": "Let me see."}],
        }


@SDK
def test_half_a_call_of_an_older_turn_goes_back_whole(sdk: Any) -> None:
    """A conversation with a cut call is repaired on its way out: no arguments, and a result that says so."""
    history: tuple[Message, ...] = (
        UserMessage("Write it."),
        AssistantMessage("", (CallRequest("call_a", "write", '{"path'),)),
        UserMessage("Continue."),
    )
    played = play(sdk, [sdk.answer()], messages=history)
    sent = json.dumps(played.server.requests[0]["messages"])
    assert '{\\"path' not in sent
    assert "No result: the call did not come to an end." in sent
    assert played.result.messages[:3] == history


@SDK
def test_what_is_asked_for(sdk: Any) -> None:
    """Model, instructions, tools and cap, in the provider's own words."""
    request = play(sdk, [sdk.answer()]).server.requests[0]
    parameters = {"type": "object", "properties": {}}
    if sdk.provider == "openai":
        assert request["max_completion_tokens"] == 1000
        assert request["stream_options"] == {"include_usage": True}
        function = {"name": "read", "description": "Read a file.", "parameters": parameters}
        assert request["tools"] == [{"type": "function", "function": function}]
    else:
        assert (request["max_tokens"], request["system"]) == (1000, "Be brief.")
        assert request["tools"] == [{"name": "read", "description": "Read a file.", "input_schema": parameters}]


def test_tool_results_and_a_message_share_a_turn() -> None:
    """Anthropic wants the two roles in turns: what a person says after results stands with them."""
    sdk = Anthropic()
    history: tuple[Message, ...] = (
        UserMessage("Read it."),
        AssistantMessage("Yes.", (CallRequest("call_a", "read", '{"path": "a"}'),)),
        ToolMessage("call_a", "no such file", is_error=True),
        UserMessage("Then b."),
    )
    sent = play(sdk, [sdk.answer()], messages=history).server.requests[0]["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert [block["type"] for block in sent[2]["content"]] == ["tool_result", "text"]
