"""Telemetry never raises into the host, never holds its exceptions back, and ends every turn."""

import asyncio
import gc
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import copy_context
from typing import Any

import pytest

from turnout.instrumentation import Losses, Recorder, current_turn
from turnout.instrumentation.testing import MemorySink
from turnout.outcomes.facts import Layer, Limits, Requester, StopMode, ToolStatus


class HostError(Exception):
    """An exception of the host's own."""


class StatusError(Exception):
    """An exception as HTTP clients raise it."""

    status_code = 429


class Broken(MemorySink):
    """A sink whose every method raises."""

    def _fail(self, *_: object) -> bool:
        raise RuntimeError("CANARY")

    samples = turn_started = step_ended = tool_ended = turn_ended = turn_late = _fail  # type: ignore[assignment]


LEAVING = [
    HostError("x"),
    KeyboardInterrupt(),
    SystemExit(3),
    GeneratorExit(),
    asyncio.CancelledError(),
    TimeoutError(),
]


def sync_turn(recorder: Recorder, leave: BaseException | None) -> str:
    with recorder.turn() as turn, turn.step() as step:
        step.finish(finish_reason="tool-calls")
        with step.tool_call("search"):
            if leave is not None:
                raise leave
    return "result"


async def async_turn(recorder: Recorder, leave: BaseException | None) -> str:
    async with recorder.turn() as turn, turn.step() as step:
        step.finish(finish_reason="tool-calls")
        async with step.tool_call("search"):
            if leave is not None:
                raise leave
    return "result"


def driven_turn(recorder: Recorder, leave: BaseException | None) -> str:
    result: str = run(async_turn(recorder, leave))
    return result


def run(coroutine: Any) -> Any:
    """Drive a coroutine that waits for nothing, so that any exception can leave it."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("the coroutine waits")


@pytest.mark.parametrize("leave", LEAVING, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("sink", [MemorySink, Broken])
def test_the_hosts_exception_arrives_unchanged(
    leave: BaseException, sink: Callable[[], MemorySink], make_recorder: Any
) -> None:
    """The very same object leaves the block, whether telemetry works or not."""
    for drive in (sync_turn, driven_turn):
        with pytest.raises(type(leave)) as raised:
            drive(make_recorder(sink()), leave)
        assert raised.value is leave
        assert raised.value.__cause__ is None
        assert raised.value.__context__ is None


@pytest.mark.parametrize("leave", LEAVING, ids=lambda error: type(error).__name__)
def test_a_turn_that_an_exception_leaves_open_ends_with_a_verdict(
    leave: BaseException, memory: MemorySink, make_recorder: Any
) -> None:
    """Exactly one end, and never a success."""
    with pytest.raises(type(leave)):
        sync_turn(make_recorder(memory), leave)
    (ended,) = memory.ended
    assert memory.late == []
    assert ended.verdict.outcome not in ("completed", "yielded")


def test_the_hosts_result_is_its_own(make_recorder: Any) -> None:
    """A broken sink changes no result."""
    recorder = make_recorder(Broken())
    assert sync_turn(recorder, None) == "result"
    assert run(async_turn(recorder, None)) == "result"


def test_a_broken_sink_is_counted(make_recorder: Any, losses: Losses, warnings: list[str]) -> None:
    """What is lost is known, without the words of the exception."""
    sync_turn(make_recorder(Broken()), None)
    assert sum(losses.totals().values()) > 0
    assert "CANARY" not in str(losses.totals()) + str(warnings)


def wrong_values(turn: Any) -> Iterator[Callable[[], object]]:
    """Calls with values that none of the contracts knows."""
    step = turn.step()
    yield lambda: turn.stop("sideways")
    yield lambda: turn.stop(by="nobody")
    yield lambda: turn.finish_check("perhaps")
    yield lambda: turn.claim("oracle", "end_turn")
    yield lambda: step.tool_call("search", status="confused")
    yield lambda: step.tool_call("search").settle("confused")
    yield lambda: step.finish(output=7)
    yield lambda: step.finish(usage="many")


def test_wrong_values_are_counted_and_do_not_raise(memory: MemorySink, make_recorder: Any, losses: Losses) -> None:
    """A slip in the telling does not end the agent's work, nor the turn's record."""
    with make_recorder(memory, hash_key=b"key").turn() as turn:
        for number, say in enumerate(wrong_values(turn), 1):
            say()
            assert sum(losses.totals().values()) == number
    assert len(memory.ended) == 1


def test_names_may_come_as_the_host_has_them(memory: MemorySink, make_recorder: Any) -> None:
    """An id that is a UUID, a number or an enum member is no slip; an object that cannot be read is not recorded."""

    class Unreadable:
        def __str__(self) -> str:
            raise RuntimeError

    number = uuid.UUID(int=7)
    with make_recorder(memory).turn(conversation_id=number, agent=ToolStatus.OK, agent_version=3) as turn:
        turn.step(model=Unreadable()).tool_call(Unreadable())
    (facts,) = memory.turns
    assert (facts.conversation_id, facts.agent, facts.agent_version) == (str(number), "ok", "3")
    assert (facts.steps[0].model, facts.steps[0].tool_calls[0].name) == (None, None)


@pytest.mark.parametrize(
    ("leave", "layer", "reason", "error_type"),
    [
        (HostError("x"), Layer.RUNTIME, "error", "tests.instrumentation.test_promises.HostError"),
        (asyncio.CancelledError(), Layer.HOST, "cancelled", "asyncio.exceptions.CancelledError"),
        (TimeoutError(), Layer.HOST, "timeout", "TimeoutError"),
    ],
    ids=["error", "cancelled", "timeout"],
)
def test_an_exception_is_a_claim(
    leave: BaseException, layer: Layer, reason: str, error_type: str, memory: MemorySink, make_recorder: Any
) -> None:
    """Who ended the turn is said by what left it."""
    with pytest.raises(type(leave)):
        sync_turn(make_recorder(memory), leave)
    (claim,) = memory.turns[0].claims
    assert (claim.by, claim.reason, claim.message) == (layer, reason, None)
    assert claim.error_type is not None
    assert claim.error_type.split(".")[-1] == error_type.rsplit(".", maxsplit=1)[-1]


def test_a_persons_ctrl_c_is_a_request_to_stop(memory: MemorySink, make_recorder: Any) -> None:
    """It is the person who stops, not a layer that fails."""
    with pytest.raises(KeyboardInterrupt):
        sync_turn(make_recorder(memory), KeyboardInterrupt())
    (facts,) = memory.turns
    (stop,) = facts.stop_requests
    assert (stop.by, stop.mode, stop.reason) == (Requester.USER, StopMode.IMMEDIATE, "user_stop")
    assert (facts.claims, memory.verdicts[0].outcome) == ((), "stopped")


def test_a_cancellation_after_a_stop_is_that_stop(memory: MemorySink, make_recorder: Any) -> None:
    """The host cancels the task because the person pressed stop; that is one end, the person's."""
    with pytest.raises(asyncio.CancelledError):  # noqa: PT012, SIM117 - the block is what is tested
        with make_recorder(memory).turn() as turn, turn.step():
            turn.stop()
            raise asyncio.CancelledError
    assert memory.turns[0].claims == ()
    assert (memory.verdicts[0].outcome, memory.verdicts[0].cause) == ("stopped", "stopped_by_user")


