"""One turn told by two libraries counts once.

Two instrumentations in one process tell the same run twice, each with spans of its own. They are the same turn when they come from different scopes of one
trace, ran at the same time, and every model request of the one lies on one of the other. The one that tells more is kept and takes from the
other what it does not record.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields

from turnout.outcomes.facts import Step, TurnFacts
from turnout.outcomes.quick import quick, replace

_SAME_TIME = 0.5
"""Share of the shorter of two requests that must lie inside the other."""
_SAME_SPAN = 0.8
"""The same of the longer, for two turns of which one tells no request."""
_OF_A_STEP = (
    "provider",
    "api",
    "model",
    "finish_reason",
    "raw_finish_reason",
    "refusal",
    "max_output_tokens",
    "usage",
    "cost_usd",
    "output",
    "error",
)
_OF_A_TURN = (
    "conversation_id",
    "user_id",
    "service",
    "environment",
    "agent",
    "agent_version",
    "attended",
    "limits",
    "usage",
    "cost_usd",
)


@quick
@dataclass(frozen=True, slots=True)
class Told:
    """A turn and the scopes that tell it."""

    facts: TurnFacts
    scopes: frozenset[str]
    complete: bool = False
    """Nothing may be added to it."""
    traces: frozenset[str] = frozenset()


def without_twins(told: Sequence[Told]) -> list[TurnFacts]:
    """The turns, each told once."""
    if len(told) == 1:
        return [told[0].facts]
    kept: list[Told] = []
    of_trace: dict[str, list[int]] = defaultdict(list)
    renamed: dict[str, str] = {}
    for turn in sorted(told, key=_rank):
        near = {i for trace in turn.traces for i in of_trace[trace]}
        position = next((i for i in sorted(near) if _same(kept[i], turn)), len(kept))
        if position == len(kept):
            kept.append(turn)
        else:
            renamed[turn.facts.turn_id] = kept[position].facts.turn_id
            kept[position] = _joined(kept[position], turn)
        for trace in turn.traces:
            of_trace[trace].append(position)
    return [_renamed(turn.facts, renamed) for turn in kept]


def _rank(turn: Told) -> tuple[bool, int, int, str, str]:
    said = sum(getattr(turn.facts, item.name) not in {None, ()} for item in fields(turn.facts) if item.name != "limits")
    return (not turn.complete, -len(turn.facts.steps), -said, min(turn.scopes, default=""), turn.facts.turn_id)


def _same(kept: Told, turn: Told) -> bool:
    if kept.scopes & turn.scopes:
        return False
    if not turn.facts.steps or not kept.facts.steps:
        return (
            _same_name(kept.facts, turn.facts)
            and _overlap(_times(kept.facts), _times(turn.facts), longest=True) >= _SAME_SPAN
        )
    return _paired(kept.facts.steps, turn.facts.steps) is not None


def _same_name(one: TurnFacts, other: TurnFacts) -> bool:
    return one.agent is None or other.agent is None or one.agent == other.agent


def _paired(kept: Sequence[Step], told: Sequence[Step]) -> list[tuple[int, Step]] | None:
    """For each told step the position of the kept one that it lies on; ``None`` where one lies on none."""
    free = list(range(len(kept)))
    pairs: list[tuple[int, Step]] = []
    for step in told:
        found = next((i for i in free if _overlap(_span(kept[i]), _span(step), longest=False) >= _SAME_TIME), None)
        if found is None:
            return None
        free.remove(found)
        pairs.append((found, step))
    return pairs


def _span(step: Step) -> tuple[int, int]:
    start = step.started_at or step.ended_at or 0
    return (start, max(start, step.ended_at or start))


def _times(turn: TurnFacts) -> tuple[int, int]:
    start = turn.started_at or 0
    return (start, max(start, turn.ended_at or turn.last_seen_at or start))


def _overlap(one: tuple[int, int], other: tuple[int, int], *, longest: bool) -> float:
    """The common part as a share of the longer or the shorter; a moment lies wholly inside or not at all."""
    common = min(one[1], other[1]) - max(one[0], other[0])
    pick = max if longest else min
    length = pick(one[1] - one[0], other[1] - other[0])
    if length == 0:
        return float(common >= 0)
    return common / length


def _joined(kept: Told, turn: Told) -> Told:
    facts = kept.facts
    if not kept.complete:
        pairs = dict(_paired(facts.steps, turn.facts.steps) or [])
        steps = tuple(_filled_step(step, pairs[i]) if i in pairs else step for i, step in enumerate(facts.steps))
        missing = {name: getattr(turn.facts, name) for name in _OF_A_TURN if getattr(facts, name) is None}
        facts = replace(
            facts,
            steps=steps,
            claims=facts.claims or turn.facts.claims,
            parent_turn_id=_parent(facts, turn.facts),
            **missing,
        )
    return Told(facts, kept.scopes | turn.scopes, kept.complete, kept.traces | turn.traces)


def _parent(kept: TurnFacts, other: TurnFacts) -> str | None:
    """The parent of both; what was told as the other's child or parent is itself."""
    for parent in (kept.parent_turn_id, other.parent_turn_id):
        if parent is not None and parent not in {kept.turn_id, other.turn_id}:
            return parent
    return None


def _filled_step(step: Step, other: Step) -> Step:
    missing = {name: getattr(other, name) for name in _OF_A_STEP if getattr(step, name) is None}
    return replace(step, **missing)


def _renamed(facts: TurnFacts, renamed: dict[str, str]) -> TurnFacts:
    if not renamed:
        return facts
    children = {renamed.get(child, child) for child in facts.children_expected} - {facts.turn_id}
    parent = renamed.get(facts.parent_turn_id or "", facts.parent_turn_id)
    return replace(
        facts,
        parent_turn_id=None if parent == facts.turn_id else parent,
        children_expected=tuple(sorted(children)),
    )
