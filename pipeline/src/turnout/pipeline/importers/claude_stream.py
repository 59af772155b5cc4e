"""Streams of ``claude -p --output-format stream-json``: init, messages as they come, and one ``result`` a turn.

The usage of the result is the whole turn's; what the stream repeats may be a snapshot from the start of a message. A stream
without a whole result line lost a record: that is said, and nothing is concluded from it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from turnout.outcomes.facts import (
    AttemptEnd,
    Instant,
    Requester,
    StopMode,
    StopRecord,
    TurnFacts,
)
from turnout.pipeline.importers import fields
from turnout.pipeline.importers.base import Damaged, Imported, Record, Source
from turnout.pipeline.importers.claude_messages import (
    SUB_AGENT_TOOLS,
    SYNTHETIC,
    Messages,
    api_error,
    api_refusal,
    plain_text,
    tool_results,
    usage_of,
)
from turnout.pipeline.importers.claude_results import claim_of, trusted, whole, with_denials

KIND = "claude-stream"
_AGENT = "claude-code"
_INTERRUPTED = "[Request interrupted by user"
_TYPES = frozenset({"system", "assistant", "user", "result", "stream_event"})

Line = Mapping[str, object]


@dataclass(slots=True)
class Draft:
    """A turn as its lines come in; a sub-agent has the call that started it as its id."""

    session: str
    messages: Messages
    call: str | None = None
    agent: str = _AGENT
    first_message: str | None = None
    first_line: str | None = None
    version: str | None = None
    parent: "Draft | None" = None
    started_at: Instant | None = None
    last_seen_at: Instant | None = None
    stop: StopRecord | None = None
    result: Line | None = None
    spoiled: list[Damaged] = field(default_factory=list[Damaged])
    children: list["Draft"] = field(default_factory=list["Draft"])
    open_message: str | None = None

    @property
    def turn_id(self) -> str:
        """Name the turn by its session and its first message, which a copy of the log holds too."""
        return f"{KIND}:{self.session}:{self.call or self.first_message or self.first_line}"


class Stream:
    """The turns of one log, which may hold several sessions one after the other."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._items: list[Draft | Damaged] = []
        self._current: dict[str, Draft] = {}
        self._children: dict[tuple[str, str], Draft] = {}
        self._agents: dict[str, str] = {}
        self._last: Draft | None = None

    def take(self, line: Line) -> None:
        """Take one line of the log."""
        session = fields.text(line, "session_id")
        if session is None or fields.text(line, "type") not in _TYPES:
            return
        draft = self._draft_of(session, line)
        if draft is None:
            return
        at = fields.instant(line, "timestamp")
        draft.started_at = draft.started_at or at
        draft.last_seen_at = at or draft.last_seen_at
        draft.first_message = draft.first_message or fields.text(line, "message", "id")
        draft.first_line = draft.first_line or fields.text(line, "uuid")
        self._last = draft
        match line.get("type"):
            case "system":
                _system(draft, line, at)
            case "assistant":
                self._assistant(draft, line, at)
            case "user":
                _user(draft, line, at)
            case "stream_event":
                _partial(draft, fields.mapping(line, "event"))
            case _:
                draft.result = line
                del self._current[session]

    def spoil(self, damaged: Damaged) -> None:
        """Keep a damaged line with the turn that it stood in; one after the result belongs to none."""
        if self._last is not None and self._last.result is None:
            self._last.spoiled.append(damaged)
        else:
            self._items.append(damaged)

    def items(self) -> Iterator[Imported]:
        """Give the turns and what was damaged in them, in the order of the log."""
        for item in self._items:
            if isinstance(item, Damaged):
                yield item
            else:
                yield from (replace(damaged, turn_id=item.turn_id) for damaged in item.spoiled)
                if item.parent is None and item.result is None:
                    yield self._unfinished(item)
                yield _facts(item)

    def _unfinished(self, draft: Draft) -> Damaged:
        what = f"session {draft.session}: got no whole result line, expected one at the end of the turn"
        return Damaged(path=self._source.path, what=what, turn_id=draft.turn_id)

    def _draft_of(self, session: str, line: Line) -> Draft | None:
        call = fields.text(line, "parent_tool_use_id")
        current = self._current.get(session)
        if current is None:
            if line.get("type") == "stream_event" and call is None and not self._starts(line):
                return None
            current = Draft(session=session, messages=Messages(self._source))
            self._current[session] = current
            self._items.append(current)
        return current if call is None else self._child(current, call)

    @staticmethod
    def _starts(line: Line) -> bool:
        return fields.text(line, "event", "type") == "message_start"

    def _child(self, parent: Draft, call: str) -> Draft:
        known = self._children.get((parent.session, call))
        if known is not None:
            return known
        child = Draft(
            session=parent.session,
            messages=Messages(self._source),
            call=call,
            agent=self._agents.get(call, _AGENT),
            version=parent.version,
            parent=parent,
        )
        parent.children.append(child)
        self._children[parent.session, call] = child
        self._items.append(child)
        return child

    def _assistant(self, draft: Draft, line: Line, at: Instant | None) -> None:
        message = fields.mapping(line, "message")
        key = fields.text(line, "uuid") or f"{draft.turn_id}/{len(draft.messages.steps())}"
        words = plain_text(message.get("content"))
        if fields.text(line, "error") is not None or line.get("isApiErrorMessage") is True:
            draft.messages.fail(
                fields.text(message, "id") or key,
                api_error(words, line),
                at=at,
                asked_at=None,
                request=fields.text(line, "request_id"),
                refusal=api_refusal(words),
            )
        elif message.get("model") != SYNTHETIC:
            draft.messages.add(message, key, at=at, asked_at=None, request=fields.text(line, "request_id"))
            for block in fields.objects(message, "content"):
                call, kind = fields.text(block, "id"), fields.text(block, "input", "subagent_type")
                if fields.text(block, "name") in SUB_AGENT_TOOLS and call is not None and kind is not None:
                    self._agents[call] = kind


