"""Event streams of ``codex exec --json``: threads, turns and items; usage once a turn, and only where it completed.

The stream does not say where one model request ends and the next begins. A step here is a request that is certain: words of
the model after a tool had finished came from a new one. No step has a finish reason, so none is charged to a budget.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from turnout.outcomes.facts import Claim, Layer, Output, Step, ToolCall, ToolStatus, TurnFacts, Usage
from turnout.pipeline.importers import chat, fields
from turnout.pipeline.importers.base import Damaged, Imported, Record, Source, content_id
from turnout.pipeline.json_text import parse_log_json

KIND = "codex-exec"
PROVIDER = "openai"
_WORDS = frozenset({"agent_message", "reasoning"})
_MUTATING = frozenset({"file_change"})
_OVERFLOW = re.compile(r"ran out of room in the model's context window|context_length_exceeded", re.IGNORECASE)
_NOT_TOOLS = frozenset({"error", "agent_message", "reasoning"})

Item = Mapping[str, object]


@dataclass(slots=True)
class Request:
    """The words and the calls of one certain model request."""

    text_chars: int = 0
    parts: int = 0
    calls: dict[str, ToolCall] = field(default_factory=dict[str, ToolCall])

    @property
    def is_over(self) -> bool:
        """Whether a tool of this request has finished, so that words that come next are of another."""
        return any(call.status is not ToolStatus.RUNNING for call in self.calls.values())

    def step(self, index: int) -> Step:
        """Give the request as a step."""
        return Step(
            index=index,
            provider=PROVIDER,
            output=Output(text_chars=self.text_chars, parts=self.parts) if self.parts else None,
            tool_calls=tuple(self.calls.values()),
        )


@dataclass(slots=True)
class Draft:
    """A turn as its events come in."""

    thread: str | None
    ordinal: int
    requests: list[Request] = field(default_factory=list[Request])
    mark: str | None = None
    ends: list[Claim] = field(default_factory=list[Claim])
    usage: Usage | None = None
    warning: str | None = None
    spoiled: list[Damaged] = field(default_factory=list[Damaged])

    @property
    def turn_id(self) -> str:
        """Name the turn by its thread and place, and by its first item: a thread that is resumed counts from one again."""
        parts = (KIND, self.thread or "thread", str(self.ordinal), self.mark)
        return ":".join(part for part in parts if part is not None)

    def facts(self) -> TurnFacts:
        """Close the draft; an error that nothing followed is its end."""
        ends = self.ends
        if not ends and self.warning is not None and not _is_retry(self.warning):
            ends = [_failure(self.warning, "error")]
        return TurnFacts(
            turn_id=self.turn_id,
            conversation_id=self.thread,
            agent="codex",
            source=KIND,
            steps=tuple(request.step(index) for index, request in enumerate(self.requests, 1)),
            claims=tuple(ends),
            usage=self.usage,
        )


class Events:
    """The turns of one stream."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._items: list[Draft | Damaged] = []
        self._thread: str | None = None
        self._counts: dict[str | None, int] = {}
        self._draft: Draft | None = None

    def take(self, event: Item) -> None:
        """Take one event."""
        match event.get("type"):
            case "thread.started":
                self._thread, self._draft = fields.text(event, "thread_id"), None
            case "turn.started":
                self._open()
            case "item.started" | "item.updated" | "item.completed":
                self._item(fields.mapping(event, "item"), done=event.get("type") == "item.completed")
            case "turn.completed":
                self._complete(event)
            case "turn.failed":
                words = fields.text(event, "error", "message") or fields.text(event, "error")
                self._end(_failure(words, "turn.failed"), event)
            case "error":
                (self._draft or self._open()).warning = fields.text(event, "message")
            case _:
                pass

    def spoil(self, damaged: Damaged) -> None:
        """Keep a damaged line with the turn that it stood in."""
        if self._draft is None:
            self._items.append(damaged)
        else:
            self._draft.spoiled.append(damaged)

    def items(self) -> Iterator[Imported]:
        """Give the turns and what was damaged in them, in the order of the stream."""
        for item in self._items:
            if isinstance(item, Damaged):
                yield item
            else:
                yield from (replace(damaged, turn_id=item.turn_id) for damaged in item.spoiled)
                yield item.facts()

    def _open(self) -> Draft:
        ordinal = self._counts.get(self._thread, 0) + 1
        self._counts[self._thread] = ordinal
        self._draft = Draft(self._thread, ordinal)
        self._items.append(self._draft)
        return self._draft

    def _item(self, item: Item, *, done: bool) -> None:
        draft = self._draft or self._open()
        kind = fields.text(item, "type") or fields.text(item, "item_type") or "item"
        draft.warning = None
        if draft.mark is None:
            draft.mark = content_id(item)
        if not draft.requests or (kind in _WORDS and draft.requests[-1].is_over):
            draft.requests.append(Request())
        request = draft.requests[-1]
        if kind == "agent_message" and done:
            size = len(fields.text(item, "text") or "")
            request.text_chars += size
            request.parts += size > 0
        elif kind not in _NOT_TOOLS:
            self._call(draft, kind, item, done=done)

    def _call(self, draft: Draft, kind: str, item: Item, *, done: bool) -> None:
        key = fields.text(item, "id") or f"{kind}/{len(draft.requests[-1].calls)}"
        owner = next((request for request in draft.requests if key in request.calls), draft.requests[-1])
        owner.parts += key not in owner.calls
        owner.calls[key] = _tool_call(self._source, key, kind, item, done=done)

    def _complete(self, event: Item) -> None:
        """Only an answer without a call completes a turn: after a finished tool there was one, if a silent one."""
        draft = self._draft or self._open()
        if draft.requests and draft.requests[-1].is_over:
            draft.requests.append(Request())
        self._end(Claim(by=Layer.RUNTIME, reason="completed", status="turn.completed"), event)

    def _end(self, claim: Claim, event: Item) -> None:
        draft = self._draft or self._open()
        draft.ends.append(claim)
        draft.usage = _usage(fields.mapping(event, "usage"))
        self._draft = None


