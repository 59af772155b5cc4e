"""The handle on one running turn."""

import asyncio
from collections.abc import Generator
from dataclasses import dataclass, replace

from turnout.outcomes.decide import Fail, StopRequest, Terminate
from turnout.outcomes.facts import Requester, TurnFacts
from turnout.runtime.agent import Agent, TurnTask
from turnout.runtime.calls import Calls
from turnout.runtime.clock import Clock, SystemClock
from turnout.runtime.log import TurnLog
from turnout.runtime.loop import Loop
from turnout.runtime.messages import Message, UserMessage
from turnout.runtime.model import ModelError
from turnout.runtime.race import held
from turnout.runtime.recorder import Recorder, TurnRecord
from turnout.runtime.request import Seam
from turnout.runtime.silent import SILENT
from turnout.runtime.steering import Controls
from turnout.runtime.transcript import Keeper, TranscriptStore


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """How a turn ended, and what is left of it."""

    decision: Terminate | Fail
    facts: TurnFacts
    messages: tuple[Message, ...]
    """The whole conversation, this turn's messages at its end."""
    unread: tuple[UserMessage, ...]
    """Messages that arrived too late to be read; they belong to the next turn."""
    failure: ModelError | None
    """The last request's failure, where it failed."""
    log: TurnLog
    """Where what becomes known after the end is told."""
    works: tuple[asyncio.Task[None], ...]

    def disposed(self, disposition: str) -> "TurnResult":
        """The result with the host's word on what follows from a spent budget; on record as what became known after the end."""
        self.log.disposed(disposition)
        return replace(self, facts=self.log.facts)

    async def work_ended(self) -> TurnFacts:
        """Wait until nothing that the turn started is left, and tell the facts with it.

        That the turn ended is another fact, and an earlier one.
        """
        if self.works:
            await asyncio.wait(self.works)
        return self.log.facts


class Turn:
    """One running turn; await it for its result."""

    def __init__(self, loop: Loop, controls: Controls) -> None:
        self._loop = loop
        self._controls = controls
        self._ran = False
        self._task = held(asyncio.create_task(self._run()))
        self._task.add_done_callback(self._never_ran)

    def stop(self, stop: StopRequest, by: Requester = Requester.USER) -> bool:
        """Ask the turn to stop; False when it is over."""
        return self._controls.stop.request(stop, by)

    def cancel(self) -> bool:
        """Cancel the turn's task, as a host does that goes away; False when it is over.

        The turn ends as stopped by the host, and whoever awaits it gets the cancellation.
        """
        return self._task.cancel()

    def steer(self, text: str) -> bool:
        """Say something to the running turn; False when it is over."""
        return self._controls.inbox.put(text)

    def pause(self) -> None:
        """Hold the turn at its next step boundary."""
        self._controls.gate.pause()

    def resume(self) -> None:
        """Let a held turn go on."""
        self._controls.gate.resume()

    def __await__(self) -> Generator[None, None, TurnResult]:
        return self._task.__await__()

    def _never_ran(self, _: asyncio.Task[TurnResult]) -> None:
        """A task that is cancelled before its first line has still been a turn."""
        if not self._ran:
            self._loop.cancelled()
            self._controls.stop.close()
            self._controls.inbox.close()

    async def _run(self) -> TurnResult:
        self._ran = True
        try:
            with self._loop.log.current():
                decision = await self._loop.run()
        finally:
            self._controls.stop.close()
            unread = self._controls.inbox.close()
        loop = self._loop
        return TurnResult(
            decision=decision,
            facts=loop.log.facts,
            messages=tuple(loop.messages),
            unread=unread,
            failure=loop.failure,
            log=loop.log,
            works=tuple(loop.calls.works),
        )


def start_turn(
    agent: Agent,
    task: TurnTask,
    *,
    controls: Controls | None = None,
    recorder: Recorder | None = None,
    store: TranscriptStore | None = None,
    clock: Clock | None = None,
) -> Turn:
    """Start a turn on the running event loop; it is in the store when this returns.

    ``controls`` are made here unless a stop has to reach the turn before it starts; they serve one turn only.
    """
    clock = clock or SystemClock()
    controls = controls or Controls()
    messages = list(task.messages)
    log = TurnLog(
        _first_facts(agent, task, clock),
        clock,
        _record(recorder or SILENT, agent, task),
        Keeper(store, messages, task.first_own_message) if store is not None else None,
    )
    loop = Loop(
        agent=agent,
        task=task,
        controls=controls,
        log=log,
        clock=clock,
        seam=Seam(agent.model, controls.stop, clock, retry=agent.retry, compact=agent.compact),
        calls=Calls(agent, task.turn_id, controls.stop),
        messages=messages,
        reader=store,
    )
    controls.stop.listen(log.stop)
    try:
        log.tell()
    except BaseException:
        loop.break_off()
        raise
    return Turn(loop, controls)


async def run_turn(
    agent: Agent,
    task: TurnTask,
    *,
    controls: Controls | None = None,
    recorder: Recorder | None = None,
    store: TranscriptStore | None = None,
    clock: Clock | None = None,
) -> TurnResult:
    """Take one turn to its end; a cancellation ends it and goes on to the caller."""
    return await start_turn(agent, task, controls=controls, recorder=recorder, store=store, clock=clock)


def _first_facts(agent: Agent, task: TurnTask, clock: Clock) -> TurnFacts:
    return TurnFacts(
        turn_id=task.turn_id,
        root_turn_id=task.root_turn_id,
        parent_turn_id=task.parent_turn_id,
        continues_turn_id=task.continues,
        conversation_id=task.conversation_id,
        agent=agent.name,
        agent_version=agent.version,
        attended=task.attended,
        started_at=clock.now(),
        limits=task.limits,
    )


def _record(recorder: Recorder, agent: Agent, task: TurnTask) -> TurnRecord:
    return recorder.turn(
        agent=agent.name,
        agent_version=agent.version,
        conversation_id=task.conversation_id,
        attended=task.attended,
        limits=task.limits,
        continues=task.continues,
        turn_id=task.turn_id,
        root_turn_id=task.root_turn_id,
        parent_turn_id=task.parent_turn_id,
    )