def _system(draft: Draft, line: Line, at: Instant | None) -> None:
    match line.get("subtype"):
        case "init":
            draft.version = fields.text(line, "claude_code_version")
        case "api_retry":
            end = AttemptEnd(reason=fields.text(line, "error"), status=fields.integer(line, "error_status"), at=at)
            draft.messages.retry(end)
        case _:
            pass


def _user(draft: Draft, line: Line, at: Instant | None) -> None:
    content = fields.value_at(line, "message", "content")
    for block in tool_results(content):
        draft.messages.settle(block, at=at, detail=line.get("tool_use_result"))
    if plain_text(content).startswith(_INTERRUPTED):
        draft.stop = StopRecord(mode=StopMode.IMMEDIATE, reason="user_stop", at=at, by=Requester.USER)


def _partial(draft: Draft, event: Line) -> None:
    """Take from partial messages what whole ones may lack: the stop reason and the final usage."""
    match event.get("type"):
        case "message_start":
            draft.open_message = fields.text(event, "message", "id")
            draft.first_message = draft.first_message or draft.open_message
        case "message_delta" if draft.open_message is not None:
            end = {
                "id": draft.open_message,
                "stop_reason": fields.value_at(event, "delta", "stop_reason"),
                "usage": event.get("usage"),
            }
            draft.messages.add(end, draft.open_message, at=None, asked_at=None, request=None)
        case _:
            pass


def _facts(draft: Draft) -> TurnFacts:
    result = draft.result or {}
    steps = with_denials(draft.messages.steps(), result)
    reason = fields.text(result, "stop_reason")
    if steps and steps[-1].raw_finish_reason is None and reason is not None:
        steps = (*steps[:-1], replace(steps[-1], raw_finish_reason=reason))
    total = usage_of(fields.mapping(result, "usage"))
    return TurnFacts(
        turn_id=draft.turn_id,
        parent_turn_id=None if draft.parent is None else draft.parent.turn_id,
        conversation_id=draft.session,
        agent=draft.agent,
        agent_version=draft.version,
        source=KIND,
        started_at=draft.started_at,
        ended_at=draft.last_seen_at if draft.result is not None else None,
        last_seen_at=draft.last_seen_at,
        steps=trusted(steps, total),
        stop_requests=() if draft.stop is None else (draft.stop,),
        claims=() if draft.result is None else (claim_of(result, draft.last_seen_at),),
        usage=whole(total),
        cost_usd=fields.amount(result, "total_cost_usd"),
        children_expected=tuple(child.turn_id for child in draft.children),
    )


def parse(source: Source, records: Iterable[Record | Damaged]) -> Iterator[Imported]:
    """Read the lines of one log into turns."""
    stream = Stream(source)
    for record in records:
        if isinstance(record, Damaged):
            stream.spoil(record)
        else:
            stream.take(record.value)
    yield from stream.items()


def recognise(sample: Sequence[Mapping[str, object]], name: str) -> bool:
    """Know a stream by its init line, or by messages that name a session and, if any, the call they run under."""
    del name
    return any(
        "session_id" in line
        and "sessionId" not in line
        and (line.get("subtype") == "init" or line.get("type") == "result" or "parent_tool_use_id" in line)
        for line in sample
    )
