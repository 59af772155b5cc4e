"""What each layer's word on the end means: the closed table of claim reasons, and how one claim is read."""

from functools import lru_cache
from typing import NamedTuple

from turnout.outcomes.errors import names_cancelling, read_failure
from turnout.outcomes.facts import Claim, Layer
from turnout.outcomes.phrases import phrase_of_claim
from turnout.outcomes.providers import FinishClass, fold, meanings_anywhere
from turnout.outcomes.verdict import BudgetKind, Cause, Outcome


class Said(NamedTuple):
    """What one claim says; ``outcome`` is ``None`` where its words are in no table.

    ``from_text`` marks an end that only a phrase in its message tells of, ``wordless`` one that only an exit code or an
    error type tells of; such claims are never valid, for no table holds their words.
    """

    outcome: Outcome | None
    budget_kind: BudgetKind | None = None
    cause: Cause | None = None
    passing: bool = False
    generic: bool = False
    timeout: bool = False
    from_text: bool = False
    wordless: bool = False


_COMPLETED = Said(Outcome.COMPLETED)
_STOPPED = Said(Outcome.STOPPED)
_YIELDED = Said(Outcome.YIELDED)
_OVERFLOWN = Said(Outcome.CONTEXT_OVERFLOW)
_STEPS = Said(Outcome.BUDGET, BudgetKind.STEPS)
_TOKENS = Said(Outcome.BUDGET, BudgetKind.TOKENS)
_TIME = Said(Outcome.BUDGET, BudgetKind.TIME)
_COST = Said(Outcome.BUDGET, BudgetKind.COST)
_LENGTH = Said(Outcome.LENGTH)
_LOOP = Said(Outcome.ERROR, cause=Cause.LOOP_DETECTED)
_ERROR = Said(Outcome.ERROR, generic=True)
_UNKNOWN = Said(None)
TIMEOUT = Said(Outcome.ERROR, cause=Cause.TIMEOUT, passing=True, timeout=True)
"""A timeout; whether it is a spent time budget hangs on who says it."""
DIED = Said(Outcome.INTERRUPTED, cause=Cause.PROCESS_DIED, wordless=True)
"""A process that a signal ended."""

REASONS: dict[str, Said] = {
    **dict.fromkeys(("end_turn", "completed", "success", "goal", "run_finished"), _COMPLETED),
    **dict.fromkeys(
        ("step_limit", "max_turns", "max_turn_requests", "error_max_turns", "limit_turns", "max_iterations"), _STEPS
    ),
    "tool_calls_limit": Said(Outcome.BUDGET, BudgetKind.TOOL_CALLS),
    **dict.fromkeys(("limit_total_tokens", "limit_output_tokens", "token_budget"), _TOKENS),
    **dict.fromkeys(("time_budget", "agent_timeout"), _TIME),
    **dict.fromkeys(("error_max_budget_usd", "exit_cost"), _COST),
    "user_stop": Said(Outcome.STOPPED, cause=Cause.STOPPED_BY_USER),
    **dict.fromkeys(("aborted", "cancelled", "canceled", "turn_aborted"), _STOPPED),
    **dict.fromkeys(("error", "failed", "error_during_execution"), _ERROR),
    "crashed": Said(Outcome.ERROR, cause=Cause.PROCESS_DIED),
    "stalled": Said(Outcome.ERROR, cause=Cause.STALLED),
    "refusal": Said(Outcome.REFUSED, cause=Cause.PROVIDER_REFUSAL),
    "content_filter": Said(Outcome.REFUSED, cause=Cause.CONTENT_FILTER),
    "guardrail": Said(Outcome.REFUSED, cause=Cause.GUARDRAIL),
    **dict.fromkeys(("max_tokens", "output_limit"), _LENGTH),
    **dict.fromkeys(("context_budget_exhausted", "prompt_too_long", "exit_context"), _OVERFLOWN),
    **dict.fromkeys(("plan_handoff", "permission_handoff", "graph_yield", "handoff", "interrupt"), _YIELDED),
    **dict.fromkeys(("loop_detected", "loop_guard"), _LOOP),
    "timeout": TIMEOUT,
}
"""Claim reasons by their folded spelling; anything else is unknown."""

