"""The turn loop on scripted models: what it asks of models, tools, hooks and people."""

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from turnout.outcomes.classify import classify
from turnout.outcomes.decide import BudgetReason, Finish, StopReason, StopRequest, Terminate
from turnout.outcomes.facts import Limits, StopMode, ToolStatus
from turnout.outcomes.verdict import Evidence, Outcome
from turnout.runtime.agent import Agent, TurnTask
from turnout.runtime.hooks import Allow, Answer, Candidate, FinishHook, Veto
from turnout.runtime.messages import AssistantMessage, CallRequest, ToolMessage, UserMessage
from turnout.runtime.scripted import (
    CallsTools,
    Rejects,
    RunsOut,
    Says,
    Scripted,
    ScriptedCall,
    ScriptedModel,
)
from turnout.runtime.tools import Approval, Approved, Denied, PrerequisiteMissing, Tool, ToolContext, ToolOutput
from turnout.runtime.transcript import Entry, MemoryStore
from turnout.runtime.turn import Turn, run_turn
from turnout.runtime.virtual import VirtualClock, run_virtual

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

CALL = CallsTools(calls=(ScriptedCall("read", {"path": "a"}),), seconds=1)
SAY = Says(text="Done.", seconds=1)
SOFT = StopRequest(StopMode.AFTER_STEP, StopReason.USER_STOP)
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
        hook = Hook(Veto("Not yet."))
        result = stage.play([SAY], limits=Limits(steps=1), finish_hooks=(hook.hook,))
        assert len(hook.asked) == 1
        assert result.decision == Terminate(BudgetReason.STEP_LIMIT)
        assert len(stage.model.requests) == 1

    def test_a_soft_stop_is_no_step_limit(self, stage: "Stage") -> None:
        """After one of a hundred steps, a soft stop ends the turn as stopped."""

        async def stop(turn: Turn) -> None:
            await asyncio.sleep(0.5)
            turn.stop(SOFT)

        result = stage.play([CALL, SAY], limits=Limits(steps=100), during=stop)
        assert result.decision == Terminate(StopReason.USER_STOP)
        assert len(stage.model.requests) == 1

    def test_a_stop_during_a_retry_wait_lets_nothing_out(self, stage: "Stage") -> None:
        """The wait ends at once and no request follows."""

        async def stop(turn: Turn) -> None:
            await asyncio.sleep(5)
            turn.stop(SOFT)

        result = stage.play([Rejects(status=429, retry_after=20), SAY], during=stop)
        assert result.decision == Terminate(StopReason.USER_STOP)
        assert len(stage.model.requests) == 1
        assert result.facts.ended_at == result.facts.stop_requests[0].at


