"""The decorator for loops of one's own."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from typing import Any

import pytest

from broken_recorder import broken_recorders
from turnout.instrumentation import Limits, Losses, current_turn, recorded
from turnout.instrumentation.testing import MemorySink


class HostError(Exception):
    """An exception of the host's own."""


def told() -> None:
    """What a loop tells of one step."""
    turn = current_turn()
    assert turn is not None
    with turn.step(model="m") as step:
        step.finish(finish_reason="stop", output="done")


def test_a_call_is_a_turn(memory: MemorySink, make_recorder: Any) -> None:
    """The function's name, its limits, and what its arguments say of the conversation."""

    def conversation(question: str, *, session: str) -> str:
        assert question == "how is it?"
        return session

    @recorded(recorder=make_recorder(memory), limits=Limits(steps=3), attended=True, conversation_id=conversation)
    def answer(question: str, *, session: str) -> str:
        told()
        return f"{question} {session}"

    assert answer("how is it?", session="s-1") == "how is it? s-1"
    assert answer.__name__ == "answer"
    (facts,) = memory.turns
    assert (facts.agent, facts.conversation_id, facts.attended, facts.limits) == (
        "answer",
        "s-1",
        True,
        Limits(steps=3),
    )
    assert memory.verdicts[0].outcome == "completed"
    assert current_turn() is None


def test_a_coroutine_is_a_turn(memory: MemorySink, make_recorder: Any) -> None:
    """Awaited as ever, and ended by the exception that leaves it."""

    @recorded(recorder=make_recorder(memory), agent="support")
    async def answer(fail: bool) -> str:
        await asyncio.sleep(0)
        told()
        if fail:
            raise HostError
        return "done"

    assert asyncio.run(answer(fail=False)) == "done"
    with pytest.raises(HostError):
        asyncio.run(answer(fail=True))
    assert [turn.agent for turn in memory.turns] == ["support", "support"]
    assert [len(turn.claims) for turn in memory.turns] == [0, 1]


def test_a_generator_is_a_turn_that_its_consumer_is_not_in(memory: MemorySink, make_recorder: Any) -> None:
    """Values go in and out as ever; between them the consumer's own turn is current."""

    @recorded(recorder=make_recorder(memory))
    def words() -> Generator[str, str, str]:
        told()
        received = yield "one"
        try:
            yield f"got {received}"
        except HostError:
            yield "caught"
        return "result"

    stream: Any = words()
    assert next(stream) == "one"
    assert current_turn() is None
    assert stream.send("two") == "got two"
    assert stream.throw(HostError()) == "caught"
    with pytest.raises(StopIteration) as stopped:
        next(stream)
    assert stopped.value.value == "result"
    assert memory.verdicts[0].outcome == "completed"


def test_an_async_generator_is_a_turn_that_its_consumer_is_not_in(memory: MemorySink, make_recorder: Any) -> None:
    """Values go in and out as ever."""

    @recorded(recorder=make_recorder(memory))
    async def words() -> AsyncGenerator[str, str]:
        told()
        received = yield "one"
        try:
            yield f"got {received}"
        except HostError:
            yield "caught"

    async def work() -> list[str]:
        stream: Any = words()
        said = [await anext(stream)]
        assert current_turn() is None
        said += [await stream.asend("two"), await stream.athrow(HostError())]
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        return said

    assert asyncio.run(work()) == ["one", "got two", "caught"]
    assert memory.verdicts[0].outcome == "completed"


def test_a_generator_that_its_consumer_leaves_ends_its_turn(memory: MemorySink, make_recorder: Any) -> None:
    """What was under way is cut."""
    closed: list[str] = []

    @recorded(recorder=make_recorder(memory))
    def words() -> Iterator[str]:
        turn = current_turn()
        assert turn is not None
        try:
            with turn.step(model="m"):
                yield "one"
        finally:
            closed.append("inner")

    for _ in words():
        break
    assert closed == ["inner"]
    assert (memory.turns[0].steps[0].aborted, memory.verdicts[0].outcome) == (True, "interrupted")


@pytest.mark.parametrize("which", [0, 1], ids=["handles", "opening"])
def test_a_bug_of_ours_changes_nothing(which: int, losses: Losses) -> None:
    """A recorder that is broken leaves the function as it was."""
    broken = broken_recorders(losses)[which]

    @recorded(recorder=broken)
    def plain() -> str:
        return "result"

    @recorded(recorder=broken)
    async def coroutine() -> str:
        return "result"

    @recorded(recorder=broken)
    def generator() -> Iterator[str]:
        yield "result"

    @recorded(recorder=broken)
    async def stream() -> AsyncIterator[str]:
        yield "result"

    async def read() -> list[str]:
        return [item async for item in stream()]

    assert (plain(), asyncio.run(coroutine())) == ("result", "result")
    assert (list(generator()), asyncio.run(read())) == (["result"], ["result"])
