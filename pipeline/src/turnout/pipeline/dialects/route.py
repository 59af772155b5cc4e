"""Records -> turns: each record to the dialect that it speaks, the readings of a group to turns."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from turnout.outcomes.facts import TurnFacts
from turnout.pipeline.dialects import frameworks, genai, openinference, openllmetry
from turnout.pipeline.dialects.compose import Turn, compose
from turnout.pipeline.dialects.conclude import conclude
from turnout.pipeline.dialects.plan import Plan
from turnout.pipeline.dialects.reading import Node, Reading
from turnout.pipeline.dialects.tree import Tree, distinct
from turnout.pipeline.telemetry import LogRecord, Record, Span


@dataclass(frozen=True, slots=True)
class Normalised:
    """The turns of a group of records, and how many records no dialect knows, by the name of their scope."""

    turns: tuple[TurnFacts, ...]
    unrecognised: Mapping[str, int]


_FRAMEWORKS = {
    "pydantic-ai": frameworks.pydantic_ai,
    "strands.telemetry.tracer": frameworks.strands,
    "strands-agents": frameworks.strands,
    "gcp.vertex.agent": frameworks.adk,
    "agent_framework": frameworks.agent_framework,
    "gen_ai": frameworks.ai_sdk,
}


def turns_from(records: Iterable[Record]) -> Normalised:
    """The turns that a group of records tells of; the order and the doubling of the records make no difference."""
    spans = distinct(record for record in records if isinstance(record, Span))
    tree = Tree(spans)
    nodes: list[Node] = []
    unknown: Counter[str] = Counter()
    for span in spans:
        read = _reading(span, tree)
        if read is None:
            unknown[span.scope.name or "(no scope)"] += 1
        else:
            nodes.append(Node(span, read))
    plan = Plan(nodes, tree)
    turns = _composed(plan)
    return Normalised(tuple(sorted(turns, key=lambda turn: turn.turn_id)), dict(sorted(unknown.items())))


def _composed(plan: Plan) -> list[TurnFacts]:
    drafts = [draft for draft in plan.drafts.values() if draft.heads or draft.calls or draft.tools]
    made: list[Turn] = []
    for draft in drafts:
        children = [other.key for other in drafts if other.parent == draft.key]
        made.append(compose(draft, children))
    return [conclude(turn) for turn in made]


def _reading(span: Span, tree: Tree) -> Reading | None:
    a = span.attributes
    if openinference.KIND in a:
        return openinference.reading(span, tree)
    framework = _FRAMEWORKS.get(span.scope.name)
    if framework is not None:
        return framework(span)
    if span.scope.name == "opentelemetry.instrumentation.openai_agents" and "gen_ai.system" in a:
        return frameworks.contrib_agents(span)
    if openllmetry.is_ours(span) or _traceloop(span.scope.name, span.scope.version):
        return openllmetry.reading(span, tree)
    return genai.reading(span)


def _traceloop(name: str, version: str) -> bool:
    return name == "opentelemetry.instrumentation.openai_agents" and bool(version)


def link_keys(record: Record) -> tuple[str, ...]:
    """What ties a record to the others of its group; a group is what hangs together by any of these."""
    return (record.trace_id,) if record.trace_id else ()


def is_relevant(record: Record) -> bool:
    """Whether a record can add to a turn."""
    return not isinstance(record, LogRecord)
