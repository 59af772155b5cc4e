"""Records -> turns: each record to the dialect that it speaks, the readings of a group to turns."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from turnout.outcomes.facts import TurnFacts
from turnout.outcomes.quick import replace
from turnout.pipeline.dialects import (
    claude_code,
    claude_events,
    codex,
    frameworks,
    gemini_cli,
    genai,
    genai_logs,
    google_adk,
    langsmith,
    openinference,
    openllmetry,
    own,
    vercel,
)
from turnout.pipeline.dialects.compose import compose
from turnout.pipeline.dialects.conclude import conclude
from turnout.pipeline.dialects.draft import Draft
from turnout.pipeline.dialects.events import distinct_logs
from turnout.pipeline.dialects.plan import Plan
from turnout.pipeline.dialects.reading import Node, Reading, Role
from turnout.pipeline.dialects.tree import Tree, distinct
from turnout.pipeline.dialects.twins import Told, without_twins
from turnout.pipeline.telemetry import LogRecord, Record, Span

_CONTRIB_OR_TRACELOOP = "opentelemetry.instrumentation.openai_agents"
_TRACELOOP = frozenset({_CONTRIB_OR_TRACELOOP, "opentelemetry.instrumentation.langchain"})
_BY_SCOPE: Mapping[str, Callable[[Span], Reading | None]] = {
    "pydantic-ai": frameworks.pydantic_ai,
    "strands.telemetry.tracer": frameworks.strands,
    "strands-agents": frameworks.strands,
    "gcp.vertex.agent": google_adk.reading,
    "agent_framework": frameworks.agent_framework,
    "gen_ai": frameworks.ai_sdk,
    "ai": vercel.reading,
}


@dataclass(frozen=True, slots=True)
class Normalised:
    """The turns of a group of records, and how many records no dialect knows, by the name of their scope."""

    turns: tuple[TurnFacts, ...]
    unrecognised: Mapping[str, int]


@dataclass(slots=True)
class _Sorted:
    """The records of a group by who reads them."""

    nodes: list[Node] = field(default_factory=list[Node])
    own_logs: list[LogRecord] = field(default_factory=list[LogRecord])
    own_spans: list[Span] = field(default_factory=list[Span])
    claude_logs: list[LogRecord] = field(default_factory=list[LogRecord])
    codex_logs: list[LogRecord] = field(default_factory=list[LogRecord])
    codex_spans: list[Span] = field(default_factory=list[Span])
    gemini_logs: list[LogRecord] = field(default_factory=list[LogRecord])
    unknown: Counter[str] = field(default_factory=Counter[str])


def turns_from(records: Iterable[Record]) -> Normalised:
    """The turns that a group of records tells of; the order and the doubling of the records make no difference."""
    held = tuple(records)
    spans = distinct(record for record in held if isinstance(record, Span))
    logs = distinct_logs(record for record in held if isinstance(record, LogRecord))
    told_by_logs = genai_logs.attached(spans, (log for log in logs if _is_genai(log)))
    tree = Tree([*told_by_logs.spans, *(node.span for node in told_by_logs.within)])
    found = _sorted_out(told_by_logs.spans, logs, tree)
    plan = Plan([*found.nodes, *told_by_logs.within], tree)
    genai_logs.add(plan, told_by_logs.alone)
    claude_events.add(plan, found.claude_logs)
    codex.add(plan, found.codex_logs, found.codex_spans)
    gemini_cli.add(plan, found.gemini_logs)
    ours, damaged = own.turns(found.own_logs, found.own_spans)
    told = [*_told_by_us(ours), *_told_by_others(plan, tree, own.anchors(found.own_spans))]
    turns = without_twins(told)
    turns.sort(key=lambda turn: (turn.started_at or 0, turn.turn_id))
    return Normalised(tuple(turns), dict(sorted((found.unknown + damaged).items())))


def _sorted_out(spans: Iterable[Span], logs: Iterable[LogRecord], tree: Tree) -> _Sorted:
    found = _Sorted()
    for span in spans:
        if own.speaks(span):
            found.own_spans.append(span)
        elif codex.speaks(span):
            found.codex_spans.append(span)
        elif not gemini_cli.speaks(span.scope.name):
            read = _reading(span, tree)
            if read is None:
                found.unknown[span.scope.name or "(no scope)"] += 1
            else:
                found.nodes.append(Node(span, read))
    for log in logs:
        _sort_log(log, found)
    return found


def _sort_log(log: LogRecord, found: _Sorted) -> None:
    if own.speaks(log):
        found.own_logs.append(log)
    elif claude_code.speaks(log.scope.name):
        found.claude_logs.append(log)
    elif codex.speaks(log):
        found.codex_logs.append(log)
    elif gemini_cli.speaks(log.scope.name):
        found.gemini_logs.append(log)
    elif not genai_logs.speaks(log):
        found.unknown[log.scope.name or "(no scope)"] += 1


def _is_genai(log: LogRecord) -> bool:
    """Whether a log record is an event of the conventions, and of no dialect that tells more by its own."""
    other = (
        own.speaks(log) or claude_code.speaks(log.scope.name) or codex.speaks(log) or gemini_cli.speaks(log.scope.name)
    )
    return genai_logs.speaks(log) and not other


def _reading(span: Span, tree: Tree) -> Reading | None:
    a = span.attributes
    scope = span.scope.name
    if claude_code.speaks(scope):
        return claude_code.reading(span)
    by_scope = _BY_SCOPE.get(scope)
    told = by_scope(span) if by_scope is not None else None
    if told is not None:
        return told  # also with the names of OpenInference beside its own: some processors only add those
    if openinference.KIND in a:
        return openinference.reading(span, tree)
    if by_scope is not None:
        return Reading(role=Role.INNER, source=scope)
    if langsmith.KIND in a:
        return langsmith.reading(span, tree)
    if vercel.OPERATION in a:
        return vercel.reading(span)
    if scope == _CONTRIB_OR_TRACELOOP and "gen_ai.system" in a:
        return frameworks.contrib_agents(span)
    if openllmetry.is_ours(span) or scope in _TRACELOOP:
        return openllmetry.reading(span, tree)
    return genai.reading(span)


def _told_by_us(ours: Iterable[own.OwnTurn]) -> list[Told]:
    return [Told(turn.facts(), frozenset({own.SOURCE}), bool(turn.bodies), frozenset(turn.traces)) for turn in ours]


def _told_by_others(plan: Plan, tree: Tree, anchors: Mapping[tuple[str, str], tuple[str, bool]]) -> list[Told]:
    drafts = {key: draft for key, draft in plan.drafts.items() if draft.heads or draft.calls or draft.tools}
    children: dict[tuple[str, str], list[Draft]] = {}
    for draft in drafts.values():
        if draft.parent is not None:
            children.setdefault(draft.parent, []).append(draft)
    told: list[Told] = []
    for key, draft in drafts.items():
        parent = drafts.get(draft.parent) if draft.parent else None
        facts = conclude(compose(draft, parent, children.get(key, [])))
        if parent is None:
            facts = replace(facts, parent_turn_id=_our_parent(draft, tree, anchors))
        scopes = frozenset(node.span.scope.name for node in (*draft.heads, *draft.calls))
        told.append(
            Told(facts, scopes, traces=frozenset({node.span.trace_id for node in (*draft.heads, *draft.calls)} - {""}))
        )
    return told


def _our_parent(draft: Draft, tree: Tree, anchors: Mapping[tuple[str, str], tuple[str, bool]]) -> str | None:
    """Our turn whose tool call started this one."""
    for node in (*draft.heads[-1:], *draft.calls[:1]):
        for above in tree.ancestors(node.span):
            found = anchors.get((above.trace_id, above.span_id))
            if found is not None:
                return found[0] if found[1] else None
    return None


def link_keys(record: Record) -> tuple[str, ...]:
    """What ties a record to the others of its group; a group is what hangs together by any of these."""
    trace = (record.trace_id,) if record.trace_id else ()
    if own.speaks(record):
        return (*trace, *own.link_keys(record))
    if claude_code.speaks(record.scope.name):
        return (*trace, *claude_code.link_keys(record))
    if codex.speaks(record):
        return (*trace, *codex.link_keys(record))
    if gemini_cli.speaks(record.scope.name):
        return (*trace, *gemini_cli.link_keys(record))
    return trace


def is_relevant(record: Record) -> bool:
    """Whether a record can add to a turn, or to how the spans of one hang together."""
    if own.speaks(record):
        return own.is_relevant(record)
    if codex.speaks(record):
        return codex.is_relevant(record)
    if gemini_cli.speaks(record.scope.name):
        return gemini_cli.is_relevant(record)
    if isinstance(record, Span):
        return True
    if claude_code.speaks(record.scope.name):
        return claude_code.is_relevant(record)
    return genai_logs.speaks(record) and genai_logs.is_relevant(record)


def unrecognised_scope(record: Record) -> str | None:
    """The scope under which a record that is not relevant is to be counted; ``None`` for what a known dialect sends besides."""
    known = (
        own.speaks(record)
        or codex.speaks(record)
        or gemini_cli.speaks(record.scope.name)
        or claude_code.speaks(record.scope.name)
        or (isinstance(record, LogRecord) and genai_logs.speaks(record))
    )
    return None if known or is_relevant(record) else record.scope.name or "(no scope)"
