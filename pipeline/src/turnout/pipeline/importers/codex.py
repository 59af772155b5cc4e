"""Codex session logs and rollouts -> turns: a task from its start to its completion or abort.

A model request ends where the log counts its tokens; where it counts none, words of the model after a tool had finished came
from a new request. ``task_complete`` is no success by itself: it may carry an error, or follow one. The rollout of a fork or of a sub-agent
may open with the history of the thread that it came from, copied: those turns belong to that thread's own rollout and are left out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from turnout.outcomes.facts import (
    AttemptEnd,
    Claim,
    Instant,
    Layer,
    Output,
    Requester,
    Step,
    StopMode,
    StopRecord,
    ToolCall,
    ToolStatus,
    TurnFacts,
    Usage,
)
from turnout.pipeline.importers import chat, codex_calls, codex_events, fields
from turnout.pipeline.importers.base import Damaged, Imported, Record, Skipped, Source
from turnout.pipeline.importers.codex_events import Event, event_of, is_log
from turnout.pipeline.importers.codex_session import Session

KIND = "codex"
_WORDS = frozenset({"agent_message", "agent_message_delta", "agent_reasoning", "agent_reasoning_delta", "reasoning"})
_OVERFLOW = "context_window_exceeded"
_SPENT = frozenset({"budget_limited", "budgetLimited"})


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
            claim = _failure(self.error.body, "error", self.error.at)
        return TurnFacts(
            turn_id=self.turn_id,
            parent_turn_id=None if session.parent is None else f"{KIND}:{session.parent}",
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


class Log:
    """The turns of one file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._session = Session()
        self._drafts: list[Draft] = []
        self._draft: Draft | None = None
        self._total: object = None
        self._retries: list[AttemptEnd] = []
        self._boundary = False

    def current(self) -> str | None:
        """Name the turn that is running."""
        return None if self._draft is None else self._draft.turn_id

    def turns(self) -> Iterator[TurnFacts]:
        """Give the turns in order, without the copied ones."""
        return (draft.facts() for draft in self._drafts if not draft.copied)

    @property
    def copied(self) -> int:
        """Count the turns that are copies of another thread's."""
        return sum(draft.copied for draft in self._drafts)

    def take(self, event: Event) -> None:
        """Take one event."""
        draft = self._draft
        if draft is not None and event.at is not None:
            draft.last_seen_at = event.at
        match event.type:
            case codex_events.SESSION:
                self._session.learn(event.body, of_session=True)
            case codex_events.CONTEXT:
                self._session.learn(event.body, of_session=False)
            case "task_started":
                self._open(event, by_task=True)
            case "user_message" if draft is None or not draft.by_task:
                self._open(event, by_task=False)
            case codex_events.SHUTDOWN if draft is not None:
                draft.open, self._draft = True, None
            case _ if draft is not None:
                self._within(draft, event)
            case _:
                pass

    def _open(self, event: Event, *, by_task: bool) -> None:
        if self._draft is not None and self._draft.by_task:
            self._draft.open = True
        key = fields.text(event.body, "turn_id") or event.submission or str(len(self._drafts) + 1)
        copied = self._session.copies(event)
        self._draft = Draft(replace(self._session), key, by_task, event.at, copied, last_seen_at=event.at)
        self._boundary = False
        self._drafts.append(self._draft)

    def _within(self, draft: Draft, event: Event) -> None:
        draft.session.model = self._session.model or draft.session.model
        match event.type:
            case "task_complete":
                draft.claim = _completion(draft, event)
                self._draft = None
            case "turn_aborted":
                self._abort(draft, event)
            case "error":
                draft.error = event
            case "stream_error":
                self._retries.append(AttemptEnd(reason=_code(event.body), at=event.at))
            case "token_count":
                self._count(draft, event)
            case codex_events.INTERRUPT:
                draft.stop = StopRecord(mode=StopMode.IMMEDIATE, reason="user_stop", at=event.at, by=Requester.USER)
            case _:
                self._progress(draft, event)

    def _abort(self, draft: Draft, event: Event) -> None:
        reason = fields.text(event.body, "reason")
        if reason in _SPENT:
            draft.claim = Claim(by=Layer.RUNTIME, reason="token_budget", status=reason, at=event.at)
            self._draft = None
            return
        by = Requester.HOST if reason == "review_ended" else Requester.USER
        draft.stop = draft.stop or StopRecord(mode=StopMode.IMMEDIATE, reason=reason, at=event.at, by=by)
        draft.claim = Claim(by=Layer.RUNTIME, reason="turn_aborted", status=reason, at=event.at)
        self._draft = None

    def _count(self, draft: Draft, event: Event) -> None:
        """Close a request where its tokens are counted; a count that repeats the total before it says nothing new."""
        total = fields.value_at(event.body, "info", "total_token_usage")
        last = fields.mapping(event.body, "info", "last_token_usage")
        if not last or total == self._total:
            return
        self._total = total
        request = self._request(draft, event)
        request.usage = _usage(last)
        request.ended_at = event.at
        self._boundary = True

    def _progress(self, draft: Draft, event: Event) -> None:
        call = codex_calls.started(self._source, event)
        if call is not None:
            request = self._request(draft, event)
            key = call.id or f"{len(draft.requests)}/{len(request.calls)}"
            if key not in draft.owners:
                draft.owners[key] = request
                request.calls[key] = call
        elif codex_calls.is_end(event) or codex_calls.is_question(event):
            _settle(draft, event)
        elif event.type in _WORDS or _is_answer(event):
            draft.error = None
            request = self._request(draft, event, words=True)
            if event.type == "agent_message":
                request.said += len(fields.text(event.body, "message") or "")
            for block in fields.objects(event.body, "content") if _is_answer(event) else ():
                request.answered += len(fields.text(block, "text") or "")

    def _request(self, draft: Draft, event: Event, *, words: bool = False) -> Request:
        """Find the request that an event belongs to, or open the next one."""
        last = draft.requests[-1] if draft.requests else None
        if last is None or self._boundary or (words and last.has_results):
            last = Request(started_at=event.at, retries=self._retries)
            self._retries, self._boundary = [], False
            draft.requests.append(last)
        last.ended_at = event.at
        return last


