"""Random turns of a small vocabulary, so that rules meet each other often, and random ways for their evidence to arrive."""

from dataclasses import fields, replace
from typing import Any

from hypothesis import strategies as st

from turnout.outcomes.facts import (
    AttemptEnd,
    CheckVerdict,
    Claim,
    FinishCheck,
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

SECOND = 1_000_000_000
FINISHES = (
    "stop",
    "tool-calls",
    "length",
    "content-filter",
    "error",
    "other",
    "max_tokens",
    "pause_turn",
    "never-seen",
)
PROVIDERS = ("anthropic", "openai", "azure", "vllm", "google", "no-such-lab")
REASONS = (
    "end_turn",
    "completed",
    "step_limit",
    "token_budget",
    "timeout",
    "user_stop",
    "aborted",
    "error",
    "stalled",
    "refusal",
    "guardrail",
    "max_tokens",
    "prompt_too_long",
    "handoff",
    "loop_detected",
    "who-knows",
)
MESSAGES = (
    "Agent stopped due to iteration limit",
    "prompt is too long: 3 tokens",
    "Request interrupted by user",
    "upstream said 429 Too Many Requests",
    "a secret that nobody may store",
)


def _maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


_instants = _maybe(st.integers(0, 9).map(lambda second: second * SECOND))
_counts = _maybe(st.integers(0, 40))
_flags = st.none() | st.booleans()
_usages = st.builds(
    Usage,
    input_tokens=_counts,
    output_tokens=_counts,
    cache_read_tokens=_counts,
    cache_write_tokens=_counts,
    reasoning_tokens=_counts,
)
_errors = st.builds(
    StepError,
    type=_maybe(st.sampled_from(("context_length_exceeded", "ReadTimeout", "AbortError", "odd"))),
    status=_maybe(st.sampled_from((400, 401, 429, 503))),
    message=_maybe(st.sampled_from(MESSAGES)),
    retryable=_flags,
)
_attempt_ends = st.builds(
    AttemptEnd,
    reason=_maybe(st.sampled_from(("refusal", "rate_limit"))),
    status=_maybe(st.sampled_from((429, 503))),
    at=_instants,
)
_calls = st.builds(
    ToolCall,
    id=st.sampled_from(("a", "b", "c")),
    name=_maybe(st.sampled_from(("look", "write"))),
    status=_maybe(st.sampled_from(ToolStatus)),
    final=_flags,
    arguments_valid=_flags,
    mutating=_flags,
    denied_by=_maybe(st.sampled_from(("user", "policy"))),
    started_at=_instants,
    ended_at=_instants,
)
_steps = st.builds(
    Step,
    index=st.integers(1, 3),
    message_id=st.sampled_from(("m1", "m2")),
    provider=_maybe(st.sampled_from(PROVIDERS)),
    started_at=_instants,
    ended_at=_instants,
    finish_reason=_maybe(st.sampled_from(FINISHES)),
    raw_finish_reason=_maybe(st.sampled_from(FINISHES)),
    refusal=_maybe(st.just(Refusal(explanation="a secret that nobody may store"))),
    stream_complete=_flags,
    forced_final=_flags,
    aborted=_flags,
    max_output_tokens=_maybe(st.integers(10, 30)),
    usage=_maybe(_usages),
    cost_usd=_maybe(st.sampled_from((0.25, 0.5))),
    cache_in_input=_flags,
    reasoning_in_output=_flags,
    output=_maybe(st.builds(Output, text_chars=_counts, parts=_counts, last_at=_instants)),
    attempts=_maybe(st.integers(1, 3)),
    attempt_ends=st.lists(_attempt_ends, max_size=2).map(tuple),
    error=_maybe(_errors),
    tool_calls=st.lists(_calls, max_size=3).map(tuple),
)
claims = st.builds(
    Claim,
    by=st.sampled_from(Layer),
    reason=_maybe(st.sampled_from(REASONS)),
    status=_maybe(st.sampled_from(("completed", "failed", "503", "ok"))),
    at=_instants,
    seq=_maybe(st.integers(1, 3)),
    error_type=_maybe(st.sampled_from(("rate_limit", "AbortError", "odd"))),
    message=_maybe(st.sampled_from(MESSAGES)),
    exit_code=_maybe(st.sampled_from((0, 1, 137, -15))),
)
_checks = st.builds(
    FinishCheck,
    step=_maybe(st.integers(1, 3)),
    verdict=st.sampled_from(CheckVerdict),
    by=st.just("hook"),
    why=_maybe(st.just("a secret that nobody may store")),
)
_stops = st.builds(
    StopRecord,
    mode=_maybe(st.sampled_from(StopMode)),
    reason=_maybe(st.sampled_from(("user_stop", "token_budget", "step_limit", "loop_detected", "guardrail"))),
    step=_maybe(st.integers(1, 3)),
    at=_instants,
    seq=_maybe(st.integers(1, 3)),
    by=_maybe(st.sampled_from(Requester)),
)
_limits = st.builds(
    Limits,
    steps=_maybe(st.integers(1, 3)),
    tool_calls=_maybe(st.integers(1, 4)),
    total_tokens=_maybe(st.integers(10, 200)),
    seconds=_maybe(st.sampled_from((3.0, 30.0))),
    cost_usd=_maybe(st.sampled_from((0.5, 5.0))),
)
turns = st.builds(
    TurnFacts,
    turn_id=st.just("t"),
    attended=_flags,
    started_at=_instants,
    ended_at=_instants,
    last_seen_at=_instants,
    open=_flags,
    limits=_maybe(_limits),
    steps=st.lists(_steps, max_size=4).map(tuple),
    finish_checks=st.lists(_checks, max_size=3).map(tuple),
    stop_requests=st.lists(_stops, max_size=2).map(tuple),
    yield_=_maybe(st.just(YieldRecord(reason="plan_handoff")) | st.just(YieldRecord())),
    claims=st.lists(claims, max_size=3).map(tuple),
    usage=_maybe(_usages),
    cost_usd=_maybe(st.just(0.5)),
    children_expected=st.lists(st.sampled_from(("x", "y")), max_size=2).map(tuple),
)
"""Turns in which most kinds of evidence meet."""

LISTS = ("steps", "finish_checks", "stop_requests", "claims", "children_expected")


@st.composite
def rearranged(draw: st.DrawFn, turn: TurnFacts) -> TurnFacts:
    """The same evidence in another order, some of it twice."""
    changes: dict[str, Any] = {}
    for name in LISTS:
        rows = [_calls_rearranged(draw, row) if isinstance(row, Step) else row for row in getattr(turn, name)]
        changes[name] = _shuffled(draw, rows)
    return replace(turn, **changes)


def _calls_rearranged(draw: st.DrawFn, step: Step) -> Step:
    return replace(
        step, tool_calls=_shuffled(draw, list(step.tool_calls)), attempt_ends=_shuffled(draw, list(step.attempt_ends))
    )


def _shuffled(draw: st.DrawFn, rows: list[Any]) -> tuple[Any, ...]:
    doubled = rows + (draw(st.lists(st.sampled_from(rows), max_size=2)) if rows else [])
    return tuple(draw(st.permutations(doubled)))


@st.composite
def halves(draw: st.DrawFn, turn: TurnFacts) -> tuple[TurnFacts, TurnFacts]:
    """The same evidence as two records of it: rows, and the keys of the turn, in the one, the other or both."""
    left: dict[str, Any] = {"turn_id": turn.turn_id}
    right: dict[str, Any] = {"turn_id": turn.turn_id}
    for field in fields(TurnFacts):
        value = getattr(turn, field.name)
        if field.name in LISTS:
            for row in value:
                for side in _sides(draw, left, right):
                    side[field.name] = (*side.get(field.name, ()), row)
        elif field.name != "turn_id":
            for side in _sides(draw, left, right):
                side[field.name] = value
    return TurnFacts(**left), TurnFacts(**right)


def _sides(draw: st.DrawFn, left: dict[str, Any], right: dict[str, Any]) -> list[dict[str, Any]]:
    return draw(st.sampled_from(([left], [right], [left, right])))


@st.composite
def torn(draw: st.DrawFn, step: Step) -> tuple[Step, Step]:
    """One row of a step as two rows that share its ids and its end, every other key in the one, the other or both."""
    kept = {"index", "message_id", "request_id", "ended_at", "attempt_ends", "tool_calls"}
    left: dict[str, Any] = {}
    right: dict[str, Any] = {}
    for field in fields(Step):
        sides = [left, right] if field.name in kept else _sides(draw, left, right)
        for side in sides:
            side[field.name] = getattr(step, field.name)
    return Step(**left), Step(**right)
