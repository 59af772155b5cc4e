"""Many turns at once: each has one end, and keeps its own steps and calls."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from turnout.instrumentation import Recorder, current_turn
from turnout.instrumentation.testing import MemorySink
from turnout.outcomes.facts import TurnFacts

TURNS = 100


def own(facts: TurnFacts) -> bool:
    """Whether everything in a turn says that it is this turn's."""
    mine = facts.agent
    return (
        len(facts.steps) == 3
        and [step.index for step in facts.steps] == [1, 2, 3]
        and {step.model for step in facts.steps} == {mine}
        and [len(step.tool_calls) for step in facts.steps] == [2, 2, 2]
        and {call.name for step in facts.steps for call in step.tool_calls} == {mine}
    )


def check(memory: MemorySink) -> None:
    assert len(memory.started) == len(memory.ended) == TURNS
    assert memory.late == []
    assert len({turn.facts.turn_id for turn in memory.ended}) == TURNS
    assert [turn.facts.agent for turn in memory.ended if not own(turn.facts)] == []


def test_turns_in_tasks_keep_apart(memory: MemorySink, make_recorder: Any) -> None:
    """The current turn is the task's own, and parallel calls land on their step."""
    recorder: Recorder = make_recorder(memory)

    async def call(step: Any, name: str) -> None:
        async with step.tool_call(name):
            await asyncio.sleep(0)

    async def work(number: int) -> None:
        name = f"agent-{number}"
        async with recorder.turn(agent=name) as turn:
            for _ in range(3):
                async with turn.step(model=name) as step:
                    await asyncio.sleep(0)
                    step.finish(finish_reason="tool-calls")
                    await asyncio.gather(call(step, name), call(step, name))
                assert current_turn() == turn
        assert current_turn() is None

    async def main() -> None:
        await asyncio.gather(*[work(number) for number in range(TURNS)])

    asyncio.run(main())
    check(memory)


def test_turns_in_threads_keep_apart(memory: MemorySink, make_recorder: Any) -> None:
    """One recorder serves all threads."""
    recorder: Recorder = make_recorder(memory)
    together = threading.Barrier(10)

    def work(number: int) -> None:
        name = f"agent-{number}"
        together.wait(10)
        with recorder.turn(agent=name) as turn:
            for _ in range(3):
                with turn.step(model=name) as step:
                    step.finish(finish_reason="tool-calls")
                    with step.tool_call(name), step.tool_call(name):
                        pass
                assert current_turn() == turn

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(work, range(TURNS)))
    check(memory)


def test_calls_of_one_step_in_several_threads(memory: MemorySink, make_recorder: Any) -> None:
    """A step whose tools run in a pool of threads loses none of them."""
    recorder: Recorder = make_recorder(memory)
    with recorder.turn() as turn, turn.step() as step, ThreadPoolExecutor(8) as pool:

        def call(number: int) -> None:
            step.tool_call(f"tool-{number}").ok()

        list(pool.map(call, range(200)))
    assert {call.name for call in memory.turns[0].steps[0].tool_calls} == {f"tool-{number}" for number in range(200)}


def test_a_turn_that_is_ended_from_many_threads_ends_once(memory: MemorySink, make_recorder: Any) -> None:
    """Whoever comes first ends it."""
    turn = make_recorder(memory).turn()

    def end(_: int) -> None:
        turn.end()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(end, range(50)))
    assert len(memory.ended) == 1
