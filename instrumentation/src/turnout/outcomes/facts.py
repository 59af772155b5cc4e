"""Turn facts: what is known about one turn of an agent, as frozen values.

The fields are those of the JSON contract ``turnout.turn/1``. ``None`` (or an empty tuple) means "not recorded", which is
never the same as zero, false, success or "stop". Instants are integers: nanoseconds since the Unix epoch, UTC, so that
they compare as instants and never as spellings (`turnout.outcomes.instants` reads and writes RFC 3339).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from turnout.outcomes.quick import quick

TURN_SCHEMA = "turnout.turn/1"

Instant: TypeAlias = int
"""Nanoseconds since the Unix epoch, UTC."""


class Layer(StrEnum):
    """Which layer made a claim; the order of the members breaks ties between claims of one instant."""

    PROVIDER = "provider"
    RUNTIME = "runtime"
    HOST = "host"
    TRANSPORT = "transport"
    PROCESS = "process"


class Requester(StrEnum):
    """Who asked for a stop."""

    USER = "user"
    RUNTIME = "runtime"
    HOST = "host"


class StopMode(StrEnum):
    """Whether a stop cuts at once or lets the running step finish."""

    IMMEDIATE = "immediate"
    AFTER_STEP = "after_step"


class CheckVerdict(StrEnum):
    """What a finish hook said of a finish candidate."""

    ALLOW = "allow"
    VETO = "veto"
    SKIPPED = "skipped"


class ToolStatus(StrEnum):
    """The last known state of a tool call; the first three are settled."""

    OK = "ok"
    ERROR = "error"
    DENIED = "denied"
    STREAMING = "streaming"
    RUNNING = "running"
    AWAITING_CLIENT = "awaiting_client"
    AWAITING_APPROVAL = "awaiting_approval"
    APPROVED = "approved"
    UNKNOWN = "unknown"


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts of one call or one turn, as the source reports them."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The one budget that both the loop and the record use."""

    steps: int | None = None
    tool_calls: int | None = None
    total_tokens: int | None = None
    seconds: float | None = None
    cost_usd: float | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """How much of a step a person could see; never the content itself."""

    text_chars: int | None = None
    parts: int | None = None
    last_at: Instant | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Present when the provider refused, even where it gave neither category nor words."""

    category: str | None = None
    explanation: str | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class StepError:
    """Why a model request failed."""

    type: str | None = None
    status: int | None = None
    message: str | None = None
    retryable: bool | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEnd:
    """How one of several requests for the same step ended."""

    reason: str | None = None
    status: int | None = None
    at: Instant | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One tool call of a step; ``final`` marks an output tool, whose call is the answer."""

    id: str | None = None
    name: str | None = None
    status: ToolStatus | None = None
    final: bool | None = None
    arguments_valid: bool | None = None
    arguments_digest: str | None = None
    mutating: bool | None = None
    error_type: str | None = None
    denied_by: str | None = None
    started_at: Instant | None = None
    ended_at: Instant | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One model request and the tool calls it caused; ``index`` counts from 1 within a segment."""

    index: int | None = None
    request_id: str | None = None
    message_id: str | None = None
    provider: str | None = None
    api: str | None = None
    model: str | None = None
    started_at: Instant | None = None
    ended_at: Instant | None = None
    finish_reason: str | None = None
    raw_finish_reason: str | None = None
    refusal: Refusal | None = None
    stream_complete: bool | None = None
    forced_final: bool | None = None
    aborted: bool | None = None
    max_output_tokens: int | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    cache_in_input: bool | None = None
    reasoning_in_output: bool | None = None
    output: Output | None = None
    attempts: int | None = None
    attempt_ends: tuple[AttemptEnd, ...] = ()
    error: StepError | None = None
    tool_calls: tuple[ToolCall, ...] = ()


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class FinishCheck:
    """What one finish hook said of the finish candidate of ``step``."""

    step: int | None = None
    verdict: CheckVerdict | None = None
    by: str | None = None
    why: str | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class StopRecord:
    """A recorded request to stop (``stop_requests[]``); never a tool's yield."""

    mode: StopMode | None = None
    reason: str | None = None
    step: int | None = None
    at: Instant | None = None
    seq: int | None = None
    by: Requester | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class YieldRecord:
    """A recorded hand-back by a tool (``yield``): the tool ended the turn."""

    reason: str | None = None
    tool_call_id: str | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One layer's own word on how the turn ended; kept raw, never overwritten."""

    by: Layer | None = None
    reason: str | None = None
    status: str | None = None
    at: Instant | None = None
    seq: int | None = None
    error_type: str | None = None
    message: str | None = None
    exit_code: int | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """What a benchmark or a person said of the work; apart from the outcome."""

    resolved: bool | None = None
    correct: bool | None = None
    reward: float | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFacts:
    """Everything known about one turn (one recovery segment of it); the JSON key ``yield`` is ``yield_`` here."""

    turn_id: str
    root_turn_id: str | None = None
    parent_turn_id: str | None = None
    continues_turn_id: str | None = None
    conversation_id: str | None = None
    trace_id: str | None = None
    user_id: str | None = None
    service: str | None = None
    environment: str | None = None
    agent: str | None = None
    agent_version: str | None = None
    source: str | None = None
    attended: bool | None = None
    started_at: Instant | None = None
    ended_at: Instant | None = None
    last_seen_at: Instant | None = None
    open: bool | None = None
    limits: Limits | None = None
    steps: tuple[Step, ...] = ()
    finish_checks: tuple[FinishCheck, ...] = ()
    stop_requests: tuple[StopRecord, ...] = ()
    yield_: YieldRecord | None = None
    claims: tuple[Claim, ...] = ()
    usage: Usage | None = None
    cost_usd: float | None = None
    task_result: TaskResult | None = None
    children_expected: tuple[str, ...] = ()