def _is_answer(event: Event) -> bool:
    return event.type == "message" and event.body.get("role") == "assistant"


def _settle(draft: Draft, event: Event) -> None:
    call_id = fields.text(event.body, "call_id") or ""
    owner = draft.owners.get(call_id)
    if owner is not None:
        call = owner.calls[call_id]
        waiting = replace(call, status=ToolStatus.AWAITING_APPROVAL)
        owner.calls[call_id] = waiting if codex_calls.is_question(event) else codex_calls.ended(call, event)


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


def _completion(draft: Draft, event: Event) -> Claim:
    """Read the end of a task; without a last message and without an error it says nothing of how the turn ended."""
    error = event.body.get("error")
    if error:
        body = error if isinstance(error, Mapping) else {"message": error}
        return _failure(body, event.type, event.at)
    if draft.error is not None:
        return _failure(draft.error.body, event.type, event.at)
    done = fields.text(event.body, "last_agent_message") is not None
    return Claim(by=Layer.RUNTIME, reason="completed" if done else None, status=event.type, at=event.at)


def _failure(body: Mapping[str, object], status: str, at: Instant | None) -> Claim:
    code, words = _code(body), fields.text(body, "message")
    quota = chat.quota_error((code or "").replace("_", " ")) or chat.quota_error(words)
    return Claim(
        by=Layer.RUNTIME,
        reason="prompt_too_long" if code == _OVERFLOW else "error",
        status=status,
        at=at,
        error_type=quota or code or chat.error_of_status(chat.status_in(words)),
        message=words,
    )


def _code(body: Mapping[str, object]) -> str | None:
    """Read the error code: a word, or an object with the word as its one key."""
    info = body.get("codex_error_info") or body.get("codexErrorInfo")
    if isinstance(info, Mapping):
        return next((key for key in info if isinstance(key, str)), None)
    return fields.text(info)


def _usage(last: Mapping[str, object]) -> Usage:
    return Usage(
        input_tokens=fields.count(last, "input_tokens"),
        output_tokens=fields.count(last, "output_tokens"),
        cache_read_tokens=fields.count(last, "cached_input_tokens"),
        cache_write_tokens=fields.count(last, "cache_write_input_tokens"),
        reasoning_tokens=fields.count(last, "reasoning_output_tokens"),
    )


def parse(source: Source, records: Iterable[Record | Damaged]) -> Iterator[Imported]:
    """Read the lines of one file into turns."""
    log = Log(source)
    for record in records:
        if isinstance(record, Damaged):
            yield replace(record, turn_id=log.current())
        else:
            event = event_of(record.value)
            if event is not None:
                log.take(event)
    if log.copied:
        yield Skipped(path=source.path, why="turns of another thread, copied into the rollout of a fork")
    yield from log.turns()


def recognise(sample: Sequence[Mapping[str, object]], name: str) -> bool:
    """Know either log of Codex by its first lines."""
    del name
    return is_log(sample)
