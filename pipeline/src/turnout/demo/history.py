"""Fourteen days of turns, played in virtual time, so that every comparison has a before."""

import asyncio
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from turnout.demo.cast import Agent, Ending
from turnout.demo.plan import TurnPlan, plan, rest_of
from turnout.demo.play import play
from turnout.instrumentation import Recorder
from turnout.instrumentation.testing import MemorySink
from turnout.outcomes.classify import classify
from turnout.outcomes.facts import Instant, TurnFacts
from turnout.runtime.virtual import run_virtual

DAYS = 14
ENVIRONMENT = "production"
RECENT = timedelta(hours=3)
"""So far back there are as many turns as a busy day has, whatever the hour: somebody looks at them now."""

_RECENT_SHARE = 1.6
_NANOS = 1_000_000_000
_WORKING_HOURS = range(8, 20)
_NIGHT_HOURS = (*range(5), 22, 23)


def history(
    cast: Sequence[Agent], now: datetime, seed: int, *, days: int = DAYS, scale: float = 1.0
) -> list[TurnFacts]:
    """Every turn of every agent in the days before ``now``, in no particular order.

    Args:
        cast: the agents.
        now: the end of the history; an aware instant.
        seed: the same seed and ``now`` give the same turns.
        days: how far the history goes back.
        scale: how many of the usual turns a day there are.
    """
    draw = random.Random(seed)
    return run_virtual(_play_all(list(_moments(cast, now, days, scale, draw)), now, draw))


def _moments(
    cast: Sequence[Agent], now: datetime, days: int, scale: float, draw: random.Random
) -> Iterator[tuple[Agent, datetime]]:
    for agent in cast:
        for _ in range(round(agent.turns_a_day * scale * _RECENT_SHARE)):
            yield agent, now - timedelta(seconds=draw.uniform(60, RECENT.total_seconds()))
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    for agent in cast:
        for day in range(days + 1):
            for _ in range(round(agent.turns_a_day * scale * draw.uniform(0.85, 1.15))):
                moment = (
                    midnight - timedelta(days=day) + timedelta(hours=_hour(agent, draw), seconds=draw.uniform(0, 3600))
                )
                if now - timedelta(days=days) <= moment < now - RECENT:
                    yield agent, moment


def _hour(agent: Agent, draw: random.Random) -> int:
    busy = _WORKING_HOURS if agent.attended else _NIGHT_HOURS
    return draw.choice(busy) if draw.random() < 0.6 else draw.randrange(24)  # noqa: PLR2004 - most of the day's work


async def _play_all(moments: Sequence[tuple[Agent, datetime]], now: datetime, draw: random.Random) -> list[TurnFacts]:
    turns: list[TurnFacts] = []
    for number, (agent, moment) in enumerate(moments):
        turns.extend(await _play_chain(plan(agent, moment, now, draw), f"{agent.name}-{number:05d}", moment, draw))
    return turns


async def _play_chain(first: TurnPlan, turn_id: str, moment: datetime, draw: random.Random) -> list[TurnFacts]:
    """A turn, and the turn that a person continues it with, as often as not."""
    turns = [await _play_one(first, turn_id, moment, None)]
    if classify(turns[0]).can_continue and draw.random() < first.agent.continues:
        later = _ended(turns[0], moment) + timedelta(seconds=draw.uniform(10, 600))
        turns.append(await _play_one(rest_of(first, draw), f"{turn_id}-c", later, turn_id))
    return turns


def _ended(turn: TurnFacts, moment: datetime) -> datetime:
    end = turn.ended_at or turn.last_seen_at
    return moment if end is None else datetime.fromtimestamp(end / _NANOS, moment.tzinfo)


async def _play_one(planned: TurnPlan, turn_id: str, moment: datetime, continues: str | None) -> TurnFacts:
    sink, clock = MemorySink(traces=False), _clock(moment)
    recorder = Recorder(sink, service=planned.agent.service, environment=ENVIRONMENT, clock=clock.now)
    await play(planned, turn_id, recorder, clock, continues)
    (facts,) = sink.turns
    return _as_if_died(facts) if planned.ending is Ending.DIE else facts


def _as_if_died(facts: TurnFacts) -> TurnFacts:
    """What a receiver knows of a turn whose worker died: nothing of an end."""
    seen = max((step.ended_at for step in facts.steps if step.ended_at is not None), default=facts.started_at)
    return replace(facts, ended_at=None, open=True, last_seen_at=seen, claims=(), stop_requests=(), finish_checks=())


def _clock(moment: datetime) -> "_Since":
    return _Since(round(moment.timestamp() * _NANOS))


class _Since:
    """A clock that starts at an instant when it is made, on a loop that has run before."""

    def __init__(self, start: Instant) -> None:
        self._loop = asyncio.get_running_loop()
        self._offset = start - round(self._loop.time() * _NANOS)

    def now(self) -> Instant:
        return self._offset + round(self._loop.time() * _NANOS)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
