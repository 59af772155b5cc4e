"""What the loop needs of a model: a request in, a stream of chunks out.

A model translates and does nothing else: it neither retries nor decides, and it names the provider's finish reason as the
provider spelled it.
"""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol, TypeAlias

from turnout.outcomes.facts import Usage
from turnout.runtime.messages import Message


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it; ``parameters`` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One request; without ``may_call`` the tools are there to be read about and not to be called."""

    messages: tuple[Message, ...]
    instructions: str | None = None
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int | None = None
    may_call: bool = True


@dataclass(frozen=True, slots=True)
class ResponseIds:
    """The provider's ids, as soon as they are known."""

    request_id: str | None = None
    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A piece of a tool call; ``index`` tells parallel calls apart, ``id`` and ``name`` come once."""

    index: int
    arguments: str = ""
    id: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class RefusalDelta:
    """The provider refuses: a piece of its words, a category, or neither."""

    words: str = ""
    category: str | None = None


@dataclass(frozen=True, slots=True)
class UsageReport:
    """What the request used so far; a later report replaces an earlier one key by key.

    ``cache_in_input`` false says that the input tokens do not count what came from the cache or went into it.
    """

    usage: Usage
    cost_usd: float | None = None
    cache_in_input: bool | None = None


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """The terminal chunk: the provider's finish reason in its own spelling."""

    raw_finish_reason: str | None


Chunk: TypeAlias = ResponseIds | TextDelta | CallDelta | RefusalDelta | UsageReport | StreamEnd


class ModelError(Exception):
    """A request that failed at the provider or on the way to it; ``type`` is the provider's own code where it gives one.

    What it means for the turn (an overflow, a refusal, a fault that passes) is read from its type, status and message by the
    outcomes room; ``retryable`` and ``retry_after`` (seconds) are for the seam alone.
    """

    def __init__(
        self,
        message: str,
        *,
        type: str,  # noqa: A002 - the field's name in the facts
        status: int | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.type = type
        self.status = status
        self.retryable = retryable
        self.retry_after = retry_after


_RETRYABLE_STATUS = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})


def retryable_status(status: int) -> bool:
    """Whether the same request may succeed later: a timeout, a rate limit, or a fault of the provider's."""
    return status in _RETRYABLE_STATUS or status >= HTTPStatus.INTERNAL_SERVER_ERROR


class Model(Protocol):
    """A model of a provider; ``provider`` and ``api`` name the vocabulary of its finish reasons."""

    @property
    def name(self) -> str:
        """The model's name, as requested."""
        ...

    @property
    def provider(self) -> str:
        """The provider, as in the table of finish reasons."""
        ...

    @property
    def api(self) -> str | None:
        """Which of the provider's interfaces."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Send the request once and yield what comes; raises `ModelError`."""
        ...
