"""The facts of a running turn: kept here, told to a recorder, and handed on at every change.

The loop tells what happens to this log alone. What it keeps is the turn's snapshot: nothing in it is shared with another turn.
"""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from turnout.outcomes.decide import FailReason, StopRequest, TerminalReason, TurnYield
from turnout.outcomes.facts import (
    CheckVerdict,
    Claim,
    FinishCheck,
    Layer,
    Requester,
    Step,
    StepError,
    StopRecord,
    ToolCall,
    ToolStatus,
    TurnFacts,
    YieldRecord,
)
from turnout.runtime.clock import Clock
from turnout.runtime.recorder import CallRecord, StepRecord, TurnRecord
from turnout.runtime.settle import Attempt, attempt_end
from turnout.runtime.tools import CallEnd

CUT_SHORT = CallEnd(status=ToolStatus.ERROR, content="The call was cut short.", error_type="cut_short")
"""How a call ends whose work was ended because the turn was."""

_SETTLED = (ToolStatus.OK, ToolStatus.ERROR, ToolStatus.DENIED)

Changed: TypeAlias = Callable[[TurnFacts], None]


class TurnLog:
    """Keeps the facts of one turn; ``changed``, where it is given, is called with them after each change."""

    def __init__(self, facts: TurnFacts, clock: Clock, record: TurnRecord, changed: Changed | None) -> None:
        self._facts = facts
        self._clock = clock
        self._record = record
        self._changed = changed
        self._steps: list[StepLog] = []
        self._seq = 0

    @property
    def facts(self) -> TurnFacts:
        """What is known of the turn now."""
        return replace(self._facts, steps=tuple(step.facts for step in self._steps))

    def step(
        self, *, model: str, provider: str, api: str | None, max_output_tokens: int | None, forced_final: bool | None
    ) -> "StepLog":
        """A step begins: its first request goes out now."""
        if self._steps:
            self._steps[-1].close()
        record = self._record.step(
            model=model,
            provider=provider,
            api=api,
            max_output_tokens=max_output_tokens,
            forced_final=forced_final,
        )
        facts = Step(
            index=len(self._steps) + 1,
            provider=provider,
            api=api,
            model=model,
            started_at=self._clock.now(),
            max_output_tokens=max_output_tokens,
            forced_final=forced_final,
        )
        step = StepLog(facts, self._clock, record, self.tell)
        self._steps.append(step)
        self.tell()
        return step

    def stop(self, stop: StopRequest, by: Requester) -> None:
        """Somebody asked the turn to stop."""
        self._record.stop(stop.mode, stop.reason, by=by)
        asked = StopRecord(
            mode=stop.mode, reason=stop.reason, step=self._last, at=self._clock.now(), seq=self._next(), by=by
        )
        self._keep(stop_requests=(*self._facts.stop_requests, asked))

    def finish_check(self, verdict: CheckVerdict, by: str, why: str | None) -> None:
        """A finish hook answered, or could not."""
        self._record.finish_check(verdict, by=by, why=why)
        check = FinishCheck(step=self._last, verdict=verdict, by=by, why=why)
        self._keep(finish_checks=(*self._facts.finish_checks, check))

    def yielded(self, turn_yield: TurnYield, call_id: str | None) -> None:
        """A tool ended the turn."""
        self._record.yielded(turn_yield.reason, tool_call_id=call_id)
        self._keep(yield_=YieldRecord(reason=turn_yield.reason, tool_call_id=call_id))

    def end(self, reason: TerminalReason | FailReason, status: str | None) -> None:
        """The turn is over, for the decided reason as it is."""
        self._record.claim(Layer.RUNTIME, reason, status=status)
        for step in self._steps:
            step.close()
        self._record.end()
        now = self._clock.now()
        claim = Claim(by=Layer.RUNTIME, reason=reason, status=status, at=now, seq=self._next())
        self._keep(claims=(*self._facts.claims, claim), ended_at=now, open=False)

    def disposed(self, disposition: str) -> None:
        """What became of a turn that its budget ended: the host's word beside the loop's, with the reason that was decided."""
        reason = self._facts.claims[-1].reason
        self._record.claim(Layer.HOST, reason, status=disposition)
        claim = Claim(by=Layer.HOST, reason=reason, status=disposition, at=self._clock.now(), seq=self._next())
        self._keep(claims=(*self._facts.claims, claim))

    def current(self) -> TurnRecord:
        """The record, to be the current one while the turn runs."""
        return self._record

    def tell(self) -> None:
        """Hand the facts on, where anybody keeps them."""
        if self._changed is not None:
            self._changed(self.facts)

    @property
    def _last(self) -> int | None:
        return len(self._steps) or None

    def _next(self) -> int:
        self._seq += 1
        return self._seq

    def _keep(self, **values: object) -> None:
        self._facts = replace(self._facts, **values)  # type: ignore[arg-type]  # the names are those of the fields
        self.tell()


