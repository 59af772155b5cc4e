"""Flags that only several turns together can set: a parent that is not there, a sub-agent whose usage is missing; what is set for calls, `calls` says. Pure."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from turnout.outcomes.verdict import Flag

RELATION_FLAGS: Final = frozenset({Flag.CHILD_USAGE_MISSING, Flag.ORPHAN, Flag.DUPLICATE_CALL})
"""The flags that the lake alone sets."""


@dataclass(frozen=True, slots=True)
class Kin:
    """What of a turn its relatives need to know; ``expected`` are the sub-agents that it says it started."""

    turn_id: str
    root: str
    parent: str | None
    expected: tuple[str, ...]
    usage_known: bool


class Family:
    """Turns that may be related, found by their own id or by their root."""

    def __init__(self, turns: Iterable[Kin]) -> None:
        self._named: defaultdict[str, list[Kin]] = defaultdict(list)
        self._children: defaultdict[str, list[Kin]] = defaultdict(list)
        for turn in turns:
            for name in {turn.turn_id, turn.root}:
                self._named[name].append(turn)
            if turn.parent is not None:
                self._children[turn.parent].append(turn)

    def is_orphan(self, turn: Kin) -> bool:
        """Whether another turn started it that is not here."""
        return turn.parent is not None and turn.parent not in self._named

    def lacks_usage_of_children(self, turn: Kin) -> bool:
        """Whether a sub-agent of it is not here, or does not say what it used."""
        started = [child for name in {turn.turn_id, turn.root} for child in self._children.get(name, ())]
        absent = any(name not in self._named for name in turn.expected)
        expected = [child for name in turn.expected for child in self._named.get(name, ())]
        return absent or any(not child.usage_known for child in (*started, *expected))

    def flags(self, turn: Kin) -> frozenset[Flag]:
        """The relation flags of a turn all of whose relatives are here, if they are anywhere."""
        found = {
            Flag.ORPHAN: self.is_orphan(turn),
            Flag.CHILD_USAGE_MISSING: self.lacks_usage_of_children(turn),
        }
        return frozenset(flag for flag, is_set in found.items() if is_set)


def with_flags(flags: Iterable[str], relation: Iterable[Flag]) -> tuple[str, ...]:
    """The flags of a row, in the order of the closed list, with these relation flags instead of whatever there were."""
    own = {Flag(flag) for flag in flags} - RELATION_FLAGS
    return tuple(str(flag) for flag in Flag if flag in {*own, *relation})
