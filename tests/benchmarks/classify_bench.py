"""How many turns a second one core classifies: turns of 6 steps and 5 tool calls, already decoded."""

import json
import time
from collections.abc import Iterator

from turnout.outcomes.classify import classify
from turnout.outcomes.facts import Claim, Layer, Limits, Output, Step, ToolCall, ToolStatus, TurnFacts, Usage
from turnout.outcomes.record import turn_record

NAMES = ("classify_turns_per_s",)
TURNS = 4000
STEPS = 6


def turn(number: int) -> TurnFacts:
    """A turn that works for five steps and answers in the sixth."""
    return TurnFacts(
        turn_id=f"turn-{number}",
        attended=True,
        limits=Limits(steps=30),
        steps=tuple(step(number, index) for index in range(1, STEPS + 1)),
        claims=(Claim(by=Layer.RUNTIME, reason="end_turn"),),
    )


def step(number: int, index: int) -> Step:
    """A step with one settled tool call, or the answer."""
    last = index == STEPS
    call = ToolCall(id=f"call-{number}-{index}", name="search", status=ToolStatus.OK)
    return Step(
        index=index,
        message_id=f"message-{number}-{index}",
        provider="anthropic",
        model="claude-sonnet-4-5",
        finish_reason="stop" if last else "tool-calls",
        raw_finish_reason="end_turn" if last else "tool_use",
        usage=Usage(input_tokens=1000 * index, output_tokens=80),
        output=Output(text_chars=400 if last else 0, parts=1),
        tool_calls=() if last else (call,),
    )


def figures() -> Iterator[dict[str, object]]:
    """Turns a second; the limit is the encoding of the same turns by the standard library's JSON."""
    turns = [turn(number) for number in range(TURNS)]
    rate = TURNS / spent(lambda: [classify(one) for one in turns])
    records = [turn_record(one) for one in turns]
    limit = TURNS / spent(lambda: [json.dumps(one) for one in records])
    yield {
        "name": "classify_turns_per_s",
        "value": round(rate),
        "unit": "turns/s",
        "limit": round(limit),
        "ratio": round(rate / limit, 3),
    }


def spent(work: object) -> float:
    """The best of three runs, in seconds: the others only show what else the machine did."""
    assert callable(work)
    best = float("inf")
    for _ in range(3):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best
