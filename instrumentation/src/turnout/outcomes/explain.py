"""A verdict in plain English: which rule decided, from what evidence, what the person saw and whether going on was offered."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from turnout.outcomes.claims import label
from turnout.outcomes.classify import RULES
from turnout.outcomes.facts import Limits, Step, StopRecord, TurnFacts
from turnout.outcomes.instants import format_instant
from turnout.outcomes.ordering import claim_order, stop_order
from turnout.outcomes.settle import settle
from turnout.outcomes.verdict import BudgetKind, Cause, Evidence, Flag, Notice, Outcome, Resumable, Verdict


@dataclass(frozen=True, slots=True)
class Explanation:
    """One verdict in words; ``evidence`` holds one sentence for each thing that was recorded and counts."""

    headline: str
    rule_words: str
    evidence: tuple[str, ...]
    person_saw: str
    continue_words: str


_HEADLINES: dict[Outcome, str] = {
    Outcome.COMPLETED: "The turn was completed.",
    Outcome.YIELDED: "The turn was handed back to wait for somebody.",
    Outcome.BUDGET: "The turn ran into its budget with work left.",
    Outcome.LENGTH: "The output was cut by a token limit.",
    Outcome.CONTEXT_OVERFLOW: "The conversation no longer fits the model's context.",
    Outcome.REFUSED: "The request was refused.",
    Outcome.STOPPED: "The turn was stopped.",
    Outcome.INTERRUPTED: "The turn died before it ended.",
    Outcome.ERROR: "The turn failed.",
    Outcome.UNKNOWN: "Nothing that was recorded says how the turn ended.",
}
_BUDGETS: dict[BudgetKind, str] = {
    BudgetKind.STEPS: "The turn spent its steps with work left.",
    BudgetKind.TOOL_CALLS: "The turn spent its tool calls with work left.",
    BudgetKind.TOKENS: "The turn spent its tokens with work left.",
    BudgetKind.TIME: "The turn spent its time with work left.",
    BudgetKind.COST: "The turn spent its money with work left.",
}
_CAUSES: dict[Cause, str] = {
    Cause.FINISH_VETO: "a finish hook had vetoed the last finish",
    Cause.TEXT_MARKER: "only a message says so",
    Cause.LOOP_DETECTED: "a loop guard ended it",
    Cause.PROVIDER_REFUSAL: "the model refused",
    Cause.CONTENT_FILTER: "a content filter refused",
    Cause.GUARDRAIL: "a guardrail refused",
    Cause.STREAM_TRUNCATED: "the model's stream broke off",
    Cause.EMPTY_RESPONSE: "the model answered with nothing",
    Cause.MALFORMED_TOOL_CALL: "the model's tool call was malformed",
    Cause.UNKNOWN_FINISH_REASON: "the finish reason is one that nobody knows",
    Cause.CONTEXT_REJECTED: "the provider rejected the request as too long",
    Cause.RATE_LIMIT: "the provider's rate limit",
    Cause.PROVIDER_UNAVAILABLE: "the provider could not be reached or was overloaded",
    Cause.AUTH: "the provider did not accept the credentials",
    Cause.TIMEOUT: "a timeout",
    Cause.TOOL_ERROR: "a tool failed",
    Cause.TOOL_DENIED: "a person denied a tool call",
    Cause.STALLED: "it stalled",
    Cause.PROCESS_DIED: "its process died",
    Cause.STOPPED_BY_USER: "the user stopped it",
    Cause.STOPPED_BY_RUNTIME: "the runtime stopped it",
    Cause.STOPPED_BY_HOST: "the host stopped it",
    Cause.OTHER: "the cause is not recorded",
}
_NOTICES: dict[Notice, str] = {
    Notice.NONE: "The person saw no notice.",
    Notice.STOPPED: "The person saw that the turn was stopped.",
    Notice.REFUSED: "The person saw that the request was refused.",
    Notice.INTERRUPTED: "The person saw that the turn was interrupted.",
    Notice.BUDGET: "The person saw that the turn had used up its budget.",
    Notice.LENGTH: "The person saw that the answer was cut.",
    Notice.ERROR: "The person saw an error.",
}
_EVIDENCE: dict[Evidence, str] = {
    Evidence.REPORTED: "a layer says so and nothing contradicts it",
    Evidence.DERIVED: "it follows from what was recorded",
    Evidence.INFERRED: "nobody said so; it is inferred",
}
_FLAGS: dict[Flag, str] = {
    Flag.STEPS_EXCEED_LIMIT: "More steps were charged than the limit allows.",
    Flag.LIMIT_REPORTED_BELOW_LIMIT: "A layer reported the step limit before it was reached.",
    Flag.FINISH_REASON_MISSING: "The last step has no finish reason.",
    Flag.ZERO_OUTPUT: "The last step put out nothing.",
    Flag.OUTPUT_TOKENS_AT_CAP: "The last step's output reached its token cap.",
    Flag.TOOL_ARGUMENTS_CUT: "The cap fell inside the arguments of a tool call.",
    Flag.UNSETTLED_TOOL: "A tool call was never settled.",
    Flag.SIDE_EFFECT_UNKNOWN: "A tool that changes something may have run; nobody knows.",
    Flag.TERMINAL_AFTER_TERMINAL: "Another end was reported after the turn had ended.",
    Flag.REQUEST_AFTER_STOP: "A request went out after the stop.",
    Flag.OUTPUT_AFTER_STOP: "Output appeared after the stop.",
    Flag.RETRIED_AFTER_REFUSAL: "A refused request was tried again.",
    Flag.VETO_THEN_COMPLETED: "A layer reported success over a standing veto.",
    Flag.FINISH_CHECK_SKIPPED: "A finish check was skipped.",
    Flag.STEP_CUT_THEN_RECOVERED: "An earlier step was cut and a later one made up for it.",
    Flag.USAGE_MISSING: "A call reports no token usage.",
    Flag.USAGE_ONLY_AGGREGATE: "Token usage is known for the whole turn alone.",
    Flag.CHILD_USAGE_MISSING: "The usage of a sub-agent is missing.",
    Flag.ORPHAN: "The turn that started this one is not known.",
    Flag.DUPLICATE_CALL: "A model call is counted in another turn already.",
    Flag.DAMAGED_RECORD: "Part of the record is damaged.",
}
_RULE_WORDS = {rule.name: " ".join((rule.find.__doc__ or "").split()) for rule in RULES}


def explain(turn: TurnFacts, verdict: Verdict) -> Explanation:
    """Put a verdict and the facts that it was made from into words."""
    return Explanation(
        headline=_headline(verdict),
        rule_words=f"{_RULE_WORDS.get(verdict.rule, verdict.rule)} Known how: {_EVIDENCE[verdict.evidence]}.",
        evidence=tuple(_sentences(settle(turn), verdict)),
        person_saw=_NOTICES[verdict.notice],
        continue_words=_continue_words(verdict),
    )


def _headline(verdict: Verdict) -> str:
    text = _HEADLINES[verdict.outcome] if verdict.budget_kind is None else _BUDGETS[verdict.budget_kind]
    return text if verdict.cause is None else f"{text[:-1]}: {_CAUSES[verdict.cause]}."


def _sentences(turn: TurnFacts, verdict: Verdict) -> Iterator[str]:
    if turn.steps:
        yield _last_step(turn.steps[-1])
    else:
        yield "No step is recorded."
    if turn.limits is not None:
        yield from _limits(turn.limits, verdict)
    yield from (_stop(stop) for stop in sorted(turn.stop_requests, key=stop_order))
    if turn.yield_ is not None:
        yield f"A tool handed the turn back: {turn.yield_.reason or 'no reason recorded'}."
    for claim in sorted(turn.claims, key=claim_order):
        said = label(claim)
        if said is not None:
            against = ", which disagrees" if said in verdict.conflicts else ""
            yield f"Claimed {said}{_at(claim.at)}{against}."
    if turn.open:
        yield "The source shows that the turn never closed."
    yield from (_FLAGS[flag] for flag in verdict.flags)


def _last_step(step: Step) -> str:
    number = "The last step" if step.index is None else f"The last step ({step.index})"
    if step.aborted:
        return f"{number} was cancelled in flight."
    if step.error is not None:
        named = step.error.type or step.error.status or "no type recorded"
        return f"{number} failed: {named}."
    if step.refusal is not None:
        return f"{number} was refused: {step.refusal.category or 'no category given'}."
    reason = step.raw_finish_reason or step.finish_reason
    if reason is None:
        return f"{number} has no finish reason."
    return f"{number} finished with {reason}{_calls(step)}."


def _calls(step: Step) -> str:
    names = [f"{call.name or 'a tool'} ({call.status or 'status not recorded'})" for call in step.tool_calls]
    return f" and called {', '.join(names)}" if names else ""


def _limits(limits: Limits, verdict: Verdict) -> Iterator[str]:
    if limits.steps is not None:
        yield _charged(verdict.steps_charged, limits.steps)
    if limits.tool_calls is not None:
        made = "1 tool call was" if verdict.tool_calls == 1 else f"{verdict.tool_calls} tool calls were"
        yield f"{made} made against a budget of {limits.tool_calls}."
    if limits.total_tokens is not None:
        yield f"The turn was given {limits.total_tokens:,} tokens."
    if limits.seconds is not None:
        yield f"The turn was given {limits.seconds:g} seconds."
    if limits.cost_usd is not None:
        yield f"The turn was given {limits.cost_usd:g} dollars."


def _charged(charged: int | None, budget: int) -> str:
    if charged is None:
        return f"How many steps were charged against a budget of {budget} is not known."
    return f"{'1 step was' if charged == 1 else f'{charged} steps were'} charged against a budget of {budget}."


def _stop(stop: StopRecord) -> str:
    who = stop.by or "somebody"
    how = "" if stop.mode is None else f" ({stop.mode.replace('_', ' ')})"
    return f"A stop was asked for by {who}{how}{_at(stop.at)}."


def _at(instant: int | None) -> str:
    return "" if instant is None else f" at {format_instant(instant)}"


def _continue_words(verdict: Verdict) -> str:
    match verdict.resumable:
        case Resumable.YES if verdict.can_continue:
            return "A Continue could be offered."
        case Resumable.YES:
            return "It could go on, but nobody was there to press Continue."
        case Resumable.NO:
            return f"No Continue is offered: {'it is done' if _is_done(verdict) else 'going on would not help'}."
        case Resumable.UNKNOWN:
            return f"No Continue is offered: {_doubt(verdict)}."
        case _:
            assert_never(verdict.resumable)


def _is_done(verdict: Verdict) -> bool:
    return verdict.outcome in {Outcome.COMPLETED, Outcome.YIELDED, Outcome.STOPPED}


def _doubt(verdict: Verdict) -> str:
    if Flag.SIDE_EFFECT_UNKNOWN in verdict.flags:
        return "a tool that changes something may have run"
    if verdict.outcome is Outcome.LENGTH:
        return "it is not known whether the output or the context was full"
    return "it is not known whether going on would help"
