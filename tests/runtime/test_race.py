"""Ending a wait at once, and the work behind it in its own time."""

import asyncio
import os
import signal
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from turnout.outcomes.classify import classify
from turnout.outcomes.decide import StopReason, StopRequest, Terminate
from turnout.outcomes.facts import StopMode, ToolStatus
from turnout.outcomes.verdict import Outcome
from turnout.runtime.agent import Agent, TurnTask
from turnout.runtime.messages import UserMessage
from turnout.runtime.process import ProcessEnd, ProcessWork
from turnout.runtime.race import Cut, Finished, race_abort
from turnout.runtime.scripted import CallsTools, ScriptedCall, ScriptedModel
from turnout.runtime.stop import StopLatch
from turnout.runtime.tools import Tool, ToolContext
from turnout.runtime.turn import start_turn
from turnout.runtime.virtual import run_virtual

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

HARD = StopRequest(StopMode.IMMEDIATE, StopReason.USER_STOP)
SOFT = StopRequest(StopMode.AFTER_STEP, StopReason.USER_STOP)


class Ends:
    """Work that notes when it was ended."""

    def __init__(self) -> None:
        self.ended = False

    async def end(self) -> None:
        await asyncio.sleep(5)
        self.ended = True


class TestTheWait:
    def test_a_finished_awaitable_gives_its_value(self) -> None:
        """Without a stop the race is a plain wait."""

        async def main() -> None:
            assert await race_abort(asyncio.sleep(1, "done"), StopLatch()) == Finished("done")

        run_virtual(main())

    def test_anything_that_can_be_awaited_will_do(self) -> None:
        """A future as well as a coroutine."""

        async def main() -> None:
            future = asyncio.get_running_loop().create_future()
            future.set_result("done")
            assert await race_abort(future, StopLatch()) == Finished("done")

        run_virtual(main())

    def test_an_exception_comes_through_as_it_is(self) -> None:
        """What the awaitable raises is raised."""

        async def fail() -> None:
            raise KeyError("k")

        async def main() -> None:
            with pytest.raises(KeyError, match="k"):
                await race_abort(fail(), StopLatch())

        run_virtual(main())

    def test_a_stop_ends_the_wait_although_the_work_goes_on(self) -> None:
        """The wait is over at the stop; the work ends later and says so apart."""

        async def main() -> None:
            loop, stop, work = asyncio.get_running_loop(), StopLatch(), Ends()
            loop.call_later(1, stop.request, HARD)
            raced = await race_abort(asyncio.sleep(1000), stop, work=work)
            assert isinstance(raced, Cut)
            assert (loop.time(), work.ended) == (1, False)
            await raced.work_ended
            assert (loop.time(), work.ended) == (6, True)

        run_virtual(main())

    def test_an_awaitable_that_swallows_its_cancellation_holds_nobody_up(self) -> None:
        """A tool that goes on in spite of its cancellation ends apart from the wait."""

        async def stubborn() -> str:
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                await asyncio.sleep(7)
            return "too late"

        async def main() -> None:
            loop, stop = asyncio.get_running_loop(), StopLatch()
            loop.call_later(1, stop.request, HARD)
            raced = await race_abort(stubborn(), stop)
            assert isinstance(raced, Cut)
            assert loop.time() == 1
            await raced.work_ended
            assert loop.time() == 8

        run_virtual(main())

    @pytest.mark.parametrize(("soft", "ends_at"), [(False, 9), (True, 1)])
    def test_a_soft_stop_ends_only_soft_waits(self, soft: bool, ends_at: int) -> None:
        """A running step is not cut by it; a wait between requests is."""

        async def main() -> None:
            loop, stop = asyncio.get_running_loop(), StopLatch()
            loop.call_later(1, stop.request, SOFT)
            await race_abort(asyncio.sleep(9), stop, soft=soft)
            assert loop.time() == ends_at

        run_virtual(main())

    def test_at_a_tie_the_finished_work_counts(self) -> None:
        """What is done is done, also when a stop came in the same instant."""

        async def main() -> None:
            stop = StopLatch()

            async def stops_itself() -> str:
                stop.request(HARD)
                return "done"

            assert await race_abort(stops_itself(), stop) == Finished("done")

        run_virtual(main())

    def test_a_cancelled_caller_leaves_no_work_behind(self) -> None:
        """The work is ended before the cancellation goes on."""

        async def main() -> None:
            work = Ends()
            waiting = asyncio.create_task(race_abort(asyncio.sleep(1000), StopLatch(), work=work))
            await asyncio.sleep(1)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert work.ended

        run_virtual(main())


# Ignores SIGTERM, forks two children that do too (one in its own session) and a grandchild that no longer has a parent, writes
# down their ids, and sleeps.
STUBBORN = textwrap.dedent(
    """
    import os, signal, sys, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    def note():
        with open(sys.argv[1], "a") as file:
            file.write(f"{os.getpid()}\\n")
    def child(own_session):
        if os.fork() == 0:
            if own_session:
                os.setsid()
            note()
            time.sleep(600)
            os._exit(0)
    note()
    child(False)
    child(True)
    if os.fork() == 0:
        if os.fork() == 0:
            note()
            time.sleep(600)
        os._exit(0)
    time.sleep(600)
    """
)
PROCESSES = 4


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has collected yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def noted(notes: Path) -> list[int]:
    return [int(line) for line in notes.read_text().splitlines()] if notes.exists() else []