def _tool_call(source: Source, key: str, kind: str, item: Item, *, done: bool) -> ToolCall:
    name = kind
    if kind == "mcp_tool_call":
        name = ".".join(part for part in (fields.text(item, "server"), fields.text(item, "tool")) if part) or kind
    return ToolCall(
        id=key,
        name=name,
        status=_status(item, done=done),
        error_type=_error_type(item),
        denied_by="host" if item.get("status") == "declined" else None,
        mutating=True if kind in _MUTATING else False if kind in {"todo_list", "web_search"} else None,
        arguments_digest=source.digest(
            next((item[name] for name in ("command", "arguments", "changes", "query") if name in item), None)
        ),
    )


def _status(item: Item, *, done: bool) -> ToolStatus:
    match item.get("status"):
        case "failed":
            return ToolStatus.ERROR
        case "declined":
            return ToolStatus.DENIED
        case "in_progress":
            return ToolStatus.RUNNING
        case _ if fields.integer(item, "exit_code"):
            return ToolStatus.ERROR
        case _:
            return ToolStatus.OK if done else ToolStatus.RUNNING


def _error_type(item: Item) -> str | None:
    if fields.integer(item, "exit_code"):
        return "exit_code"
    return "failed" if item.get("status") == "failed" else None


def _failure(words: str | None, status: str) -> Claim:
    """Say what failed; the message may be the provider's own error object as text."""
    try:
        inner: object = parse_log_json(words or "")
    except ValueError:
        inner = None
    said = fields.text(inner, "error", "message") or words
    kind = fields.text(inner, "error", "code") or fields.text(inner, "error", "type")
    by_status = chat.error_of_status(fields.integer(inner, "status") or chat.status_in(words))
    return Claim(
        by=Layer.RUNTIME,
        reason="prompt_too_long" if _OVERFLOW.search(said or "") else "error",
        status=status,
        error_type=chat.quota_error(words) or kind or by_status,
        message=said,
    )


def _is_retry(words: str) -> bool:
    return words.startswith("Reconnecting") or "retrying" in words.lower()


def _usage(usage: Item) -> Usage | None:
    found = Usage(
        input_tokens=fields.count(usage, "input_tokens"),
        output_tokens=fields.count(usage, "output_tokens"),
        cache_read_tokens=fields.count(usage, "cached_input_tokens"),
        cache_write_tokens=fields.count(usage, "cache_write_input_tokens"),
        reasoning_tokens=fields.count(usage, "reasoning_output_tokens"),
    )
    return None if found == Usage() else found


def parse(source: Source, records: Iterable[Record | Damaged]) -> Iterator[Imported]:
    """Read the events of one stream into turns."""
    events = Events(source)
    for record in records:
        if isinstance(record, Damaged):
            events.spoil(record)
        else:
            events.take(record.value)
    yield from events.items()


def recognise(sample: Sequence[Mapping[str, object]], name: str) -> bool:
    """Know a stream by its dotted event types."""
    del name
    return any(
        fields.text(line, "type")
        in {"thread.started", "turn.started", "turn.completed", "turn.failed", "item.completed"}
        for line in sample
    )
