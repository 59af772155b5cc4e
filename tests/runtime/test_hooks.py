"""Finish hooks: who is asked, how often, and what an answer is worth."""

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from turnout.outcomes.classify import classify
from turnout.outcomes.decide import BudgetReason, Finish, StopReason, StopRequest, Terminate
from turnout.outcomes.facts import CheckVerdict, Limits, StopMode
from turnout.outcomes.verdict import Flag
from turnout.runtime.hooks import Allow, Answer, Candidate, FinishHook, Veto
from turnout.runtime.messages import Origin, UserMessage
from turnout.runtime.scripted import (
    CallsTools,
    Rejects,
    Says,
    Scripted,
    ScriptedCall,
)
from turnout.runtime.transcript import MemoryStore
from turnout.runtime.turn import Turn

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

CALL = CallsTools(calls=(ScriptedCall("read", {"path": "a"}),), seconds=1)
SAY = Says(text="Done.", seconds=1)
HARD = StopRequest(StopMode.IMMEDIATE, StopReason.USER_STOP)


class Hook:
    """A finish hook that answers as it is told and counts what it was asked."""

    def __init__(self, *answers: Answer) -> None:
        self.asked: list[Candidate] = []
        self._answers = list(answers)

    async def __call__(self, candidate: Candidate) -> Answer:
        self.asked.append(candidate)
        return self._answers.pop(0) if self._answers else Allow()

    @property
    def hook(self) -> FinishHook:
        return FinishHook("hook", self)


class TestFinishHooks:
    def test_feedback_is_the_next_message(self, stage: "Stage") -> None:
        """The words of all vetoes go to the model; the hooks are asked again about the next candidate."""
        first, second = Hook(Veto("No tests.")), Hook(Veto("No docs."))
        result = stage.play([SAY, SAY], finish_hooks=(first.hook, second.hook))
        assert stage.model.requests[1].messages[-1] == UserMessage("No tests.\n\nNo docs.", Origin.FEEDBACK)
        assert (len(first.asked), len(second.asked)) == (2, 2)
        assert result.decision == Terminate(Finish.END_TURN)

    def test_every_hook_is_asked_once_a_candidate(self, stage: "Stage") -> None:
        """A veto spares no later hook its say, and a retry, tools or steering ask nobody twice."""
        first, second = Hook(Veto("No.")), Hook()

        async def steer(turn: Turn) -> None:
            await asyncio.sleep(0.5)
            turn.steer("And that.")

        script: list[Scripted] = [Rejects(status=429, retry_after=1), CALL, SAY, SAY]
        stage.play(script, finish_hooks=(first.hook, second.hook), during=steer)
        assert (len(first.asked), len(second.asked)) == (2, 2)

    def test_a_hook_reads_the_candidate(self, stage: "Stage") -> None:
        """The answer and the conversation up to it."""
        hook = Hook()
        result = stage.play([CALL, SAY], finish_hooks=(hook.hook,))
        [candidate] = hook.asked
        assert (candidate.finish, candidate.text) == (Finish.END_TURN, "Done.")
        assert candidate.messages == result.messages

    def test_a_hook_that_raises_is_skipped(self, stage: "Stage") -> None:
        """It is recorded as skipped with its reason, and never as an allow."""

        async def broken(_: Candidate) -> Answer:
            raise RuntimeError("secret")

        result = stage.play([SAY], finish_hooks=(FinishHook("broken", broken),))
        [check] = result.facts.finish_checks
        assert (check.verdict, check.by, check.why) == (CheckVerdict.SKIPPED, "broken", "raised RuntimeError")
        assert Flag.FINISH_CHECK_SKIPPED in classify(result.facts).flags

    def test_a_skipped_hook_lifts_no_veto(self, stage: "Stage") -> None:
        """Beside a broken hook a veto stands."""

        async def broken(_: Candidate) -> Answer:
            raise RuntimeError

        hooks = (Hook(Veto("No.")).hook, FinishHook("broken", broken))
        result = stage.play([SAY], limits=Limits(steps=1), finish_hooks=hooks)
        assert result.decision == Terminate(BudgetReason.STEP_LIMIT)

    @pytest.mark.parametrize("store", [None, MemoryStore()], ids=["no store", "a store"])
    def test_a_missing_durable_reader_is_skipped(self, stage: "Stage", store: MemoryStore | None) -> None:
        """A hook that needs one is not asked without it, and that is on record."""
        hook = Hook()
        result = stage.play([SAY], finish_hooks=(replace(hook.hook, needs_reader=True),), store=store)
        [check] = result.facts.finish_checks
        if store is None:
            assert (check.verdict, check.why, hook.asked) == (CheckVerdict.SKIPPED, "there is no durable reader", [])
        else:
            assert (check.verdict, hook.asked[0].reader) == (CheckVerdict.ALLOW, store)

    def test_a_hard_stop_does_not_wait_for_a_hook(self, stage: "Stage") -> None:
        """The hook's answer is recorded as skipped."""

        async def slow(_: Candidate) -> Answer:
            await asyncio.sleep(1000)
            return Allow()

        async def stop(turn: Turn) -> None:
            await asyncio.sleep(3)
            turn.stop(HARD)

        result = stage.play([SAY], finish_hooks=(FinishHook("slow", slow),), during=stop)
        assert result.decision == Terminate(StopReason.USER_STOP)
        assert [check.verdict for check in result.facts.finish_checks] == [CheckVerdict.SKIPPED]

    def test_a_failed_request_is_no_candidate(self, stage: "Stage") -> None:
        """There is no answer to ask about."""
        hook = Hook(Veto("Again."))
        result = stage.play([Rejects(status=401)], finish_hooks=(hook.hook,))
        assert (hook.asked, result.decision) == ([], Terminate(Finish.ERROR))
