"""Every reason of the claim table, in any spelling, by every layer; and how a claim without a reason is read."""

import pytest

from turnout.outcomes.claims import is_signal, read_claim
from turnout.outcomes.classify import classify
from turnout.outcomes.facts import Claim, Layer, Step, ToolCall, ToolStatus, TurnFacts
from turnout.outcomes.verdict import BudgetKind, Cause, Evidence, Outcome

# The contract's table, written out again so that neither side can drift alone.
TABLE: dict[tuple[Outcome, BudgetKind | None, Cause | None], tuple[str, ...]] = {
    (Outcome.COMPLETED, None, None): ("end_turn", "completed", "success", "goal", "run_finished"),
    (Outcome.BUDGET, BudgetKind.STEPS, None): (
        "step_limit",
        "max_turns",
        "max_turn_requests",
        "error_max_turns",
        "limit_turns",
        "max_iterations",
    ),
    (Outcome.BUDGET, BudgetKind.TOOL_CALLS, None): ("tool_calls_limit",),
    (Outcome.BUDGET, BudgetKind.TOKENS, None): ("limit_total_tokens", "limit_output_tokens", "token_budget"),
    (Outcome.BUDGET, BudgetKind.TIME, None): ("time_budget", "agent_timeout"),
    (Outcome.BUDGET, BudgetKind.COST, None): ("error_max_budget_usd", "exit_cost"),
    (Outcome.STOPPED, None, Cause.STOPPED_BY_USER): ("user_stop",),
    (Outcome.STOPPED, None, None): ("aborted", "cancelled", "turn_aborted"),
    (Outcome.ERROR, None, Cause.OTHER): ("error", "failed", "error_during_execution"),
    (Outcome.ERROR, None, Cause.PROCESS_DIED): ("crashed",),
    (Outcome.ERROR, None, Cause.STALLED): ("stalled",),
    (Outcome.ERROR, None, Cause.LOOP_DETECTED): ("loop_detected", "loop_guard"),
    (Outcome.REFUSED, None, Cause.PROVIDER_REFUSAL): ("refusal",),
    (Outcome.REFUSED, None, Cause.CONTENT_FILTER): ("content_filter",),
    (Outcome.REFUSED, None, Cause.GUARDRAIL): ("guardrail",),
    (Outcome.LENGTH, None, None): ("max_tokens", "output_limit"),
    (Outcome.CONTEXT_OVERFLOW, None, None): ("context_budget_exhausted", "prompt_too_long", "exit_context"),
    (Outcome.YIELDED, None, None): ("plan_handoff", "permission_handoff", "graph_yield", "handoff", "interrupt"),
}
REASONS = [(reason, *meaning) for meaning, reasons in TABLE.items() for reason in reasons]
WORK_LEFT = Step(index=1, finish_reason="tool-calls", tool_calls=(ToolCall(id="k", status=ToolStatus.OK, final=True),))


@pytest.mark.parametrize("by", Layer)
@pytest.mark.parametrize(("reason", "outcome", "kind", "cause"), REASONS, ids=[row[0] for row in REASONS])
def test_reason(reason: str, outcome: Outcome, kind: BudgetKind | None, cause: Cause | None, by: Layer) -> None:
    """A reason means the same in any case, with dash or underscore, as reason or as status, whoever says it."""
    spellings = (reason, reason.upper(), reason.replace("_", "-"))
    claims = [Claim(by=by, reason=spelling) for spelling in spellings] + [Claim(by=by, status=reason)]
    for claim in claims:
        said = read_claim(claim)
        assert (said.outcome, said.budget_kind, said.cause) == (outcome, kind, cause)
        verdict = classify(TurnFacts(turn_id="t", steps=(WORK_LEFT,), claims=(claim,)))
        assert (verdict.outcome, verdict.budget_kind, verdict.evidence) == (outcome, kind, Evidence.REPORTED)
        assert verdict.conflicts == ()


@pytest.mark.parametrize("word", ["submitted", "max_steps", "done", "interrupted", "tool-calls"])
def test_any_other_reason_is_unknown(word: str) -> None:
    """A word that is not in the table says nothing of the end."""
    assert read_claim(Claim(by=Layer.RUNTIME, reason=word)).outcome is None


@pytest.mark.parametrize(
    ("claim", "outcome"),
    [
        (Claim(by=Layer.RUNTIME, reason="odd", status="failed"), Outcome.ERROR),
        (Claim(by=Layer.RUNTIME, reason="odd", status="completed"), None),
        (Claim(by=Layer.RUNTIME, reason="stop", status="completed"), Outcome.COMPLETED),
        (Claim(by=Layer.RUNTIME, reason="success", status="error"), Outcome.ERROR),
        (Claim(by=Layer.RUNTIME, reason="end_turn", status="aborted"), Outcome.STOPPED),
        (Claim(by=Layer.RUNTIME, reason="end_turn", status="ok"), Outcome.COMPLETED),
        (Claim(by=Layer.RUNTIME, reason="step_limit", status="failed"), Outcome.BUDGET),
        (Claim(by=Layer.RUNTIME, reason="refusal", status="completed"), Outcome.REFUSED),
        (Claim(by=Layer.HOST, status="200"), None),
        (Claim(by=Layer.HOST, status="399"), None),
        (Claim(by=Layer.HOST, status="400"), Outcome.ERROR),
        (Claim(by=Layer.HOST, status="503"), Outcome.ERROR),
        (Claim(by=Layer.HOST, reason="error", error_type="CancelledError"), Outcome.STOPPED),
        (Claim(by=Layer.HOST, reason="error", error_type="context_length_exceeded"), Outcome.CONTEXT_OVERFLOW),
        (Claim(by=Layer.TRANSPORT, error_type="connection_reset"), Outcome.ERROR),
        (Claim(by=Layer.PROCESS, exit_code=0), None),
        (Claim(by=Layer.PROCESS, exit_code=1), Outcome.ERROR),
        (Claim(by=Layer.PROCESS, exit_code=-9), Outcome.INTERRUPTED),
    ],
    ids=str,
)
def test_reason_and_status_together(claim: Claim, outcome: Outcome | None) -> None:
    """A status speaks where the reason does not, and outweighs a reason that says success."""
    assert read_claim(claim).outcome is outcome


@pytest.mark.parametrize(
    ("by", "outcome"),
    [
        (Layer.RUNTIME, Outcome.BUDGET),
        (Layer.HOST, Outcome.BUDGET),
        (Layer.PROVIDER, Outcome.ERROR),
        (Layer.TRANSPORT, Outcome.ERROR),
    ],
)
def test_timeout(by: Layer, outcome: Outcome) -> None:
    """A timeout of the loop is a spent time budget, one on the way to the provider an error."""
    assert read_claim(Claim(by=by, reason="timeout")).outcome is outcome


def test_signals() -> None:
    """A negative exit code or 128 and a signal's number is a signal; 0, small codes and 255 are none."""
    codes = (-15, 129, 137, 143, 0, 1, 124, 127, 128, 255)
    assert [is_signal(code) for code in codes] == [True] * 4 + [False] * 6
