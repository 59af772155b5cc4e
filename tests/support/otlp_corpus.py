"""Export requests of made-up agent turns, in the shape of `facts` measured on real ones: about 240 spans a request, 14 a turn, 17 attributes each.

A turn is one ``invoke_agent`` span over requests to a model and tool calls, by the GenAI conventions, without content. The same seed gives
the same bytes; `renewed` gives a request a second time as other turns, much cheaper than making one.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span, Status

TURNS_A_REQUEST = 17
START = 1_790_000_000 * 1_000_000_000

_MODELS = ("claude-sonnet-4-5", "gpt-5", "gemini-2.5-pro", "claude-haiku-4-5")
_PROVIDERS = {"claude": "anthropic", "gpt": "openai", "gemini": "gcp.gemini"}
_TOOLS = ("search", "read_file", "write_file", "run_tests", "fetch_page", "ask_database")
_AGENTS = ("support", "coder", "analyst")
_MS = 1_000_000


@dataclass(frozen=True)
class Request:
    """One export body, and the trace ids of the turns in it."""

    body: bytes
    traces: tuple[bytes, ...]
    spans: int

    def renewed(self, number: int) -> "Request":
        """The same spans as other turns: each trace gets an id made from ``number``."""
        body = self.body
        fresh = tuple(number.to_bytes(8) + trace[8:] for trace in self.traces)
        for old, new in zip(self.traces, fresh, strict=True):
            body = body.replace(old, new)
        return Request(body, fresh, self.spans)


def requests(count: int, seed: int = 7) -> list[Request]:
    """``count`` different requests."""
    draw = random.Random(seed)
    return [_request(draw, number) for number in range(count)]


def endless(count: int = 40, seed: int = 7) -> Iterator[Request]:
    """Requests without end, never two with a turn in common; made from ``count`` of them."""
    templates = requests(count, seed)
    number = 1
    while True:
        for template in templates:
            yield template.renewed(number)
            number += 1


def _request(draw: random.Random, number: int) -> Request:
    request = ExportTraceServiceRequest()
    block = request.resource_spans.add()
    for key, value in _resource(draw):
        _put(block.resource.attributes, key, value)
    scoped = block.scope_spans.add()
    scoped.scope.name, scoped.scope.version = "shop.agents", "1.4.0"
    traces = tuple(draw.randbytes(16) for _ in range(TURNS_A_REQUEST))
    for position, trace in enumerate(traces):
        _turn(draw, scoped, trace, START + number * 60_000 * _MS + position * 900 * _MS)
    return Request(request.SerializeToString(), traces, len(scoped.spans))


def _resource(draw: random.Random) -> list[tuple[str, str]]:
    return [
        ("service.name", draw.choice(("shop", "bank"))),
        ("service.version", "2.3.1"),
        ("service.instance.id", draw.randbytes(16).hex()),
        ("deployment.environment.name", "production"),
        ("telemetry.sdk.language", "python"),
        ("telemetry.sdk.name", "opentelemetry"),
        ("telemetry.sdk.version", "1.44.0"),
    ]


def _turn(draw: random.Random, scoped: ScopeSpans, trace: bytes, start: int) -> None:
    agent, model = draw.choice(_AGENTS), draw.choice(_MODELS)
    conversation = f"conversation-{draw.randrange(10_000)}"
    steps = draw.randint(4, 9)
    root, now = draw.randbytes(8), start
    for step in range(1, steps + 1):
        end = now + draw.randint(400, 4000) * _MS
        last = step == steps
        _chat(draw, scoped, (trace, draw.randbytes(8), root), (now, end), model, agent, conversation, last=last)
        now = end
        if not last:
            end = now + draw.randint(5, 900) * _MS
            _tool(draw, scoped, (trace, draw.randbytes(8), root), (now, end), agent, conversation)
            now = end
    span = _span(scoped, (trace, root, b""), f"invoke_agent {agent}", 1, (start, now))
    _common(span, "invoke_agent", agent, conversation)
    _put(span.attributes, "gen_ai.provider.name", _provider(model))
    _put(span.attributes, "gen_ai.request.model", model)


def _chat(
    draw: random.Random,
    scoped: ScopeSpans,
    ids: tuple[bytes, bytes, bytes],
    times: tuple[int, int],
    model: str,
    agent: str,
    conversation: str,
    *,
    last: bool,
) -> None:
    span = _span(scoped, ids, f"chat {model}", 3, times)
    _common(span, "chat", agent, conversation)
    cut = last and draw.random() < 0.04
    for key, value in (
        ("gen_ai.provider.name", _provider(model)),
        ("gen_ai.request.model", model),
        ("gen_ai.response.model", f"{model}-2026-08-01"),
        ("gen_ai.response.id", f"msg_{draw.randbytes(12).hex()}"),
        ("gen_ai.request.max_tokens", 8192),
        ("gen_ai.request.temperature", 0.2),
        ("gen_ai.usage.input_tokens", draw.randint(500, 90_000)),
        ("gen_ai.usage.output_tokens", 8192 if cut else draw.randint(20, 2500)),
        ("gen_ai.usage.cache_read.input_tokens", draw.randint(0, 500)),
        ("gen_ai.usage.cache_creation.input_tokens", draw.randint(0, 400)),
        ("server.address", "api.example.com"),
        ("server.port", 443),
        ("http.response.status_code", 200),
    ):
        _put(span.attributes, key, value)
    reason = "length" if cut else "stop" if last else "tool_call"
    finish = span.attributes.add(key="gen_ai.response.finish_reasons")
    finish.value.array_value.values.add(string_value=reason)


def _tool(
    draw: random.Random,
    scoped: ScopeSpans,
    ids: tuple[bytes, bytes, bytes],
    times: tuple[int, int],
    agent: str,
    conversation: str,
) -> None:
    tool = draw.choice(_TOOLS)
    span = _span(scoped, ids, f"execute_tool {tool}", 1, times)
    _common(span, "execute_tool", agent, conversation)
    for key, value in (
        ("gen_ai.tool.name", tool),
        ("gen_ai.tool.type", "function"),
        ("gen_ai.tool.call.id", f"call_{draw.randbytes(12).hex()}"),
        ("gen_ai.tool.description", "what the tool is for, in a line of words"),
        ("tool.cache", "miss"),
        ("tool.retries", 0),
        ("tool.bytes", draw.randrange(100_000)),
    ):
        _put(span.attributes, key, value)
    if draw.random() < 0.05:
        span.status.code = Status.STATUS_CODE_ERROR
        _put(span.attributes, "error.type", "TimeoutError")


def _common(span: Span, operation: str, agent: str, conversation: str) -> None:
    for key, value in (
        ("gen_ai.operation.name", operation),
        ("gen_ai.agent.name", agent),
        ("gen_ai.agent.id", f"agent-{agent}"),
        ("gen_ai.conversation.id", conversation),
        ("user.id", "u-1834"),
        ("code.function.name", "shop.agents.run"),
        ("thread.id", 140_213),
    ):
        _put(span.attributes, key, value)


def _span(scoped: ScopeSpans, ids: tuple[bytes, bytes, bytes], name: str, kind: int, times: tuple[int, int]) -> Span:
    span = scoped.spans.add()
    span.trace_id, span.span_id, span.parent_span_id = ids
    span.name = name
    span.kind = Span.SpanKind.ValueType(kind)
    span.start_time_unix_nano, span.end_time_unix_nano = times
    return span


def _put(attributes: object, key: str, value: str | float) -> None:
    """Add one attribute; the repeated field of the library has no public type."""
    attribute = attributes.add(key=key)  # type: ignore[attr-defined]
    if isinstance(value, str):
        attribute.value.string_value = value
    elif isinstance(value, int):
        attribute.value.int_value = value
    else:
        attribute.value.double_value = value


def _provider(model: str) -> str:
    return next(provider for prefix, provider in _PROVIDERS.items() if model.startswith(prefix))
