"""The spans of one turn, gathered, and how two gathered turns stand to each other."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from turnout.outcomes.facts import Claim, FinishCheck
from turnout.pipeline.dialects.reading import ANYONE, Node
from turnout.pipeline.dialects.tree import Key
from turnout.pipeline.telemetry import Span


@dataclass(slots=True)
class Draft:
    """The spans of one turn."""

    key: Key
    heads: list[Node] = field(default_factory=list[Node])
    """The spans that stand for the turn itself, the innermost first."""
    calls: list[Node] = field(default_factory=list[Node])
    tools: list[Node] = field(default_factory=list[Node])
    inner: list[Node] = field(default_factory=list[Node])
    retold: dict[Key, list[Node]] = field(default_factory=dict[Key, list[Node]])
    """Requests inside a request, by the outer one."""
    under_call: dict[Key, Key] = field(default_factory=dict[Key, Key])
    """The request below which a tool call hangs."""
    parent: Key | None = None
    cut_off: bool = False
    """A span above is missing, so the turn may still be running."""
    name: str | None = None
    """The id of a turn that no span stands for."""
    claims: list[Claim] = field(default_factory=list[Claim])
    """What log records say of the end."""
    checks: list[FinishCheck] = field(default_factory=list[FinishCheck])

    @property
    def turn_id(self) -> str:
        """The id of the turn: of its span, unless log records name it."""
        return self.name or f"{self.key[0]}:{self.key[1]}"


def giver_of(draft: Draft, before: list[Draft]) -> Draft | None:
    """The latest turn before that called this one as a tool, or handed over to it."""
    reading = draft.heads[0].reading
    for distance, earlier in enumerate(reversed(before)):
        hands = {node.reading.handoff_to for node in earlier.tools}
        named = reading.agent is not None and reading.agent in hands
        taken = reading.handed_by is not None and reading.handed_by == earlier.heads[0].reading.agent
        if named or taken or (ANYONE in hands and distance == 0) or _calls_as_tool(earlier, draft):
            return earlier
    return None


def _calls_as_tool(earlier: Draft, draft: Draft) -> bool:
    """Whether a turn started while a tool call of another one was running, in a dialect that hangs all agents side by side."""
    start = draft.heads[0].span.start or 0
    return any(
        (node.span.start or 0) <= start <= (node.span.end or 0)
        for node in earlier.tools
        if node.reading.handoff_to is None
    )


def latest_around(span: Span, turns: Iterable[Node]) -> Node | None:
    """Of the turns whose time holds the start of a span, the one that started last."""
    start = span.start or 0
    around = [
        node
        for node in turns
        if node.span is not span
        and node.span.trace_id == span.trace_id
        and (node.span.start or 0) <= start <= (node.span.end or start)
    ]
    return max(around, key=lambda node: (node.span.start or 0, -(node.span.end or 0), node.span.span_id), default=None)
