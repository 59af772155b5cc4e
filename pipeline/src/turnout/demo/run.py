"""The demonstration from end to end: a lake of its own, a history in it, a receiver over it, agents that send to the receiver."""

import asyncio
import os
import random
import socket
from collections.abc import Generator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from datetime import datetime

from turnout.demo.cast import CAST, Agent
from turnout.demo.history import history
from turnout.demo.live import Live, Tempo
from turnout.outcomes.facts import TurnFacts
from turnout.pipeline.assemble import SECOND, Pace
from turnout.pipeline.lake import Lake
from turnout.pipeline.receive.service import Options, Service
from turnout.pipeline.rows import classified

PACE = Pace(quiet=60 * SECOND, dead=3 * SECOND)
"""A worker that died is seen within seconds, not within the minute that a real one is given."""

MEMORY_BYTES = 4 << 30
"""The bound is on the whole process, and in this one the agents and their history run too."""

_BATCH = 2000


def write_history(lake: str, now: datetime, seed: int, scale: float) -> int:
    """Play the history, an agent a process where there are cores for it, and store it; how many turns it has."""
    written = 0
    store = Lake.open(lake)
    workers = max(1, min(len(CAST), os.cpu_count() or 1))
    with ProcessPoolExecutor(workers) as pool:
        parts = [pool.submit(_one_history, agent, now, seed + place, scale) for place, agent in enumerate(CAST)]
        for part in parts:
            turns = [classified(turn, _seen(turn)) for turn in part.result()]
            for start in range(0, len(turns), _BATCH):
                store.write(turns[start : start + _BATCH])
            written += len(turns)
    return written


def _one_history(agent: Agent, now: datetime, seed: int, scale: float) -> list[TurnFacts]:
    return history([agent], now, seed, scale=scale)


def _seen(turn: TurnFacts) -> int:
    """When a receiver would have had the last of a turn."""
    seen = turn.ended_at or turn.last_seen_at or turn.started_at
    assert seen is not None
    return seen


@contextmanager
def receiving(lake: str, port: int) -> Generator[Service]:
    """A receiver over the lake; at its end everything acknowledged is in the lake."""
    service = Service(lake, Options(port=free_port(port), grpc_port=None, pace=PACE, memory_bytes=MEMORY_BYTES))
    service.start()
    try:
        yield service
    finally:
        service.stop()


def free_port(wanted: int) -> int:
    """The wanted port on loopback, or 0 (any) where something listens there already."""
    with socket.socket() as probe:
        return 0 if probe.connect_ex(("127.0.0.1", wanted)) == 0 else wanted


def run_agents(endpoint: str, seed: int, turns: int | None, tempo: Tempo) -> None:
    """Let the cast work until so many turns were started, or until interrupted."""
    asyncio.run(Live(endpoint, CAST, random.Random(seed), tempo).run(turns))