DAMAGED_RECORD = "damaged_record"
"""The reason by which a log says of itself that a record of the turn is damaged: a remark, and no word on the end."""

_NO_LAYER = "unrecorded"
_SIGNALS = range(129, 193)
_FIRST_FAILED_STATUS = 400
_FINISH_WORDS = frozenset({FinishClass.COMPLETED, FinishClass.TOOL_CALLS})


def read_claim(claim: Claim) -> Said:
    """Read one claim by itself, whatever the facts say of it."""
    said = _read(claim.reason, claim.status, claim.exit_code, claim.error_type, claim.message)
    # Who says "timeout" tells a spent budget from a failed request.
    if said.timeout and claim.by in {Layer.RUNTIME, Layer.HOST}:
        return said._replace(outcome=Outcome.BUDGET, budget_kind=BudgetKind.TIME, cause=None)
    return said


@lru_cache(maxsize=4096)
def _read(
    reason: str | None,
    status: str | None,
    exit_code: int | None,
    error_type: str | None,
    message: str | None,
) -> Said:
    said = _worded(reason, status)
    if said is _UNKNOWN and not reason and not status:
        said = _wordless(exit_code, error_type)
    phrase = phrase_of_claim(message) if message else None
    vague = said.outcome in {None, Outcome.COMPLETED} or said.generic
    if phrase is not None and vague and (phrase.cause is None or phrase.outcome is not Outcome.ERROR):
        return Said(phrase.outcome, phrase.budget_kind, Cause.TEXT_MARKER, from_text=True)
    return _closer(said, status, exit_code, error_type, message) if said.generic else said


def _closer(said: Said, status: str | None, exit_code: int | None, error_type: str | None, message: str | None) -> Said:
    """A plain "error" as far as the claim's other keys tell what it was."""
    if error_type and names_cancelling(error_type):
        return _STOPPED
    failure = read_failure(None, error_type, _status(status), message)
    if failure.cause is Cause.OTHER and exit_code is not None and is_signal(exit_code):
        return said._replace(cause=Cause.PROCESS_DIED)
    return said._replace(outcome=failure.outcome, cause=failure.cause, passing=failure.passing)


def _worded(reason: str | None, status: str | None) -> Said:
    """The reason's meaning, else the status's; a status that says otherwise outweighs a reason that says success."""
    by_status = _of_status(status)
    if not reason:
        return by_status
    by_reason = REASONS.get(fold(reason))
    if by_reason is None:
        return by_status if by_status.outcome is not Outcome.COMPLETED or _ends_a_step(reason) else _UNKNOWN
    contradicted = by_reason is _COMPLETED and by_status.outcome not in {None, Outcome.COMPLETED}
    return by_status if contradicted else by_reason


def _of_status(status: str | None) -> Said:
    if not status:
        return _UNKNOWN
    number = _status(status)
    if number is not None:
        return _ERROR if number >= _FIRST_FAILED_STATUS else _UNKNOWN
    return REASONS.get(fold(status), _UNKNOWN)


def _status(status: str | None) -> int | None:
    return int(status) if status and status.isascii() and status.isdigit() else None


def _ends_a_step(reason: str) -> bool:
    """Whether a reason that is no claim's is the clean finish of a step ("stop"), so that the status speaks for the turn."""
    return any(meaning.finish_class in _FINISH_WORDS for meaning in meanings_anywhere(reason))


def _wordless(exit_code: int | None, error_type: str | None) -> Said:
    if exit_code is not None and is_signal(exit_code):
        return DIED
    if exit_code or error_type:
        return _ERROR._replace(wordless=True)
    return _UNKNOWN


def is_signal(exit_code: int) -> bool:
    """Whether an exit code tells of a signal: negative, or 128 and its number."""
    return exit_code < 0 or exit_code in _SIGNALS


def label(claim: Claim) -> str | None:
    """The claim as ``by:reason`` for a list of conflicts; ``None`` where it says nothing."""
    word = claim.reason or claim.status
    if word == DAMAGED_RECORD:
        return None
    if not word and claim.exit_code:
        word = f"exit_{claim.exit_code}"
    if not word and claim.message and phrase_of_claim(claim.message):
        word = claim.error_type or "message"
    word = word or claim.error_type
    return f"{claim.by or _NO_LAYER}:{word}" if word else None