def test_a_cancellation_at_the_time_limit_is_a_spent_budget(memory: MemorySink, make_recorder: Any) -> None:
    """Inside, a timeout is only a cancellation; the limit that the turn carries tells them apart."""
    with pytest.raises(asyncio.CancelledError):  # noqa: SIM117 - the block is what is tested
        with make_recorder(memory).turn(limits=Limits(seconds=2.0)) as turn, turn.step():
            raise asyncio.CancelledError
    assert (memory.verdicts[0].outcome, memory.verdicts[0].budget_kind) == ("budget", "time")


def test_a_request_that_fails_is_the_steps_error(memory: MemorySink, make_recorder: Any) -> None:
    """Class and HTTP status are kept, of the words only known phrases."""
    with pytest.raises(StatusError):  # noqa: SIM117 - the block is what is tested
        with make_recorder(memory).turn() as turn, turn.step():
            raise StatusError("CANARY: rate limit reached")
    error = memory.turns[0].steps[0].error
    assert error is not None
    assert (error.status, error.type and error.type.split(".")[-1]) == (429, "StatusError")
    assert "CANARY" not in (error.message or "")
    assert (memory.verdicts[0].outcome, memory.verdicts[0].cause) == ("error", "rate_limit")


def test_a_timeout_of_the_request_is_no_timeout_of_the_turn(memory: MemorySink, make_recorder: Any) -> None:
    """The provider did not answer in time; nobody's budget is spent."""
    with pytest.raises(TimeoutError):  # noqa: SIM117 - the block is what is tested
        with make_recorder(memory).turn() as turn, turn.step():
            raise TimeoutError
    assert (memory.verdicts[0].outcome, memory.verdicts[0].cause) == ("error", "timeout")
    assert [(claim.by, claim.reason) for claim in memory.turns[0].claims] == [(Layer.RUNTIME, "error")]


def test_a_request_that_is_cut_is_aborted_and_a_call_that_is_cut_keeps_running(
    memory: MemorySink, make_recorder: Any
) -> None:
    """Neither failed: nobody knows how far they came."""
    with pytest.raises(asyncio.CancelledError):  # noqa: PT012, SIM117 - the block is what is tested
        with make_recorder(memory).turn() as turn, turn.step() as step:
            with step.tool_call("write", mutating=True):
                raise asyncio.CancelledError
    (facts,) = memory.turns
    assert (facts.steps[0].aborted, facts.steps[0].error) == (True, None)
    call = facts.steps[0].tool_calls[0]
    assert (call.status, call.ended_at, call.error_type) == (ToolStatus.RUNNING, None, None)


