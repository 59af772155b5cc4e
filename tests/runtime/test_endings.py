"""Every ending of the loop: the reason that it decides, and that the classifier reads the same outcome from the facts.

Both from the facts that the loop keeps and from those that the product's own recorder emits.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from turnout.instrumentation.recorder import Recorder
from turnout.instrumentation.testing import MemorySink
from turnout.outcomes.classify import classify
from turnout.outcomes.decide import StopReason, StopRequest, TurnYield, YieldReason
from turnout.outcomes.facts import Limits, Requester, StopMode, TurnFacts, Usage
from turnout.outcomes.phrases import without_text
from turnout.outcomes.verdict import BudgetKind, Cause, Notice, Outcome
from turnout.runtime.hooks import Allow, Answer, Candidate, FinishHook, Veto
from turnout.runtime.scripted import (
    CallsTools,
    Drops,
    EndsWith,
    Filtered,
    Overflows,
    Pauses,
    Refuses,
    Rejects,
    RunsOut,
    Says,
    Scripted,
    ScriptedCall,
)
from turnout.runtime.tools import (
    Approval,
    Denied,
    PrerequisiteMissing,
    Tool,
    ToolContext,
    ToolOutput,
    ToolYield,
)
from turnout.runtime.turn import Turn

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

USAGE = Usage(input_tokens=100, output_tokens=20)
SOFT = StopRequest(StopMode.AFTER_STEP, StopReason.USER_STOP)
HARD = StopRequest(StopMode.IMMEDIATE, StopReason.USER_STOP)


async def _read(_: ToolContext) -> str:
    await asyncio.sleep(1)
    return "read"


async def _hand_off(_: ToolContext) -> ToolYield:
    return ToolYield(TurnYield(YieldReason.PLAN_HANDOFF), "Handed over.")


async def _locked(_: ToolContext) -> ToolOutput:
    raise PrerequisiteMissing("Read it first.")


async def _broken(_: ToolContext) -> ToolOutput:
    raise ValueError("no such file")


async def _nobody(_: Any) -> Approval:
    return None


async def _no(_: Any) -> Approval:
    return Denied(by="user")


TOOLS = (
    Tool(name="read", run=_read, mutating=False),
    Tool(name="hand_off", run=_hand_off, mutating=False),
    Tool(name="locked", run=_locked, mutating=False),
    Tool(name="broken", run=_broken, mutating=False),
    Tool(name="pick", run=None, mutating=False),
    Tool(name="pay", run=_read, mutating=True, approve=_nobody),
    Tool(name="delete", run=_read, mutating=True, approve=_no),
    Tool(name="answer", run=_read, mutating=False, final=True),
)


def hook(answer: Answer) -> FinishHook:
    async def check(_: Candidate) -> Answer:
        return answer

    return FinishHook("hook", check)


async def _raises(_: Candidate) -> Answer:
    raise RuntimeError("broken hook")


async def _slow(_: Candidate) -> Answer:
    await asyncio.sleep(10)
    return Allow()


def calls(*names: str, text: str = "") -> CallsTools:
    return CallsTools(calls=tuple(ScriptedCall(name) for name in names), text=text, seconds=1, usage=USAGE)


SAYS = Says(text="Done.", seconds=1, usage=USAGE)


def at(seconds: float, do: Callable[[Turn], Any]) -> Callable[[Turn], Awaitable[None]]:
    async def during(turn: Turn) -> None:
        if seconds:
            await asyncio.sleep(seconds)
        do(turn)

    return during


def _pause_for_good(turn: Turn) -> None:
    turn.pause()
    asyncio.get_running_loop().call_later(50, turn.stop, HARD)


@dataclass(frozen=True)
class Ending:
    script: list[Scripted]
    reason: str
    outcome: Outcome
    cause: Cause | None = None
    budget_kind: BudgetKind | None = None
    notice: Notice | None = None
    requests: int = 1
    limits: Limits = field(default_factory=Limits)
    hooks: tuple[FinishHook, ...] = ()
    during: Callable[[Turn], Awaitable[None]] | None = None
    provider: str = "openai"
    api: str | None = "chat.completions"


ENDINGS: dict[str, Ending] = {
    "answer": Ending([SAYS], "end_turn", Outcome.COMPLETED),
    "answer after tools": Ending([calls("read", "read"), SAYS], "end_turn", Outcome.COMPLETED, requests=2),
    "answer at the last step": Ending([SAYS], "end_turn", Outcome.COMPLETED, limits=Limits(steps=1)),
    "answer by an output tool": Ending([calls("answer")], "end_turn", Outcome.COMPLETED),
    "answer by an output tool at the last step": Ending(
        [calls("answer")], "end_turn", Outcome.COMPLETED, limits=Limits(steps=1)
    ),
    "tool error and then an answer": Ending([calls("broken"), SAYS], "end_turn", Outcome.COMPLETED, requests=2),
    "denied call and then an answer": Ending([calls("delete"), SAYS], "end_turn", Outcome.COMPLETED, requests=2),
    "answer that a hook allows": Ending([SAYS], "end_turn", Outcome.COMPLETED, hooks=(hook(Allow()),)),
    "answer whose hook is broken": Ending([SAYS], "end_turn", Outcome.COMPLETED, hooks=(FinishHook("b", _raises),)),
    "cut": Ending([RunsOut(text="Half", usage=USAGE)], "max_tokens", Outcome.LENGTH, notice=Notice.LENGTH),
    "cut at the last step": Ending(
        [RunsOut(text="Half", usage=USAGE)], "max_tokens", Outcome.LENGTH, limits=Limits(steps=1)
    ),
    "cut inside a call": Ending(
        [RunsOut(calls=(ScriptedCall("read", {"path": "abcdef"}, cut=True),), usage=USAGE)],
        "max_tokens",
        Outcome.LENGTH,
    ),
    "cut with a whole call": Ending(
        [RunsOut(calls=(ScriptedCall("read", {"path": "abcdef"}),), usage=USAGE)], "max_tokens", Outcome.LENGTH
    ),
    "cut and vetoed at the last step": Ending(
        [RunsOut(text="Half", usage=USAGE)],
        "max_tokens",
        Outcome.LENGTH,
        limits=Limits(steps=1),
        hooks=(hook(Veto("No.")),),
    ),
    "cut, vetoed and then answered": Ending(
        [RunsOut(text="Half", usage=USAGE), RunsOut(text="Half", usage=USAGE)],
        "max_tokens",
        Outcome.LENGTH,
        requests=2,
        limits=Limits(steps=2),
        hooks=(hook(Veto("No.")),),
    ),
    "refused with output": Ending(
        [Refuses(text="I cannot.", usage=USAGE)],
        "refusal",
        Outcome.REFUSED,
        Cause.PROVIDER_REFUSAL,
        notice=Notice.REFUSED,
    ),
    "refused without output": Ending(
        [Refuses(category="cyber", usage=USAGE)],
        "refusal",
        Outcome.REFUSED,
        Cause.PROVIDER_REFUSAL,
        provider="anthropic",
        api="messages",
    ),
    "refused inside a call": Ending(
        [Refuses(calls=(ScriptedCall("delete", {"path": "x"}, cut=True),), usage=USAGE)],
        "refusal",
        Outcome.REFUSED,
        provider="anthropic",
        api="messages",
    ),
    "refused, with a hook that vetoes": Ending(
        [Refuses(text="I cannot.", usage=USAGE), SAYS], "refusal", Outcome.REFUSED, hooks=(hook(Veto("Try.")),)
    ),
    "refused, with a message waiting": Ending(
        [Refuses(text="I cannot.", usage=USAGE, seconds=2), SAYS],
        "refusal",
        Outcome.REFUSED,
        during=at(1, lambda turn: turn.steer("Please.")),
    ),
    "refused under a soft stop": Ending(
        [Refuses(text="I cannot.", usage=USAGE, seconds=2)],
        "refusal",
        Outcome.REFUSED,
        during=at(1, lambda turn: turn.stop(SOFT)),
    ),
    "refused, and stopped while a hook is asked": Ending(
        [Refuses(text="I cannot.", usage=USAGE)],
        "refusal",
        Outcome.REFUSED,
        hooks=(FinishHook("slow", _slow),),
        during=at(3, lambda turn: turn.stop(HARD)),
    ),
    "filtered": Ending([Filtered(text="Well,", usage=USAGE)], "content_filter", Outcome.REFUSED, Cause.CONTENT_FILTER),
    "overflow rejected": Ending(
        [Overflows()], "context_budget_exhausted", Outcome.CONTEXT_OVERFLOW, Cause.CONTEXT_REJECTED
    ),
    "overflow as a finish": Ending(
        [Overflows(as_finish=True, usage=USAGE, text="Half")],
        "context_budget_exhausted",
        Outcome.CONTEXT_OVERFLOW,
        provider="anthropic",
        api="messages",
    ),
    "rate limited for good": Ending(
        [Rejects(status=429)] * 3, "error", Outcome.ERROR, Cause.RATE_LIMIT, requests=3, notice=Notice.ERROR
    ),
    "unavailable for good": Ending(
        [Rejects(status=529)] * 3, "error", Outcome.ERROR, Cause.PROVIDER_UNAVAILABLE, requests=3
    ),
    "not let in": Ending([Rejects(status=401)], "error", Outcome.ERROR, Cause.AUTH),
    "rate limited and then answered": Ending(
        [Rejects(status=429, retry_after=1), SAYS], "end_turn", Outcome.COMPLETED, requests=2
    ),
    "dropped with output": Ending([Drops(text="Hal")], "error", Outcome.ERROR, Cause.STREAM_TRUNCATED),
    "dropped without output": Ending([Drops()] * 3, "error", Outcome.ERROR, Cause.STREAM_TRUNCATED, requests=3),
    "dropped and then answered": Ending([Drops(), SAYS], "end_turn", Outcome.COMPLETED, requests=2),
    "empty": Ending([Says(usage=USAGE)], "error", Outcome.ERROR, Cause.EMPTY_RESPONSE),
    "unlisted finish value": Ending(
        [EndsWith(raw_finish_reason="surprise", text="Well.", usage=USAGE)],
        "unknown",
        Outcome.UNKNOWN,
        Cause.UNKNOWN_FINISH_REASON,
    ),
    "no finish value": Ending(
        [EndsWith(raw_finish_reason=None, text="Well.", usage=USAGE)], "unknown", Outcome.UNKNOWN
    ),
    "malformed call": Ending(
        [EndsWith(raw_finish_reason="MALFORMED_FUNCTION_CALL", usage=USAGE)],
        "error",
        Outcome.ERROR,
        Cause.MALFORMED_TOOL_CALL,
        provider="google",
        api=None,
    ),
    "step limit": Ending(
        [calls("read")],
        "step_limit",
        Outcome.BUDGET,
        budget_kind=BudgetKind.STEPS,
        limits=Limits(steps=1),
        notice=Notice.BUDGET,
    ),
    "step limit at a provider's pause": Ending(
        [Pauses(text="Hm.", usage=USAGE)],
        "step_limit",
        Outcome.BUDGET,
        budget_kind=BudgetKind.STEPS,
        limits=Limits(steps=1),
        provider="anthropic",
        api="messages",
    ),
    "no step allowed": Ending(
        [SAYS], "step_limit", Outcome.BUDGET, budget_kind=BudgetKind.STEPS, limits=Limits(steps=0), requests=0
    ),
    "tool call limit": Ending(
        [calls("read", "read")],
        "tool_calls_limit",
        Outcome.BUDGET,
        budget_kind=BudgetKind.TOOL_CALLS,
        limits=Limits(tool_calls=2),
    ),
    "tool call limit inside a step": Ending(
        [calls("read", "read", "read")],
        "tool_calls_limit",
        Outcome.BUDGET,
        budget_kind=BudgetKind.TOOL_CALLS,
        limits=Limits(tool_calls=2),
    ),
    "token budget": Ending(
        [calls("read")],
        "token_budget",
        Outcome.BUDGET,
        budget_kind=BudgetKind.TOKENS,
        limits=Limits(total_tokens=120),
    ),
    "cost": Ending(
        [CallsTools(calls=(ScriptedCall("read"),), usage=USAGE, cost_usd=0.5)],
        "exit_cost",
        Outcome.BUDGET,
        budget_kind=BudgetKind.COST,
        limits=Limits(cost_usd=0.5),
    ),
    "time during a tool": Ending(
        [calls("read")],
        "time_budget",
        Outcome.BUDGET,
        budget_kind=BudgetKind.TIME,
        limits=Limits(seconds=1.5),
    ),
    "time during a request": Ending(
        [Says(text="Slowly", seconds=60, usage=USAGE)],
        "time_budget",
        Outcome.BUDGET,
        budget_kind=BudgetKind.TIME,
        limits=Limits(seconds=30),
    ),
    "time during a retry wait": Ending(
        [Rejects(status=429, retry_after=20)],
        "time_budget",
        Outcome.BUDGET,
        budget_kind=BudgetKind.TIME,
        limits=Limits(seconds=10),
    ),
    "veto at the last step": Ending(
        [SAYS],
        "step_limit",
        Outcome.BUDGET,
        Cause.FINISH_VETO,
        BudgetKind.STEPS,
        limits=Limits(steps=1),
        hooks=(hook(Veto("No.")),),
    ),
    "veto to the last step": Ending(
        [SAYS, SAYS, SAYS],
        "step_limit",
        Outcome.BUDGET,
        Cause.FINISH_VETO,
        BudgetKind.STEPS,
        requests=3,
        limits=Limits(steps=3),
        hooks=(hook(Allow()), hook(Veto("No."))),
    ),
    "plan hand-off": Ending([calls("hand_off")], "plan_handoff", Outcome.YIELDED),
    "hand-off at the last step": Ending([calls("hand_off")], "plan_handoff", Outcome.YIELDED, limits=Limits(steps=1)),
    "hand-off under a soft stop": Ending(
        [calls("hand_off", "read")],
        "plan_handoff",
        Outcome.YIELDED,
        during=at(1.5, lambda turn: turn.stop(SOFT)),
    ),
    "waiting for an approval": Ending([calls("pay")], "permission_handoff", Outcome.YIELDED),
    "waiting for the client": Ending([calls("pick", "read")], "handoff", Outcome.YIELDED),
    "soft stop during tools": Ending(
        [calls("read")],
        "user_stop",
        Outcome.STOPPED,
        Cause.STOPPED_BY_USER,
        during=at(1.5, lambda turn: turn.stop(SOFT)),
        notice=Notice.STOPPED,
    ),
    "soft stop during tools at the last step": Ending(
        [calls("read")],
        "user_stop",
        Outcome.STOPPED,
        limits=Limits(steps=1),
        during=at(1.5, lambda turn: turn.stop(SOFT)),
    ),
    "hard stop during tools at the last step": Ending(
        [calls("read")],
        "user_stop",
        Outcome.STOPPED,
        limits=Limits(steps=1),
        during=at(1.5, lambda turn: turn.stop(HARD)),
    ),
    "soft stop during the answer": Ending(
        [SAYS], "end_turn", Outcome.COMPLETED, during=at(0.5, lambda turn: turn.stop(SOFT))
    ),
    "soft stop with a veto": Ending(
        [SAYS],
        "user_stop",
        Outcome.STOPPED,
        hooks=(hook(Veto("No.")),),
        during=at(0.5, lambda turn: turn.stop(SOFT)),
    ),
    "soft stop with a message waiting": Ending(
        [SAYS],
        "user_stop",
        Outcome.STOPPED,
        during=at(0.5, lambda turn: (turn.steer("And then?"), turn.stop(SOFT))),
    ),
    "soft stop during a retry wait": Ending(
        [Rejects(status=429, retry_after=20)],
        "user_stop",
        Outcome.STOPPED,
        during=at(5, lambda turn: turn.stop(SOFT)),
    ),
    "hard stop before anything": Ending(
        [SAYS], "user_stop", Outcome.STOPPED, requests=0, during=at(0, lambda turn: turn.stop(HARD))
    ),
    "hard stop during a request": Ending(
        [SAYS], "user_stop", Outcome.STOPPED, Cause.STOPPED_BY_USER, during=at(0.5, lambda turn: turn.stop(HARD))
    ),
    "hard stop during tools": Ending(
        [calls("read")], "user_stop", Outcome.STOPPED, during=at(1.5, lambda turn: turn.stop(HARD))
    ),
    "hard stop by the host": Ending(
        [SAYS],
        "aborted",
        Outcome.STOPPED,
        Cause.STOPPED_BY_HOST,
        during=at(0.5, lambda turn: turn.stop(StopRequest(StopMode.IMMEDIATE, StopReason.ABORTED), Requester.HOST)),
    ),
    "hard stop of a paused turn": Ending(
        [calls("read")],
        "user_stop",
        Outcome.STOPPED,
        during=at(1.5, _pause_for_good),
    ),
    "missing prerequisite at the last step": Ending(
        [calls("locked")], "prerequisite_miss", Outcome.ERROR, limits=Limits(steps=1)
    ),
    "missing prerequisite and then an answer": Ending(
        [calls("locked"), SAYS], "end_turn", Outcome.COMPLETED, requests=2
    ),
    "steering at the last step": Ending(
        [SAYS],
        "end_turn",
        Outcome.COMPLETED,
        limits=Limits(steps=1),
        during=at(0.5, lambda turn: turn.steer("And then?")),
    ),
    "steering": Ending(
        [SAYS, SAYS], "end_turn", Outcome.COMPLETED, requests=2, during=at(0.5, lambda turn: turn.steer("And then?"))
    ),
}


@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
def test_the_decided_reason_is_the_outcome_of_the_facts(ending: Ending, stage: "Stage") -> None:
    """The loop's reason, the verdict of its facts and the verdict of the emitted facts agree."""
    sink = MemorySink()
    result = stage.play(
        ending.script,
        limits=ending.limits,
        tools=TOOLS,
        finish_hooks=ending.hooks,
        during=ending.during,
        provider=ending.provider,
        api=ending.api,
        recorder=Recorder(sink, clock=stage.clock.now),
    )
    assert result.decision.reason == ending.reason
    assert len(stage.model.requests) == ending.requests
    verdict = classify(result.facts)
    assert verdict.outcome is ending.outcome
    assert verdict.budget_kind is ending.budget_kind
    assert ending.cause is None or verdict.cause is ending.cause
    assert ending.notice is None or verdict.notice is ending.notice
    assert verdict.conflicts == ()
    assert sink.verdicts == [classify(result.log.facts)]


