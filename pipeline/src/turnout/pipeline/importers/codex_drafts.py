"""The turns of a Codex log as their events come in, and the facts that they are in the end."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from turnout.outcomes.facts import (
    AttemptEnd,
    Claim,
    Instant,
    Layer,
    Output,
    Step,
    StopRecord,
    ToolCall,
    ToolStatus,
    TurnFacts,
    Usage,
)
from turnout.pipeline.importers import chat, fields
from turnout.pipeline.importers.codex_events import Event
from turnout.pipeline.importers.codex_session import Session

KIND = "codex"
_OVERFLOW = "context_window_exceeded"


@dataclass(slots=True)
class Request:
    """One model request as its parts come in."""

    started_at: Instant | None = None
    ended_at: Instant | None = None
    said: int = 0
    answered: int = 0
    usage: Usage | None = None
    retries: list[AttemptEnd] = field(default_factory=list[AttemptEnd])
    calls: dict[str, ToolCall] = field(default_factory=dict[str, ToolCall])

    @property
    def has_results(self) -> bool:
        """Whether a tool that it called has finished."""
        return any(call.ended_at is not None or call.status is ToolStatus.OK for call in self.calls.values())


@dataclass(slots=True)
class Draft:
    """A turn as its events come in."""

    session: Session
    key: str
    by_task: bool
    started_at: Instant | None
    copied: bool = False
    requests: list[Request] = field(default_factory=list[Request])
    owners: dict[str, Request] = field(default_factory=dict[str, Request])
    last_seen_at: Instant | None = None
    error: Event | None = None
    message: str | None = None
    claim: Claim | None = None
    stop: StopRecord | None = None
    open: bool | None = None

    @property
    def turn_id(self) -> str:
        """Name the turn by its session and the id of its task."""
        return f"{KIND}:{self.session.id}:{self.key}"

    def facts(self) -> TurnFacts:
        """Close the draft."""
        session = self.session
        claim = self.claim
        if claim is None and self.error is not None:
            claim = failure(self.error.body, "error", self.error.at)
        return TurnFacts(
            turn_id=self.turn_id,
            parent_turn_id=session.parent_turn or (None if session.parent is None else f"{KIND}:{session.parent}"),
            conversation_id=session.conversation,
            agent=KIND,
            agent_version=session.version,
            source=KIND,
            attended=session.attended,
            started_at=self.started_at,
            ended_at=self.last_seen_at if self.claim is not None else None,
            last_seen_at=self.last_seen_at,
            open=self.open,
            steps=tuple(_step(request, index, session) for index, request in enumerate(self.requests, 1)),
            stop_requests=() if self.stop is None else (self.stop,),
            claims=() if claim is None else (claim,),
        )


def _step(request: Request, index: int, session: Session) -> Step:
    return Step(
        index=index,
        provider="ollama" if session.provider == "oss" else session.provider,
        model=session.model,
        started_at=request.started_at,
        ended_at=request.ended_at,
        usage=request.usage,
        output=_output(request),
        attempts=len(request.retries) + 1 if request.retries else None,
        attempt_ends=tuple(request.retries),
        tool_calls=tuple(request.calls.values()),
    )


def _output(request: Request) -> Output | None:
    """Count what was said once: a message stands in a rollout as an event and as an item of the answer."""
    size = max(request.said, request.answered)
    parts = (size > 0) + len(request.calls)
    return Output(text_chars=size, parts=parts) if parts else None


def failure(body: Mapping[str, object], status: str, at: Instant | None) -> Claim:
    """Say in the words of the contract what an error event tells."""
    code, words = code_of(body), fields.text(body, "message")
    quota = chat.quota_error((code or "").replace("_", " ")) or chat.quota_error(words)
    return Claim(
        by=Layer.RUNTIME,
        reason="prompt_too_long" if code == _OVERFLOW else "error",
        status=status,
        at=at,
        error_type=quota or code or chat.error_of_status(chat.status_in(words)),
        message=words,
    )


def code_of(body: Mapping[str, object]) -> str | None:
    """Read the error code: a word, or an object with the word as its one key."""
    info = body.get("codex_error_info") or body.get("codexErrorInfo")
    if isinstance(info, Mapping):
        return next((key for key in info if isinstance(key, str)), None)
    return fields.text(info)
