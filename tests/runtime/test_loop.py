"""The turn loop on scripted models: what it asks of models, tools, hooks and people."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from turnout.outcomes.classify import classify
from turnout.outcomes.decide import BudgetReason, Finish, StopReason, StopRequest, Terminate
from turnout.outcomes.facts import CheckVerdict, Limits, StopMode, ToolStatus, Usage
from turnout.outcomes.verdict import Evidence, Flag, Outcome
from turnout.runtime.agent import Agent, TurnTask
from turnout.runtime.hooks import Allow, Answer, Candidate, FinishHook, Veto
from turnout.runtime.messages import AssistantMessage, CallRequest, Message, Origin, ToolMessage, UserMessage
from turnout.runtime.request import RetryPolicy
from turnout.runtime.scripted import (
    CallsTools,
    Drops,
    Overflows,
    Rejects,
    RunsOut,
    Says,
    Scripted,
    ScriptedCall,
    ScriptedModel,
)
from turnout.runtime.steering import Controls
from turnout.runtime.tools import Approval, Approved, Denied, PrerequisiteMissing, Tool, ToolContext, ToolOutput
from turnout.runtime.transcript import Entry, MemoryStore
from turnout.runtime.turn import Turn, run_turn, start_turn
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
        assert classify(entry.facts).outcome is Outcome.STOPPED
        assert (entry.metadata.stopped, entry.metadata.finish_time) == (True, None)

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


class TestTools:
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


class TestSteering:
    def test_a_message_reaches_the_next_request(self, stage: "Stage") -> None:
        """Said during tools, it is read with their results."""

        async def steer(turn: Turn) -> None:
            await asyncio.sleep(1.5)
            assert turn.steer("Only the first one.")

        result = stage.play([CALL, SAY], during=steer)
        assert stage.model.requests[1].messages[-1] == UserMessage("Only the first one.", Origin.STEERING)
        assert result.unread == ()

    def test_a_message_during_the_answer_takes_another_step(self, stage: "Stage") -> None:
        """The turn does not end before it was read."""

        async def steer(turn: Turn) -> None:
            await asyncio.sleep(0.5)
            turn.steer("And that?")

        stage.play([SAY, SAY], during=steer)
        assert len(stage.model.requests) == 2

    @pytest.mark.parametrize("limits", [Limits(steps=1), Limits()], ids=["no budget", "stopped"])
    def test_what_nobody_read_goes_to_the_next_turn(self, stage: "Stage", limits: Limits) -> None:
        """At a spent budget or a stop the message is handed back, unread."""

        async def steer(turn: Turn) -> None:
            await asyncio.sleep(0.5)
            turn.steer("And that?")
            if limits.steps is None:
                turn.stop(SOFT)

        result = stage.play([SAY], during=steer, limits=limits)
        assert result.unread == (UserMessage("And that?", Origin.STEERING),)


class TestPause:
    def test_a_paused_turn_waits_at_the_boundary(self, stage: "Stage") -> None:
        """The running step goes on to its end; the next one starts when the turn is resumed."""

        async def pause(turn: Turn) -> None:
            await asyncio.sleep(0.5)
            turn.pause()
            await asyncio.sleep(99.5)
            turn.resume()

        result = stage.play([CALL, SAY], during=pause)
        first, second = result.facts.steps
        assert first.tool_calls[0].status is ToolStatus.OK
        assert first.started_at is not None
        assert second.started_at == first.started_at + 100_000_000_000

    def test_a_finished_turn_is_not_held(self, stage: "Stage") -> None:
        """There is no boundary to cross after the last step."""

        async def pause(turn: Turn) -> None:
            turn.pause()

        assert stage.play([SAY], during=pause).decision == Terminate(Finish.END_TURN)


class TestSnapshot:
    """A late callback of an old turn never touches the next one."""

    def test_old_controls_do_nothing_any_more(self) -> None:
        """A click and a message for a turn that is over are turned away, while its successor runs on."""
        clock = VirtualClock(0)

        def task(turn_id: str) -> TurnTask:
            return TurnTask(turn_id=turn_id, messages=(UserMessage("Go."),))

        async def main() -> None:
            agent = Agent(name="a", model=ScriptedModel([SAY, SAY], clock=clock))
            old = start_turn(agent, task("old"), clock=clock)
            ended = await old
            new = start_turn(agent, task("new"), clock=clock)
            await asyncio.sleep(0.5)
            assert (old.stop(HARD), old.steer("Wait!")) == (False, False)
            old.pause()
            result = await new
            assert result.decision == Terminate(Finish.END_TURN)
            assert (result.facts.stop_requests, result.unread) == ((), ())
            assert ended.log.facts == ended.facts

        run_virtual(main())

    def test_late_work_of_an_old_turn_lands_on_the_old_turn(self) -> None:
        """A tool that goes on after its turn settles in that turn's record alone."""
        clock, store = VirtualClock(0), MemoryStore()

        async def stubborn(_: ToolContext) -> str:
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                await asyncio.sleep(1.5)
            return "too late"

        async def main() -> None:
            script: list[Scripted] = [CallsTools(calls=(ScriptedCall("stubborn"),)), replace(SAY, seconds=3)]
            agent = Agent(
                name="a", model=ScriptedModel(script, clock=clock), tools=(Tool(name="stubborn", run=stubborn),)
            )
            old = start_turn(agent, TurnTask(turn_id="old", messages=(UserMessage("Go."),)), store=store, clock=clock)
            await asyncio.sleep(1)
            old.stop(HARD)
            await old
            task = TurnTask(turn_id="new", messages=(UserMessage("Go."),))
            result = await run_turn(agent, task, store=store, clock=clock)
            assert [step.tool_calls for step in result.facts.steps] == [()]

        run_virtual(main())
        kept = {turn_id: store.segment(turn_id) for turn_id in ("old", "new")}
        assert kept["old"] is not None
        assert kept["new"] is not None
        assert kept["old"].facts.steps[0].tool_calls[0].status is ToolStatus.ERROR
        assert kept["old"].facts.steps[0].tool_calls[0].ended_at == 2_500_000_000
        assert kept["new"].facts.ended_at == 4_000_000_000

    def test_controls_serve_one_turn(self) -> None:
        """Controls that a turn has used are closed for good."""
        clock = VirtualClock(0)

        async def main() -> None:
            controls = Controls()
            agent = Agent(name="a", model=ScriptedModel([SAY], clock=clock))
            task = TurnTask(turn_id="t", messages=(UserMessage("Go."),))
            await run_turn(agent, task, controls=controls, clock=clock)
            assert controls.stop.request(HARD) is False
            assert controls.inbox.put("Wait!") is False

        run_virtual(main())