class TestStops:
    def test_a_soft_stop_is_consumed_once(self, stage: "Stage") -> None:
        """The stop ends its own turn, which hands it out once; the next turn knows nothing of it."""

        async def stop(turn: Turn) -> None:
            await asyncio.sleep(0.5)
            turn.stop(SOFT)

        stage.play([CALL], during=stop)
        assert stage.controls.stop.stop is None
        assert stage.controls.stop.close() is None
        assert stage.play([SAY]).decision == Terminate(Finish.END_TURN)

    def test_a_hard_stop_outweighs_a_soft_one(self, stage: "Stage") -> None:
        """Whoever asked softly may still cut; both requests are on record."""

        async def stop(turn: Turn) -> None:
            await asyncio.sleep(0.5)
            turn.stop(SOFT)
            await asyncio.sleep(0.2)
            turn.stop(replace(HARD, reason=StopReason.ABORTED))
            turn.stop(SOFT)

        result = stage.play([SAY], during=stop)
        assert result.decision == Terminate(StopReason.ABORTED)
        assert [stop.mode for stop in result.facts.stop_requests] == ["after_step", "immediate", "after_step"]

    def test_a_cancelled_task_is_a_stop_by_the_host(self) -> None:
        """The turn gets its end, and the cancellation goes on to whoever waits."""
        store, clock = MemoryStore(), VirtualClock(0)

        async def main() -> None:
            agent = Agent(name="a", model=ScriptedModel([Says(text="Done.", seconds=60)], clock=clock))
            running = asyncio.create_task(
                run_turn(agent, TurnTask(turn_id="t", messages=(UserMessage("Go."),)), store=store, clock=clock)
            )
            await asyncio.sleep(30)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

        run_virtual(main())
        entry = store.segment("t")
        assert entry is not None
        assert [claim.reason for claim in entry.facts.claims] == ["cancelled"]
        [step] = entry.facts.steps
        assert (step.aborted, step.ended_at) == (True, 30_000_000_000)
        assert entry.messages == (UserMessage("Go."), AssistantMessage("Do"))
        assert classify(entry.facts).outcome is Outcome.STOPPED
        assert (entry.metadata.stopped, entry.metadata.finish_time) == (True, None)

    def test_a_cancelled_task_leaves_no_call_unsettled(self) -> None:
        """The work is ended before the cancellation goes on, and the record says so."""
        store, clock = MemoryStore(), VirtualClock(0)

        async def wait(_: ToolContext) -> str:
            await asyncio.sleep(1000)
            return "never"

        async def main() -> None:
            model = ScriptedModel([CallsTools(calls=(ScriptedCall("wait"), ScriptedCall("wait")))], clock=clock)
            agent = Agent(name="a", model=model, tools=(Tool(name="wait", run=wait, mutating=False),))
            task = TurnTask(turn_id="t", messages=(UserMessage("Go."),))
            running = asyncio.create_task(run_turn(agent, task, store=store, clock=clock))
            await asyncio.sleep(30)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

        run_virtual(main())
        entry = store.segment("t")
        assert entry is not None
        calls = entry.facts.steps[0].tool_calls
        assert [(call.status, call.error_type) for call in calls] == [(ToolStatus.ERROR, "cut_short")] * 2
        assert classify(entry.facts).outcome is Outcome.STOPPED

    def test_a_fault_of_the_loop_itself_still_ends_the_turn(self, stage: "Stage") -> None:
        """The exception arrives unchanged, and the record has an end."""
        seen: list[str | None] = []

        class Failing(MemoryStore):
            def upsert(self, entry: Entry) -> bool:
                raise OSError(f"disk full, cannot keep {entry.turn_id}")

        class Sink:
            def __getattr__(self, name: str) -> "Sink":
                seen.append(name)
                return self

            def __call__(self, *_: object, **__: object) -> "Sink":
                return self

        with pytest.raises(OSError, match="disk full"):
            stage.play([SAY], store=Failing(), recorder=Sink())  # type: ignore[arg-type]
        assert ("claim" in seen, seen[-1]) == (True, "end")


def test_a_text_is_no_conversation() -> None:
    """A slip that would send single letters to a model is said when the task is made."""
    with pytest.raises(TypeError, match=r"messages: got a str, expected messages such as UserMessage\(text\)"):
        TurnTask(turn_id="t", messages="Do it.")  # type: ignore[arg-type]  # the slip


