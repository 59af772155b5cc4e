"""Drawn turns of a small company: four agents, three models, every outcome, and an incident in the last hour.

The same seed and clock give the same turns. The incident: since the last hour, version 2.4.0 of the coder runs its tests in vain
until its step limit is spent.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random
from typing import Any, TypeAlias

from turnout.outcomes.facts import (
    Claim,
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
HOUR = 3600 * SECOND
DAY = 24 * HOUR


@dataclass(frozen=True)
class Model:
    """A model and how its provider spells the ends of a request."""

    name: str
    provider: str
    api: str
    stop: str
    tools: str
    length: str
    refusal: str
    category: str | None
    cap: int


MODELS = (
    Model("claude-sonnet-5", "anthropic", "messages", "end_turn", "tool_use", "max_tokens", "refusal", "cyber", 8192),
    Model(
        "gpt-5-mini", "openai", "chat.completions", "stop", "tool_calls", "length", "content_filter", "violence", 4096
    ),
    Model("gemini-3-flash", "google", "finish_reason", "STOP", "STOP", "MAX_TOKENS", "SAFETY", None, 2048),
)


@dataclass(frozen=True)
class Agent:
    """An agent of the company."""

    name: str
    service: str
    versions: tuple[str, ...]
    attended: bool | None
    limits: tuple[int | None, ...]
    tools: tuple[str, ...]
    source: str
    models: tuple[int, ...]


def _agent(name: str, service: str, versions: tuple[str, ...], tools: tuple[str, ...], **more: Any) -> Agent:
    return Agent(name=name, service=service, versions=versions, tools=tools, **more)


AGENTS = (
    _agent(
        "coder",
        "ide",
        ("2.3.1",),
        ("read_file", "edit_file", "run_tests"),
        attended=True,
        limits=(30, 50),
        source="own",
        models=(0, 1),
    ),
    _agent(
        "checkout-help",
        "shop",
        ("7.0.2", "7.1.0"),
        ("find_order", "refund", "search_docs"),
        attended=True,
        limits=(12,),
        source="own",
        models=(1, 2),
    ),
    _agent(
        "nightly-triage",
        "ops",
        ("0.9.4",),
        ("read_log", "open_ticket"),
        attended=False,
        limits=(20,),
        source="openinference",
        models=(0, 2),
    ),
    _agent(
        "research",
        "lab",
        ("1.0.0",),
        ("search_web", "read_page"),
        attended=None,
        limits=(None,),
        source="gen_ai",
        models=(0, 1, 2),
    ),
)

OUTCOMES = (
    ("completed", 78.0),
    ("yielded", 4.0),
    ("budget", 3.5),
    ("length", 3.0),
    ("context_overflow", 1.0),
    ("refused", 2.5),
    ("stopped", 3.0),
    ("interrupted", 1.5),
    ("error", 2.5),
    ("unknown", 1.0),
)


def synthetic_turns(now: datetime, count: int = 3000, seed: int = 7, days: int = 14) -> Iterator[TurnFacts]:
    """Yield turns that end before ``now``, oldest first; a twelfth of them in the last two hours."""
    rng = Random(seed)
    end = int(now.timestamp()) * SECOND
    recent = count // 12
    ages = [rng.uniform(2 * HOUR, days * DAY) for _ in range(count - recent)]
    ages += [rng.uniform(0.002 * HOUR, 2 * HOUR) for _ in range(recent)]
    cut: list[TurnFacts] = []
    for number, age in enumerate(sorted(ages, reverse=True)):
        turn = _turn(rng, number, end - int(age), incident=age < HOUR)
        if turn.attended and cut and rng.random() < 0.1:
            earlier = cut.pop()
            turn = replace(turn, continues_turn_id=earlier.turn_id, conversation_id=earlier.conversation_id)
        last = turn.steps[-1]
        spent = turn.limits is not None and len(turn.steps) == turn.limits.steps
        at_cap = last.usage is not None and last.usage.output_tokens == last.max_output_tokens
        if turn.attended and (spent or at_cap):
            cut.append(turn)
        yield turn


def _turn(rng: Random, number: int, started: int, *, incident: bool) -> TurnFacts:
    agent = rng.choices(AGENTS, weights=(5, 6, 2, 3))[0]
    model = MODELS[rng.choice(agent.models)]
    version = rng.choice(agent.versions)
    outcome = rng.choices([name for name, _ in OUTCOMES], weights=[weight for _, weight in OUTCOMES])[0]
    limit = rng.choice(agent.limits)
    tool: str | None = None
    if incident and agent.name == "coder":
        version = "2.4.0"
        if rng.random() < 0.6:
            outcome, tool = "budget", "run_tests"
    if outcome == "budget" and limit is None:
        outcome = "completed"
    steps = limit if outcome == "budget" and limit else min(1 + int(rng.expovariate(0.28)), (limit or 40) - 1)
    base = TurnFacts(
        turn_id=f"turn-{number:05d}",
        conversation_id=f"conversation-{number // 3:05d}",
        service=agent.service,
        environment="production" if rng.random() < 0.9 else "staging",
        agent=agent.name,
        agent_version=version,
        source=agent.source,
        attended=agent.attended,
        started_at=started,
        limits=None if limit is None else Limits(steps=limit),
    )
    turn = _with_steps(rng, base, agent, model, max(1, steps), tool)
    return SCENES[outcome](rng, turn, model)


def _with_steps(rng: Random, turn: TurnFacts, agent: Agent, model: Model, count: int, tool: str | None) -> TurnFacts:
    at = turn.started_at or 0
    steps: list[Step] = []
    for index in range(1, count + 1):
        spent = int(rng.uniform(0.4, 1.6) * SECOND)
        calls = _calls(rng, tool or rng.choice(agent.tools), at + spent, failing=tool is not None)
        steps.append(
            Step(
                index=index,
                request_id=f"{turn.turn_id}-{index}",
                provider=model.provider,
                api=model.api,
                model=model.name,
                started_at=at,
                ended_at=at + spent,
                raw_finish_reason=model.tools,
                stream_complete=True,
                max_output_tokens=model.cap,
                usage=_usage(rng, index, min(int(rng.expovariate(1 / 500)) + 20, model.cap - 1)),
                cost_usd=round(rng.uniform(0.001, 0.01), 5),
                output=Output(text_chars=rng.randrange(0, 400), parts=1),
                tool_calls=calls,
            )
        )
        at += spent + int(0.3 * SECOND)
    return replace(turn, steps=tuple(steps), ended_at=at, last_seen_at=at)


def _calls(rng: Random, name: str, at: int, *, failing: bool) -> tuple[ToolCall, ...]:
    status = ToolStatus.ERROR if failing or rng.random() < 0.04 else ToolStatus.OK
    error = "exit_status" if status is ToolStatus.ERROR else None
    call = ToolCall(
        id=f"call-{at}",
        name=name,
        status=status,
        arguments_valid=True,
        mutating=name in {"edit_file", "refund", "open_ticket"},
        error_type=error,
        started_at=at,
        ended_at=at + int(0.2 * SECOND),
    )
    return (call,)


def _usage(rng: Random, index: int, output: int) -> Usage:
    return Usage(input_tokens=1500 + 400 * index + rng.randrange(300), output_tokens=output)


Scene: TypeAlias = Callable[[Random, TurnFacts, Model], TurnFacts]


def _last(turn: TurnFacts, **changes: Any) -> TurnFacts:
    return replace(turn, steps=(*turn.steps[:-1], replace(turn.steps[-1], **changes)))


def _claim(turn: TurnFacts, reason: str) -> TurnFacts:
    return replace(turn, claims=(Claim(by=Layer.RUNTIME, reason=reason, at=turn.ended_at),))


def _completed(rng: Random, turn: TurnFacts, model: Model) -> TurnFacts:
    text = Output(text_chars=rng.randrange(80, 2500), parts=1)
    if len(turn.steps) > 2 and rng.random() < 0.03:
        turn = _cut_on_the_way(rng, turn, model)
    return _claim(_last(turn, raw_finish_reason=model.stop, tool_calls=(), output=text), "end_turn")


def _cut_on_the_way(rng: Random, turn: TurnFacts, model: Model) -> TurnFacts:
    first = replace(turn.steps[0], raw_finish_reason=model.length, tool_calls=(), usage=_usage(rng, 1, model.cap))
    return replace(turn, steps=(first, *turn.steps[1:]))


def _yielded(rng: Random, turn: TurnFacts, model: Model) -> TurnFacts:
    del rng, model
    return replace(turn, yield_=YieldRecord(reason="permission_handoff"))


def _budget(rng: Random, turn: TurnFacts, model: Model) -> TurnFacts:
    del rng, model
    return _claim(turn, "step_limit")


def _length(rng: Random, turn: TurnFacts, model: Model) -> TurnFacts:
    usage = _usage(rng, len(turn.steps), model.cap)
    calls = turn.steps[-1].tool_calls if rng.random() < 0.3 else ()
    cut = tuple(replace(call, status=ToolStatus.STREAMING, arguments_valid=False, ended_at=None) for call in calls)
    return _last(turn, raw_finish_reason=model.length, tool_calls=cut, usage=usage)


def _context_overflow(rng: Random, turn: TurnFacts, model: Model) -> TurnFacts:
    del rng, model
    error = StepError(type="context_length_exceeded", status=400, retryable=False)
    return _claim(_last(turn, raw_finish_reason=None, tool_calls=(), error=error, usage=None), "prompt_too_long")


def _refused(rng: Random, turn: TurnFacts, model: Model) -> TurnFacts:
    shown = Output(text_chars=rng.choice((0, 0, 60)), parts=0)
    refusal = Refusal(category=model.category)
    return _last(turn, raw_finish_reason=model.refusal, tool_calls=(), refusal=refusal, output=shown)


def _stopped(rng: Random, turn: TurnFacts, model: Model) -> TurnFacts:
    del rng, model
    pressed = (turn.steps[-1].started_at or 0) + SECOND // 5
    stop = StopRecord(mode=StopMode.IMMEDIATE, reason="user_stop", at=pressed, by=Requester.USER)
    cut = _last(turn, raw_finish_reason=None, aborted=True, tool_calls=(), output=None, usage=None, ended_at=pressed)
    return replace(cut, stop_requests=(stop,), ended_at=pressed, last_seen_at=pressed)


def _interrupted(rng: Random, turn: TurnFacts, model: Model) -> TurnFacts:
    del rng, model
    running = replace(turn.steps[-1].tool_calls[0], status=ToolStatus.RUNNING, ended_at=None)
    return replace(_last(turn, tool_calls=(running,)), open=True, ended_at=None)


def _error(rng: Random, turn: TurnFacts, model: Model) -> TurnFacts:
    del model
    kind, status = rng.choice((("rate_limit", 429), ("overloaded", 529), ("authentication", 401)))
    error = StepError(type=kind, status=status, retryable=status != 401)
    return _claim(_last(turn, raw_finish_reason=None, tool_calls=(), error=error, usage=None), "error")


def _unknown(rng: Random, turn: TurnFacts, model: Model) -> TurnFacts:
    del rng, model
    return _last(turn, raw_finish_reason=None, tool_calls=())


SCENES: dict[str, Scene] = {
    "completed": _completed,
    "yielded": _yielded,
    "budget": _budget,
    "length": _length,
    "context_overflow": _context_overflow,
    "refused": _refused,
    "stopped": _stopped,
    "interrupted": _interrupted,
    "error": _error,
    "unknown": _unknown,
}
