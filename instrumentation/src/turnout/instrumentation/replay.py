"""Emit turns that are known already, as if they happened now: for histories, demonstrations and tests of receivers."""

import random
import re

from opentelemetry.trace import SpanContext, TraceFlags

from turnout.instrumentation import attributes as names
from turnout.instrumentation.known import known_turn
from turnout.instrumentation.sink import EndedCall, EndedStep, EndedTurn, OpenTurn, Place, Sink
from turnout.outcomes.facts import TurnFacts
from turnout.outcomes.phrases import without_text

_TRACE_ID = re.compile(r"[0-9a-f]{32}")


def replay(turn: TurnFacts, sink: Sink, *, ids: random.Random | None = None) -> None:
    """Emit a turn's start, steps, tool calls and end through a sink, free of text, with the instants of the facts.

    The facts are emitted as they are, but for a source where none is recorded: ours. Spans are given the turn's trace id, or a
    random one; ``ids`` makes the random ones repeatable.
    """
    draw = ids or random.SystemRandom()
    known = known_turn(without_text(turn))
    known.turn.setdefault("source", names.SCOPE)
    place = Place(_context(draw, _trace_id(turn, draw)), None)
    opened = OpenTurn(known, place)
    sink.turn_started(opened)
    for step, calls in known.steps if sink.traces else ():
        sink.step_ended(opened, EndedStep(step, calls, _under(place, draw)))
        for call in calls:
            sink.tool_ended(opened, EndedCall(call, step.get("index"), _under(place, draw)))
    sink.turn_ended(EndedTurn(known, place))


def _trace_id(facts: TurnFacts, draw: random.Random) -> int:
    if facts.trace_id is not None and _TRACE_ID.fullmatch(facts.trace_id) and int(facts.trace_id, 16):
        return int(facts.trace_id, 16)
    return draw.getrandbits(128) or 1


def _context(draw: random.Random, trace_id: int) -> SpanContext:
    return SpanContext(trace_id, draw.getrandbits(64) or 1, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _under(place: Place, draw: random.Random) -> Place:
    return Place(_context(draw, place.context.trace_id), place.context)
