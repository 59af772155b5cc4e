"""Turn facts in, verdict out: the ordered rules and what follows from the one that decides.

Rules are tried in the order of `RULES`; the first that finds something decides the outcome. Everything else in a verdict is
computed from the facts and that finding, so no reader ever derives an outcome again.
"""

from turnout.outcomes import rules
from turnout.outcomes.case import Case
from turnout.outcomes.claims import label
from turnout.outcomes.counts import counts_of
from turnout.outcomes.facts import TurnFacts
from turnout.outcomes.finding import Finding, Rule
from turnout.outcomes.flags import flags_of
from turnout.outcomes.resumable import resumable
from turnout.outcomes.settle import settle
from turnout.outcomes.stops import stop_is_in_flight
from turnout.outcomes.verdict import (
    ABNORMAL,
    Cause,
    Evidence,
    MetadataFinish,
    Notice,
    Outcome,
    Resumable,
    Verdict,
)

CLASSIFIER_VERSION = "1"
"""Moves whenever the same facts may get another verdict."""

RULES: tuple[Rule, ...] = (
    Rule("stop_request", rules.stop_request),
    Rule("person_denied", rules.person_denied),
    Rule("stop_claim", rules.stop_claim),
    Rule("provider_cancelled", rules.provider_cancelled),
    Rule("stop_marker", rules.stop_marker),
    Rule("provider_refused", rules.provider_refused),
    Rule("refusal_claim", rules.refusal_claim),
    Rule("guardrail_stop", rules.guardrail_stop),
    Rule("refusal_marker", rules.refusal_marker),
    Rule("context_overflown", rules.context_overflown),
    Rule("overflow_claim", rules.overflow_claim),
    Rule("overflow_marker", rules.overflow_marker),
    Rule("tool_yielded", rules.tool_yielded),
    Rule("yield_claim", rules.yield_claim),
    Rule("tool_waits", rules.tool_waits),
    Rule("request_failed", rules.request_failed),
    Rule("stream_truncated", rules.stream_truncated),
    Rule("empty_response", rules.empty_response),
    Rule("output_cut", rules.output_cut),
    Rule("length_claim", rules.length_claim),
    Rule("budget_claim", rules.budget_claim),
    Rule("budget_stop", rules.budget_stop),
    Rule("budget_finish", rules.budget_finish),
    Rule("budget_spent", rules.budget_spent),
    Rule("answer_forced", rules.answer_forced),
    Rule("budget_marker", rules.budget_marker),
    Rule("still_open", rules.still_open),
    Rule("process_died", rules.process_died),
    Rule("provider_interrupted", rules.provider_interrupted),
    Rule("aborted_without_word", rules.aborted_without_word),
    Rule("pause_without_end", rules.pause_without_end),
    Rule("stream_broke_off", rules.stream_broke_off),
    Rule("tool_abandoned", rules.tool_abandoned),
    Rule("error_claim", rules.error_claim),
    Rule("process_failed", rules.process_failed),
    Rule("loop_guard_stop", rules.loop_guard_stop),
    Rule("error_marker", rules.error_marker),
    Rule("success_claim", rules.success_claim),
    Rule("finished_by_itself", rules.finished_by_itself),
    Rule("veto_stands", rules.veto_stands),
    Rule("value_unlisted", rules.value_unlisted),
    Rule("nothing_says", rules.nothing_says),
)
"""The rules in the order in which they are tried."""

_METADATA: dict[Outcome, MetadataFinish] = {
    Outcome.LENGTH: MetadataFinish.LENGTH,
    Outcome.BUDGET: MetadataFinish.BUDGET,
    Outcome.REFUSED: MetadataFinish.CONTENT_FILTER,
}
_NOTICES: dict[Outcome, Notice] = {
    Outcome.COMPLETED: Notice.NONE,
    Outcome.YIELDED: Notice.NONE,
    Outcome.BUDGET: Notice.BUDGET,
    Outcome.LENGTH: Notice.LENGTH,
    Outcome.CONTEXT_OVERFLOW: Notice.ERROR,
    Outcome.REFUSED: Notice.REFUSED,
    Outcome.STOPPED: Notice.STOPPED,
    Outcome.INTERRUPTED: Notice.INTERRUPTED,
    Outcome.ERROR: Notice.ERROR,
    Outcome.UNKNOWN: Notice.NONE,
}
_BROKEN_OFF = frozenset({Outcome.LENGTH, Outcome.BUDGET, Outcome.INTERRUPTED})


def classify(turn: TurnFacts) -> Verdict:
    """Conclude how a turn ended; the same verdict under any order, doubling or splitting of its evidence."""
    case = Case(settle(turn))
    rule, finding = _decide(case)
    outcome = finding.outcome
    can_resume = resumable(case, finding)
    steps, used = case.whole.steps, case.whole.used
    counts = counts_of(steps)
    return Verdict(
        turn_id=turn.turn_id,
        classifier_version=CLASSIFIER_VERSION,
        outcome=outcome,
        budget_kind=finding.budget_kind,
        cause=finding.cause,
        resumable=can_resume,
        abnormal=outcome in ABNORMAL,
        evidence=_evidence(case, finding),
        rule=rule,
        conflicts=_conflicts(case, finding),
        flags=flags_of(case),
        steps=counts.steps,
        steps_charged=case.whole.charged,
        tool_calls=counts.tool_calls,
        tool_errors=counts.tool_errors,
        unsettled_tools=counts.unsettled_tools,
        usage=used.usage,
        usage_complete=not used.missing,
        finish_reason=_METADATA.get(outcome),
        interrupted=True if outcome in _BROKEN_OFF else None,
        finished=_finished(case, finding),
        notice=_NOTICES[outcome],
        can_continue=can_resume is Resumable.YES and turn.attended is not False,
    )


def _decide(case: Case) -> tuple[str, Finding]:
    for name, find in RULES:
        finding = find(case)
        if finding is not None:
            return name, finding
    raise AssertionError("the last rule finds something for every turn")


def _evidence(case: Case, finding: Finding) -> Evidence:
    if finding.inferred:
        return Evidence.INFERRED
    said = any(heard.valid and heard.said.outcome is finding.outcome for heard in case.heard)
    return Evidence.REPORTED if said else Evidence.DERIVED


def _conflicts(case: Case, finding: Finding) -> tuple[str, ...]:
    """Claims that say another outcome, or words that no table knows, as ``by:reason``."""
    if not case.heard:
        return ()
    against = (label(h.claim) for h in case.heard if (h.said.outcome or Outcome.UNKNOWN) is not finding.outcome)
    return tuple(sorted({text for text in against if text is not None}))


def _finished(case: Case, finding: Finding) -> bool:
    """Whether a finish time may be written."""
    if finding.outcome in _BROKEN_OFF or finding.outcome is Outcome.UNKNOWN:
        return False
    if finding.outcome is Outcome.STOPPED and finding.cause is not Cause.TOOL_DENIED:
        return not stop_is_in_flight(finding.stop, case.reading)
    return True
