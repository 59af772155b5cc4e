"""Facts and verdict of one turn -> the rows of the three tables. Pure: the same turn gives the same rows.

The `steps` and `tool_calls` rows are projections of the stored facts, so they can be made again from a `turns` row at any time.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import lru_cache
from typing import Any, Final, TypeAlias

from turnout.outcomes.classify import classify
from turnout.outcomes.facts import Instant, Limits, Output, Step, StepError, TaskResult, ToolCall, TurnFacts, Usage
from turnout.outcomes.finishes import finish_of
from turnout.outcomes.phrases import without_text
from turnout.outcomes.providers import FinishClass
from turnout.outcomes.quick import quick
from turnout.outcomes.settle import settle
from turnout.outcomes.usage import inclusive
from turnout.outcomes.verdict import (
    BudgetKind,
    Cause,
    Evidence,
    Flag,
    MetadataFinish,
    Notice,
    Outcome,
    Resumable,
    Verdict,
)
from turnout.pipeline.analysis.price import Cost
from turnout.pipeline.codec import encode_turn
from turnout.pipeline.costs import step_cost, turn_cost

Row: TypeAlias = dict[str, object]
"""One row by column name; instants are microseconds since the epoch, UTC."""

_NANOS_PER_SECOND = 1_000_000_000
_NANOS_PER_DAY = 24 * 60 * 60 * _NANOS_PER_SECOND
_EPOCH = date(1970, 1, 1)
_TOKENS: Final = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
_MOST: Final = 2**63 - 1
_NO_LIMITS = Limits()
_NO_USAGE = Usage()
_NO_OUTPUT = Output()
_NO_ERROR = StepError()
_NO_RESULT = TaskResult()


@quick
@dataclass(frozen=True, slots=True)
class ClassifiedTurn:
    """One turn ready to be stored: settled, free of text, with its verdict; ``received_at`` is when its evidence first came."""

    facts: TurnFacts
    verdict: Verdict
    received_at: Instant
    encoded: bytes = field(default=b"", compare=False, repr=False)
    """The facts as JSON where that has been worked out already; `facts_json` gives them in any case."""


def classified(facts: TurnFacts, received_at: Instant) -> ClassifiedTurn:
    """Strip every free text, bring the evidence into canonical form and decide the outcome."""
    settled = canonical(facts)
    return ClassifiedTurn(settled, classify(settled), received_at)


def canonical(facts: TurnFacts) -> TurnFacts:
    """The evidence as it is stored and judged: without free text, in the one form that it has in whatever order it came."""
    return settle(without_text(facts))


def judged(settled: TurnFacts, received_at: Instant) -> ClassifiedTurn:
    """Decide the outcome of evidence in canonical form, and work out its JSON, which a write needs in any case."""
    return ClassifiedTurn(settled, classify(settled), received_at, encode_turn(settled))


def facts_json(turn: ClassifiedTurn) -> bytes:
    """The facts as they are stored; their digest is `digest_of` this."""
    return turn.encoded or encode_turn(turn.facts)


def digest_of(facts_json: bytes) -> str:
    """Content hash of encoded facts: equal facts, equal digest, whatever way they came."""
    return hashlib.sha256(facts_json).hexdigest()[:32]


def date_of(turn: ClassifiedTurn) -> str:
    """The UTC date a turn is kept under: of its start, else of its first receipt."""
    instant = turn.received_at if turn.facts.started_at is None else turn.facts.started_at
    return _date(instant // _NANOS_PER_DAY)


@lru_cache(maxsize=1024)
def _date(day: int) -> str:
    """Turns that come together are of few days, and the calendar is what costs."""
    return (_EPOCH + timedelta(days=day)).isoformat()


def turn_row(turn: ClassifiedTurn, of_steps: Sequence[Cost] | None = None) -> Row:
    """The row of `turns`; the lake itself settles ``last_segment`` against the other segments of the root.

    ``of_steps`` is what each of its calls cost, where that has been worked out already.
    """
    facts, verdict = turn.facts, turn.verdict
    encoded = facts_json(turn)
    return {
        **_identity(facts),
        "received_at": _micros(turn.received_at),
        "date": date_of(turn),
        **_limits(facts.limits or _NO_LIMITS),
        **_verdict(verdict),
        **_cost(facts, of_steps),
        "duration_s": _seconds(facts.started_at, facts.ended_at),
        "models": _distinct(step.model for step in facts.steps),
        "providers": _distinct(step.provider for step in facts.steps),
        "tools": _distinct(call.name for call in _calls(facts.steps)),
        **_last_step(facts.steps),
        **_task(facts.task_result or _NO_RESULT),
        "digest": digest_of(encoded),
        "facts": encoded.decode(),
        "last_segment": True,
        "updated_at": _micros(turn.received_at),
        **_step_outputs(facts.steps),
        "segment_of": None if facts.root_turn_id in {None, facts.turn_id} else facts.root_turn_id,
    }


def step_rows(turn: ClassifiedTurn) -> list[Row]:
    """The rows of `steps`, one a model call, in order."""
    shared = _dimensions(turn)
    last = len(turn.facts.steps)
    counts: dict[int | None, int] = {}
    rows: list[Row] = []
    for number, step in enumerate(turn.facts.steps, start=1):
        counts[step.index] = counts.get(step.index, 0) + 1
        rows.append(_step(step) | shared | {"is_last": number == last, "position": counts[step.index]})
    return rows


def tool_call_rows(turn: ClassifiedTurn) -> list[Row]:
    """The rows of `tool_calls`, in order."""
    shared = _dimensions(turn)
    total = sum(len(step.tool_calls) for step in turn.facts.steps)
    counts: dict[int | None, int] = {}
    rows: list[Row] = []
    for step in turn.facts.steps:
        for call in step.tool_calls:
            counts[step.index] = counts.get(step.index, 0) + 1
            place = {"step": step.index, "position": counts[step.index], "model": step.model}
            rows.append(_tool_call(call) | shared | place | {"is_last": len(rows) + 1 == total})
    return rows


def verdict_of(row: Mapping[str, Any]) -> Verdict:
    """The verdict that a row of `turns` was made from, as the classifier of that time gave it."""
    counts = {name: row[name] for name in _TOKENS}
    return Verdict(
        turn_id=row["turn_id"],
        classifier_version=row["classifier_version"],
        outcome=Outcome(row["outcome"]),
        budget_kind=None if row["budget_kind"] is None else BudgetKind(row["budget_kind"]),
        cause=None if row["cause"] is None else Cause(row["cause"]),
        resumable=Resumable(row["resumable"]),
        abnormal=row["abnormal"],
        evidence=Evidence(row["evidence"]),
        rule=row["rule"],
        conflicts=tuple(row["conflicts"]),
        flags=tuple(Flag(flag) for flag in row["flags"]),
        steps=row["steps"],
        steps_charged=row["steps_charged"],
        tool_calls=row["tool_calls"],
        tool_errors=row["tool_errors"],
        unsettled_tools=row["unsettled_tools"],
        usage=None if set(counts.values()) == {None} else Usage(**counts),
        usage_complete=row["usage_complete"],
        finish_reason=None if row["finish_reason"] is None else MetadataFinish(row["finish_reason"]),
        interrupted=row["interrupted"],
        finished=row["finished"],
        notice=Notice(row["notice"]),
        can_continue=row["can_continue"],
    )


def _identity(facts: TurnFacts) -> Row:
    return {
        "turn_id": facts.turn_id,
        "root_turn_id": facts.root_turn_id or facts.turn_id,
        "parent_turn_id": facts.parent_turn_id,
        "continues_turn_id": facts.continues_turn_id,
        "conversation_id": facts.conversation_id,
        "trace_id": facts.trace_id,
        "user_id": facts.user_id,
        "service": facts.service,
        "environment": facts.environment,
        "agent": facts.agent,
        "agent_version": facts.agent_version,
        "source": facts.source,
        "attended": facts.attended,
        "started_at": _micros(facts.started_at),
        "ended_at": _micros(facts.ended_at),
        "last_seen_at": _micros(facts.last_seen_at),
        "open": facts.open,
    }


def _limits(limits: Limits) -> Row:
    return {
        "limit_steps": limits.steps,
        "limit_tool_calls": limits.tool_calls,
        "limit_total_tokens": limits.total_tokens,
        "limit_seconds": limits.seconds,
        "limit_cost_usd": limits.cost_usd,
    }


def _verdict(verdict: Verdict) -> Row:
    return {
        "outcome": str(verdict.outcome),
        "budget_kind": _text(verdict.budget_kind),
        "cause": _text(verdict.cause),
        "resumable": str(verdict.resumable),
        "abnormal": verdict.abnormal,
        "evidence": str(verdict.evidence),
        "rule": verdict.rule,
        "conflicts": list(verdict.conflicts),
        "flags": [str(flag) for flag in verdict.flags],
        "steps": verdict.steps,
        "steps_charged": verdict.steps_charged,
        "tool_calls": verdict.tool_calls,
        "tool_errors": verdict.tool_errors,
        "unsettled_tools": verdict.unsettled_tools,
        **_tokens(verdict.usage or _NO_USAGE),
        "usage_complete": verdict.usage_complete,
        "finish_reason": _text(verdict.finish_reason),
        "interrupted": verdict.interrupted,
        "finished": verdict.finished,
        "notice": str(verdict.notice),
        "can_continue": verdict.can_continue,
        "classifier_version": verdict.classifier_version,
    }


def _tokens(usage: Usage) -> Row:
    """Sums that no column can hold are as good as not recorded."""
    counts = {name: getattr(usage, name) for name in _TOKENS}
    return {name: None if count is None or count > _MOST else count for name, count in counts.items()}


def _cost(facts: TurnFacts, of_steps: Sequence[Cost] | None) -> Row:
    cost = turn_cost(facts, of_steps)
    return {"cost_usd": cost.usd, "cost_source": _text(cost.source), "price_list": cost.price_list}


def _last_step(steps: tuple[Step, ...]) -> Row:
    last = steps[-1] if steps else Step()
    return {
        "model": _last_of(step.model for step in steps),
        "provider": _last_of(step.provider for step in steps),
        "last_step": last.index,
        "last_tool": _last_of(call.name for call in _calls(steps)),
        "last_finish_reason": last.finish_reason,
        "last_raw_finish_reason": last.raw_finish_reason,
        "refusal_category": last.refusal.category if last.refusal else None,
        "last_output_tokens": (inclusive(last) or _NO_USAGE).output_tokens,
        "last_max_output_tokens": last.max_output_tokens,
        "last_text_chars": (last.output or _NO_OUTPUT).text_chars,
    }


def _step_outputs(steps: tuple[Step, ...]) -> Row:
    """What a cap of output tokens for each call would have met; a call that failed before it said anything is passed over."""
    used = [(inclusive(step) or _NO_USAGE).output_tokens for step in steps]
    charged = [bool(step.finish_reason or step.raw_finish_reason) for step in steps]
    said = all(count is not None for count, finished in zip(used, charged, strict=True) if finished)
    largest = max((count for count in used if count is not None), default=None)
    return {
        "step_output_tokens": largest if said and largest is not None and largest <= _MOST else None,
        "step_output_cap": max(
            (step.max_output_tokens for step in steps if step.max_output_tokens is not None), default=None
        ),
        "step_cut": any(finish_of(step).kind is FinishClass.LENGTH for step in steps),
    }


def _task(result: TaskResult) -> Row:
    return {"task_resolved": result.resolved, "task_correct": result.correct, "task_reward": result.reward}


def _dimensions(turn: ClassifiedTurn) -> Row:
    facts = turn.facts
    return {
        "turn_id": facts.turn_id,
        "root_turn_id": facts.root_turn_id or facts.turn_id,
        "date": date_of(turn),
        "service": facts.service,
        "environment": facts.environment,
        "agent": facts.agent,
        "agent_version": facts.agent_version,
        "source": facts.source,
        "attended": facts.attended,
        "outcome": str(turn.verdict.outcome),
        "turn_started_at": _micros(turn.received_at if facts.started_at is None else facts.started_at),
    }


def _step(step: Step) -> Row:
    error, output = step.error or _NO_ERROR, step.output or _NO_OUTPUT
    means = finish_of(step).kind
    return {
        "step": step.index,
        "started_at": _micros(step.started_at),
        "ended_at": _micros(step.ended_at),
        "provider": step.provider,
        "api": step.api,
        "model": step.model,
        "finish_reason": step.finish_reason,
        "raw_finish_reason": step.raw_finish_reason,
        "finish_class": _text(means),
        "refused": means is FinishClass.REFUSAL,
        "refusal_category": step.refusal.category if step.refusal else None,
        "stream_complete": step.stream_complete,
        "forced_final": step.forced_final,
        "aborted": step.aborted,
        "max_output_tokens": step.max_output_tokens,
        **_tokens(inclusive(step) or _NO_USAGE),
        "cost_usd": step_cost(step).usd,
        "attempts": step.attempts,
        "error_type": error.type,
        "error_status": error.status,
        "text_chars": output.text_chars,
        "parts": output.parts,
        "tool_calls": len(step.tool_calls),
    }


def _tool_call(call: ToolCall) -> Row:
    return {
        "call_id": call.id,
        "tool": call.name,
        "status": _text(call.status),
        "final": call.final,
        "arguments_valid": call.arguments_valid,
        "arguments_digest": call.arguments_digest,
        "mutating": call.mutating,
        "error_type": call.error_type,
        "denied_by": call.denied_by,
        "started_at": _micros(call.started_at),
        "ended_at": _micros(call.ended_at),
        "duration_s": _seconds(call.started_at, call.ended_at),
    }


def _calls(steps: tuple[Step, ...]) -> Iterator[ToolCall]:
    return (call for step in steps for call in step.tool_calls)


def _text(value: object | None) -> str | None:
    return None if value is None else str(value)


def _micros(instant: Instant | None) -> int | None:
    return None if instant is None else instant // 1000


def _seconds(start: Instant | None, end: Instant | None) -> float | None:
    """Seconds between two instants; not recorded where two clocks disagree so far that the end comes first."""
    return None if start is None or end is None or end < start else (end - start) / _NANOS_PER_SECOND


def _distinct(values: Iterable[str | None]) -> list[str]:
    return sorted({value for value in values if value is not None})


def _last_of(values: Iterable[str | None]) -> str | None:
    return next((value for value in reversed(list(values)) if value is not None), None)
