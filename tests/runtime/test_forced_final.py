"""The last step that a limit allows, asked for an answer without tools: what is sent, decided and recorded."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from turnout.instrumentation.recorder import Recorder
from turnout.instrumentation.testing import MemorySink
from turnout.outcomes.classify import classify
from turnout.outcomes.decide import BudgetReason, Finish, TerminalReason
from turnout.outcomes.facts import Limits, ToolStatus
from turnout.outcomes.verdict import BudgetKind, Cause, Outcome
from turnout.runtime.hooks import Allow, Answer, Candidate, FinishHook, Veto
from turnout.runtime.scripted import CallsTools, Refuses, Rejects, RunsOut, Says, Scripted, ScriptedCall
from turnout.runtime.turn import Turn

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

CALL = CallsTools(calls=(ScriptedCall("read", {"path": "a"}),), seconds=1)
SAY = Says(text="As far as I came.", seconds=1)


def hook(answer: Answer) -> FinishHook:
    async def check(_: Candidate) -> Answer:
        return answer

    return FinishHook("hook", check)


async def broken(_: Candidate) -> Answer:
    raise RuntimeError


@dataclass(frozen=True)
class Ending:
    script: list[Scripted]
    reason: TerminalReason
    outcome: Outcome
    hooks: tuple[FinishHook, ...] = ()
    cause: Cause | None = None


ENDINGS = {
    "an answer": Ending([CALL, SAY], BudgetReason.STEP_LIMIT, Outcome.BUDGET),
    "an answer that a hook allows": Ending([CALL, SAY], Finish.END_TURN, Outcome.COMPLETED, (hook(Allow()),)),
    "an answer that a hook vetoes": Ending(
        [CALL, SAY], BudgetReason.STEP_LIMIT, Outcome.BUDGET, (hook(Allow()), hook(Veto("No."))), Cause.FINISH_VETO
    ),
    "an answer that nobody could look at": Ending(
        [CALL, SAY], BudgetReason.STEP_LIMIT, Outcome.BUDGET, (FinishHook("broken", broken),)
    ),
    "a call all the same": Ending([CALL, CALL], BudgetReason.STEP_LIMIT, Outcome.BUDGET),
    "an answer that is cut": Ending([CALL, RunsOut(text="As f")], Finish.LENGTH, Outcome.LENGTH),
    "a refusal": Ending([CALL, Refuses()], Finish.REFUSAL, Outcome.REFUSED, cause=Cause.PROVIDER_REFUSAL),
    "a failure": Ending([CALL, Rejects(status=401)], Finish.ERROR, Outcome.ERROR, cause=Cause.AUTH),
    "a failure that passes": Ending([CALL, Rejects(status=529), SAY], BudgetReason.STEP_LIMIT, Outcome.BUDGET),
}


@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
def test_what_the_last_step_ends_in(ending: Ending, stage: "Stage") -> None:
    """The loop's reason, and the same outcome from its facts and from the recorder's."""
    sink = MemorySink()
    recorder = Recorder(sink, clock=stage.clock.now)
    limits = Limits(steps=2)
    result = stage.play(ending.script, limits=limits, finish_hooks=ending.hooks, forced_final=True, recorder=recorder)
    assert result.decision.reason == ending.reason
    for facts in (result.facts, sink.turns[0]):
        assert [step.forced_final for step in facts.steps] == [None, True]
        verdict = classify(facts)
        assert (verdict.outcome, verdict.cause) == (ending.outcome, ending.cause)
        assert verdict.budget_kind is (BudgetKind.STEPS if ending.outcome is Outcome.BUDGET else None)


def test_only_the_last_step_is_asked_without_tools(stage: "Stage") -> None:
    """The tools stay in the request, since the conversation speaks of them; they are only not to be called."""
    stage.play([CALL, CALL, SAY], limits=Limits(steps=3), forced_final=True)
    assert [request.may_call for request in stage.model.requests] == [True, True, False]
    assert all(request.tools for request in stage.model.requests)


@pytest.mark.parametrize(
    ("limits", "forced"),
    [(Limits(), True), (Limits(tool_calls=1), True), (Limits(steps=2), False), (Limits(steps=3), True)],
    ids=["no limit", "a limit of calls", "not asked for", "steps to spare"],
)
def test_nothing_is_forced(limits: Limits, *, forced: bool, stage: "Stage") -> None:
    """Without the option, and where the step is not the last one, the answer is the model's own."""
    result = stage.play([CALL, SAY], limits=limits, forced_final=forced)
    assert [step.forced_final for step in result.facts.steps] == [None] * len(result.facts.steps)
    assert all(request.may_call for request in stage.model.requests)


def test_an_agent_without_tools_is_not_forced(stage: "Stage") -> None:
    """There is nothing to disable, so that its answer is its own."""
    result = stage.play([SAY], limits=Limits(steps=1), forced_final=True, tools=())
    assert (result.decision.reason, result.facts.steps[0].forced_final) == (Finish.END_TURN, None)


def test_a_call_made_all_the_same_does_not_run(stage: "Stage") -> None:
    """The budget denies it."""
    result = stage.play([CALL, CALL], limits=Limits(steps=2), forced_final=True)
    [call] = result.facts.steps[1].tool_calls
    assert (call.status, call.denied_by) == (ToolStatus.DENIED, "runtime")


def test_a_message_to_a_forced_step_goes_to_the_next_turn(stage: "Stage") -> None:
    """No step is left that could read it."""

    async def steer(turn: Turn) -> None:
        await asyncio.sleep(2.5)
        turn.steer("And that.")

    result = stage.play([CALL, SAY], limits=Limits(steps=2), forced_final=True, during=steer)
    assert result.decision.reason == BudgetReason.STEP_LIMIT
    assert [message.text for message in result.unread] == ["And that."]
