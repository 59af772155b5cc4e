"""The turn loop: take a step, find three facts, decide once, and act on the decision."""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from turnout.outcomes.decide import (
    HOST_CANCEL,
    WORK_LEFT,
    Constraint,
    Continue,
    Fail,
    Finish,
    FinishCandidate,
    PrerequisiteMiss,
    Steering,
    StepFacts,
    Terminate,
    ToolCalls,
    TurnYield,
    decide_step,
    select_demand,
    spent_stop,
)
from turnout.outcomes.facts import Instant, Requester, Step, StepError, StopMode, ToolStatus
from turnout.outcomes.step_end import ANSWERED, BROKEN, closes, consults, stands, step_finish, unanswered, vetoed
from turnout.outcomes.verdict import BudgetKind
from turnout.runtime.agent import Agent, Price, TurnTask
from turnout.runtime.budget import calls_left, is_last_step, spent
from turnout.runtime.calls import Calls
from turnout.runtime.clock import Clock
from turnout.runtime.hooks import Candidate, Checked, Consulted, consult, together
from turnout.runtime.log import StepLog, TurnLog
from turnout.runtime.messages import CallRequest, Message, ToolMessage, whole
from turnout.runtime.model import ModelError, ModelRequest
from turnout.runtime.request import Asking, Seam
from turnout.runtime.settle import Attempt
from turnout.runtime.steering import Controls, cross_step_boundary
from turnout.runtime.tools import CallEnd
from turnout.runtime.transcript import TranscriptStore