class TestRequests:
    def test_the_provider_says_how_long_to_wait(self, stage: "Stage") -> None:
        """A retry waits as told; without a word, twice as long each time, and never longer than allowed."""
        script: list[Scripted] = [Rejects(status=429, retry_after=7), Rejects(status=503), Rejects(status=503), SAY]
        retry = RetryPolicy(max_attempts=4, first_wait_seconds=2, longest_wait_seconds=5)
        result = stage.play(script, retry=retry)
        [step] = result.facts.steps
        assert step.started_at is not None
        waits = [(end.at or 0) - step.started_at for end in step.attempt_ends]
        assert [wait / 1e9 for wait in waits] == [0, 5, 9]
        assert (step.attempts, [end.status for end in step.attempt_ends]) == (4, [429, 503, 503])

    def test_what_a_person_has_seen_is_not_tried_again(self, stage: "Stage") -> None:
        """A stream that broke off after words would say them twice."""
        result = stage.play([Drops(text="Hal"), SAY])
        assert (len(stage.model.requests), result.decision) == (1, Terminate(Finish.ERROR))

    def test_an_overflow_is_recovered_once(self, stage: "Stage") -> None:
        """The smaller conversation goes out in the same step; what does not fit again is the end."""
        smaller: tuple[Message, ...] = (UserMessage("In short: do it."),)

        async def compact(_: tuple[Message, ...]) -> tuple[Message, ...]:
            return smaller

        result = stage.play([Overflows(), SAY], compact=compact)
        assert stage.model.requests[1].messages == smaller
        assert (result.decision, len(result.facts.steps)) == (Terminate(Finish.END_TURN), 1)
        assert stage.play([Overflows(), Overflows(), SAY], compact=compact).decision == Terminate(
            Finish.CONTEXT_OVERFLOW
        )

    def test_a_compactor_that_cannot_help(self, stage: "Stage") -> None:
        """Nothing smaller means the overflow is the end."""

        async def compact(_: Sequence[Message]) -> None:
            return None

        result = stage.play([Overflows(), SAY], compact=compact)
        assert (result.decision, len(stage.model.requests)) == (Terminate(Finish.CONTEXT_OVERFLOW), 1)

    def test_a_model_that_raises_anything_is_a_failed_request(self, stage: "Stage") -> None:
        """The fault is kept beside the result."""
        result = stage.play([])
        assert result.decision == Terminate(Finish.ERROR)
        assert result.failure is not None
        assert result.failure.type == "script_over"

    def test_usage_of_every_request_counts(self, stage: "Stage") -> None:
        """A recovered overflow costs what both requests cost."""
        usage = Usage(input_tokens=100, output_tokens=10)

        async def compact(messages: tuple[Message, ...]) -> tuple[Message, ...]:
            return messages

        script: list[Scripted] = [Overflows(as_finish=True, usage=usage), Says(text="Done.", usage=usage)]
        result = stage.play(script, compact=compact, provider="anthropic")
        assert result.facts.steps[0].usage == Usage(input_tokens=200, output_tokens=20)

    def test_a_price_is_applied_where_the_model_reports_none(self, stage: "Stage") -> None:
        """Cost limits work with a price list."""

        def price(usage: Usage) -> float:
            return (usage.output_tokens or 0) * 0.1

        script: list[Scripted] = [
            replace(CALL, usage=Usage(output_tokens=5)),
            replace(CALL, usage=Usage(output_tokens=5), cost_usd=2.0),
        ]
        result = stage.play(script, price=price, limits=Limits(cost_usd=2.5))
        assert [step.cost_usd for step in result.facts.steps] == [0.5, 2.0]
        assert result.decision == Terminate(BudgetReason.EXIT_COST)


def test_the_loop_says_how_it_ended(stage: "Stage") -> None:
    """The loop's own word makes the verdict a reported one."""
    assert classify(stage.play([SAY]).facts).evidence is Evidence.REPORTED
