"""An agent and a turn's task, as values: everything the loop is given before it starts."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from turnout.outcomes.facts import Limits, Usage
from turnout.runtime.hooks import FinishHook
from turnout.runtime.messages import Message, UserMessage
from turnout.runtime.model import Model
from turnout.runtime.request import Compactor, RetryPolicy
from turnout.runtime.tools import Tool

Price: TypeAlias = Callable[[Usage], float | None]
"""What a request cost in US dollars, where the model does not report it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A model with its tools and manners.

    With ``forced_final`` the last step that a step limit allows is asked for an answer without tools, which is recorded as forced: unless
    a finish hook allows that answer, the turn ends by its budget, since nobody knows what the model would have called.
    """

    name: str
    model: Model
    version: str | None = None
    instructions: str | None = None
    tools: tuple[Tool, ...] = ()
    finish_hooks: tuple[FinishHook, ...] = ()
    max_output_tokens: int | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    compact: Compactor | None = None
    price: Price | None = None
    forced_final: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTask:
    """One turn to take: the conversation up to its user message, and the one budget of the loop and the record."""

    turn_id: str
    messages: tuple[Message, ...]
    limits: Limits = field(default_factory=Limits)
    attended: bool | None = None
    conversation_id: str | None = None
    continues: str | None = None
    root_turn_id: str | None = None
    parent_turn_id: str | None = None

    def __post_init__(self) -> None:
        _check(self.messages)

    @property
    def first_own_message(self) -> int:
        """Where the turn's own messages begin: at its user message, or after what a recovery found."""
        own = bool(self.messages) and isinstance(self.messages[-1], UserMessage) and self.root_turn_id is None
        return len(self.messages) - own


def _check(messages: Iterable[object]) -> None:
    wrong = next((message for message in messages if not isinstance(message, Message)), None)
    if wrong is not None:
        raise TypeError(
            f"messages: got a {type(wrong).__name__}, expected messages such as UserMessage(text); "
            "for one alone write (UserMessage(text),)"
        )
