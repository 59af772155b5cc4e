"""The decorator for loops of one's own."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from contextlib import suppress
from typing import Any

import pytest

from broken_recorder import broken_recorders
from listed_endings import Coverage, Never
from turnout.instrumentation import Limits, Losses, TurnHandle, current_turn, recorded
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


def test_the_decorator_may_stand_alone(memory: MemorySink, make_recorder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without arguments the process's own recorder and the function's name are taken."""
    recorder = make_recorder(memory)
    monkeypatch.setattr("turnout.instrumentation.integrations.functions.default_recorder", lambda: recorder)

    @recorded
    def answer(question: str) -> str:
        told()
        return question

    assert answer("how is it?") == "how is it?"
    assert [turn.agent for turn in memory.turns] == ["answer"]


def test_a_conversation_that_cannot_be_named_is_recorded_without_a_name(
    memory: MemorySink, make_recorder: Any, losses: Losses
) -> None:
    """The function is called as ever, and finds its turn."""

    def conversation(question: str) -> str:
        raise KeyError(question)

    @recorded(recorder=make_recorder(memory), conversation_id=conversation)
    def answer(question: str) -> str:
        told()
        return question

    assert answer("how is it?") == "how is it?"
    assert memory.turns[0].conversation_id is None
    assert sum(losses.totals().values()) == 1


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


Ending = tuple[str, str | None, str | None]


class RejectedError(Exception):
    """A request that the provider rejects, as HTTP clients say it."""

    status_code = 400
    code = "context_length_exceeded"


class UnavailableError(Exception):
    """A provider that is down, as HTTP clients say it."""

    status_code = 503


def says(turn: TurnHandle, reason: str = "end_turn", words: str = "sunny", **more: Any) -> None:
    """A step that answers."""
    with turn.step(model="m", provider="anthropic") as step:
        step.finish(raw_finish_reason=reason, output=words, **more)


def calls(turn: TurnHandle, error: Exception | None = None, reason: str = "tool_use") -> None:
    """A step that calls a tool."""
    with turn.step(model="m", provider="anthropic") as step:
        step.finish(raw_finish_reason=reason, output="")
        with step.tool_call("weather"):
            if error is not None:
                raise error


def fails(turn: TurnHandle, error: BaseException) -> None:
    """A step whose request fails."""
    with turn.step(model="m", provider="anthropic"):
        raise error


def cut_call(turn: TurnHandle) -> None:
    """A step that is cut in the middle of a call."""
    with turn.step(model="m", provider="anthropic") as step:
        step.finish(raw_finish_reason="max_tokens", output="")
        step.tool_call("weather", arguments_valid=False, status="streaming")


def limited(turn: TurnHandle) -> None:
    """A loop that leaves by its limit and returns what it has."""
    calls(turn)
    calls(turn)


def stopped(turn: TurnHandle) -> None:
    """A person stops the loop, and the loop obeys."""
    calls(turn)
    turn.stop("after_step", by="user")


def vetoed(turn: TurnHandle) -> None:
    """A check does not let the answer be the end, and nothing is left to do better."""
    says(turn)
    turn.finish_check("veto", by="policy")
    says(turn)
    turn.finish_check("veto", by="policy")


def twice(first: Callable[[TurnHandle], None], then: Callable[[TurnHandle], None]) -> Callable[[TurnHandle], None]:
    def work(turn: TurnHandle) -> None:
        first(turn)
        then(turn)

    return work


