"""Drafts -> turn facts: steps numbered by time, tool calls under their steps, retries folded, claims gathered."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

from turnout.outcomes.facts import AttemptEnd, Claim, Limits, Step, ToolCall, TurnFacts, Usage
from turnout.outcomes.quick import quick, replace
from turnout.pipeline.dialects.draft import Draft
from turnout.pipeline.dialects.reading import Node
from turnout.pipeline.dialects.tree import Key
from turnout.pipeline.dialects.values import text

_T = TypeVar("_T")
_HANDOFF = "handoff"
"""The name of a call that hands over, where no response names it."""


@quick
@dataclass(frozen=True, slots=True)
class Call:
    """One step with the spans that it was read from."""

    step: Step
    node: Node | None
    tools: tuple[Node, ...] = ()


@quick
@dataclass(frozen=True, slots=True)
class Turn:
    """Turn facts in the making, with what a dialect needs to conclude from."""

    facts: TurnFacts
    draft: Draft
    calls: tuple[Call, ...]

    @property
    def source(self) -> str | None:
        """The dialect of the turn."""
        return self.facts.source


def compose(draft: Draft, parent: Draft | None, children: Sequence[Draft]) -> Turn:
    """One draft as turn facts."""
    calls = _steps(draft)
    nodes = [*draft.heads, *draft.calls, *draft.tools]
    readings = [node.reading for node in nodes]
    spans = [node.span for node in nodes]
    starts = [span.start for span in spans if span.start]
    ends = [span.end for span in spans if span.end]
    head = draft.heads[0] if draft.heads else None
    is_open = head is None and draft.cut_off
    resource = (head or nodes[0]).span.resource
    facts = TurnFacts(
        turn_id=draft.turn_id,
        parent_turn_id=parent.turn_id if parent else None,
        conversation_id=_first(reading.conversation_id for reading in readings),
        trace_id=draft.key[0] or None,
        user_id=_first(reading.user_id for reading in readings),
        service=text(resource.attributes, "service.name"),
        environment=text(resource.attributes, "deployment.environment.name", "deployment.environment", "env"),
        agent=_first(reading.agent for reading in readings),
        agent_version=_first(reading.agent_version for reading in readings)
        or text(resource.attributes, "service.version"),
        source=(head or nodes[0]).reading.source,
        attended=_first(reading.attended for reading in readings),
        started_at=min(starts, default=None),
        ended_at=None if is_open else _end(draft, ends),
        last_seen_at=max(ends, default=None),
        open=True if is_open else None,
        limits=_limits(draft, calls),
        steps=tuple(call.step for call in calls),
        finish_checks=tuple(draft.checks),
        claims=_claims(draft),
        usage=_first(node.reading.usage for node in draft.heads),
        cost_usd=_first(node.reading.cost_usd for node in draft.heads),
        children_expected=tuple(sorted(child.turn_id for child in children)),
    )
    return Turn(facts, draft, calls)


def _first(values: Iterable[_T | None]) -> _T | None:
    return next((value for value in values if value is not None), None)


def _end(draft: Draft, ends: list[int]) -> int | None:
    stated = [node.span.end for node in draft.heads if node.span.end]
    return stated[0] if stated else max(ends, default=None)


# --- steps


def _steps(draft: Draft) -> tuple[Call, ...]:
    calls = sorted(draft.calls, key=_by_time)
    tools = _tools_by_call(draft, calls)
    early = tuple(tools.get(None, ()))
    groups = _attempts(calls, tools)
    first = 2 if early else 1
    steps = tuple(_step(index, group, tools, draft) for index, group in enumerate(groups, start=first))
    return (Call(_taken_up(early, _nothing_else_used(draft, steps)), None, early), *steps) if early else steps


def _taken_up(early: Sequence[Node], usage: Usage | None) -> Step:
    """The step of tool calls before any request: an earlier turn asked for them, or the request is not told."""
    return Step(
        index=1,
        started_at=early[0].span.start,
        ended_at=max((node.span.end for node in early if node.span.end), default=None),
        usage=usage,
        tool_calls=_called(early, ()),
    )


def _nothing_else_used(draft: Draft, calls: Sequence[Call]) -> Usage | None:
    """No usage at all, where the run's own total is what the requests at hand used, so that none is missing among them."""
    total = _first(node.reading.usage for node in draft.heads)
    told = [call.step.usage or Usage() for call in calls]
    if total is None or not total.input_tokens or total.output_tokens is None:
        return None
    all_told = (sum(one.input_tokens or 0 for one in told), sum(one.output_tokens or 0 for one in told))
    return Usage(input_tokens=0, output_tokens=0) if all_told == (total.input_tokens, total.output_tokens) else None


