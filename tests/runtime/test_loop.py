"""The turn loop on scripted models: what it asks for, and the one reason with which it ends."""

from typing import TYPE_CHECKING

from turnout.outcomes.decide import BudgetReason, Finish, StopReason, StopRequest, Terminate
from turnout.outcomes.facts import Limits, StopMode
from turnout.runtime.hooks import Candidate, FinishHook, Veto
from turnout.runtime.messages import AssistantMessage, CallRequest, Origin, ToolMessage, UserMessage
from turnout.runtime.scripted import CallsTools, Rejects, Says, ScriptedCall
from turnout.runtime.turn import Turn

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

CALL = CallsTools(calls=(ScriptedCall("read", {"path": "a"}),), seconds=1)
SAY = Says(text="Done.", seconds=1)
AFTER_STEP = StopRequest(StopMode.AFTER_STEP, StopReason.USER_STOP)


async def never_content(_: Candidate) -> Veto:
    return Veto("Not yet.")


VETO = FinishHook("always", never_content)


def test_a_turn_of_tools_and_an_answer(stage: "Stage") -> None:
    """Tool results go back to the model until it answers."""
    result = stage.play([CALL, SAY])
    assert result.decision == Terminate(Finish.END_TURN)
    assert result.messages == (
        UserMessage("Do it."),
        AssistantMessage("", (CallRequest("call-1-1", "read", '{"path": "a"}'),)),
        ToolMessage("call-1-1", "the content of a"),
        AssistantMessage("Done."),
    )


class TestTheThreeDefects:
    """What went wrong in a runtime that guessed the reason afterwards."""

    def test_a_veto_on_the_last_budgeted_step_is_heard(self, stage: "Stage") -> None:
        """With one step, text and a hook that always vetoes, the hook is asked and the turn ends at its limit."""
        result = stage.play([SAY], limits=Limits(steps=1), finish_hooks=(VETO,))
        assert [check.verdict for check in result.facts.finish_checks] == ["veto"]
        assert result.decision == Terminate(BudgetReason.STEP_LIMIT)
        assert len(stage.model.requests) == 1

    def test_a_soft_stop_is_no_step_limit(self, stage: "Stage") -> None:
        """After one of a hundred steps, a soft stop ends the turn as stopped."""

        async def stop(turn: Turn) -> None:
            await stage.clock.sleep(0.5)
            turn.stop(AFTER_STEP)

        result = stage.play([CALL, SAY], limits=Limits(steps=100), during=stop)
        assert result.decision == Terminate(StopReason.USER_STOP)
        assert len(stage.model.requests) == 1

    def test_a_stop_during_a_retry_wait_lets_nothing_out(self, stage: "Stage") -> None:
        """The wait ends at once and no request follows."""

        async def stop(turn: Turn) -> None:
            await stage.clock.sleep(5)
            turn.stop(AFTER_STEP)

        result = stage.play([Rejects(status=429, retry_after=20), SAY], during=stop)
        assert result.decision == Terminate(StopReason.USER_STOP)
        assert len(stage.model.requests) == 1
        assert result.facts.ended_at == result.facts.stop_requests[0].at


def test_veto_feedback_is_the_next_message(stage: "Stage") -> None:
    """What a hook says is what the model reads next."""
    stage.play([SAY, SAY], finish_hooks=(VETO,), limits=Limits(steps=2))
    assert stage.model.requests[1].messages[-1] == UserMessage("Not yet.", Origin.FEEDBACK)