class StepLog:
    """Keeps the facts of one step."""

    def __init__(self, facts: Step, clock: Clock, record: StepRecord, tell: Callable[[], None]) -> None:
        self._facts = facts
        self._clock = clock
        self._record = record
        self._tell = tell
        self._calls: list[CallLog] = []
        self._told = 0
        self._made: tuple[tuple[Step, tuple[ToolCall, ...]], Step] | None = None

    @property
    def facts(self) -> Step:
        """What is known of the step now; made again only when something changed, since every change of the turn asks."""
        parts = (self._facts, tuple(call.facts for call in self._calls))
        if self._made is None or self._made[0] != parts:
            self._made = (parts, replace(self._facts, tool_calls=parts[1]))
        return self._made[1]

    @property
    def forced(self) -> bool:
        """Whether the step had to answer without tools."""
        return self._facts.forced_final is True

    def retried(self, failed: Attempt) -> None:
        """A request ended without an answer, and another one goes out for the same step."""
        end = attempt_end(failed)
        self._told += 1
        self._record.attempt(reason=end.reason, status=end.status, at=end.at)

    def settled(self, attempt: Attempt) -> None:
        """The request came to its end, whichever it was."""
        facts = attempt.facts
        for end in facts.attempt_ends[self._told :]:  # a request that failed, and a stop kept the next one back
            self._record.attempt(reason=end.reason, status=end.status, at=end.at, again=False)
        self._facts = replace(
            facts,
            index=self._facts.index,
            started_at=self._facts.started_at,
            max_output_tokens=self._facts.max_output_tokens,
            forced_final=self._facts.forced_final,
            tool_calls=(),
        )
        _record_answer(self._record, facts)
        self._tell()

    def failed(self, error: StepError) -> None:
        """The step ended the turn as failed, although the provider had answered."""
        self._facts = replace(self._facts, error=error)
        self._record.failed(error)
        self._tell()

    def call(self, facts: ToolCall, arguments: str) -> "CallLog":
        """A tool call of the step, as it stands."""
        record = self._record.tool_call(
            facts.name,
            id=facts.id,
            arguments=arguments,
            arguments_valid=facts.arguments_valid,
            mutating=facts.mutating,
            final=facts.final,
            status=facts.status or ToolStatus.UNKNOWN,
        )
        call = CallLog(replace(facts, started_at=self._clock.now()), self._clock, record, self._tell)
        self._calls.append(call)
        self._tell()
        return call

    def close(self) -> None:
        """The turn is over."""
        for call in self._calls:
            call.close()
        self._record.close()


class CallLog:
    """Keeps the facts of one tool call; it may still be told of the work's end when the turn is over."""

    def __init__(self, facts: ToolCall, clock: Clock, record: CallRecord, tell: Callable[[], None]) -> None:
        self.facts = facts
        self._clock = clock
        self._record = record
        self._tell = tell

    def stands(self, end: CallEnd) -> None:
        """Where the call stands now."""
        over = end.status in _SETTLED
        self.facts = replace(
            self.facts,
            status=end.status,
            error_type=end.error_type,
            denied_by=end.denied_by,
            ended_at=self._clock.now() if over else None,
        )
        self._record.settle(end.status, error_type=end.error_type, denied_by=end.denied_by)
        if over:
            self._record.close()
        self._tell()

    def cut_short(self) -> None:
        """Nothing of the call's work is left, and it had not come to an end; that this cannot be kept is no news then."""
        if self.facts.status not in _SETTLED:
            with contextlib.suppress(Exception):
                self.stands(CUT_SHORT)

    def close(self) -> None:
        """The turn is over."""
        self._record.close()


def _record_answer(record: StepRecord, facts: Step) -> None:
    record.finish(
        finish_reason=facts.finish_reason,
        raw_finish_reason=facts.raw_finish_reason,
        usage=facts.usage,
        output=facts.output,
        refusal=facts.refusal,
        message_id=facts.message_id,
        request_id=facts.request_id,
        cost_usd=facts.cost_usd,
        cache_in_input=facts.cache_in_input,
        stream_complete=facts.stream_complete,
    )
    if facts.error is not None:
        record.failed(facts.error)
    if facts.aborted:
        record.aborted()
