"""Messages as Claude Code writes them, in transcripts and in streams alike, into the steps of one turn.

One line holds one content block; lines of one message share ``message.id`` and repeat its usage, cumulative, so the last
line wins and a message is one step. A ``stop_reason`` of null means "not recorded".
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from turnout.outcomes.facts import (
    AttemptEnd,
    Instant,
    Output,
    Refusal,
    Step,
    StepError,
    ToolCall,
    ToolStatus,
    Usage,
)
from turnout.pipeline.importers import chat, fields
from turnout.pipeline.importers.base import Source

PROVIDER = "anthropic"
SYNTHETIC = "<synthetic>"
"""The model name of messages that the client made up itself: no request stands behind them unless they report its error."""

CUT = "max_tokens"
"""The stop reason of a message that was cut at its output cap, which an error line may tell of instead."""

SUB_AGENT_TOOLS = frozenset({"Task", "Agent"})

_READING_TOOLS = frozenset(
    {"Read", "Glob", "Grep", "LS", "NotebookRead", "WebFetch", "WebSearch", "TodoRead", "TodoWrite", "BashOutput"}
)
_WRITING_TOOLS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
_DENIED_BY_PERSON = ("The user doesn't want to ", "User rejected tool use")
_DENIED_BY_HOST = re.compile(r"^Permission to use .* has been denied", re.DOTALL)
_ASKED_IN_VAIN = re.compile(r"^Claude requested permissions to .* haven't granted it yet", re.DOTALL)
_CUT_BY_PERSON = "[Request interrupted by user"
_OVERFLOWS = ("prompt is too long", "context limit reached")


class Messages:
    """The model calls of one turn, in the order of their first lines."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._steps: dict[str, Step] = {}
        self._owner: dict[str, str] = {}
        self._retries: list[AttemptEnd] = []

    def __bool__(self) -> bool:
        return bool(self._steps)

    @property
    def first(self) -> str | None:
        """Name the first message."""
        return next(iter(self._steps), None)

    def add(
        self,
        message: Mapping[str, object],
        key: str,
        *,
        at: Instant | None,
        asked_at: Instant | None,
        request: str | None,
    ) -> None:
        """Take one line of a message; ``key`` stands in for a missing message id."""
        message_id = fields.text(message, "id") or key
        step = self._steps.get(message_id) or self._opened(message_id, asked_at)
        step = replace(
            step,
            request_id=request or step.request_id,
            model=fields.text(message, "model") or step.model,
            ended_at=at or step.ended_at,
            raw_finish_reason=fields.text(message, "stop_reason") or step.raw_finish_reason,
            usage=usage_of(fields.mapping(message, "usage")) or step.usage,
        )
        for block in _blocks(message):
            step = self._with_block(step, block, message_id, at)
        self._steps[message_id] = step

    def fail(
        self,
        key: str,
        error: StepError,
        *,
        at: Instant | None,
        asked_at: Instant | None,
        request: str | None,
        refusal: Refusal | None,
    ) -> None:
        """Take the line that the client wrote because a request failed for good, or was cut at its cap."""
        step = replace(self._opened(key, asked_at), request_id=request, ended_at=at, refusal=refusal)
        cut = error_reason(error, refusal) == CUT
        self._steps[key] = replace(step, raw_finish_reason=CUT) if cut else replace(step, error=error)

    def retry(self, end: AttemptEnd) -> None:
        """Take a failed attempt; the step that follows is the same request made again."""
        self._retries.append(end)

    def settle(self, block: Mapping[str, object], *, at: Instant | None, detail: object) -> None:
        """Take a tool result; one that no call of this turn asked for is of a call whose line was lost."""
        call_id = fields.text(block, "tool_use_id") or ""
        message_id = self._owner.get(call_id)
        if message_id is None:
            return
        step = self._steps[message_id]
        calls = tuple(_settled(call, block, at, detail) if call.id == call_id else call for call in step.tool_calls)
        self._steps[message_id] = replace(step, tool_calls=calls)

    def steps(self) -> tuple[Step, ...]:
        """Give the steps, counted from 1."""
        return tuple(replace(step, index=index) for index, step in enumerate(self._steps.values(), 1))

    def _opened(self, message_id: str, asked_at: Instant | None) -> Step:
        ends, self._retries = tuple(self._retries), []
        return Step(
            message_id=message_id,
            provider=PROVIDER,
            started_at=asked_at,
            cache_in_input=False,
            attempts=len(ends) + 1 if ends else None,
            attempt_ends=ends,
        )

    def _with_block(self, step: Step, block: Mapping[str, object], message_id: str, at: Instant | None) -> Step:
        seen = step.output or Output(text_chars=0, parts=0)
        chars, parts = seen.text_chars or 0, seen.parts or 0
        match block.get("type"):
            case "text":
                size = len(fields.text(block, "text") or "")
                output = Output(text_chars=chars + size, parts=parts + (size > 0), last_at=at if size else seen.last_at)
                return replace(step, output=output)
            case "tool_use":
                call = _asked(block, self._source, at)
                if call.id is not None:
                    if call.id in self._owner:
                        return step
                    self._owner[call.id] = message_id
                output = replace(seen, parts=parts + 1)
                return replace(step, output=output, tool_calls=(*step.tool_calls, call))
            case _:
                return replace(step, output=seen)


