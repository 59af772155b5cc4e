"""One request told by two libraries beside each other counts once.

An instrumentation of a provider's client need not hang its spans below those of the framework above it: some frameworks tell their requests after the fact, and a
client library can trace itself. Then the spans of one request lie side by side. They are one when they come from different scopes, lie on each other in time, and
contradict each other neither in the response's id, the model nor the usage. Two requests of one scope are always two.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from turnout.outcomes.facts import Step
from turnout.pipeline.dialects.draft import Draft
from turnout.pipeline.dialects.reading import Node

_INSIDE = 0.8
"""Share of the shorter of two requests that must lie inside the other."""
_AT_ONCE = 32
"""How many running requests one is compared with, the latest: a client's own telling starts right after the one around it."""


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A request and the turn in which it was put."""

    node: Node
    draft: Draft

    @property
    def times(self) -> tuple[int, int]:
        """Start and end; a moment where one of them is missing."""
        start = self.node.span.start or self.node.span.end or 0
        return (start, max(start, self.node.span.end or start))

    @property
    def scope(self) -> str:
        """The library that tells it."""
        return self.node.span.scope.name


def doubles_in(placed: Iterable[Placed]) -> Iterator[tuple[Placed, Placed]]:
    """Every telling of a request of one trace that is not the first: the one to keep, and it."""
    members = list(placed)
    if len({one.scope for one in members}) == 1:
        return
    held = {id(one): [one] for one in members}
    for one, other in sorted(_pairs(members), key=_closeness, reverse=True):
        joined = held[id(one)], held[id(other)]
        if joined[0] is not joined[1] and _all_apart(*joined):
            joined[0].extend(joined[1])
            held.update({id(member): joined[0] for member in joined[1]})
    for group in {id(group): group for group in held.values() if len(group) > 1}.values():
        first, *rest = sorted(group, key=_outermost)
        yield from ((first, other) for other in rest)


def _outermost(one: Placed) -> tuple[bool, int, int, tuple[str, str]]:
    """What stands in a turn that a span stands for comes first, then what encloses the others."""
    start, end = one.times
    return (not one.draft.heads, start, -end, one.node.key)


def _pairs(members: Sequence[Placed]) -> Iterator[tuple[Placed, Placed]]:
    running: list[Placed] = []
    for one in sorted(members, key=lambda member: (member.times, member.node.key)):
        running = [other for other in running if other.times[1] >= one.times[0]]
        running = running[-_AT_ONCE:]
        yield from ((other, one) for other in running if _same(other, one))
        running.append(one)


def _same(one: Placed, other: Placed) -> bool:
    if one.scope == other.scope or not (one.draft is other.draft or not one.draft.heads or not other.draft.heads):
        return False
    return _inside(one.times, other.times) and _agree(
        one.node.reading.step or Step(), other.node.reading.step or Step()
    )


def _inside(one: tuple[int, int], other: tuple[int, int]) -> bool:
    common = min(one[1], other[1]) - max(one[0], other[0])
    shorter = min(one[1] - one[0], other[1] - other[0])
    return common >= _INSIDE * shorter


def _agree(one: Step, other: Step) -> bool:
    """Whether two requests can be the same; the same id of the response settles it."""
    if one.message_id and other.message_id:
        return one.message_id == other.message_id
    return _same_model(one.model, other.model) and _same_usage(one, other)


def _same_model(one: str | None, other: str | None) -> bool:
    """A model by its short name and by its dated one is the same."""
    if one is None or other is None:
        return True
    names = [name.lower().rpartition("/")[2] for name in (one, other)]
    return names[0].startswith(names[1]) or names[1].startswith(names[0])


def _same_usage(one: Step, other: Step) -> bool:
    """Counts agree where both tell them; how an input is counted differs, so one of the two is enough."""
    if one.usage is None or other.usage is None:
        return True
    pairs = (
        (one.usage.input_tokens, other.usage.input_tokens),
        (one.usage.output_tokens, other.usage.output_tokens),
    )
    known = [pair for pair in pairs if None not in pair]
    return not known or any(mine == theirs for mine, theirs in known)


def _all_apart(some: Iterable[Placed], others: Sequence[Placed]) -> bool:
    """Whether no two of one scope lie on each other: those would be two requests at once."""
    return not any(
        one.scope == other.scope and min(one.times[1], other.times[1]) > max(one.times[0], other.times[0])
        for one in some
        for other in others
    )


def _closeness(pair: tuple[Placed, Placed]) -> tuple[float, tuple[str, str], tuple[str, str]]:
    """The common part of two requests as a share of what both cover."""
    (start, end), (begin, until) = pair[0].times, pair[1].times
    covered = max(end, until) - min(start, begin)
    common = min(end, until) - max(start, begin)
    return (common / covered if covered else 1.0, pair[0].node.key, pair[1].node.key)
