"""Verdicts: what the classifier concludes from the facts of one turn, as frozen values of closed vocabularies.

The fields are those of the JSON contract ``turnout.verdict/1``.
"""

from dataclasses import dataclass
from enum import StrEnum

from turnout.outcomes.facts import Usage
from turnout.outcomes.quick import quick

VERDICT_SCHEMA = "turnout.verdict/1"


class Outcome(StrEnum):
    """How a turn ended."""

    COMPLETED = "completed"
    YIELDED = "yielded"
    BUDGET = "budget"
    LENGTH = "length"
    CONTEXT_OVERFLOW = "context_overflow"
    REFUSED = "refused"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"
    ERROR = "error"
    UNKNOWN = "unknown"


ABNORMAL = frozenset(
    {
        Outcome.BUDGET,
        Outcome.LENGTH,
        Outcome.CONTEXT_OVERFLOW,
        Outcome.REFUSED,
        Outcome.INTERRUPTED,
        Outcome.ERROR,
    }
)
"""Outcomes for which an ``agent.turn.abnormal_finish`` is emitted."""


class BudgetKind(StrEnum):
    """Which limit was spent; of several spent at once the first of these."""

    STEPS = "steps"
    TOOL_CALLS = "tool_calls"
    TOKENS = "tokens"
    TIME = "time"
    COST = "cost"


class Cause(StrEnum):
    """The closer reason behind an outcome; a closed list."""

    FINISH_VETO = "finish_veto"
    TEXT_MARKER = "text_marker"
    LOOP_DETECTED = "loop_detected"
    PROVIDER_REFUSAL = "provider_refusal"
    CONTENT_FILTER = "content_filter"
    GUARDRAIL = "guardrail"
    STREAM_TRUNCATED = "stream_truncated"
    EMPTY_RESPONSE = "empty_response"
    MALFORMED_TOOL_CALL = "malformed_tool_call"
    UNKNOWN_FINISH_REASON = "unknown_finish_reason"
    CONTEXT_REJECTED = "context_rejected"
    RATE_LIMIT = "rate_limit"
    PROVIDER_UNAVAILABLE = "provider_unavailable"
    AUTH = "auth"
    TIMEOUT = "timeout"
    TOOL_ERROR = "tool_error"
    TOOL_DENIED = "tool_denied"
    STALLED = "stalled"
    PROCESS_DIED = "process_died"
    STOPPED_BY_USER = "stopped_by_user"
    STOPPED_BY_RUNTIME = "stopped_by_runtime"
    STOPPED_BY_HOST = "stopped_by_host"
    OTHER = "other"


class Resumable(StrEnum):
    """Whether the turn can be continued from where it ended."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Evidence(StrEnum):
    """How the outcome is known: a valid claim says it, facts say it, or nobody said so."""

    REPORTED = "reported"
    DERIVED = "derived"
    INFERRED = "inferred"


class Notice(StrEnum):
    """What a person sees once the turn is not running."""

    NONE = "none"
    STOPPED = "stopped"
    REFUSED = "refused"
    INTERRUPTED = "interrupted"
    BUDGET = "budget"
    LENGTH = "length"
    ERROR = "error"


class MetadataFinish(StrEnum):
    """What the transcript metadata carries as finish reason; absent for every other end."""

    LENGTH = "length"
    BUDGET = "budget"
    CONTENT_FILTER = "content-filter"


class Flag(StrEnum):
    """What is worth knowing beside the outcome; a closed list. The last four are set over several turns by the lake."""

    STEPS_EXCEED_LIMIT = "steps_exceed_limit"
    LIMIT_REPORTED_BELOW_LIMIT = "limit_reported_below_limit"
    FINISH_REASON_MISSING = "finish_reason_missing"
    ZERO_OUTPUT = "zero_output"
    OUTPUT_TOKENS_AT_CAP = "output_tokens_at_cap"
    TOOL_ARGUMENTS_CUT = "tool_arguments_cut"
    UNSETTLED_TOOL = "unsettled_tool"
    SIDE_EFFECT_UNKNOWN = "side_effect_unknown"
    TERMINAL_AFTER_TERMINAL = "terminal_after_terminal"
    REQUEST_AFTER_STOP = "request_after_stop"
    OUTPUT_AFTER_STOP = "output_after_stop"
    RETRIED_AFTER_REFUSAL = "retried_after_refusal"
    VETO_THEN_COMPLETED = "veto_then_completed"
    FINISH_CHECK_SKIPPED = "finish_check_skipped"
    STEP_CUT_THEN_RECOVERED = "step_cut_then_recovered"
    USAGE_MISSING = "usage_missing"
    USAGE_ONLY_AGGREGATE = "usage_only_aggregate"
    CHILD_USAGE_MISSING = "child_usage_missing"
    ORPHAN = "orphan"
    DUPLICATE_CALL = "duplicate_call"
    DAMAGED_RECORD = "damaged_record"


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The conclusion about one turn, with the rule and the evidence that led to it."""

    turn_id: str
    classifier_version: str
    outcome: Outcome
    budget_kind: BudgetKind | None
    cause: Cause | None
    resumable: Resumable
    abnormal: bool
    evidence: Evidence
    rule: str
    conflicts: tuple[str, ...]
    flags: tuple[Flag, ...]
    steps: int
    steps_charged: int | None
    tool_calls: int
    tool_errors: int
    unsettled_tools: int
    usage: Usage | None
    usage_complete: bool
    finish_reason: MetadataFinish | None
    interrupted: bool | None
    finished: bool
    notice: Notice
    can_continue: bool
