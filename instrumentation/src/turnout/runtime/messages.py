"""What a model reads: the messages of a conversation, as frozen values."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Origin(StrEnum):
    """Who wrote a message in the user's place."""

    PERSON = "person"
    STEERING = "steering"
    FEEDBACK = "feedback"
    MARKER = "marker"


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A message in the user's role; ``origin`` says whether a person wrote it."""

    text: str
    origin: Origin = Origin.PERSON


@dataclass(frozen=True, slots=True)
class CallRequest:
    """A tool call as the model wrote it; ``arguments`` is the JSON text, whole or cut."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """What the model answered in one step."""

    text: str
    calls: tuple[CallRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The result of one tool call."""

    call_id: str
    content: str
    is_error: bool = False


_NO_RESULT = "No result: the call did not come to an end."

Message: TypeAlias = UserMessage | AssistantMessage | ToolMessage


def whole(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The conversation with a result for every call, as providers demand it.

    A call that never got one is told as such, right after its message; nothing is made up about what it did.
    """
    listed = tuple(messages)
    answered = {message.call_id for message in listed if isinstance(message, ToolMessage)}
    repaired: list[Message] = []
    for message in listed:
        repaired.append(message)
        if isinstance(message, AssistantMessage):
            lost = [call.id for call in message.calls if call.id not in answered]
            repaired += [ToolMessage(call_id, _NO_RESULT, is_error=True) for call_id in lost]
    return tuple(repaired)
