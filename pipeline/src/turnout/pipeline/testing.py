"""Turns of every outcome, and a small lake whose figures can be counted by hand: for tests of whatever stands on a lake."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from turnout.outcomes.facts import (
    Claim,
    Instant,
    Layer,
    Limits,
    Output,
    Refusal,
    Requester,
    Step,
    StepError,
    StopMode,
    StopRecord,
    ToolCall,
    ToolStatus,
    TurnFacts,
    Usage,
    YieldRecord,
)
from turnout.outcomes.verdict import Outcome
from turnout.pipeline.lake import Lake
from turnout.pipeline.rows import ClassifiedTurn, classified

SECOND: Final = 1_000_000_000
HOUR: Final = 3600 * SECOND
NOON: Final = 1_767_614_400 * SECOND
"""2026-01-05T12:00:00Z, when the turns of a test start if they do not say."""

CAP: Final = 1000
"""The cap of output tokens of every call made here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """What a test cares about in a turn; the rest follows from the outcome."""

    turn_id: str
    outcome: Outcome = Outcome.COMPLETED
    at: Instant = NOON
    agent: str | None = "coder"
    agent_version: str | None = "1"
    model: str | None = "claude-a"
    provider: str | None = "anthropic"
    source: str | None = "own"
    service: str | None = "shop"
    environment: str | None = "prod"
    attended: bool | None = True
    steps: int = 2
    limit_steps: int | None = 10
    tool: str | None = "bash"
    refusal_category: str | None = None
    root: str | None = None
    continues: str | None = None
    conversation: str | None = None
    user: str | None = None


def sketched(sketch: Sketch) -> TurnFacts:
    """The facts of a turn that ends as the sketch says."""
    ended = sketch.at + sketch.steps * SECOND
    facts = TurnFacts(
        turn_id=sketch.turn_id,
        root_turn_id=sketch.root,
        continues_turn_id=sketch.continues,
        conversation_id=sketch.conversation,
        user_id=sketch.user,
        service=sketch.service,
        environment=sketch.environment,
        agent=sketch.agent,
        agent_version=sketch.agent_version,
        source=sketch.source,
        attended=sketch.attended,
        started_at=sketch.at,
        ended_at=ended,
        limits=None if sketch.limit_steps is None else Limits(steps=sketch.limit_steps),
        steps=tuple(_step(sketch, index) for index in range(1, sketch.steps + 1)),
    )
    return _ended(facts, sketch, ended)


def stored(sketch: Sketch, received_at: Instant | None = None) -> ClassifiedTurn:
    """The turn of a sketch, ready to be written; received a second after its end where nothing is said."""
    facts = sketched(sketch)
    return classified(facts, sketch.at + (sketch.steps + 1) * SECOND if received_at is None else received_at)


def lake_of(root: str, sketches: Sequence[Sketch]) -> Lake:
    """A lake that holds these turns."""
    lake = Lake.open(root, clock=lambda: NOON)
    lake.write([stored(sketch) for sketch in sketches])
    return lake


EXAMPLE: Final = (
    Sketch(turn_id="t01"),
    Sketch(turn_id="t02", model="claude-b"),
    Sketch(turn_id="t03", agent="helper", tool="search", attended=False),
    Sketch(turn_id="t04", outcome=Outcome.BUDGET, steps=10),
    Sketch(turn_id="t05", outcome=Outcome.BUDGET, steps=10, attended=False, model="claude-b"),
    Sketch(turn_id="t06", outcome=Outcome.LENGTH),
    Sketch(turn_id="t07", outcome=Outcome.REFUSED, refusal_category="cyber", at=NOON + HOUR, conversation="c"),
    Sketch(
        turn_id="t08",
        outcome=Outcome.REFUSED,
        agent="helper",
        tool="search",
        at=NOON + HOUR + 60 * SECOND,
        conversation="c",
    ),
    Sketch(turn_id="t09", outcome=Outcome.ERROR, at=NOON + HOUR),
    Sketch(turn_id="t10", outcome=Outcome.STOPPED, at=NOON + HOUR),
    Sketch(turn_id="t11", outcome=Outcome.UNKNOWN, source="logs", limit_steps=None, attended=None, agent=None),
    Sketch(turn_id="t12", outcome=Outcome.CONTEXT_OVERFLOW, at=NOON + 24 * HOUR),
    Sketch(turn_id="t13", outcome=Outcome.YIELDED, at=NOON + 24 * HOUR),
    Sketch(turn_id="t14", outcome=Outcome.INTERRUPTED, at=NOON + 24 * HOUR),
    Sketch(turn_id="t14b", root="t14", at=NOON + 25 * HOUR),
    Sketch(turn_id="t15", continues="t04", at=NOON + 25 * HOUR),
)
"""Sixteen segments of fifteen turns over two days; ``t14`` died and was recovered as ``t14b``, ``t15`` continues ``t04``.

``t07`` and ``t08`` were refused in one conversation, one after the other.
"""