@dataclass(slots=True)
class Loop:
    """One turn's run; everything in it belongs to this turn alone."""

    agent: Agent
    task: TurnTask
    controls: Controls
    log: TurnLog
    clock: Clock
    seam: Seam
    calls: Calls
    messages: list[Message]
    reader: TranscriptStore | None
    failure: ModelError | None = None
    _step: StepLog | None = field(default=None, init=False)
    _settled: Step | None = field(default=None, init=False)

    async def run(self) -> Terminate | Fail:
        """Take steps until the decision is to end; whatever leaves the loop, the turn gets its one end."""
        deadline = asyncio.create_task(self._deadline())
        try:
            decision = await self._steps()
        except asyncio.CancelledError:
            self.cancelled()
            raise
        except BaseException:
            self.break_off()
            raise
        finally:
            deadline.cancel()
        return decision

    def cancelled(self) -> None:
        """End the turn because the host cancelled its task."""
        self.controls.stop.request(HOST_CANCEL, Requester.HOST)
        cut = self.seam.cut()
        if cut is not None and self._step is not None:
            self._keep(cut, self._step)
        self._end(self._standing() or StepFacts(None, WORK_LEFT, self.controls.stop.constraint))

    def break_off(self) -> None:
        """End the turn because its own loop broke; that its end cannot be kept either is no news then."""
        with contextlib.suppress(Exception):
            self._end(StepFacts(None, BROKEN, None))

    async def _steps(self) -> Terminate | Fail:
        facts = StepFacts(None, WORK_LEFT, self._constraint())
        while (ended := self._end(facts)) is None:
            await cross_step_boundary(self.controls)
            facts = await self._take_step()
        return ended

    async def _take_step(self) -> StepFacts:
        attempt = await self.seam.step(Asking(self._request, self._opened, self._retried))
        if attempt is None or self._step is None:
            return StepFacts(None, WORK_LEFT, self._constraint())
        self._keep(attempt, self._step)
        finish = step_finish(attempt.facts)
        if finish is None and not attempt.facts.aborted:
            return await self._worked(attempt, self._step)
        self.calls.leave(attempt.message.calls, self._step)
        if finish is None or attempt.facts.aborted:
            # What was asked for still waits, unless the provider had refused it by then.
            return self._standing() or StepFacts(None, WORK_LEFT, self._constraint())
        return await self._finished(finish, attempt)

    def _standing(self) -> StepFacts | None:
        """A refusal that was there before anybody cut the turn is its end, whatever was asked for since."""
        facts = self._settled
        finish = step_finish(facts) if facts is not None else None
        if facts is None or finish is None or not stands(finish) or self._cut_before(facts.ended_at):
            return None
        return StepFacts(None, FinishCandidate(finish), None)

    async def _worked(self, attempt: Attempt, step: StepLog) -> StepFacts:
        """The step left work: run its calls, or go on where the provider only paused."""
        requests = attempt.message.calls
        left = 0 if step.forced else calls_left(self.task.limits, self.log.facts)
        ends = await self.calls.run(requests, step, left)
        self.messages += [
            ToolMessage(request.id, end.content, is_error=end.status is not ToolStatus.OK)
            for request, end in zip(requests, ends, strict=True)
            if end.content is not None
        ]
        self.log.tell()
        turn_yield = self._yielded(requests, ends)
        if any(end.misses for end in ends):
            return StepFacts(turn_yield, PrerequisiteMiss(), self._constraint())
        if self.calls.answered(requests, ends):
            return replace(await self._finished(ANSWERED, attempt), yield_=turn_yield)
        return StepFacts(turn_yield, ToolCalls(), self._constraint())

    async def _finished(self, finish: Finish, attempt: Attempt) -> StepFacts:
        """The provider ended the step: every hook has its say, whatever the budget."""
        said = await self._consulted(finish, attempt.message.text)
        if closes(finish):
            return self._standing() or StepFacts(None, FinishCandidate(finish), self._constraint())
        demands = [vetoed(finish)] if said.feedback else []
        if self._step is not None and self._step.forced and unanswered(finish, allowed=said.allowed):
            demands.append(ToolCalls())
        self.messages += [message] if (message := said.message()) is not None else []
        if self.controls.inbox.waiting:
            demands.append(Steering(finish))
        return StepFacts(None, select_demand(demands, finish), self._constraint())

    def _cut_before(self, instant: Instant | None) -> bool:
        stops = self.log.facts.stop_requests
        return any(s.mode is StopMode.IMMEDIATE and (s.at or 0) < (instant or 0) for s in stops)

    async def _consulted(self, finish: Finish, text: str) -> Consulted:
        """What the finish hooks say, each asked once."""
        if not consults(finish):
            return Consulted()
        candidate = Candidate(self.task.turn_id, finish, text, tuple(self.messages), self.reader)
        checks: list[Checked] = []
        for hook in self.agent.finish_hooks:
            checks.append(await consult(hook, candidate, self.controls.stop))
            self.log.finish_check(checks[-1].verdict, checks[-1].by, checks[-1].why)
        return together(checks)

    def _yielded(self, requests: Sequence[CallRequest], ends: Sequence[CallEnd]) -> TurnYield | None:
        for request, end in zip(requests, ends, strict=True):
            if end.turn_yield is not None:
                self.log.yielded(end.turn_yield, request.id)
                return end.turn_yield
        return None

    def _constraint(self) -> Constraint | None:
        return self.controls.stop.constraint or spent(self.task.limits, self.log.facts, self.clock.now())

    def _request(self) -> ModelRequest:
        """Called when a request may go out: the messages that arrived meanwhile go with it."""
        self.messages += self.controls.inbox.take()
        return ModelRequest(
            messages=whole(self.messages),
            instructions=self.agent.instructions,
            tools=tuple(tool.spec for tool in self.agent.tools),
            max_output_tokens=self.agent.max_output_tokens,
            may_call=not self._forces(),
        )

    def _forces(self) -> bool:
        """Whether the coming step is the one that must answer."""
        return self.agent.forced_final and bool(self.agent.tools) and is_last_step(self.task.limits, self.log.facts)

    def _opened(self) -> None:
        model = self.agent.model
        self._step = self.log.step(
            model=model.name,
            provider=model.provider,
            api=model.api,
            max_output_tokens=self.agent.max_output_tokens,
            forced_final=self._forces() or None,
        )

    def _retried(self, failed: Attempt) -> None:
        if self._step is not None:
            self._step.retried(failed)

    def _keep(self, attempt: Attempt, step: StepLog) -> None:
        step.settled(_priced(attempt, self.agent.price))
        self._settled = attempt.facts
        self.failure = attempt.failure
        if attempt.message.text or attempt.message.calls:
            self.messages.append(attempt.message)

    def _end(self, facts: StepFacts) -> Terminate | Fail | None:
        """Decide; and where the decision is to end, give the turn its one end with the decided reason."""
        match decide_step(facts):
            case Continue():
                return None
            case Fail(reason) as failed:
                if self._step is not None:
                    self._step.failed(StepError(type=reason, retryable=False))
                self.log.end(reason, "failed")
                return failed
            case Terminate(reason) as ended:
                self.log.end(reason, None)
                return ended

    async def _deadline(self) -> None:
        """A turn that runs out of time is cut where it stands."""
        if self.task.limits.seconds is not None:
            await self.clock.sleep(self.task.limits.seconds)
            self.controls.stop.request(spent_stop(BudgetKind.TIME), Requester.RUNTIME)


def _priced(attempt: Attempt, price: Price | None) -> Attempt:
    usage = attempt.facts.usage
    if price is None or usage is None or attempt.facts.cost_usd is not None:
        return attempt
    return replace(attempt, facts=replace(attempt.facts, cost_usd=price(usage)))
