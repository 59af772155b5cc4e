"""Spans of made-up agent turns, as small as tests of the whole way from span to row need them, and the request that carries them."""

import json
from collections.abc import Iterable
from dataclasses import replace

from turnout.pipeline.telemetry import Resource, Scope, Span, SpanStatus, Value

SECOND = 1_000_000_000
T0 = 1_800_000_000 * SECOND
SCOPE = Scope("shop.agents", "1")
RESOURCE = Resource({"service.name": "shop", "host.name": "here", "process.pid": 77})


def span(trace: int, number: int, parent: int, second: float, **attributes: Value) -> Span:
    start = T0 + int(second * SECOND)
    named = {name.replace("__", "."): value for name, value in attributes.items()}
    return Span(
        trace_id=f"{trace:032x}",
        span_id=f"{number:016x}",
        parent_id=f"{parent:016x}" if parent else "",
        name=str(named["gen_ai.operation.name"]),
        kind=1,
        start=start,
        end=start + SECOND,
        status=SpanStatus.UNSET,
        status_message="",
        attributes=named,
        events=(),
        scope=SCOPE,
        resource=RESOURCE,
    )


def turn(trace: int, steps: int = 3) -> list[Span]:
    """Children before their parent, as exporters send them: requests, a tool call after each but the last, and the agent."""
    records: list[Span] = []
    for step in range(1, steps + 1):
        finish = ("stop",) if step == steps else ("tool_call",)
        records.append(
            span(
                trace,
                10 * step,
                1,
                2 * step,
                gen_ai__operation__name="chat",
                gen_ai__request__model="gpt-5",
                gen_ai__provider__name="openai",
                gen_ai__response__id=f"response-{trace}-{step}",
                gen_ai__response__finish_reasons=finish,
                gen_ai__usage__input_tokens=100,
                gen_ai__usage__output_tokens=10 * step,
            )
        )
        if step < steps:
            records.append(
                span(
                    trace,
                    10 * step + 1,
                    1,
                    2 * step + 1,
                    gen_ai__operation__name="execute_tool",
                    gen_ai__tool__name="search",
                )
            )
    head = span(trace, 1, 0, 1, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="support")
    return [*records, replace(head, end=T0 + (2 * steps + 2) * SECOND)]


def nested(trace: int) -> list[Span]:
    """A turn below spans that nobody has a fact from: its requests hang from a wrapper, and a sub-agent from another below a tool call."""
    head, *_ = (one for one in turn(trace) if one.span_id == f"{1:016x}")
    wrapper = replace(span(trace, 2, 1, 1, gen_ai__operation__name="wrap"), attributes={})
    called = span(trace, 70, 2, 3, gen_ai__operation__name="execute_tool", gen_ai__tool__name="delegate")
    inner = replace(span(trace, 71, 70, 3, gen_ai__operation__name="wrap"), attributes={})
    below = [
        replace(one, parent_id=f"{2:016x}") for one in turn(trace) if one is not head and one.parent_id == head.span_id
    ]
    asked = span(
        trace,
        72,
        71,
        3.5,
        gen_ai__operation__name="chat",
        gen_ai__request__model="gpt-5",
        gen_ai__response__id=f"sub-{trace}",
    )
    return [asked, *below, inner, called, wrapper, head]


def request_of(spans: Iterable[Span]) -> bytes:
    """An OTLP/JSON body with these spans."""
    told = [
        {
            "traceId": one.trace_id,
            "spanId": one.span_id,
            "parentSpanId": one.parent_id,
            "name": one.name,
            "kind": one.kind,
            "startTimeUnixNano": str(one.start),
            "endTimeUnixNano": str(one.end),
            "attributes": [{"key": key, "value": _value(value)} for key, value in one.attributes.items()],
        }
        for one in spans
    ]
    resource = {"attributes": [{"key": key, "value": _value(value)} for key, value in RESOURCE.attributes.items()]}
    scoped = {"scope": {"name": SCOPE.name, "version": SCOPE.version}, "spans": told}
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [scoped]}]}).encode()


def _value(value: Value) -> dict[str, object]:
    match value:
        case str():
            return {"stringValue": value}
        case int():
            return {"intValue": str(value)}
        case tuple():
            return {"arrayValue": {"values": [_value(one) for one in value]}}
        case _:
            raise TypeError(value)
