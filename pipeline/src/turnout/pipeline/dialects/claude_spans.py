"""Which of Claude Code's spans an event is about, and which of them are a sub-agent's.

Requests are told by a span and an event: the same request id, or, where a gateway gives none, the same counts or failure at the same time. What carries an
``agent_id`` is a sub-agent's, wherever its span hangs: one that runs on beside its parent hangs below whatever the parent does next.
"""

from collections import defaultdict
from collections.abc import Iterable

from turnout.outcomes.facts import Step
from turnout.pipeline.dialects import values
from turnout.pipeline.dialects.draft import Draft, latest_around
from turnout.pipeline.dialects.plan import Plan
from turnout.pipeline.dialects.reading import Node, Role
from turnout.pipeline.dialects.tree import Key
from turnout.pipeline.telemetry import LogRecord, Span

SOURCE = "claude_code"
_NEAR = 5_000_000_000
"""Nanoseconds between the end of a request and the event of it: a tool that runs early may come first."""


def agent_of(record: Span | LogRecord) -> str | None:
    """The sub-agent that a record names."""
    return values.text(record.attributes, "agent_id")


def agent_draft(plan: Plan, trace: str, agent: str) -> Draft:
    """The turn of a sub-agent."""
    draft = plan.make((SOURCE, f"{trace}:{agent}"))
    draft.name = f"{SOURCE}:{agent}"
    return draft


def gather_agents(plan: Plan) -> None:
    """Take what is a sub-agent's from where its spans hang."""
    heads = [node for draft in plan.drafts.values() for node in draft.heads if node.reading.source == SOURCE]
    for draft in list(plan.drafts.values()):
        for node in _taken(draft):
            agent = agent_draft(plan, node.span.trace_id, agent_of(node.span) or "")
            (agent.calls if node.reading.role is Role.CALL else agent.tools).append(node)
            above = latest_around(node.span, heads)
            if agent.parent is None and above is not None:
                agent.parent = above.key


def _taken(draft: Draft) -> list[Node]:
    """The nodes of sub-agents in a draft, which has them no more."""
    held = (draft.calls, draft.tools, *draft.retold.values())
    found = [node for nodes in held for node in nodes if _is_agents(node)]
    for nodes in held if found else ():
        nodes[:] = [node for node in nodes if not _is_agents(node)]
    return found


def _is_agents(node: Node) -> bool:
    return node.reading.source == SOURCE and agent_of(node.span) is not None


class OpenRequests:
    """The requests whose spans are here, until the event of each is found."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._of_trace: dict[str, list[Node]] = defaultdict(list)
        for node in sorted(nodes, key=lambda node: (node.span.start or 0, node.span.span_id)):
            self._of_trace[node.span.trace_id].append(node)
        self._by_id: dict[str, list[Node]] = defaultdict(list)
        for node in (node for nodes in self._of_trace.values() for node in nodes):
            if node.reading.step is not None and node.reading.step.request_id:
                self._by_id[node.reading.step.request_id].append(node)
        self._taken: set[Key] = set()

    def take(self, told: Step, log: LogRecord) -> Node | None:
        """The span of the request that an event tells, once."""
        known = self._by_id.get(told.request_id or "", ())
        same = [node for node in known if node.key not in self._taken] or self._alike(told, log)
        if same:
            self._taken.add(same[0].key)
        return same[0] if same else None

    def _alike(self, told: Step, log: LogRecord) -> list[Node]:
        free = [node for node in self._of_trace.get(log.trace_id, ()) if node.key not in self._taken]
        alike = [node for node in free if _agree(node.reading.step or Step(), told) and _away(node, log) <= _NEAR]
        return sorted(alike, key=lambda node: (agent_of(node.span) != agent_of(log), _away(node, log), node.key))


def _away(node: Node, log: LogRecord) -> int:
    return abs((node.span.end or 0) - (log.time or log.observed or 0))


def _agree(span: Step, event: Step) -> bool:
    """Whether both can be the same request: ids of their own make them two."""
    failures = [step.error.status if step.error else None for step in (span, event)]
    return not (span.request_id and event.request_id) and span.usage == event.usage and failures[0] == failures[1]
