"""A process killed at random points of its running turns: what the next process finds."""

import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from turnout.outcomes.classify import classify
from turnout.outcomes.facts import ToolStatus
from turnout.outcomes.state import view
from turnout.outcomes.verdict import Evidence, Notice, Outcome
from turnout.runtime.transcript import recover
from turnout.runtime.transcript_sqlite import SqliteStore

# Four turns at a time, for ever; each says when it is in the store and when it has ended.
WORKER = textwrap.dedent(
    """
    import asyncio, itertools, random, sys
    from turnout.outcomes.facts import Limits
    from turnout.runtime.agent import Agent, TurnTask
    from turnout.runtime.messages import UserMessage
    from turnout.runtime.scripted import CallsTools, Rejects, Says, ScriptedCall, ScriptedModel
    from turnout.runtime.request import RetryPolicy
    from turnout.runtime.tools import Tool
    from turnout.runtime.transcript_sqlite import SqliteStore
    from turnout.runtime.turn import start_turn

    path, prefix, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
    draw = random.Random(seed)
    numbers = itertools.count()

    async def tool(context):
        await asyncio.sleep(draw.uniform(0, 0.02))
        return "done"

    TOOLS = (Tool(name="read", run=tool, mutating=False), Tool(name="write", run=tool, mutating=True))

    async def turns(store):
        while True:
            calls = lambda: CallsTools(calls=(ScriptedCall("read"), ScriptedCall("write")), seconds=draw.uniform(0, 0.02))
            script = [calls(), calls(), Rejects(status=429), Says(text="Done.", seconds=draw.uniform(0, 0.02))]
            retry = RetryPolicy(first_wait_seconds=0.01)
            agent = Agent(name="agent", model=ScriptedModel(script), tools=TOOLS, retry=retry)
            turn_id = f"{prefix}-{next(numbers)}"
            task = TurnTask(turn_id=turn_id, messages=(UserMessage("Go."),), limits=Limits(steps=9))
            turn = start_turn(agent, task, store=store)
            print("started", turn_id, flush=True)
            await turn
            print("ended", turn_id, flush=True)

    async def main():
        with SqliteStore(path) as store:
            await asyncio.gather(*(turns(store) for _ in range(4)))

    asyncio.run(main())
    """
)


def killed_after(seconds: float, path: Path, prefix: str, seed: int) -> tuple[set[str], set[str]]:
    """Run the worker, kill it, and tell which turns it said it had started and ended."""
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, str(path), prefix, str(seed)], stdout=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stdout is not None
        first = worker.stdout.readline()
        time.sleep(seconds)
        worker.send_signal(signal.SIGKILL)
        lines = [first, *worker.stdout]
    said = [line.split() for line in lines if line.endswith("\n")]
    return tuple({turn_id for word, turn_id in said if word == kind} for kind in ("started", "ended"))  # type: ignore[return-value]


@pytest.mark.parametrize("seed", range(6))
def test_a_killed_process_leaves_every_turn_readable(seed: int, tmp_path: Path) -> None:
    """Every turn that was started is there; each that had not ended reads interrupted, inferred, with its unsettled tools."""
    path = tmp_path / "turns.db"
    started, ended = killed_after(random.Random(seed).uniform(0.05, 0.5), path, f"p{seed}", seed)
    with SqliteStore(path) as store:
        kept = {entry.turn_id: entry for turn_id in started if (entry := store.segment(turn_id)) is not None}
        open_turns = store.running()
        recovered = {entry.turn_id: entry for entry in recover(store, at=time.time_ns())}
        assert store.running() == ()
        after = {turn_id: store.segment(turn_id) for turn_id in started}

    assert set(kept) == started, "none is missing"
    assert {entry.turn_id for entry in open_turns} == set(recovered)
    assert not ended & set(recovered)
    assert recovered, "the process died in the middle of its turns"
    for turn_id, entry in after.items():
        assert entry is not None
        verdict = classify(entry.facts)
        if turn_id not in recovered:
            assert verdict.outcome is Outcome.COMPLETED
            continue
        assert (verdict.outcome, verdict.evidence) == (Outcome.INTERRUPTED, Evidence.INFERRED)
        assert view(entry.seen).notice is Notice.INTERRUPTED
        running = [call for step in entry.facts.steps for call in step.tool_calls if call.status is ToolStatus.RUNNING]
        assert verdict.unsettled_tools == len(running)
