"""A model that plays a script: every way in which a request can go, without a provider."""

import json
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeAlias

from turnout.outcomes.facts import Usage
from turnout.outcomes.step_end import CONTEXT_LENGTH_EXCEEDED
from turnout.runtime.clock import Clock, SystemClock
from turnout.runtime.model import (
    CallDelta,
    Chunk,
    ModelError,
    ModelRequest,
    RefusalDelta,
    ResponseIds,
    StreamEnd,
    TextDelta,
    UsageReport,
    retryable_status,
)

_SPELLINGS: Mapping[str, Mapping[str, str]] = {
    "anthropic": {
        "stop": "end_turn",
        "tools": "tool_use",
        "length": "max_tokens",
        "refusal": "refusal",
        "filter": "refusal",
        "overflow": "model_context_window_exceeded",
        "pause": "pause_turn",
    },
    "google": {"stop": "STOP", "tools": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY", "filter": "SAFETY"},
}
_COMMON: Mapping[str, str] = {
    "stop": "stop",
    "tools": "tool_calls",
    "length": "length",
    "refusal": "stop",
    "filter": "content_filter",
}


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A tool call that the model makes; ``cut`` breaks its arguments off half way."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    id: str | None = None
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Played:
    text: str = ""
    usage: Usage | None = None
    seconds: float = 0.0
    """How long the stream takes, spread evenly."""
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Says(_Played):
    """An answer; with no text it is an empty one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsTools(_Played):
    """Tool calls, with or without words before them."""

    calls: tuple[ScriptedCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsOut(_Played):
    """An answer cut by the output limit; ``calls`` are cut with it."""

    calls: tuple[ScriptedCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuses(_Played):
    """A refusal, with or without output before it."""

    category: str | None = None
    calls: tuple[ScriptedCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Filtered(_Played):
    """An answer that the provider's content filter ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overflows(_Played):
    """A conversation too long: as a rejected request, or with ``as_finish`` as the end of a stream."""

    as_finish: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pauses(_Played):
    """The provider pauses its own long work and wants the request again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drops(_Played):
    """A stream that breaks off after its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejects:
    """A request that fails with a status, as 429 and 529 do."""

    status: int
    retry_after: float | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EndsWith(_Played):
    """A stream that ends with a finish value of the script's choosing; None for none at all."""

    raw_finish_reason: str | None
    calls: tuple[ScriptedCall, ...] = ()


Scripted: TypeAlias = Says | CallsTools | RunsOut | Refuses | Filtered | Overflows | Pauses | Drops | Rejects | EndsWith


class ScriptedModel:
    """Plays one entry of the script a request; ``requests`` are what it was sent.

    It spells its finish values as ``provider`` does, so that what it plays is read like anyone's. ``answers`` begins the ids of its answers:
    a provider gives no two answers the same id, so models whose turns meet in one lake need their own.
    """

    def __init__(
        self,
        script: Iterable[Scripted],
        *,
        name: str = "scripted-1",
        provider: str = "openai",
        api: str | None = None,
        clock: Clock | None = None,
        pieces: int = 3,
        answers: str | None = None,
    ) -> None:
        self.name = name
        self._answers = answers or name
        self.provider = provider
        self.api = api
        self.requests: list[ModelRequest] = []
        self._script = list(script)
        self._clock = clock or SystemClock()
        self._pieces = pieces

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Play the next entry; a script that is over is a fault of its author."""
        self.requests.append(request)
        if not self._script:
            raise ModelError("the script is over: it has no entry for this request", type="script_over")
        entry = self._script.pop(0)
        failure = _failure(entry)
        if failure is not None:
            await self._clock.sleep(entry.seconds)
            raise failure
        chunks = list(self._chunks(entry, len(self.requests)))
        for chunk in chunks:
            await self._clock.sleep(entry.seconds / len(chunks))
            yield chunk

    def _chunks(self, entry: Scripted, number: int) -> Iterable[Chunk]:
        yield ResponseIds(message_id=f"{self._answers}-{number}")
        if isinstance(entry, _Played):
            yield from (TextDelta(piece) for piece in _cut(entry.text, self._pieces))
            yield from self._ending(entry, number)
            if entry.usage is not None:
                yield UsageReport(entry.usage, entry.cost_usd)

    def _ending(self, entry: Scripted, number: int) -> Iterable[Chunk]:
        match entry:
            case Says():
                yield self._end("stop")
            case CallsTools(calls=calls):
                yield from _deltas(calls, number)
                yield self._end("tools")
            case RunsOut(calls=calls):
                yield from _deltas(calls, number)
                yield self._end("length")
            case Refuses(category=category, calls=calls):
                yield from _deltas(calls, number)
                yield RefusalDelta(category=category)
                yield self._end("refusal")
            case Filtered():
                yield self._end("filter")
            case Overflows():
                yield self._end("overflow")
            case Pauses():
                yield self._end("pause")
            case EndsWith(raw_finish_reason=raw, calls=calls):
                yield from _deltas(calls, number)
                yield StreamEnd(raw)
            case Drops() | Rejects():
                return

    def _end(self, kind: str) -> StreamEnd:
        spelled = _SPELLINGS.get(self.provider, _COMMON).get(kind)
        if spelled is None:
            raise ModelError(f"{self.provider} has no finish value for {kind!r}", type="script_impossible")
        return StreamEnd(spelled)


def _failure(entry: Scripted) -> ModelError | None:
    """The failure of an entry that has no stream."""
    match entry:
        case Rejects(status=status, retry_after=retry_after):
            return ModelError(
                f"the request failed with status {status}",
                type="rate_limit" if status == HTTPStatus.TOO_MANY_REQUESTS else "http_error",
                status=status,
                retryable=retryable_status(status),
                retry_after=retry_after,
            )
        case Overflows(as_finish=False):
            return ModelError("the prompt is too long", type=CONTEXT_LENGTH_EXCEEDED, status=400)
        case _:
            return None


def _cut(text: str, pieces: int) -> Sequence[str]:
    size = max(1, -(-len(text) // pieces))
    return [text[start : start + size] for start in range(0, len(text), size)]


def _deltas(calls: Sequence[ScriptedCall], number: int) -> Iterable[Chunk]:
    for index, call in enumerate(calls):
        arguments = json.dumps(dict(call.arguments))
        whole = arguments if not call.cut else arguments[: len(arguments) // 2]
        yield CallDelta(index, id=call.id or f"call-{number}-{index + 1}", name=call.name)
        yield CallDelta(index, whole)
