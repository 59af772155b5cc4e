"""What the loop tells a recorder, as protocols; the recorder of ``turnout.instrumentation`` satisfies them as it is.

Nothing of a recorder may raise or wait.
"""

from types import TracebackType
from typing import Protocol

from turnout.outcomes.facts import (
    CheckVerdict,
    Instant,
    Layer,
    Limits,
    Output,
    Refusal,
    Requester,
    StepError,
    StopMode,
    ToolStatus,
    Usage,
)


class CallRecord(Protocol):
    """The record of one tool call."""

    def settle(self, status: ToolStatus, *, error_type: str | None = None, denied_by: str | None = None) -> None:
        """Record where the call stands."""
        ...

    def close(self) -> None:
        """The call is over for this turn, as it stands."""
        ...


class StepRecord(Protocol):
    """The record of one step."""

    def finish(
        self,
        *,
        finish_reason: str | None = None,
        raw_finish_reason: str | None = None,
        usage: Usage | None = None,
        output: Output | None = None,
        refusal: Refusal | None = None,
        message_id: str | None = None,
        request_id: str | None = None,
        cost_usd: float | None = None,
        cache_in_input: bool | None = None,
        stream_complete: bool | None = None,
    ) -> None:
        """Record what the provider answered."""
        ...

    def attempt(
        self, *, reason: str | None = None, status: int | None = None, at: Instant | None = None, again: bool = True
    ) -> None:
        """Record that a request ended, ``at`` an instant, without an answer, and whether the step is tried again."""
        ...

    def failed(self, error: StepError) -> None:
        """Record that the step's request failed."""
        ...

    def aborted(self) -> None:
        """Record that the request was cut."""
        ...

    def tool_call(
        self,
        name: str | None = None,
        *,
        id: str | None = None,  # noqa: A002 - the contract's word
        arguments: str | None = None,
        arguments_valid: bool | None = None,
        mutating: bool | None = None,
        final: bool | None = None,
        status: ToolStatus = ToolStatus.RUNNING,
    ) -> CallRecord:
        """Open the record of a tool call."""
        ...

    def close(self) -> None:
        """The step is over."""
        ...


class TurnRecord(Protocol):
    """The record of one turn; inside its ``with`` block it is the current one, to which turns that its tools start belong."""

    def __enter__(self) -> object: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def step(
        self,
        *,
        model: str | None = None,
        provider: str | None = None,
        api: str | None = None,
        max_output_tokens: int | None = None,
        forced_final: bool | None = None,
    ) -> StepRecord:
        """Open the record of the next step."""
        ...

    def stop(self, mode: StopMode, reason: str, *, by: Requester) -> None:
        """Record a request to stop."""
        ...

    def finish_check(self, verdict: CheckVerdict, *, by: str | None = None, why: str | None = None) -> None:
        """Record what a finish hook said of the last step."""
        ...

    def yielded(self, reason: str, *, tool_call_id: str | None = None) -> None:
        """Record that a tool ended the turn."""
        ...

    def claim(
        self,
        by: Layer,
        reason: str | None = None,
        *,
        status: str | None = None,
        error_type: str | None = None,
        message: str | None = None,
    ) -> None:
        """Record the loop's own word on how the turn ended."""
        ...

    def end(self) -> None:
        """The turn is over."""
        ...


class Recorder(Protocol):
    """Opens the records of turns."""

    def turn(
        self,
        *,
        agent: str | None = None,
        agent_version: str | None = None,
        conversation_id: str | None = None,
        attended: bool | None = None,
        limits: Limits | None = None,
        continues: str | None = None,
        turn_id: str | None = None,
        root_turn_id: str | None = None,
        parent_turn_id: str | None = None,
    ) -> TurnRecord:
        """Open the record of a turn."""
        ...