@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
def test_the_recorder_is_told_what_the_loop_keeps(ending: Ending, stage: "Stage") -> None:
    """Steps, calls, stops, checks, the yield and the claim arrive in the record as they are, at the same instants."""
    sink = MemorySink(traces=False)
    result = stage.play(
        ending.script,
        limits=ending.limits,
        tools=TOOLS,
        finish_hooks=ending.hooks,
        during=ending.during,
        provider=ending.provider,
        api=ending.api,
        recorder=Recorder(sink, clock=stage.clock.now),
    )
    kept = replace(without_text(result.log.facts), source="turnout", open=None)
    assert [told_when_retried(facts) for facts in sink.turns] == [told_when_retried(kept)]


def told_when_retried(facts: TurnFacts) -> TurnFacts:
    """Without the instants of failed attempts: a recorder hears of one only when the next one goes out."""
    steps = tuple(
        replace(step, attempt_ends=tuple(replace(end, at=None) for end in step.attempt_ends)) for step in facts.steps
    )
    return replace(facts, steps=steps)


def test_every_reason_has_an_ending() -> None:
    """No reason of the decision is left without a turn that ends with it."""
    from turnout.outcomes.decide import BudgetReason, FailReason, Finish

    reached = {ending.reason for ending in ENDINGS.values()}
    known = {str(reason) for kind in (Finish, BudgetReason, FailReason) for reason in kind}
    assert known - reached == set()