def _by_time(node: Node) -> tuple[int, int, int, str]:
    """The order of requests; of some in the same instant (some clocks tick in milliseconds) those that leave work come first, then failures."""
    step = node.reading.step
    ends = step is not None and not node.reading.asked
    failed = step is not None and step.error is not None
    return (node.span.start or 0, 0 if not ends else 1 if failed else 2, node.span.end or 0, node.span.span_id)


def _tools_by_call(draft: Draft, calls: list[Node]) -> dict[Key | None, list[Node]]:
    """Each tool call under the request that asked for it."""
    found: dict[Key | None, list[Node]] = defaultdict(list)
    for node in sorted(draft.tools, key=_by_time):
        found[draft.under_call.get(node.key) or _asker(node, calls)].append(node)
    return found


def _asker(tool: Node, calls: list[Node]) -> Key | None:
    """The latest request before a tool call that asked for it by id, else the latest before it."""
    start = tool.span.start
    wanted = tool.reading.tool.id if tool.reading.tool else None
    latest: Node | None = None
    for call in reversed(calls):
        if start is None or (call.span.start or 0) <= start:
            latest = latest or call
            asks = call.reading.asked
            if asks and wanted and any(asked.id == wanted for asked in asks):
                return call.key
    return latest.key if latest is not None else None


def _attempts(calls: list[Node], tools: dict[Key | None, list[Node]]) -> list[list[Node]]:
    """Requests that are one step: after one that failed, with no tool call in between, the next is another attempt."""
    groups: list[list[Node]] = []
    for node in calls:
        if groups and _failed(groups[-1][-1]) and not tools.get(groups[-1][-1].key) and _after(groups[-1][-1], node):
            groups[-1].append(node)
        else:
            groups.append([node])
    return groups


def _failed(node: Node) -> bool:
    step = node.reading.step
    return step is not None and step.error is not None and step.finish_reason is None


def _after(earlier: Node, later: Node) -> bool:
    return (later.span.start or 0) >= (earlier.span.end or 0)


def _step(index: int, group: list[Node], tools: dict[Key | None, list[Node]], draft: Draft) -> Call:
    last = group[-1]
    told = last.reading.step or Step()
    inner = draft.retold.get(last.key)
    if inner:
        told = _retold(last, told, inner)
    under = tuple(node for member in group for node in tools.get(member.key, ())) if tools else ()
    attempts = len(group) - 1 + (told.attempts or 1)
    step = replace(
        told,
        index=index,
        started_at=group[0].span.start,
        ended_at=last.span.end,
        attempts=attempts if attempts > 1 else told.attempts,
        attempt_ends=(*(_attempt_end(node) for node in group[:-1]), *told.attempt_ends),
        tool_calls=_called(under, last.reading.asked),
    )
    return Call(step, last, under)


def _attempt_end(node: Node) -> AttemptEnd:
    error = node.reading.step.error if node.reading.step else None
    return AttemptEnd(reason=error.type if error else None, status=error.status if error else None, at=node.span.end)


