"""Agents that run now and send OTLP to a receiver, until they are told to end."""

import asyncio
import random
import sys
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from turnout.demo.cast import CAST, Agent, Ending
from turnout.demo.history import ENVIRONMENT
from turnout.demo.plan import TurnPlan, plan, rest_of
from turnout.demo.play import play
from turnout.instrumentation import OtelSink, Recorder, otlp_sink
from turnout.outcomes.classify import classify
from turnout.runtime.clock import SystemClock


@dataclass(frozen=True, slots=True)
class Tempo:
    """How fast the demonstration goes.

    ``pace`` is the seconds it takes for each second that a step or a tool would; a turn starts ``every_seconds`` on average.
    """

    pace: float = 0.12
    every_seconds: float = 3.0


WATCHED = Tempo()
HURRIED = Tempo(pace=0.01, every_seconds=0.03)

DEATH_STATUS = 9


class Live:
    """Starts turns one after the other, several at a time; each is drawn from the cast by how busy its agents are."""

    def __init__(self, endpoint: str, cast: Sequence[Agent], draw: random.Random, tempo: Tempo) -> None:
        self._endpoint = endpoint
        self._cast = cast
        self._draw = draw
        self._tempo = tempo
        self._sink: OtelSink = otlp_sink(endpoint)
        self._clock = SystemClock()
        self._running: set[asyncio.Task[None]] = set()

    async def run(self, turns: int | None) -> None:
        """Start turns until there were so many, or for ever, and wait for the last ones."""
        started = 0
        try:
            while turns is None or started < turns:
                self._start()
                started += 1
                await asyncio.sleep(self._draw.expovariate(1 / self._tempo.every_seconds))
            await asyncio.gather(*self._running)
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)
            self._sink.close(timeout_s=5.0)

    def _start(self) -> None:
        agent = self._draw.choices(self._cast, [agent.turns_a_day for agent in self._cast])[0]
        now = datetime.now(UTC)
        task = asyncio.create_task(self._take(quicker(plan(agent, now, now, self._draw), self._tempo.pace)))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _take(self, planned: TurnPlan) -> None:
        if planned.ending is Ending.DIE:
            await die(self._endpoint, self._draw.getrandbits(32))
            return
        turn_id = str(uuid.uuid4())
        recorder = Recorder(self._sink, service=planned.agent.service, environment=ENVIRONMENT)
        facts = await play(planned, turn_id, recorder, self._clock)
        if classify(facts).can_continue and self._draw.random() < planned.agent.continues:
            await asyncio.sleep(self._draw.uniform(4, 24) * self._tempo.pace)
            await play(
                quicker(rest_of(planned, self._draw), self._tempo.pace),
                str(uuid.uuid4()),
                recorder,
                self._clock,
                continues=turn_id,
            )


def quicker(planned: TurnPlan, pace: float) -> TurnPlan:
    """The same turn at another pace."""
    steps = tuple(
        replace(
            step,
            seconds=step.seconds * pace,
            calls=tuple(replace(call, seconds=call.seconds * pace) for call in step.calls),
        )
        for step in planned.steps
    )
    return replace(planned, steps=steps)


async def die(endpoint: str, seed: int) -> None:
    """Run a turn in a worker of its own, which is gone before the turn ends."""
    worker = await asyncio.create_subprocess_exec(sys.executable, "-m", "turnout.demo.doomed", endpoint, str(seed))
    try:
        await worker.wait()
    finally:
        if worker.returncode is None:
            worker.kill()


def doomed_plan(seed: int) -> TurnPlan:
    """The turn of a worker that dies."""
    draw = random.Random(seed)
    now = datetime.now(UTC)
    mortal = [agent for agent in CAST if Ending.DIE in agent.weights]
    return quicker(replace(plan(draw.choice(mortal), now, now, draw), ending=Ending.DIE), HURRIED.pace)