def usage_of(usage: Mapping[str, object]) -> Usage | None:
    """Read token counts; ``None`` where none is given."""
    found = Usage(
        input_tokens=fields.count(usage, "input_tokens"),
        output_tokens=fields.count(usage, "output_tokens"),
        cache_read_tokens=fields.count(usage, "cache_read_input_tokens"),
        cache_write_tokens=fields.count(usage, "cache_creation_input_tokens"),
    )
    return None if found == Usage() else found


def plain_text(content: object) -> str:
    """Join the text of a message's content, for the markers that stand in it."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(words for block in blocks if (words := fields.text(block, "text")) is not None)


def tool_results(content: object) -> tuple[Mapping[str, object], ...]:
    """Find the tool results in a user line."""
    return tuple(
        block for block in fields.objects({"content": content}, "content") if block.get("type") == "tool_result"
    )


def api_error(words: str, line: Mapping[str, object]) -> StepError:
    """Read the error line that Claude Code writes in place of an answer."""
    status = fields.integer(line, "apiErrorStatus") or fields.integer(line, "error", "status") or chat.status_in(words)
    return StepError(type=fields.text(line, "error") or chat.quota_error(words), status=status, message=words or None)


def api_refusal(words: str) -> Refusal | None:
    """Recognise the error line that stands for a refusal."""
    return Refusal(explanation=words) if "violate our Usage Policy" in words else None


def error_reason(error: StepError, refusal: Refusal | None) -> str:
    """Name, in the words of the contract, what an error line says."""
    words = error.message or ""
    if refusal is not None:
        return "refusal"
    if any(marker in words.lower() for marker in _OVERFLOWS):
        return "prompt_too_long"
    if error.type == "max_output_tokens" or "output token maximum" in words:
        return CUT
    return "error"


def _blocks(message: Mapping[str, object]) -> tuple[Mapping[str, object], ...]:
    content = message.get("content")
    if isinstance(content, str):
        return ({"type": "text", "text": content},)
    return fields.objects(message, "content")


def _asked(block: Mapping[str, object], source: Source, at: Instant | None) -> ToolCall:
    name = fields.text(block, "name")
    return ToolCall(
        id=fields.text(block, "id"),
        name=name,
        status=ToolStatus.UNKNOWN,
        arguments_digest=source.digest(block.get("input")),
        mutating=True if name in _WRITING_TOOLS else False if name in _READING_TOOLS else None,
        started_at=at,
    )


def _settled(call: ToolCall, block: Mapping[str, object], at: Instant | None, detail: object) -> ToolCall:
    words = plain_text(block.get("content"))
    if fields.boolean(block, "is_error") is not True:
        return replace(call, status=ToolStatus.OK, ended_at=at)
    if words.startswith(_DENIED_BY_PERSON) or detail == "User rejected tool use":
        return replace(call, status=ToolStatus.DENIED, denied_by="user", ended_at=at)
    if _DENIED_BY_HOST.match(words):
        return replace(call, status=ToolStatus.DENIED, denied_by="host", ended_at=at)
    return replace(call, status=ToolStatus.ERROR, error_type=_error_type(words), ended_at=at)


def _error_type(words: str) -> str | None:
    if words.startswith(_CUT_BY_PERSON):
        return "interrupted"
    if _ASKED_IN_VAIN.match(words):
        return "permission_required"
    if "InputValidationError" in words:
        return "InputValidationError"
    return "tool_use_error" if words.startswith("<tool_use_error>") else None
