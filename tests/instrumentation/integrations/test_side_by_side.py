"""Turns of every installed framework at once, in one loop and in many threads: each has one end and keeps its own steps and calls."""

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from typing import Any

import pytest

from framework_runs import ALL, Framework, installed
from turnout.instrumentation import Losses, Recorder, instrument, uninstrument
from turnout.instrumentation.testing import MemorySink
from turnout.outcomes.facts import TurnFacts

TURNS = 104
THREADS = 8


@pytest.fixture
def listening(memory: MemorySink, make_recorder: Any) -> Iterator[Recorder]:
    """Every installed framework, instrumented."""
    recorder = make_recorder(memory)
    instrument(recorder)
    yield recorder
    uninstrument()


def named() -> list[tuple[Framework, str]]:
    """As many turns as wanted of all frameworks in turns, each with a name of its own."""
    return [
        (framework, f"turn_{number}") for number, framework in enumerate(islice(cycle(installed()), TURNS), start=1)
    ]


def names_in(turn: TurnFacts) -> set[str | None]:
    """Every name that stands in a turn and its parts; what a framework does not tell is left out."""
    models = {step.model for step in turn.steps} - {None}
    agents = {turn.agent} - {"claude"}
    return {call.name for step in turn.steps for call in step.tool_calls} | models | agents


def check(memory: MemorySink, losses: Losses) -> None:
    """One end a turn, and in each turn its own name alone."""
    turns = named()
    assert losses.totals() == {}
    assert len(memory.started) == len(memory.ended) == len({turn.facts.turn_id for turn in memory.ended}) == TURNS
    assert Counter(names.pop() for turn in memory.turns if len(names := names_in(turn)) == 1) == Counter(
        name for _, name in turns
    )
    for turn in memory.turns:
        assert [len(step.tool_calls) for step in turn.steps] == [1, 0], turn.source
        assert turn.steps[0].tool_calls[0].status == "ok"
        assert turn.parent_turn_id is None
    assert {verdict.outcome.value for verdict in memory.verdicts} == {"completed"}


def test_in_one_loop(memory: MemorySink, listening: Recorder, losses: Losses) -> None:
    """All at the same time, as tasks."""

    async def work() -> None:
        await asyncio.gather(*[framework.run(name, "done", listening) for framework, name in named()])

    asyncio.run(work())
    check(memory, losses)


def test_in_threads(memory: MemorySink, listening: Recorder, losses: Losses) -> None:
    """A loop of tasks in some threads, calls without a loop of the caller's in the others, all at the same time."""
    together = threading.Barrier(THREADS)
    shares = [named()[place::THREADS] for place in range(THREADS)]

    async def work(share: list[tuple[Framework, str]]) -> None:
        await asyncio.gather(*[framework.run(name, "done", listening) for framework, name in share])

    def thread(place: int) -> None:
        together.wait(30)
        rest: list[tuple[Framework, str]] = []
        for framework, name in shares[place]:
            if place % 2 and framework.run_sync is not None:
                framework.run_sync(name, "done", listening)
            else:
                rest.append((framework, name))
        asyncio.run(work(rest))

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(thread, range(THREADS)))
    check(memory, losses)


@pytest.mark.parametrize("framework", ALL, ids=lambda framework: framework.source)
def test_every_framework_runs_here(framework: Framework, memory: MemorySink, listening: Recorder) -> None:
    """What is not installed is told by a skip, so that nobody takes a part for the whole."""
    if framework not in installed():
        pytest.skip(f"{framework.source} is not installed")
    asyncio.run(_once(framework, listening))
    if framework.run_sync is not None:
        framework.run_sync("turn_2", "done", listening)
    assert [names_in(turn) for turn in memory.turns] == [{f"turn_{place}"} for place in range(1, len(memory.turns) + 1)]
    assert len(memory.turns) == 1 + (framework.run_sync is not None)


async def _once(framework: Framework, recorder: Recorder) -> None:
    await framework.run("turn_1", "done", recorder)