def _retold(last: Node, told: Step, inner: list[Node]) -> Step:
    """A request with what other libraries say of it, or of its attempts: those follow each other, the last one tells its end."""
    *earlier, ending = _after_each_other(sorted(inner, key=_by_time))
    step = told
    ended = told.finish_reason is not None or told.raw_finish_reason is not None
    for node in ending:
        step = _filled(step, node.reading.step or Step(), ended=ended)
        last.reading.asked = last.reading.asked or node.reading.asked
        last.reading.answered = last.reading.answered or node.reading.answered
    ends = tuple(_attempt_end(nodes[0]) for nodes in earlier if _failed(nodes[0]))
    return replace(step, attempts=step.attempts or (len(ends) + 1 if ends else None), attempt_ends=ends)


def _after_each_other(nodes: Iterable[Node]) -> list[list[Node]]:
    """Tellings that lie on each other are of one attempt."""
    found: list[list[Node]] = []
    end = 0
    for node in nodes:
        if found and (node.span.start or 0) < end:
            found[-1].append(node)
        else:
            found.append([node])
        end = max(end, node.span.end or 0)
    return found


_TOLD = (
    "message_id",
    "request_id",
    "provider",
    "api",
    "model",
    "finish_reason",
    "raw_finish_reason",
    "max_output_tokens",
    "usage",
    "cost_usd",
    "output",
    "refusal",
)
_COUNTS = tuple(item.name for item in fields(Usage))


def _filled(step: Step, other: Step, *, ended: bool) -> Step:
    """The step, with what only the other one records, or says more of; what came to its end did not fail."""
    names = _TOLD if ended else (*_TOLD, "aborted", "error")
    missing = {name: getattr(other, name) for name in names if getattr(step, name) is None}
    step = replace(step, **missing)
    if step.usage and other.usage and step.cache_in_input == other.cache_in_input:
        counts = {name: getattr(other.usage, name) for name in _COUNTS if getattr(step.usage, name) is None}
        step = replace(step, usage=replace(step.usage, **counts))
    if step.error and other.error:
        known = step.error
        error = replace(known, status=known.status or other.error.status, message=known.message or other.error.message)
        step = replace(step, error=error)
    return step


def _called(nodes: Sequence[Node], asked: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    """The tool calls of a step; what only the response names (an id, the name behind a hand-over) is taken from there."""
    free = list(asked)
    found: list[ToolCall] = []
    for node in nodes:
        call = node.reading.tool or ToolCall()
        by_model = next((one for one in free if _is_asked(call, one)), None)
        if by_model is not None:
            free.remove(by_model)
            call = replace(
                call,
                id=call.id or by_model.id,
                name=call.name or by_model.name,
                arguments_valid=by_model.arguments_valid if call.arguments_valid is None else call.arguments_valid,
            )
        found.append(replace(call, name=call.name or _HANDOFF, started_at=node.span.start, ended_at=node.span.end))
    return tuple(found)


def _is_asked(call: ToolCall, asked: ToolCall) -> bool:
    if call.id is not None:
        return call.id == asked.id
    if call.name is not None:
        return call.name == asked.name
    return (asked.name or "").startswith("transfer_to")


# --- what the turn says of itself


def _claims(draft: Draft) -> tuple[Claim, ...]:
    """The claims of the innermost head that makes any, and those of the machinery; the same claim of several spans once."""
    of_heads = next((node.reading.claims for node in draft.heads if node.reading.claims), ())
    within = [*(claim for node in draft.inner for claim in node.reading.claims), *draft.claims]
    if within and any(node.reading.returned for node in draft.heads):
        of_heads = ()  # the call came back, but what happened inside says how
    said = [*of_heads, *within]
    once = {(claim.by, claim.reason, claim.message): claim for claim in said}
    return tuple(sorted(once.values(), key=lambda claim: (claim.at or 0, claim.reason or "", claim.message or "")))


def _limits(draft: Draft, calls: Sequence[Call]) -> Limits | None:
    """The limit that is named, unless it is more than this turn alone has used: then it also counts other agents."""
    named = _first(node.reading.limits for node in (*draft.heads, *draft.inner))
    if named is None or (named.steps is not None and named.steps > len(calls)):
        return None
    return named
