"""What a dialect reads of one span: its role in a turn, and the facts that it carries."""

from dataclasses import dataclass
from enum import StrEnum

from turnout.outcomes.facts import Claim, Limits, Step, ToolCall, Usage
from turnout.pipeline.telemetry import Span


class Role(StrEnum):
    """What a span is in the tree of a turn."""

    RUN = "run"
    """An envelope around the runs of agents; itself a turn only where it holds model requests of its own."""
    AGENT = "agent"
    """One agent at work on one message: a turn, or the turn of a sub-agent."""
    CALL = "call"
    """One model request."""
    TOOL = "tool"
    """One tool call."""
    INNER = "inner"
    """A part of the runtime's machinery; only its claims count."""


ANYONE = "?"
"""The agent of a hand-over that does not name it: the next one."""


@dataclass(slots=True, kw_only=True, eq=False)
class Reading:
    """One span as its dialect understands it; what does not belong to the role stays empty.

    It is filled in while its group is read and never kept, so it can change: copies of it would be what takes the time.
    """

    role: Role
    source: str
    agent: str | None = None
    agent_version: str | None = None
    conversation_id: str | None = None
    user_id: str | None = None
    attended: bool | None = None
    claims: tuple[Claim, ...] = ()
    limits: Limits | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    finish: str | None = None
    """The finish reason that a turn span carries beside its steps."""
    returned: bool = False
    """The runtime says that the run returned its result."""
    structured: bool = False
    """That result is what the last response put into a call, which no tool runs."""
    step: Step | None = None
    one_message: bool = False
    """An envelope that works on one message: several agents in it are its sub-agents, not turns beside each other."""
    stand_in: bool = False
    """A request only where no other below it is: the runtime's own step, whose request may not be exported."""
    asked: tuple[ToolCall, ...] = ()
    """The tool calls that the response of a model request asks for."""
    answered: bool | None = None
    """Whether anything of a response is recorded; ``None`` where the dialect would not show it."""
    tool: ToolCall | None = None
    handoff_to: str | None = None
    """The agent to which this span hands the turn over."""
    handed_by: str | None = None
    """The agent from which this one took the turn over."""


@dataclass(slots=True, eq=False)
class Node:
    """A span with its reading, which other records of the same call may still complete."""

    span: Span
    reading: Reading

    @property
    def key(self) -> tuple[str, str]:
        """Trace id and span id: what tells two spans apart."""
        return (self.span.trace_id, self.span.span_id)
