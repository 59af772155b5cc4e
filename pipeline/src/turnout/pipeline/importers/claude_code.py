"""Claude Code transcripts (``~/.claude/projects/*/*.jsonl``): one line a content block, sub-agents inside or beside.

A prompt of a person opens a turn; lines belong to it by their chain of ``parentUuid``. A sub-agent (a sidechain of the same
file, or an ``agent-*.jsonl`` beside it) is a turn whose parent is the turn that called it. A session that is resumed may be copied into
another file under other ids; its messages keep theirs, so a turn is named by its first message.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path

from turnout.outcomes.facts import (
    AttemptEnd,
    CheckVerdict,
    Claim,
    FinishCheck,
    Instant,
    Layer,
    Requester,
    StopMode,
    StopRecord,
    TurnFacts,
)
from turnout.pipeline.importers import chat, fields
from turnout.pipeline.importers.base import Damaged, Imported, Record, Source, read_records
from turnout.pipeline.importers.claude_messages import (
    SUB_AGENT_TOOLS,
    SYNTHETIC,
    Messages,
    api_error,
    api_refusal,
    error_reason,
    plain_text,
    tool_results,
)

KIND = "claude-code"
_INTERRUPTED = "[Request interrupted by user"
_VETO = "Stop hook feedback"
_LOCAL = ("<local-command-", "<bash-", "<user-memory-input>", "Caveat: The messages below")
_COMMAND = ("<command-name>", "<command-message>")
_ATTENDED = frozenset({"cli", "claude-vscode", "claude-desktop", "ide"})
_PARENT_FOLDERS = 3


@dataclass(slots=True)
class Draft:
    """A turn as its lines come in."""

    messages: Messages
    line: Mapping[str, object]
    at: Instant | None
    child: bool
    command: bool = False
    name: str | None = None
    parent: "Draft | None" = None
    parent_name: str | None = None
    agent: str = KIND
    last_seen_at: Instant | None = None
    ended: bool = False
    stop: StopRecord | None = None
    claim: Claim | None = None
    checks: list[FinishCheck] = field(default_factory=list[FinishCheck])
    children: list["Draft"] = field(default_factory=list["Draft"])
    named_children: dict[str, None] = field(default_factory=dict[str, None])

    @property
    def turn_id(self) -> str:
        """Name the turn: as its caller names it, by its first message, or by the prompt that nothing answered."""
        return self.name or f"{KIND}:{self.messages.first or fields.text(self.line, 'uuid')}"

    def facts(self) -> TurnFacts:
        """Close the draft."""
        steps = self.messages.steps()
        last = steps[-1] if steps else None
        over = self.ended or (last is not None and last.raw_finish_reason not in {None, "tool_use", "pause_turn"})
        entry = fields.text(self.line, "entrypoint")
        denied = last is not None and any(call.denied_by == "user" for call in last.tool_calls)
        stop, claim = self.stop, self.claim
        if denied and stop is not None:
            # The marker after a denial is the denial's own: the person said no to the call, not to the turn.
            stop, claim = None, None
        children = {child.turn_id: None for child in self.children} | self.named_children
        return TurnFacts(
            turn_id=self.turn_id,
            parent_turn_id=self.parent_name or (None if self.parent is None else self.parent.turn_id),
            conversation_id=fields.text(self.line, "sessionId"),
            agent=self.agent,
            agent_version=fields.text(self.line, "version"),
            source=KIND,
            attended=None if self.child or entry is None else entry in _ATTENDED,
            started_at=self.at,
            ended_at=self.last_seen_at if over else None,
            last_seen_at=self.last_seen_at,
            steps=steps,
            finish_checks=tuple(self.checks),
            stop_requests=() if stop is None else (stop,),
            claims=() if claim is None else (claim,),
            children_expected=tuple(children),
        )


class Transcript:
    """The turns of one file, line by line."""

    def __init__(self, source: Source, beside: Callable[[str | None], Mapping[str, str]]) -> None:
        self._source = source
        self._beside = beside
        self._drafts: dict[str, Draft] = {}
        self._owner: dict[str, Draft] = {}
        self._at: dict[str, Instant | None] = {}
        self._siblings: dict[str, list[Draft]] = {}
        self._tasks: dict[str, tuple[Draft, str]] = {}
        self._callers: dict[str, Draft] = {}
        self._main: Draft | None = None
        self._side: Draft | None = None
        self._spoiled: list[tuple[Damaged, Draft | None]] = []

    def spoil(self, damaged: Damaged) -> None:
        """Keep a damaged line with the turn that the line before it belonged to."""
        self._spoiled.append((damaged, self._side or self._main))

    def damages(self) -> Iterator[Damaged]:
        """Give the damaged lines, each with its turn."""
        for damaged, draft in self._spoiled:
            yield damaged if draft is None else replace(damaged, turn_id=draft.turn_id)

    def take(self, line: Mapping[str, object]) -> None:
        """Take one line of the file."""
        uuid = fields.text(line, "uuid")
        if (
            uuid is None
            or uuid in self._owner
            or fields.text(line, "type") not in {"user", "assistant", "system", "attachment"}
        ):
            return
        at = fields.instant(line, "timestamp")
        draft = self._opened(uuid, line, at) if _is_prompt(line) else self._owner_of(line)
        if draft is None:
            return
        self._owner[uuid] = draft
        self._at[uuid] = at
        self._focus(draft)
        draft.last_seen_at = _later(draft.last_seen_at, at)
        match line.get("type"):
            case "assistant":
                self._assistant(draft, uuid, line, at)
            case "user":
                self._user(draft, line, at)
            case "system":
                _system(draft, line, at)
            case _:
                pass

    def turns(self) -> Iterator[TurnFacts]:
        """Give the turns, in the order of their prompts."""
        for draft in self._drafts.values():
            if not self._is_leftover(draft):
                yield draft.facts()

    def callers(self) -> Mapping[str, str]:
        """Say which turn started the sub-agents that the file names (agent id to turn id)."""
        return {agent: draft.turn_id for agent, draft in self._callers.items()}

    def _is_leftover(self, draft: Draft) -> bool:
        """Tell a command that asked no model, or a prompt that was taken back and sent again, from a turn."""
        if draft.messages or draft.stop is not None:
            return False
        parent = fields.text(draft.line, "parentUuid")
        return draft.command or (parent is not None and self._siblings[parent][-1] is not draft)

    def _focus(self, draft: Draft) -> None:
        if draft.child:
            self._side = draft
        else:
            self._main, self._side = draft, None

    def _owner_of(self, line: Mapping[str, object]) -> Draft | None:
        parent = fields.text(line, "parentUuid") or fields.text(line, "logicalParentUuid")
        found = self._owner.get(parent) if parent is not None else None
        return found or (self._side if line.get("isSidechain") is True else self._main)

    def _opened(self, uuid: str, line: Mapping[str, object], at: Instant | None) -> Draft:
        child = line.get("isSidechain") is True
        words = plain_text(fields.value_at(line, "message", "content"))
        draft = Draft(Messages(self._source), line, at, child, command=words.startswith(_COMMAND))
        if child:
            self._adopt(draft, line, words)
        elif self._main is not None:
            self._main.ended = True
        parent = fields.text(line, "parentUuid")
        if parent is not None:
            self._siblings.setdefault(parent, []).append(draft)
        self._drafts[uuid] = draft
        return draft

    def _adopt(self, draft: Draft, line: Mapping[str, object], words: str) -> None:
        """Find the turn whose tool call started a sub-agent: by agent id, by the words of the prompt, else by place."""
        session, agent = fields.text(line, "sessionId"), fields.text(line, "agentId")
        caller, name = self._tasks.get(words, (self._main, KIND))
        draft.agent = name
        known = self._beside(session).get(agent) if agent is not None else None
        if agent is not None and fields.text(line, "parentUuid") is None:
            draft.name = child_id(session, agent)
        draft.parent = caller
        draft.parent_name = known or (f"{KIND}:{session}" if caller is None else None)
        if caller is not None:
            caller.children.append(draft)

    def _assistant(self, draft: Draft, uuid: str, line: Mapping[str, object], at: Instant | None) -> None:
        message = fields.mapping(line, "message")
        words = plain_text(message.get("content"))
        request, asked_at = fields.text(line, "requestId"), self._asked_at(line, draft)
        if line.get("isApiErrorMessage") is True:
            error, refusal = api_error(words, line), api_refusal(words)
            key = fields.text(message, "id") or uuid
            draft.messages.fail(key, error, at=at, asked_at=asked_at, request=request, refusal=refusal)
            reason = error_reason(error, refusal)
            draft.claim = Claim(by=Layer.RUNTIME, reason=reason, at=at, error_type=error.type, message=error.message)
            draft.ended = True
        elif message.get("model") != SYNTHETIC:
            draft.messages.add(message, uuid, at=at, asked_at=asked_at, request=request)
            draft.claim, draft.ended = None, False
            self._remember_tasks(draft, message)

    def _asked_at(self, line: Mapping[str, object], draft: Draft) -> Instant | None:
        parent = fields.text(line, "parentUuid") or ""
        return self._at.get(parent) if self._owner.get(parent) is draft else None

    def _remember_tasks(self, draft: Draft, message: Mapping[str, object]) -> None:
        for block in fields.objects(message, "content"):
            prompt = fields.text(block, "input", "prompt")
            if fields.text(block, "name") in SUB_AGENT_TOOLS and prompt is not None:
                self._tasks[prompt] = (draft, fields.text(block, "input", "subagent_type") or KIND)

    def _user(self, draft: Draft, line: Mapping[str, object], at: Instant | None) -> None:
        content = fields.value_at(line, "message", "content")
        detail = line.get("toolUseResult")
        for block in tool_results(content):
            draft.messages.settle(block, at=at, detail=detail)
        agent = fields.text(detail, "agentId")
        if agent is not None:
            self._callers[agent] = draft
            draft.named_children[child_id(fields.text(line, "sessionId"), agent)] = None
        words = plain_text(content)
        if words.startswith(_INTERRUPTED):
            draft.stop = StopRecord(mode=StopMode.IMMEDIATE, reason="user_stop", at=at, by=Requester.USER)
            draft.claim = Claim(by=Layer.RUNTIME, reason="user_stop", at=at)
            draft.ended = True
        elif words.startswith(_VETO):
            index = len(draft.messages.steps())
            draft.checks.append(FinishCheck(step=index or None, verdict=CheckVerdict.VETO, by="stop hook"))


def child_id(session: str | None, agent: str) -> str:
    """Name the turn of a sub-agent that the transcript of its caller names too."""
    return f"{KIND}:{session}/{agent}"


def _is_prompt(line: Mapping[str, object]) -> bool:
    if line.get("type") != "user" or line.get("isMeta") is True or line.get("isCompactSummary") is True:
        return False
    content = fields.value_at(line, "message", "content")
    if tool_results(content):
        return False
    words = plain_text(content)
    has_more = any(
        fields.text(block, "type") in {"image", "document"} for block in fields.objects(line, "message", "content")
    )
    return not words.startswith((*_LOCAL, _INTERRUPTED, _VETO)) and (bool(words) or has_more)


def _system(draft: Draft, line: Mapping[str, object], at: Instant | None) -> None:
    match line.get("subtype"):
        case "api_error":
            error = fields.mapping(line, "error")
            reason = fields.text(error, "error", "error", "type") or fields.text(error, "error", "type")
            status = fields.integer(error, "status") or chat.status_in(fields.text(error, "message"))
            draft.messages.retry(AttemptEnd(reason=reason, status=status, at=at))
        case "turn_duration":
            draft.ended = True
        case "stop_hook_summary" if fields.integer(line, "hookCount") and not fields.items(line, "hookErrors"):
            index = len(draft.messages.steps())
            draft.checks.append(FinishCheck(step=index or None, verdict=CheckVerdict.ALLOW, by="stop hook"))
        case _:
            pass


def _later(one: Instant | None, other: Instant | None) -> Instant | None:
    known = [moment for moment in (one, other) if moment is not None]
    return max(known) if known else None


def parse(source: Source, records: Iterable[Record | Damaged]) -> Iterator[Imported]:
    """Read the lines of one file into turns."""
    transcript = Transcript(source, partial(callers_beside, Path(source.path)))
    for record in records:
        if isinstance(record, Damaged):
            transcript.spoil(record)
        else:
            transcript.take(record.value)
    yield from transcript.damages()
    yield from transcript.turns()


def callers_beside(path: Path, session: str | None) -> Mapping[str, str]:
    """Read, from the transcript of the session near an ``agent-*.jsonl``, which turn started which sub-agent."""
    if session is None or not path.name.startswith("agent-"):
        return {}
    for folder in list(path.parents)[:_PARENT_FOLDERS]:
        main = folder / f"{session}.jsonl"
        if main.is_file():
            stat = main.stat()
            return _callers(main, stat.st_mtime_ns, stat.st_size)
    return {}


@lru_cache(maxsize=32)
def _callers(main: Path, changed: int, size: int) -> Mapping[str, str]:
    del changed, size  # part of the key, so that a transcript that grew is read again
    transcript = Transcript(Source(path=str(main)), lambda _session: {})
    for record in read_records(main):
        if isinstance(record, Record):
            transcript.take(record.value)
    return transcript.callers()


def recognise(sample: Sequence[Mapping[str, object]], name: str) -> bool:
    """Know a transcript by lines that carry a session, a uuid and a message."""
    del name
    return any("sessionId" in line and "uuid" in line and "isSidechain" in line for line in sample)
