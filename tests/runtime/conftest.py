"""What the runtime's tests share: a stage on which a scripted turn is played in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest

from turnout.outcomes.facts import Limits
from turnout.runtime.agent import Agent, TurnTask
from turnout.runtime.messages import UserMessage
from turnout.runtime.recorder import Recorder
from turnout.runtime.scripted import Scripted, ScriptedModel
from turnout.runtime.steering import Controls
from turnout.runtime.tools import Tool, ToolContext, ToolOutput
from turnout.runtime.transcript import TranscriptStore
from turnout.runtime.turn import Turn, TurnResult, start_turn
from turnout.runtime.virtual import VirtualClock, run_virtual

START = 1_767_607_200_000_000_000
"""2026-01-05T10:00:00Z."""


async def _read(context: ToolContext) -> ToolOutput:
    await asyncio.sleep(1)
    return ToolOutput(f"the content of {context.arguments.get('path')}")


READ = Tool(name="read", run=_read, mutating=False)


@dataclass
class Stage:
    """A scripted turn to be; `play` plays it to its end in virtual time."""

    clock: VirtualClock = field(default_factory=lambda: VirtualClock(START))
    model: ScriptedModel = field(init=False)
    controls: Controls = field(init=False)

    def play(
        self,
        script: Iterable[Scripted],
        *,
        during: Callable[[Turn], Awaitable[Any]] | None = None,
        limits: Limits | None = None,
        tools: tuple[Tool, ...] = (READ,),
        provider: str = "openai",
        api: str | None = None,
        recorder: Recorder | None = None,
        store: TranscriptStore | None = None,
        task: dict[str, Any] | None = None,
        **agent: Any,
    ) -> TurnResult:
        """Play a turn of one user message; ``during`` runs beside it."""
        self.model = ScriptedModel(script, provider=provider, api=api, clock=self.clock)
        asked: dict[str, Any] = {"turn_id": "t1", "messages": (UserMessage("Do it."),), "limits": limits or Limits()}

        async def main() -> TurnResult:
            self.controls = Controls()
            turn = start_turn(
                Agent(name="agent", model=self.model, tools=tools, **agent),
                TurnTask(**asked | (task or {})),
                controls=self.controls,
                recorder=recorder,
                store=store,
                clock=self.clock,
            )
            beside = asyncio.ensure_future(during(turn)) if during is not None else None
            result = await turn
            if beside is not None:
                await beside
            await result.work_ended()
            return result

        return run_virtual(main())


@pytest.fixture
def stage() -> Stage:
    return Stage()