def _step(sketch: Sketch, index: int) -> Step:
    """A step that calls a tool, or the last one, which says that it is done."""
    last = index == sketch.steps
    started = sketch.at + (index - 1) * SECOND
    call = ToolCall(
        id=f"call-{index}",
        name=sketch.tool,
        status=ToolStatus.OK,
        mutating=False,
        started_at=started + SECOND // 2,
        ended_at=started + SECOND,
    )
    return Step(
        index=index,
        provider=sketch.provider,
        model=sketch.model,
        started_at=started,
        ended_at=started + SECOND,
        raw_finish_reason="end_turn" if last else "tool_use",
        stream_complete=True,
        max_output_tokens=CAP,
        usage=Usage(input_tokens=100, output_tokens=50, cache_read_tokens=20, cache_write_tokens=0, reasoning_tokens=0),
        cache_in_input=True,
        cost_usd=0.01,
        output=Output(text_chars=80, parts=1),
        tool_calls=() if last or sketch.tool is None else (call,),
    )


def _ended(facts: TurnFacts, sketch: Sketch, ended: Instant) -> TurnFacts:
    """The facts with the end that the sketch asks for."""
    last = facts.steps[-1]
    claim = _CLAIMS.get(sketch.outcome)
    changed = _with_last(facts, _LAST_STEPS.get(sketch.outcome, _as_it_is)(last, sketch))
    match sketch.outcome:
        case Outcome.YIELDED:
            changed = replace(changed, yield_=YieldRecord(reason="plan_handoff"))
        case Outcome.BUDGET:
            changed = replace(changed, limits=Limits(steps=len(facts.steps)))
        case Outcome.STOPPED:
            stop = StopRecord(mode=StopMode.IMMEDIATE, reason="user_stop", by=Requester.USER, at=ended)
            changed = replace(changed, stop_requests=(stop,))
        case Outcome.INTERRUPTED:
            changed = replace(changed, open=True, ended_at=None, last_seen_at=ended)
        case _:
            pass
    return changed if claim is None else replace(changed, claims=(Claim(by=Layer.RUNTIME, reason=claim, at=ended),))


def _as_it_is(step: Step, sketch: Sketch) -> Step:
    del sketch
    return step


def _working(step: Step, sketch: Sketch) -> Step:
    call = ToolCall(id=f"call-{step.index}", name=sketch.tool or "bash", status=ToolStatus.OK, mutating=False)
    return replace(step, raw_finish_reason="tool_use", tool_calls=(call,))


def _cut(step: Step, sketch: Sketch) -> Step:
    del sketch
    return replace(step, raw_finish_reason="max_tokens", usage=Usage(input_tokens=100, output_tokens=CAP))


def _overflown(step: Step, sketch: Sketch) -> Step:
    del sketch
    return replace(step, raw_finish_reason="model_context_window_exceeded")


def _refused(step: Step, sketch: Sketch) -> Step:
    refusal = Refusal(category=sketch.refusal_category)
    return replace(step, raw_finish_reason="refusal", refusal=refusal, output=Output(text_chars=0, parts=0))


def _aborted(step: Step, sketch: Sketch) -> Step:
    del sketch
    return replace(step, raw_finish_reason=None, stream_complete=False, aborted=True)


def _failed(step: Step, sketch: Sketch) -> Step:
    del sketch
    error = StepError(type="rate_limit_error", status=429)
    return replace(step, raw_finish_reason=None, stream_complete=False, error=error)


def _unheard(step: Step, sketch: Sketch) -> Step:
    del sketch
    return replace(step, raw_finish_reason=None, stream_complete=None)


_CLAIMS: Final[Mapping[Outcome, str]] = {
    Outcome.COMPLETED: "completed",
    Outcome.YIELDED: "plan_handoff",
    Outcome.BUDGET: "step_limit",
    Outcome.STOPPED: "user_stop",
    Outcome.ERROR: "error",
}
_LAST_STEPS: Final[Mapping[Outcome, Callable[[Step, Sketch], Step]]] = {
    Outcome.BUDGET: _working,
    Outcome.LENGTH: _cut,
    Outcome.CONTEXT_OVERFLOW: _overflown,
    Outcome.REFUSED: _refused,
    Outcome.STOPPED: _aborted,
    Outcome.INTERRUPTED: _unheard,
    Outcome.ERROR: _failed,
    Outcome.UNKNOWN: _unheard,
}


def _with_last(facts: TurnFacts, step: Step) -> TurnFacts:
    return replace(facts, steps=(*facts.steps[:-1], step))