def test_a_tools_exception_settles_the_call(memory: MemorySink, make_recorder: Any) -> None:
    """The loop that catches it goes on with a settled call."""
    with make_recorder(memory).turn() as turn, turn.step() as step:
        step.finish(finish_reason="tool-calls")
        with pytest.raises(HostError), step.tool_call("search"):
            raise HostError("CANARY")
    call = memory.turns[0].steps[0].tool_calls[0]
    assert (call.status, call.error_type and call.error_type.split(".")[-1]) == (ToolStatus.ERROR, "HostError")


def test_what_comes_after_the_end_is_taken(recorder: Recorder, emitted: Any) -> None:
    """The end is emitted once; what came late is emitted as such, with the whole facts."""
    with recorder.turn() as turn:
        step = turn.step(model="m")
        step.finish(finish_reason="tool-calls")
        call = step.tool_call("search")
        turn.stop()
    call.ok()
    turn.claim("host", "end_turn")
    assert emitted.event_names() == ["agent.turn.start", "agent.turn.end", "agent.turn.late", "agent.turn.late"]
    end, first, last = [event.log_record.body for event in emitted.events[1:]]
    assert end["steps"][0]["tool_calls"][0]["status"] == "running"
    assert first["steps"][0]["tool_calls"][0]["status"] == "ok"
    assert last["claims"][0]["reason"] == "end_turn"
    assert first["ended_at"] == end["ended_at"]


def test_a_second_end_changes_nothing(memory: MemorySink, make_recorder: Any) -> None:
    """Exactly one end, whoever ends it again."""
    with make_recorder(memory).turn() as turn:
        turn.end()
    turn.end(HostError("x"))
    assert (len(memory.ended), memory.late) == (1, [])
    assert memory.turns[0].claims == ()


def test_an_abandoned_stream_ends_its_turn(memory: MemorySink, make_recorder: Any) -> None:
    """A consumer that stops reading leaves no turn open, and no success behind."""
    recorder = make_recorder(memory)

    def stream() -> Iterator[str]:
        with recorder.turn() as turn, turn.step(model="m") as step:
            yield "one"
            yield "two"
            step.finish(finish_reason="stop")

    for _ in stream():
        break
    gc.collect()
    assert (memory.turns[0].steps[0].aborted, memory.verdicts[0].outcome) == (True, "interrupted")


def test_a_stream_that_is_closed_from_another_task_leaves_that_tasks_context_alone(
    memory: MemorySink, make_recorder: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """An async generator is finished wherever it is collected; nothing is logged about it."""
    recorder = make_recorder(memory)

    async def stream() -> AsyncIterator[str]:
        async with recorder.turn() as turn, turn.step(model="m"):
            yield "one"
            yield "two"

    async def main() -> None:
        reading = stream()
        assert await anext(reading) == "one"
        with recorder.turn() as mine:
            await asyncio.create_task(reading.aclose())  # type: ignore[attr-defined]
            assert mine.ended is False

    asyncio.run(main())
    assert len(memory.ended) == 2
    assert caplog.messages == []


def test_a_stream_that_is_closed_inside_another_turn_leaves_that_one_current(
    memory: MemorySink, make_recorder: Any
) -> None:
    """What is current is left alone by a block that is no longer the innermost."""
    recorder = make_recorder(memory)

    def stream() -> Iterator[str]:
        with recorder.turn():
            yield "one"
            yield "two"

    def work() -> None:
        reading: Any = stream()
        assert next(reading) == "one"
        with recorder.turn() as mine:
            reading.close()
            assert current_turn() == mine

    copy_context().run(work)


def test_an_errors_code_is_read_like_its_words(memory: MemorySink, make_recorder: Any) -> None:
    """Clients carry the provider's code beside a message for people."""

    class CodedError(Exception):
        code = "context_length_exceeded"
        status_code = 400

    with pytest.raises(CodedError):  # noqa: SIM117 - the block is what is tested
        with make_recorder(memory).turn() as turn, turn.step():
            raise CodedError("sorry")
    assert (memory.verdicts[0].outcome, memory.verdicts[0].cause) == ("context_overflow", "context_rejected")


class BrokenIds:
    """Ids that cannot be had."""

    def turn_id(self) -> str:
        raise RuntimeError

    def trace_id(self) -> int:
        return 1

    def span_id(self) -> int:
        raise RuntimeError


def broken_clock() -> int:
    raise RuntimeError


@pytest.mark.parametrize("options", [{"ids": BrokenIds()}, {"clock": broken_clock}], ids=["ids", "clock"])
def test_a_broken_clock_or_source_of_ids_changes_nothing(
    options: dict[str, Any], make_recorder: Any, losses: Losses
) -> None:
    """What the host hands over may be broken, too."""
    recorder = make_recorder(MemorySink(), **options)
    assert sync_turn(recorder, None) == "result"
    with pytest.raises(HostError):
        sync_turn(recorder, HostError())
    assert losses.totals()
