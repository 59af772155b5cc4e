"""What the product's own recorder sees of a running turn, beside its facts."""

import asyncio
from typing import TYPE_CHECKING

import pytest

from turnout.instrumentation.recorder import Recorder
from turnout.instrumentation.testing import MemorySink
from turnout.outcomes.decide import StopReason, StopRequest
from turnout.outcomes.facts import StopMode, ToolStatus
from turnout.runtime.agent import Agent, TurnTask
from turnout.runtime.hooks import Answer, Candidate, FinishHook, Veto
from turnout.runtime.messages import UserMessage
from turnout.runtime.scripted import CallsTools, Says, Scripted, ScriptedCall, ScriptedModel
from turnout.runtime.tools import Tool, ToolContext
from turnout.runtime.transcript import Entry, MemoryStore
from turnout.runtime.turn import Turn, run_turn
from turnout.runtime.virtual import VirtualClock, run_virtual

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

SAY = Says(text="Done.", seconds=1)
HARD = StopRequest(StopMode.IMMEDIATE, StopReason.USER_STOP)


def test_a_turn_that_a_tool_starts_is_a_child(stage: "Stage") -> None:
    """The record of the sub-agent's turn names the turn whose tool started it, and that one expects it."""
    sink = MemorySink()
    recorder = Recorder(sink, clock=stage.clock.now)

    async def delegate(_: ToolContext) -> str:
        helper = Agent(name="helper", model=ScriptedModel([SAY], clock=stage.clock))
        task = TurnTask(turn_id="child", messages=(UserMessage("Help."),))
        await run_turn(helper, task, recorder=recorder, clock=stage.clock)
        return "helped"

    script: list[Scripted] = [CallsTools(calls=(ScriptedCall("delegate"),)), SAY]
    stage.play(script, tools=(Tool(name="delegate", run=delegate),), recorder=recorder)
    turns = {facts.turn_id: facts for facts in sink.turns}
    assert turns["child"].parent_turn_id == "t1"
    assert turns["t1"].children_expected == ("child",)
    assert (turns["t1"].parent_turn_id, turns["child"].trace_id) == (None, turns["t1"].trace_id)


def test_a_step_is_on_record_when_the_next_one_begins(stage: "Stage") -> None:
    """A process that dies later has already told of it."""
    sink = MemorySink()
    told: list[int] = []

    async def once(_: Candidate) -> Answer:
        return Veto("No.")

    async def look(turn: Turn) -> None:
        await asyncio.sleep(1.5)
        told.append(len(sink.steps))
        turn.stop(HARD)

    stage.play([SAY, SAY], finish_hooks=(FinishHook("once", once),), during=look, recorder=Recorder(sink))
    assert told == [1]


def test_no_content_leaves_the_loop(stage: "Stage") -> None:
    """Neither what people, models, tools and hooks say nor what tools are given stands in anything emitted."""
    canary = "canary-7f3a"
    sink = MemorySink()

    async def echo(context: ToolContext) -> str:
        raise ValueError(f"{canary} {context.arguments}")

    async def veto(_: Candidate) -> Answer:
        return Veto(canary)

    stage.play(
        [CallsTools(text=canary, calls=(ScriptedCall("echo", {"text": canary}),)), Says(text=canary)] * 2,
        tools=(Tool(name="echo", run=echo),),
        finish_hooks=(FinishHook("hook", veto),),
        task={"messages": (UserMessage(canary),)},
        instructions=canary,
        recorder=Recorder(sink),
    )
    emitted = repr([sink.started, sink.steps, sink.tool_calls, sink.ended, sink.late, sink.turns])
    assert "echo" in emitted
    assert canary not in emitted


def test_a_broken_loop_leaves_no_call_running() -> None:
    """Where one call's record cannot be kept, the calls beside it are ended before the fault arrives."""
    clock, ended = VirtualClock(0), list[str]()

    class Full(MemoryStore):
        def upsert(self, entry: Entry) -> bool:
            calls = [call for step in entry.facts.steps for call in step.tool_calls]
            if any(call.status is ToolStatus.OK for call in calls):
                raise OSError("disk full")
            return super().upsert(entry)

    async def quick(_: ToolContext) -> str:
        return "done"

    async def slow(_: ToolContext) -> str:
        try:
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(5)
            ended.append("slow")
        return "never"

    async def main() -> None:
        model = ScriptedModel([CallsTools(calls=(ScriptedCall("quick"), ScriptedCall("slow")))], clock=clock)
        agent = Agent(name="a", model=model, tools=(Tool(name="quick", run=quick), Tool(name="slow", run=slow)))
        task = TurnTask(turn_id="t", messages=(UserMessage("Go."),))
        with pytest.raises(OSError, match="disk full"):
            await run_turn(agent, task, store=Full(), clock=clock)
        assert ended == ["slow"]

    run_virtual(main())