async def written(notes: Path) -> list[int]:
    """The ids of all processes of the tool, once all of them run."""
    while len(pids := noted(notes)) < PROCESSES:  # noqa: ASYNC110 - other processes write the file
        await asyncio.sleep(0.01)
    return pids


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Path]:
    file = tmp_path / "pids"
    yield file
    for pid in filter(alive, noted(file)):
        os.kill(pid, signal.SIGKILL)


needs_proc = pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes through /proc")


class TestProcesses:
    def test_a_program_gives_its_output_and_code(self) -> None:
        """The end of a program that ends by itself."""

        async def main() -> ProcessEnd:
            code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
            return await (await ProcessWork.start([sys.executable, "-c", code])).finished()

        assert asyncio.run(main()) == ProcessEnd(3, b"out\n", b"err\n")

    def test_a_program_stands_in_a_session_of_its_own(self) -> None:
        """A signal to the terminal's group reaches the host and not its tools, which the host then ends itself."""

        async def main() -> ProcessEnd:
            code = "import os; print(os.getsid(0) == os.getpid())"
            return await (await ProcessWork.start([sys.executable, "-c", code])).finished()

        assert asyncio.run(main()).stdout == b"True\n"

    @needs_proc
    def test_what_a_program_leaves_running_ends_with_it(self, notes: Path) -> None:
        """A call's background processes do not outlive the call, nor hold it up."""

        async def main() -> ProcessEnd:
            command = f"(echo $BASHPID >> {notes}; sleep 600) & echo started"
            return await (await ProcessWork.start(["bash", "-c", command], grace_seconds=0.2)).finished()

        assert asyncio.run(main()).stdout == b"started\n"
        assert not any(map(alive, noted(notes)))

    @needs_proc
    def test_a_stopped_tool_leaves_no_orphan(self, notes: Path) -> None:
        """The turn ends at once; then the whole tree of a tool that ignores SIGTERM is gone, and the record tells both ends."""

        async def run(context: ToolContext) -> str:
            await context.run_process([sys.executable, "-c", STUBBORN, str(notes)], grace_seconds=0.3)
            return "never"

        async def main() -> None:
            agent = Agent(
                name="agent",
                model=ScriptedModel([CallsTools(calls=(ScriptedCall("run"),))]),
                tools=(Tool(name="run", run=run, mutating=True),),
            )
            turn = start_turn(agent, TurnTask(turn_id="t", messages=(UserMessage("Run it."),)))
            pids = await written(notes)
            turn.stop(HARD)
            result = await turn
            assert result.decision == Terminate(StopReason.USER_STOP)
            assert any(map(alive, pids)), "the turn does not wait for the work"
            [at_the_end] = result.facts.steps[0].tool_calls
            assert at_the_end.status is ToolStatus.RUNNING

            facts = await result.work_ended()
            assert not any(map(alive, pids))
            [call] = facts.steps[0].tool_calls
            assert (call.status, call.error_type) == (ToolStatus.ERROR, "cut_short")
            assert call.ended_at is not None
            assert facts.ended_at is not None
            assert call.ended_at > facts.ended_at
            assert classify(facts).outcome is Outcome.STOPPED

        asyncio.run(main())

    @needs_proc
    def test_a_cancelled_turn_leaves_no_orphan(self, notes: Path) -> None:
        """When the host cancels the turn's task, the processes are gone before the cancellation arrives."""

        async def run(context: ToolContext) -> str:
            await context.run_process([sys.executable, "-c", STUBBORN, str(notes)], grace_seconds=0.2)
            return "never"

        async def main() -> list[int]:
            model = ScriptedModel([CallsTools(calls=(ScriptedCall("run"),))])
            agent = Agent(name="agent", model=model, tools=(Tool(name="run", run=run),))
            task = TurnTask(turn_id="t", messages=(UserMessage("Run it."),))

            async def host() -> None:
                await start_turn(agent, task)

            hosting = asyncio.create_task(host())
            pids = await written(notes)
            hosting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await hosting
            return pids

        assert not any(map(alive, asyncio.run(main())))

    @needs_proc
    def test_a_closing_loop_leaves_no_orphan(self, notes: Path) -> None:
        """Whoever does not wait for the work has it killed when the event loop closes."""

        async def main() -> list[int]:
            stop = StopLatch()
            context = await ProcessWork.start([sys.executable, "-c", STUBBORN, str(notes)], grace_seconds=60)
            pids = await written(notes)
            asyncio.get_running_loop().call_soon(stop.request, HARD)
            assert isinstance(await race_abort(context.finished(), stop, work=context), Cut)
            return pids

        assert not any(map(alive, asyncio.run(main())))


def test_the_turn_ends_while_a_tool_that_cannot_be_cancelled_goes_on(stage: "Stage") -> None:
    """In-process work is told of its cancellation; its end is recorded when it comes."""

    async def stubborn(_: ToolContext) -> str:
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            await asyncio.sleep(7)
        return "too late"

    async def stop(_: object) -> None:
        await asyncio.sleep(3)
        stage.controls.stop.request(HARD)

    tools = (Tool(name="stubborn", run=stubborn, mutating=False),)
    result = stage.play([CallsTools(calls=(ScriptedCall("stubborn"),))], tools=tools, during=stop)
    [call] = result.log.facts.steps[0].tool_calls
    assert result.facts.ended_at is not None
    assert call.ended_at == result.facts.ended_at + 7_000_000_000
