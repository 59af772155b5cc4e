"""A stop at every await point of a turn: none of them lets another request out.

The event loop itself counts: every callback that it is about to run is a point at which something was awaited, and a stop is
injected before each of them in turn. Nothing is picked by hand.
"""

import asyncio
import contextlib
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass
from typing import Any

import pytest

from turnout.outcomes.classify import classify
from turnout.outcomes.decide import (
    BudgetReason,
    Finish,
    StopReason,
    StopRequest,
    TerminalReason,
    TurnYield,
    YieldReason,
)
from turnout.outcomes.facts import Limits, StopMode, ToolStatus, Usage
from turnout.outcomes.verdict import Outcome
from turnout.runtime.agent import Agent, TurnTask
from turnout.runtime.hooks import Allow, Answer, Candidate, FinishHook, Veto
from turnout.runtime.messages import CallRequest, Message, UserMessage
from turnout.runtime.model import ModelRequest
from turnout.runtime.scripted import (
    CallsTools,
    Drops,
    Overflows,
    Pauses,
    Refuses,
    Rejects,
    RunsOut,
    Says,
    Scripted,
    ScriptedCall,
    ScriptedModel,
)
from turnout.runtime.steering import Controls
from turnout.runtime.tools import Approval, Approved, PrerequisiteMissing, Tool, ToolContext, ToolYield
from turnout.runtime.transcript import Entry, MemoryStore
from turnout.runtime.turn import Turn, start_turn
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


async def _hand_off(_: ToolContext) -> ToolYield:
    await asyncio.sleep(1)
    return ToolYield(TurnYield(YieldReason.PLAN_HANDOFF), "Handed over.")


TOOLS = (
    Tool(name="read", run=_read),
    Tool(name="locked", run=_locked),
    Tool(name="guarded", run=_read, approve=_approve),
    Tool(name="final", run=_read, final=True),
    Tool(name="hand_off", run=_hand_off),
)


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
    end: TerminalReason = Finish.END_TURN
    forced_steps: int | None = None


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
    "a hand-off": Scene(lambda: [_calls(), _calls("hand_off")], end=YieldReason.PLAN_HANDOFF),
    "a refusal that a hook is asked about": Scene(
        lambda: [_calls(), Refuses(text="No.", seconds=1)], lambda: (_hook(),), end=Finish.REFUSAL
    ),
    "a cut answer that a hook is asked about": Scene(
        lambda: [RunsOut(text="Half", seconds=1)], lambda: (_hook(),), end=Finish.LENGTH
    ),
    "a forced answer": Scene(
        lambda: [_calls(), _says()], lambda: (_hook(Veto("No.")),), end=BudgetReason.STEP_LIMIT, forced_steps=2
    ),
    "a failure": Scene(lambda: [_calls(), Rejects(status=401, seconds=1)], end=Finish.ERROR),
    "a stream that breaks off": Scene(lambda: [Drops(text="Hal", seconds=1)], end=Finish.ERROR),
}
IDS = list(SCENES)

STANDS = {Finish.REFUSAL}
"""Ends that a later stop does not change."""

MEANS: dict[str | None, Outcome] = {
    Finish.END_TURN: Outcome.COMPLETED,
    Finish.ERROR: Outcome.ERROR,
    Finish.LENGTH: Outcome.LENGTH,
    Finish.REFUSAL: Outcome.REFUSED,
    BudgetReason.STEP_LIMIT: Outcome.BUDGET,
    YieldReason.PLAN_HANDOFF: Outcome.YIELDED,
    StopReason.USER_STOP: Outcome.STOPPED,
    StopReason.CANCELLED: Outcome.STOPPED,
}


@dataclass
class Play:
    entry: Entry
    points: int
    after_stop: list[ModelRequest]

    @property
    def reasons(self) -> list[str | None]:
        """The reasons with which the turn ended: one."""
        return [claim.reason for claim in self.entry.facts.claims]

    @property
    def disturbed(self) -> bool:
        """Whether the stop came before the end."""
        return bool(self.entry.facts.stop_requests)


def play(scene: Scene, inject: Callable[[Turn], object] = lambda _: None, at: int = -1) -> Play:
    """Play a scene, and do something to it before the callback number ``at``."""
    loop = CountingLoop()
    clock, store = VirtualClock(START), MemoryStore()
    model = SpyModel(scene.script(), clock=clock, provider="anthropic")
    model.after_stop = []

    async def main() -> None:
        controls = Controls()
        model.latched = lambda: controls.stop.stop is not None
        turn = start_turn(
            Agent(
                name="a",
                model=model,
                tools=TOOLS,
                finish_hooks=scene.hooks(),
                compact=_drop_oldest,
                forced_final=scene.forced_steps is not None,
            ),
            TurnTask(
                turn_id="t",
                messages=(UserMessage("Go."), UserMessage("Go on.")),
                limits=Limits(steps=scene.forced_steps or 9),
            ),
            controls=controls,
            store=store,
            clock=clock,
        )
        loop.at, loop.inject = at, lambda: inject(turn)
        beside = asyncio.ensure_future(scene.beside(turn)) if scene.beside is not None else None
        with contextlib.suppress(asyncio.CancelledError):
            await turn
        loop.inject = None
        if beside is not None:
            await beside

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(main())
    entry = store.segment("t")
    assert entry is not None
    return Play(entry, loop.count, model.after_stop)


@pytest.mark.parametrize("scene", SCENES.values(), ids=IDS)
@pytest.mark.parametrize("mode", StopMode)
def test_no_request_goes_out_after_a_stop(scene: Scene, mode: StopMode) -> None:
    """Whatever the turn is waiting for, the stop is the last word to the provider; and the verdict is the decision."""
    undisturbed = play(scene)
    assert undisturbed.reasons == [scene.end]
    stop = StopRequest(mode, StopReason.USER_STOP)
    reached = 0
    for at in range(1, undisturbed.points + 1):
        played = play(scene, lambda turn: turn.stop(stop), at)
        reached += played.disturbed
        assert played.after_stop == [], f"a request went out after a stop at point {at} of {undisturbed.points}"
        [reason] = played.reasons
        assert reason in (scene.end, StopReason.USER_STOP)
        assert classify(played.entry.facts).outcome is MEANS[reason], f"at point {at}"
        if mode is StopMode.IMMEDIATE and played.disturbed and scene.end not in STANDS:
            assert reason == StopReason.USER_STOP, f"at point {at}"
    assert reached > 5


@pytest.mark.parametrize("scene", SCENES.values(), ids=IDS)
def test_a_cancelled_turn_has_one_end_everywhere(scene: Scene) -> None:
    """The host may cancel the turn at any point: it has ended once, nothing runs on, and the record says who ended it."""
    undisturbed = play(scene)
    reached = 0
    for at in range(1, undisturbed.points + 1):
        played = play(scene, lambda turn: turn.cancel(), at)
        reached += played.disturbed
        assert played.after_stop == []
        [reason] = played.reasons
        assert reason in (scene.end, StopReason.CANCELLED)
        facts = played.entry.facts
        assert (played.entry.running, played.entry.observed) == (False, True)
        assert not [c for step in facts.steps for c in step.tool_calls if c.status is ToolStatus.RUNNING]
        assert classify(facts).outcome is MEANS[reason], f"at point {at}"
    assert reached > 5
