"""A stop at every await point of a turn: none of them lets another request out.

The event loop itself counts: every callback that it is about to run is a point at which something was awaited, and a stop is
injected before each of them in turn. Nothing is picked by hand.
"""

import asyncio
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass
from typing import Any

import pytest

from turnout.outcomes.classify import classify
from turnout.outcomes.decide import FailReason, Finish, StopReason, StopRequest, TerminalReason, Terminate
from turnout.outcomes.facts import Limits, StopMode, Usage
from turnout.outcomes.verdict import Outcome
from turnout.runtime.agent import Agent, TurnTask
from turnout.runtime.hooks import Allow, Answer, Candidate, FinishHook, Veto
from turnout.runtime.messages import CallRequest, Message, UserMessage
from turnout.runtime.model import ModelRequest
from turnout.runtime.scripted import CallsTools, Overflows, Pauses, Rejects, Says, Scripted, ScriptedCall, ScriptedModel
from turnout.runtime.steering import Controls
from turnout.runtime.tools import Approval, Approved, PrerequisiteMissing, Tool, ToolContext
from turnout.runtime.turn import Turn, TurnResult, start_turn
from turnout.runtime.virtual import VirtualClock, VirtualLoop

START = 1_767_607_200_000_000_000


class CountingLoop(VirtualLoop):
    """Runs ``inject`` before the callback number ``at``, counted from when `armed` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.at = -1
        self.inject: Callable[[], object] | None = None

    def call_soon(  # type: ignore[override]  # the arguments' types are the callback's own affair
        self, callback: Any, *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        def counted() -> None:
            if self.inject is not None:
                self.count += 1
                if self.count == self.at:
                    self.inject()
            callback(*args)

        return super().call_soon(counted, context=context)


class SpyModel(ScriptedModel):
    """Notes which requests went out after the stop."""

    latched: Callable[[], bool] = staticmethod(lambda: False)
    after_stop: list[ModelRequest]

    def stream(self, request: ModelRequest) -> Any:
        if self.latched():
            self.after_stop.append(request)
        return super().stream(request)


async def _read(_: ToolContext) -> str:
    await asyncio.sleep(1)
    await asyncio.sleep(0)
    return "read"


async def _approve(_: CallRequest) -> Approval:
    await asyncio.sleep(1)
    return Approved()


async def _locked(_: ToolContext) -> str:
    await asyncio.sleep(0)
    raise PrerequisiteMissing("Read it first.")


def _hook(*answers: Answer) -> FinishHook:
    left = list(answers)

    async def check(_: Candidate) -> Answer:
        await asyncio.sleep(1)
        await asyncio.sleep(0)
        return left.pop(0) if left else Allow()

    return FinishHook("hook", check)


async def _drop_oldest(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    await asyncio.sleep(1)
    return messages[-1:]


async def _steer(turn: Turn) -> None:
    await asyncio.sleep(0.5)
    turn.steer("Also do that.")


async def _pause(turn: Turn) -> None:
    turn.pause()
    await asyncio.sleep(10)
    turn.resume()


def _calls(name: str = "read") -> CallsTools:
    return CallsTools(calls=(ScriptedCall(name), ScriptedCall("read")), seconds=1, usage=Usage(input_tokens=1))


def _says() -> Says:
    return Says(text="Done.", seconds=1)


@dataclass(frozen=True)
class Scene:
    script: Callable[[], list[Scripted]]
    hooks: Callable[[], tuple[FinishHook, ...]] = tuple
    beside: Callable[[Turn], Any] | None = None


SCENES = {
    "tools": Scene(lambda: [_calls(), _calls(), _says()]),
    "an approval": Scene(lambda: [_calls("guarded"), _says()]),
    "an output tool that a hook vetoes": Scene(lambda: [_calls("final"), _says()], lambda: (_hook(Veto("No.")),)),
    "a missing prerequisite": Scene(lambda: [_calls("locked"), _calls(), _says()]),
    "a retry": Scene(lambda: [Rejects(status=429, retry_after=9), Rejects(status=529, seconds=1), _says()]),
    "overflow recovery": Scene(lambda: [_calls(), Overflows(), _says()]),
    "overflow as a finish": Scene(lambda: [Overflows(as_finish=True, seconds=1), _says()]),
    "a veto": Scene(lambda: [_says(), _says(), _says()], lambda: (_hook(Veto("No."), Veto("No.")), _hook(Veto("No.")))),
    "steering": Scene(lambda: [_says(), _says()], lambda: (_hook(),), _steer),
    "a pause at the boundary": Scene(lambda: [_calls(), _calls(), _says()], beside=_pause),
    "a provider's pause": Scene(lambda: [Pauses(text="Hm.", seconds=1), _says()]),
}


@dataclass
class Play:
    result: TurnResult
    points: int
    injected: bool
    after_stop: list[ModelRequest]


MEANS: dict[TerminalReason | FailReason, Outcome] = {
    Finish.END_TURN: Outcome.COMPLETED,
    Finish.ERROR: Outcome.ERROR,
    Finish.CONTEXT_OVERFLOW: Outcome.CONTEXT_OVERFLOW,
    StopReason.USER_STOP: Outcome.STOPPED,
}


def play(scene: Scene, stop: StopRequest | None, at: int) -> Play:
    """Play a scene, with a stop before the callback number ``at``; -1 for none."""
    loop = CountingLoop()
    clock = VirtualClock(START)
    model = SpyModel(scene.script(), clock=clock, provider="anthropic")
    model.after_stop = []

    async def main() -> tuple[TurnResult, bool]:
        controls = Controls()
        model.latched = lambda: controls.stop.stop is not None
        tools = (
            Tool(name="read", run=_read),
            Tool(name="locked", run=_locked),
            Tool(name="guarded", run=_read, approve=_approve),
            Tool(name="final", run=_read, final=True),
        )
        turn = start_turn(
            Agent(name="a", model=model, tools=tools, finish_hooks=scene.hooks(), compact=_drop_oldest),
            TurnTask(turn_id="t", messages=(UserMessage("Go."), UserMessage("Go on.")), limits=Limits(steps=9)),
            controls=controls,
            clock=clock,
        )
        loop.at = at
        loop.inject = lambda: stop is not None and controls.stop.request(stop)
        beside = asyncio.ensure_future(scene.beside(turn)) if scene.beside is not None else None
        result = await turn
        loop.inject = None
        if beside is not None:
            await beside
        return result, bool(result.facts.stop_requests)

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        result, injected = runner.run(main())
    return Play(result, loop.count, injected, model.after_stop)


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
@pytest.mark.parametrize("mode", StopMode)
def test_no_request_goes_out_after_a_stop(scene: Scene, mode: StopMode) -> None:
    """Whatever the turn is waiting for, the stop is the last word to the provider."""
    undisturbed = play(scene, None, -1)
    assert undisturbed.result.decision == Terminate(Finish.END_TURN)
    stop = StopRequest(mode, StopReason.USER_STOP)
    reached = 0
    for at in range(1, undisturbed.points + 1):
        played = play(scene, stop, at)
        reached += played.injected
        assert played.after_stop == [], f"a request went out after a stop at point {at} of {undisturbed.points}"
        claims = [claim.reason for claim in played.result.facts.claims]
        assert claims == [played.result.decision.reason], f"one end at point {at}"
        assert classify(played.result.facts).outcome is MEANS[played.result.decision.reason], f"at point {at}"
        if mode is StopMode.IMMEDIATE and played.injected:
            assert played.result.decision == Terminate(StopReason.USER_STOP), f"at point {at}"
    assert reached > 20
