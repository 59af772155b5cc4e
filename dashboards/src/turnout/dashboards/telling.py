"""One turn as tables: what it was given, what it spent, and every step, claim and check. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from turnout.dashboards.markup import Cell, Column, Marked
from turnout.outcomes.facts import (
    Claim,
    FinishCheck,
    Instant,
    Limits,
    Step,
    StopRecord,
    ToolCall,
    ToolStatus,
    TurnFacts,
    Usage,
)
from turnout.outcomes.usage import inclusive
from turnout.outcomes.verdict import Outcome, Verdict
from turnout.pipeline.charts import COLOURS
from turnout.pipeline.wording import NOT_RECORDED, count, duration

Rows = list[dict[str, Cell]]

STEPS: Final = (
    Column("step", "Step", "number"),
    Column("model", "Model", "wide"),
    Column("finish", "Finish reason"),
    Column("tokens", "Tokens in", "number"),
    Column("output", "Tokens out", "number"),
    Column("tools", "Tools"),
    Column("took", "Took", "number"),
)
CLAIMS: Final = (
    Column("by", "Who", "tight"),
    Column("said", "Said"),
    Column("at", "When (UTC)", "tight"),
)

_NANOSECONDS: Final = 1_000_000_000
_FINE_SECONDS: Final = 10
_BAD: Final = COLOURS[Outcome.ERROR]
_OPEN: Final = COLOURS[Outcome.INTERRUPTED]
_GOOD: Final = COLOURS[Outcome.COMPLETED]
_GREY: Final = COLOURS[Outcome.UNKNOWN]


def about(facts: TurnFacts) -> list[tuple[str, Cell]]:
    """Who, where and when."""
    agent = " ".join(part for part in (facts.agent, facts.agent_version) if part)
    known = {True: "yes", False: "no", None: NOT_RECORDED}
    return [
        ("Agent", agent or NOT_RECORDED),
        ("Service and environment", _joined(facts.service, facts.environment)),
        ("Models", _joined(*dict.fromkeys(step.model for step in facts.steps))),
        ("Attended", known[facts.attended]),
        ("Started (UTC)", when(facts.started_at)),
        ("Ended (UTC)", when(facts.ended_at) if facts.ended_at else f"never; last seen {when(facts.last_seen_at)}"),
        ("Took", _took(facts.started_at, facts.ended_at) or NOT_RECORDED),
        ("Source", facts.source or NOT_RECORDED),
    ]


def spent(facts: TurnFacts, verdict: Verdict, cost_usd: float | None) -> list[tuple[str, Cell]]:
    """What the turn used, against its limits where it had any."""
    limits, usage = facts.limits or Limits(), verdict.usage
    total = None if usage is None else (usage.input_tokens or 0) + (usage.output_tokens or 0)
    took = _seconds(facts.started_at, facts.ended_at)
    return [
        ("Steps", _of(verdict.steps_charged, limits.steps)),
        ("Tool calls", _of(verdict.tool_calls, limits.tool_calls)),
        ("Tokens", _of(total, limits.total_tokens) + ("" if verdict.usage_complete else " (not all recorded)")),
        ("Seconds", _of(None if took is None else round(took), limits.seconds)),
        ("Cost", _dollars(cost_usd, limits.cost_usd)),
        ("Tool errors", count(verdict.tool_errors)),
        ("Tools left open", count(verdict.unsettled_tools)),
    ]


def identities(facts: TurnFacts) -> list[tuple[str, Cell]]:
    """The ids that other systems know it by."""
    named = {
        "Turn": facts.turn_id,
        "Conversation": facts.conversation_id,
        "Trace": facts.trace_id,
        "Sub-agent of": facts.parent_turn_id,
        "Root": facts.root_turn_id,
    }
    return [(name, value) for name, value in named.items() if value]


def step_rows(facts: TurnFacts) -> Rows:
    """Every model call with the tools that it called."""
    return [_step(step) for step in facts.steps]


def claim_rows(facts: TurnFacts) -> Rows:
    """What each layer said about the end, stop requests and finish checks among them, in the order of their instants."""
    found = [*_claims(facts.claims), *_stops(facts.stop_requests), *_checks(facts.finish_checks)]
    if facts.yield_ is not None:
        found.append((None, "tool", f"handed the turn back: {facts.yield_.reason or NOT_RECORDED}"))
    found.sort(key=lambda row: (row[0] is None, row[0] or 0))
    return [{"by": by, "said": said, "at": when(at, NOT_RECORDED)} for at, by, said in found]


def when(instant: Instant | None, missing: str = NOT_RECORDED) -> str:
    """An instant in UTC, to the second."""
    if instant is None:
        return missing
    return datetime.fromtimestamp(instant // _NANOSECONDS, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _step(step: Step) -> dict[str, Cell]:
    usage = inclusive(step) or Usage()
    cap = "" if step.max_output_tokens is None else f" of {count(step.max_output_tokens)}"
    output = NOT_RECORDED if usage.output_tokens is None else f"{count(usage.output_tokens)}{cap}"
    return {
        "step": "" if step.index is None else str(step.index),
        "model": step.model or NOT_RECORDED,
        "finish": _finish(step),
        "tokens": NOT_RECORDED if usage.input_tokens is None else count(usage.input_tokens),
        "output": output,
        "tools": _tools(step.tool_calls),
        "took": _took(step.started_at, step.ended_at),
    }


def _finish(step: Step) -> Cell:
    reason = step.raw_finish_reason or step.finish_reason
    if step.error is not None:
        status = f" {step.error.status}" if step.error.status else ""
        return Marked(f"failed: {step.error.type or NOT_RECORDED}{status}", _BAD)
    if step.refusal is not None:
        return Marked(f"refused: {step.refusal.category or reason or NOT_RECORDED}", COLOURS[Outcome.REFUSED])
    if step.aborted:
        return Marked("cancelled in flight", COLOURS[Outcome.STOPPED])
    return reason or Marked(NOT_RECORDED, _GREY)


def _tools(calls: Sequence[ToolCall]) -> Cell:
    if not calls:
        return ""
    words = ", ".join(_tool(call) for call in calls)
    statuses = {call.status for call in calls}
    if statuses & {ToolStatus.ERROR, ToolStatus.DENIED}:
        return Marked(words, _BAD)
    return Marked(words, _GOOD if statuses == {ToolStatus.OK} else _OPEN)


def _tool(call: ToolCall) -> str:
    closer = call.error_type or (f"by {call.denied_by}" if call.denied_by else "")
    status = "" if call.status is ToolStatus.OK else f" {call.status or NOT_RECORDED}".replace("_", " ")
    return f"{call.name or NOT_RECORDED}{status}{f' ({closer})' if closer else ''}"


def _claims(claims: Iterable[Claim]) -> Iterator[tuple[Instant | None, str, str]]:
    for claim in claims:
        more = [claim.error_type, None if claim.exit_code is None else f"exit code {claim.exit_code}", claim.message]
        said = ", ".join([claim.reason or claim.status or NOT_RECORDED, *(part for part in more if part)])
        yield claim.at, str(claim.by), said


def _stops(stops: Iterable[StopRecord]) -> Iterator[tuple[Instant | None, str, str]]:
    for stop in stops:
        mode = str(stop.mode or NOT_RECORDED).replace("_", " ")
        yield stop.at, str(stop.by or NOT_RECORDED), f"asked to stop ({mode}): {stop.reason or NOT_RECORDED}"


def _checks(checks: Iterable[FinishCheck]) -> Iterator[tuple[Instant | None, str, str]]:
    for check in checks:
        why = f": {check.why}" if check.why else ""
        yield None, check.by or "finish check", f"{check.verdict or NOT_RECORDED} at step {check.step}{why}"


def _of(amount: float | None, limit: float | None) -> str:
    used = NOT_RECORDED if amount is None else count(int(amount))
    return used if limit is None else f"{used} of {count(int(limit))}"


def _dollars(cost: float | None, limit: float | None) -> str:
    used = NOT_RECORDED if cost is None else f"${cost:.4f}"
    return used if limit is None else f"{used} of ${limit:.2f}"


def _joined(*parts: str | None) -> str:
    return ", ".join(part for part in parts if part) or NOT_RECORDED


def _seconds(start: Instant | None, end: Instant | None) -> float | None:
    return None if start is None or end is None else (end - start) / _NANOSECONDS


def _took(start: Instant | None, end: Instant | None) -> str:
    seconds = _seconds(start, end)
    if seconds is None:
        return ""
    return f"{seconds:.1f} s" if seconds < _FINE_SECONDS else duration(seconds)
