"""One turn in words: how it ended, which rule said so from what, and everything that was recorded of it. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from turnout.outcomes.explain import Explanation, explain
from turnout.outcomes.facts import Claim, Step, StopRecord, ToolCall, TurnFacts
from turnout.outcomes.instants import format_instant
from turnout.outcomes.record import turn_record, verdict_record
from turnout.outcomes.verdict import Verdict
from turnout.pipeline.query.warehouse import TurnDetail
from turnout.pipeline.wording import NOT_RECORDED


@dataclass(frozen=True, slots=True)
class Told:
    """A turn with its explanation; ``segments`` are the ids and outcomes of all stretches of the same root."""

    facts: TurnFacts
    verdict: Verdict
    explanation: Explanation
    cost_usd: float | None
    segments: tuple[tuple[str, str], ...]


def tell(detail: TurnDetail) -> Told:
    """Explain a turn as the warehouse found it."""
    cost: Any = detail.row["cost_usd"]
    return Told(
        facts=detail.facts,
        verdict=detail.verdict,
        explanation=explain(detail.facts, detail.verdict),
        cost_usd=cost,
        segments=tuple(detail.segments.select("turn_id", "outcome").iter_rows()),
    )


def as_record(told: Told) -> dict[str, object]:
    """The turn as one JSON object: facts, verdict and the words."""
    words = told.explanation
    return {
        "turn": turn_record(told.facts),
        "verdict": verdict_record(told.verdict),
        "explanation": {
            "headline": words.headline,
            "rule": words.rule_words,
            "evidence": list(words.evidence),
            "person_saw": words.person_saw,
            "continue": words.continue_words,
        },
        "segments": [{"turn_id": turn_id, "outcome": outcome} for turn_id, outcome in told.segments],
    }


def story(told: Told) -> str:
    """The turn as a page of text."""
    return "\n".join(_lines(told))


def _lines(told: Told) -> Iterator[str]:
    facts, verdict, words = told.facts, told.verdict, told.explanation
    yield words.headline
    yield ""
    yield f"turn        {facts.turn_id}"
    yield from _named("conversation", facts.conversation_id)
    yield f"agent       {facts.agent or NOT_RECORDED} {facts.agent_version or ''}".rstrip()
    yield f"when        {_when(facts.started_at)} to {_when(facts.ended_at)}"
    yield f"outcome     {_outcome(verdict)}"
    yield f"rule        {verdict.rule}: {words.rule_words}"
    yield from (f"evidence    {line}" for line in words.evidence)
    yield f"person saw  {words.person_saw}"
    yield f"continue    {words.continue_words}"
    yield f"spent       {_spent(told)}"
    yield from _named("limits", _limits(facts))
    yield from _named("flags", ", ".join(map(str, verdict.flags)))
    yield from _named("conflicts", ", ".join(verdict.conflicts))
    yield from _segments(told)
    yield from _block("Steps", map(_step, facts.steps))
    yield from _block("Tool calls", (_tool(step, call) for step in facts.steps for call in step.tool_calls))
    yield from _block("Claims", map(_claim, facts.claims))
    yield from _block("Stop requests", map(_stop, facts.stop_requests))
    yield from _block(
        "Finish checks",
        (f"step {c.step}: {c.verdict or NOT_RECORDED} by {c.by or NOT_RECORDED}" for c in facts.finish_checks),
    )


def _named(name: str, value: str | None) -> Iterator[str]:
    if value:
        yield f"{name:<11} {value}"


def _block(title: str, lines: Iterator[str]) -> Iterator[str]:
    body = list(lines)
    if body:
        yield ""
        yield title
        yield from (f"  {line}" for line in body)


def _outcome(verdict: Verdict) -> str:
    closer = verdict.budget_kind or verdict.cause
    return f"{verdict.outcome}{f' ({closer})' if closer else ''}, {verdict.evidence}"


def _spent(told: Told) -> str:
    verdict = told.verdict
    usage = verdict.usage
    parts = [_of(verdict.steps, "step"), _of(verdict.tool_calls, "tool call")]
    if usage is None:
        parts.append(f"tokens {NOT_RECORDED}")
    else:
        parts.append(f"{_known(usage.input_tokens)} tokens in, {_known(usage.output_tokens)} out")
    parts.append(f"cost {NOT_RECORDED}" if told.cost_usd is None else f"${told.cost_usd:.4f}")
    return ", ".join(parts)


def _limits(facts: TurnFacts) -> str:
    limits = facts.limits
    if limits is None:
        return ""
    values: Mapping[str, float | None] = {
        "steps": limits.steps,
        "tool calls": limits.tool_calls,
        "tokens": limits.total_tokens,
        "seconds": limits.seconds,
        "dollars": limits.cost_usd,
    }
    return ", ".join(f"{value:g} {name}" for name, value in values.items() if value is not None)


def _segments(told: Told) -> Iterator[str]:
    if len(told.segments) > 1:
        yield from (f"segment     {turn_id}: {outcome}" for turn_id, outcome in told.segments)


def _step(step: Step) -> str:
    usage = step.usage
    tokens = f", {_known(usage.input_tokens)} in, {_known(usage.output_tokens)} out" if usage else ""
    cap = f" of {step.max_output_tokens}" if usage and step.max_output_tokens is not None else ""
    error = f", error {step.error.type or step.error.status or NOT_RECORDED}" if step.error else ""
    aborted = ", aborted" if step.aborted else ""
    reason = step.raw_finish_reason or step.finish_reason or NOT_RECORDED
    return f"{step.index}  {step.model or NOT_RECORDED}: finish reason {reason}{tokens}{cap}{error}{aborted}"


def _tool(step: Step, call: ToolCall) -> str:
    error = f", {call.error_type}" if call.error_type else ""
    return f"{step.index}  {call.name or NOT_RECORDED}: {call.status or NOT_RECORDED}{error}"


def _claim(claim: Claim) -> str:
    said = claim.reason or claim.status or NOT_RECORDED
    more = "".join(
        [
            f", {claim.error_type}" if claim.error_type else "",
            f", exit {claim.exit_code}" if claim.exit_code is not None else "",
        ]
    )
    return f"{claim.by}: {said}{more}, at {_when(claim.at)}"


def _stop(stop: StopRecord) -> str:
    return (
        f"{stop.mode or NOT_RECORDED} by {stop.by or NOT_RECORDED}: {stop.reason or NOT_RECORDED}, at {_when(stop.at)}"
    )


def _when(instant: int | None) -> str:
    return NOT_RECORDED if instant is None else format_instant(instant)


def _known(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def _of(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