TWO = Limits(steps=2)
ENDINGS: dict[str, tuple[Callable[[TurnHandle], None], Limits | None, Ending]] = {
    "normal": (says, None, ("completed", None, None)),
    "tool calls": (twice(calls, says), None, ("completed", None, None)),
    "step limit, returned": (limited, TWO, ("budget", "steps", None)),
    "step limit, raised": (
        twice(limited, lambda turn: turn.claim("runtime", "max_iterations")),
        TWO,
        ("budget", "steps", None),
    ),
    "length with text": (lambda turn: says(turn, "max_tokens"), None, ("length", None, None)),
    "length empty": (lambda turn: says(turn, "max_tokens", ""), None, ("length", None, None)),
    "length in a tool call": (cut_call, None, ("length", None, None)),
    "refusal with text": (lambda turn: says(turn, "refusal"), None, ("refused", None, "provider_refusal")),
    "refusal empty": (lambda turn: says(turn, "refusal", ""), None, ("refused", None, "provider_refusal")),
    "content filter": (
        lambda turn: says(turn, "content_filter", provider="openai"),
        None,
        ("refused", None, "content_filter"),
    ),
    "context overflow": (
        lambda turn: fails(turn, RejectedError("no")),
        None,
        ("context_overflow", None, "context_rejected"),
    ),
    "tool error": (lambda turn: calls(turn, KeyError("x")), None, ("error", None, "tool_error")),
    "model error at step 2": (
        twice(calls, lambda turn: fails(turn, UnavailableError())),
        None,
        ("error", None, "provider_unavailable"),
    ),
    "user stop": (stopped, None, ("stopped", None, "stopped_by_user")),
    "timeout": (lambda turn: turn.claim("host", "timeout"), None, ("budget", "time", None)),
    "timeout that the loop raises": (
        twice(calls, lambda turn: turn.end(TimeoutError())),
        None,
        ("budget", "time", None),
    ),
    "veto": (vetoed, TWO, ("budget", "steps", "finish_veto")),
    "veto with budget left": (vetoed, None, ("unknown", None, "finish_veto")),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_an_ending(name: str, memory: MemorySink, make_recorder: Any) -> None:
    """What a loop tells of its steps is enough for the contract's verdict."""
    told_of, limits, expected = ENDINGS[name]

    @recorded(recorder=make_recorder(memory, clock=time.time_ns), limits=limits)
    def loop() -> None:
        turn = current_turn()
        assert turn is not None
        told_of(turn)

    with suppress(Exception):
        loop()
    (verdict,) = memory.verdicts
    assert len(memory.ended) == 1
    assert (verdict.outcome, verdict.budget_kind) == expected[:2]
    if expected[2] is not None:
        assert verdict.cause == expected[2]


@pytest.mark.parametrize("around", [False, True], ids=["cancelled", "timed out"])
def test_a_task_that_is_cut_is_stopped_by_the_host(memory: MemorySink, make_recorder: Any, *, around: bool) -> None:
    """From inside, a timeout around the function is a cancellation."""

    @recorded(recorder=make_recorder(memory))
    async def answer() -> None:
        turn = current_turn()
        assert turn is not None
        async with turn.step(model="m"):
            await asyncio.sleep(3600)

    async def work() -> None:
        task = asyncio.ensure_future(answer())
        await asyncio.sleep(0.01)
        if around:
            await asyncio.wait_for(task, 0.01)
        task.cancel()
        await task

    with pytest.raises((TimeoutError, asyncio.CancelledError)):
        asyncio.run(work())
    assert (memory.verdicts[0].outcome, memory.verdicts[0].cause) == ("stopped", "stopped_by_host")
    assert memory.turns[0].steps[0].aborted is True


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


COVERAGE: Coverage = {
    "normal": ("normal",),
    "tool calls": ("tool calls",),
    "step limit as an exception": ("step limit, raised",),
    "step limit as a silent result": ("step limit, returned",),
    "step limit of a middleware": (Never("A loop of one's own has no middleware."),),
    "length with text": ("length with text",),
    "length empty": ("length empty",),
    "length inside a tool call": ("length in a tool call",),
    "refusal with text": ("refusal with text",),
    "refusal empty": ("refusal empty",),
    "content filter": ("content filter",),
    "context overflow": ("context overflow",),
    "tool error": ("tool error",),
    "model error at step 2": ("model error at step 2",),
    "user stop": ("user stop",),
    "timeout": ("timeout", "timeout that the loop raises", test_a_task_that_is_cut_is_stopped_by_the_host),
    "cancelled task": (test_a_task_that_is_cut_is_stopped_by_the_host,),
    "stream abandoned by its consumer": (test_a_generator_that_its_consumer_leaves_ends_its_turn,),
    "finish-hook veto": ("veto", "veto with budget left"),
}