class TestTools:
    def test_a_tool_that_is_no_coroutine_says_so(self, stage: "Stage") -> None:
        """A plain function is a slip of the agent's author, who reads it in the conversation."""

        def read(_: ToolContext) -> str:
            return "read"

        result = stage.play([CALL, SAY], tools=(Tool(name="read", run=read),))  # type: ignore[arg-type]  # the slip
        [message] = [message for message in result.messages if isinstance(message, ToolMessage)]
        assert (
            message.content == "TypeError: the tool 'read' gave a str, expected an awaitable: write it as `async def`"
        )

    def test_calls_of_a_step_run_side_by_side(self, stage: "Stage") -> None:
        """Two calls of a second each take a second together."""
        script: list[Scripted] = [CallsTools(calls=(ScriptedCall("read"), ScriptedCall("read"))), SAY]
        result = stage.play(script)
        first, second = result.facts.steps[0].tool_calls
        assert first.started_at == second.started_at
        assert first.ended_at == second.ended_at

    @pytest.mark.parametrize(
        ("call", "error_type"),
        [
            (ScriptedCall("nothing"), "unknown_tool"),
            (ScriptedCall("read", {"path": "abcdefgh"}, cut=True), "invalid_arguments"),
            (ScriptedCall("broken"), "ZeroDivisionError"),
        ],
    )
    def test_a_call_that_fails_is_a_result_for_the_model(
        self, stage: "Stage", call: ScriptedCall, error_type: str
    ) -> None:
        """The turn goes on, and the model reads what went wrong."""

        async def broken(_: ToolContext) -> ToolOutput:
            raise ZeroDivisionError

        async def read(_: ToolContext) -> str:
            return "read"

        tools = (Tool(name="broken", run=broken), Tool(name="read", run=read))
        result = stage.play([CallsTools(calls=(call,)), SAY], tools=tools)
        [recorded] = result.facts.steps[0].tool_calls
        assert (recorded.status, recorded.error_type) == (ToolStatus.ERROR, error_type)
        answer = stage.model.requests[1].messages[-1]
        assert isinstance(answer, ToolMessage)
        assert answer.is_error

    def test_beyond_the_call_limit_nothing_runs(self, stage: "Stage") -> None:
        """Of three calls with two left, the third is denied by the runtime."""
        ran: list[str] = []

        async def note(context: ToolContext) -> str:
            ran.append(context.call.id)
            return "done"

        script: list[Scripted] = [CallsTools(calls=tuple(ScriptedCall("note", id=name) for name in "abc"))]
        result = stage.play(script, tools=(Tool(name="note", run=note),), limits=Limits(tool_calls=2))
        assert ran == ["a", "b"]
        denied = result.facts.steps[0].tool_calls[2]
        assert (denied.status, denied.denied_by) == (ToolStatus.DENIED, "runtime")

    def test_a_missing_prerequisite_takes_another_step(self, stage: "Stage") -> None:
        """The model reads what is missing and does it."""
        opened: list[bool] = []

        async def edit(_: ToolContext) -> str:
            if not opened:
                raise PrerequisiteMissing("Read the file first.")
            return "edited"

        async def read(_: ToolContext) -> str:
            opened.append(True)
            return "read"

        edits = CallsTools(calls=(ScriptedCall("edit"),))
        reads = CallsTools(calls=(ScriptedCall("read"),))
        tools = (Tool(name="edit", run=edit), Tool(name="read", run=read))
        result = stage.play([edits, reads, edits, SAY], tools=tools)
        statuses = [step.tool_calls[0].status for step in result.facts.steps[:3]]
        assert statuses == [ToolStatus.ERROR, ToolStatus.OK, ToolStatus.OK]
        assert stage.model.requests[1].messages[-1] == ToolMessage("call-1-1", "Read the file first.", is_error=True)

    def test_an_approval_is_asked_before_the_call(self, stage: "Stage") -> None:
        """An approved call runs, a denied one does not, and the model reads why."""
        ran: list[str] = []

        async def pay(context: ToolContext) -> str:
            ran.append(context.call.id)
            return "paid"

        async def approve(call: CallRequest) -> Approval:
            await asyncio.sleep(10)
            return Approved() if call.id == "small" else Denied(by="user", why="Too much.")

        script: list[Scripted] = [
            CallsTools(calls=(ScriptedCall("pay", id="small"), ScriptedCall("pay", id="large"))),
            SAY,
        ]
        result = stage.play(script, tools=(Tool(name="pay", run=pay, approve=approve),))
        assert ran == ["small"]
        assert [call.status for call in result.facts.steps[0].tool_calls] == [ToolStatus.OK, ToolStatus.DENIED]
        assert stage.model.requests[1].messages[-1] == ToolMessage("large", "Too much.", is_error=True)

    def test_a_stop_ends_the_wait_for_an_approval(self, stage: "Stage") -> None:
        """Nobody has to answer a question of a turn that was stopped."""

        async def never(_: CallRequest) -> Approval:
            await asyncio.sleep(10_000)
            return Approved()

        async def pay(_: ToolContext) -> str:
            raise AssertionError

        async def stop(turn: Turn) -> None:
            await asyncio.sleep(5)
            turn.stop(HARD)

        script: list[Scripted] = [CallsTools(calls=(ScriptedCall("pay"),))]
        result = stage.play(script, tools=(Tool(name="pay", run=pay, approve=never),), during=stop)
        assert result.decision == Terminate(StopReason.USER_STOP)

    def test_cut_calls_are_never_run(self, stage: "Stage") -> None:
        """A step that its output limit cut may hold half a call: none of its calls runs."""
        result = stage.play([RunsOut(calls=(ScriptedCall("read"), ScriptedCall("read", {"path": "x"}, cut=True)))])
        assert [call.status for call in result.facts.steps[0].tool_calls] == [ToolStatus.STREAMING] * 2
        assert [call.arguments_valid for call in result.facts.steps[0].tool_calls] == [True, False]


def test_the_loop_says_how_it_ended(stage: "Stage") -> None:
    """The loop's own word makes the verdict a reported one."""
    assert classify(stage.play([SAY]).facts).evidence is Evidence.REPORTED
