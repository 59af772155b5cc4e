"""What people do to a running turn: say something, hold it; and that an old turn's callbacks touch no other."""

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from turnout.outcomes.decide import Finish, StopReason, StopRequest, Terminate
from turnout.outcomes.facts import Limits, StopMode, ToolStatus
from turnout.runtime.agent import Agent, TurnTask
from turnout.runtime.messages import Origin, ToolMessage, UserMessage
from turnout.runtime.scripted import (
    CallsTools,
    Says,
    Scripted,
    ScriptedCall,
    ScriptedModel,
)
from turnout.runtime.steering import Controls
from turnout.runtime.tools import Tool, ToolContext
from turnout.runtime.transcript import MemoryStore
from turnout.runtime.turn import Turn, run_turn, start_turn
from turnout.runtime.virtual import VirtualClock, run_virtual

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

CALL = CallsTools(calls=(ScriptedCall("read", {"path": "a"}),), seconds=1)
SAY = Says(text="Done.", seconds=1)
SOFT = StopRequest(StopMode.AFTER_STEP, StopReason.USER_STOP)
HARD = StopRequest(StopMode.IMMEDIATE, StopReason.USER_STOP)


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

    def test_what_a_paused_turn_has_done_is_kept(self, stage: "Stage") -> None:
        """The results of its tools are in the store before anything else happens."""
        store, seen = MemoryStore(), list[object]()

        async def look(turn: Turn) -> None:
            turn.pause()
            await asyncio.sleep(50)
            entry = store.segment("t1")
            seen.append(entry.messages[-1] if entry is not None else None)
            turn.resume()

        stage.play([CALL, SAY], during=look, store=store)
        assert seen == [ToolMessage("call-1-1", "the content of a")]

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

    def test_a_turn_is_in_the_store_when_it_is_started(self) -> None:
        """Whatever happens to its process from then on, the turn is not missing."""
        clock, store = VirtualClock(0), MemoryStore()

        async def main() -> None:
            agent = Agent(name="a", model=ScriptedModel([SAY], clock=clock))
            turn = start_turn(agent, TurnTask(turn_id="t", messages=(UserMessage("Go."),)), store=store, clock=clock)
            entry = store.segment("t")
            assert entry is not None
            assert (entry.running, entry.messages) == (True, (UserMessage("Go."),))
            await turn

        run_virtual(main())

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
