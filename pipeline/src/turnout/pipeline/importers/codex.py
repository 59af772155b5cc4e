"""Codex session logs and rollouts -> turns: a task from its start to its completion or abort.

A model request ends where the log counts its tokens; where it counts none, words of the model after a tool had finished came
from a new request. ``task_complete`` is no success by itself: it may carry an error, or follow one. The rollout of a fork or of a sub-agent
may open with the history of the thread that it came from, copied: those turns belong to that thread's own rollout and are left out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

from turnout.outcomes.facts import (
    AttemptEnd,
    Claim,
    Instant,
    Layer,
    Requester,
    StopMode,
    StopRecord,
    ToolStatus,
    TurnFacts,
    Usage,
)
from turnout.pipeline.importers import codex_calls, codex_events, fields
from turnout.pipeline.importers.base import Damaged, Imported, Record, Skipped, Source, read_records
from turnout.pipeline.importers.codex_drafts import Draft, Request, code_of, failure
from turnout.pipeline.importers.codex_events import Event, event_of, is_log
from turnout.pipeline.importers.codex_session import Session, rollout_of

_WORDS = frozenset({"agent_message", "agent_message_delta", "agent_reasoning", "agent_reasoning_delta", "reasoning"})
_SPENT = frozenset({"budget_limited", "budgetLimited"})


class Log:
    """The turns of one file."""

    def __init__(self, source: Source, parent_turn: Callable[[Session], str | None]) -> None:
        self._source = source
        self._parent_turn = parent_turn
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
                self._session.parent_turn = self._session.parent_turn or self._parent_turn(self._session)
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
                self._retries.append(AttemptEnd(reason=code_of(event.body), at=event.at))
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


def _completion(draft: Draft, event: Event) -> Claim:
    """Read the end of a task; without a last message and without an error it says nothing of how the turn ended."""
    error = event.body.get("error")
    if error:
        body = error if isinstance(error, Mapping) else {"message": error}
        return failure(body, event.type, event.at)
    if draft.error is not None:
        return failure(draft.error.body, event.type, event.at)
    done = fields.text(event.body, "last_agent_message") is not None
    return Claim(by=Layer.RUNTIME, reason="completed" if done else None, status=event.type, at=event.at)


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
    return _parsed(Log(source, partial(parent_turn, Path(source.path))), source, records)


def _parsed(log: Log, source: Source, records: Iterable[Record | Damaged]) -> Iterator[Imported]:
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


def parent_turn(path: Path, session: Session) -> str | None:
    """Find, in the rollout of the thread that started a sub-agent, the turn that ran when the sub-agent was made."""
    made = session.created
    beside = None if session.parent is None else rollout_of(session.parent, path)
    if beside is None or made is None or beside == path:
        return None
    stat = beside.stat()
    spans = _spans(beside, stat.st_mtime_ns, stat.st_size)
    return next((name for start, end, name in reversed(spans) if start <= made <= end), None)


@lru_cache(maxsize=32)
def _spans(path: Path, changed: int, size: int) -> tuple[tuple[Instant, Instant, str], ...]:
    """When the turns of a rollout ran."""
    del changed, size  # part of the key, so that a rollout that grew is read again
    source = Source(path=str(path))
    items = _parsed(Log(source, lambda _session: None), source, read_records(path))
    return tuple(
        (turn.started_at, turn.last_seen_at, turn.turn_id)
        for turn in items
        if isinstance(turn, TurnFacts) and turn.started_at is not None and turn.last_seen_at is not None
    )


def recognise(sample: Sequence[Mapping[str, object]], name: str) -> bool:
    """Know either log of Codex by its first lines."""
    del name
    return is_log(sample)
