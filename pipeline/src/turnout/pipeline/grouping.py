"""Records that belong together: groups are the connected components of records that share a link key. Pure.

A group keeps each distinct record once, however often and in whatever order it came.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from turnout.outcomes.facts import Instant
from turnout.pipeline.codec import encode_turn, unpack_turn
from turnout.pipeline.rows import digest_of
from turnout.pipeline.telemetry import Record, Span

Process: TypeAlias = tuple[str, int]
"""Host name and process id of a sender, where its resource names both."""

_HOST, _PID = "host.name", "process.pid"


class Told:
    """What was given last for one turn.

    A lake knows it by the digest of its JSON, which costs as much to make as all reading of the turn, and is asked for only where more evidence
    comes or a turn is withdrawn. So it is worked out when it is asked for, from the packed facts; these are let go once the lake has said it.
    """

    __slots__ = ("_digest", "_mark", "_packed")

    def __init__(self, packed: bytes = b"", digest: str = "") -> None:
        """Give the packed facts, or the digest where it is known."""
        self._packed = packed
        self._digest = digest
        self._mark = _mark(packed) if packed else b""

    @property
    def digest(self) -> str:
        """The digest of the facts as they are stored."""
        if not self._digest:
            self.learn(digest_of(encode_turn(unpack_turn(self._packed))))
        return self._digest

    def learn(self, digest: str) -> None:
        """Take over the digest from whoever worked it out."""
        self._digest, self._packed = digest, b""

    def is_same(self, other: "Told") -> bool:
        """Whether both are the same facts."""
        if self._mark and other._mark:  # noqa: SLF001 - of its own kind
            return self._mark == other._mark  # noqa: SLF001 - of its own kind
        return self.digest == other.digest


def _mark(packed: bytes) -> bytes:
    return hashlib.blake2b(packed, digest_size=16).digest()


@dataclass(slots=True, eq=False)
class Group:
    """The records of one or more turns, and what is known of them."""

    number: int
    first_at: Instant
    last_at: Instant
    keys: set[str] = field(default_factory=set[str])
    emitted: dict[str, Told] = field(default_factory=dict[str, Told])
    """What was last given for each turn id."""
    unrecognised: dict[str, int] = field(default_factory=dict[str, int])
    """Records in no dialect, by scope, as they have been reported."""
    fresh_at: Instant | None = None
    """When the first record came that no look has seen yet."""
    looked_at: Instant = 0
    pending: bool = True
    """Whether a turn of it may still be running."""
    died_at: Instant | None = None
    due: Instant = 0
    _records: dict[int, Record] = field(default_factory=dict[int, Record])

    def __len__(self) -> int:
        """How many records it keeps."""
        return len(self._records)

    @property
    def records(self) -> Collection[Record]:
        """The records, in the order in which they came."""
        return self._records.values()

    def add(self, record: Record) -> bool:
        """Keep a record, unless it is here already."""
        # The place is a hash; a different record that hashes to the same place goes to the next free one.
        place = hash(_identity(record))
        while (held := self._records.get(place)) is not None:
            if held == record:
                return False
            place += 1
        self._records[place] = record
        return True

    def absorb(self, other: "Group") -> None:
        """Take over another group that turned out to be the same."""
        self.first_at, self.last_at = min(self.first_at, other.first_at), max(self.last_at, other.last_at)
        self.keys |= other.keys
        for record in other.records:
            self.add(record)
        self.emitted |= other.emitted
        for scope, count in other.unrecognised.items():
            self.unrecognised[scope] = self.unrecognised.get(scope, 0) + count
        self.fresh_at = _earliest(self.fresh_at, other.fresh_at)
        self.died_at = _earliest(self.died_at, other.died_at)
        self.pending = self.pending or other.pending

    def processes(self) -> set[Process]:
        """The processes that sent its records, where they are known."""
        resources = {id(record.resource): record.resource.attributes for record in self.records}
        found: set[Process] = set()
        for attributes in resources.values():
            host, pid = attributes.get(_HOST), attributes.get(_PID)
            if isinstance(host, str) and isinstance(pid, int):
                found.add((host, pid))
        return found

    def span_names(self) -> set[str]:
        """The ids of the turns that any of its spans, or a missing one above them, may stand for."""
        spans = [record for record in self.records if isinstance(record, Span)]
        return {f"{span.trace_id}:{number}" for span in spans for number in (span.span_id, span.parent_id)}

    def instants(self) -> frozenset[Instant]:
        """When its spans started and ended."""
        spans = [record for record in self.records if isinstance(record, Span)]
        return frozenset(at for span in spans for at in (span.start, span.end) if at is not None)


class Groups:
    """All groups, found by key; ``records`` is how many records they keep."""

    def __init__(self) -> None:
        self.records = 0
        self._by_key: dict[str, Group] = {}
        self._by_number: dict[int, Group] = {}
        self._next = 1

    def __len__(self) -> int:
        """How many groups there are."""
        return len(self._by_number)

    def __iter__(self) -> Iterator[Group]:
        """The groups, oldest first."""
        return iter(self._by_number.values())

    def get(self, number: int) -> Group | None:
        """A group by its number; None once it is gone or has become part of another."""
        return self._by_number.get(number)

    def add(self, record: Record, keys: Sequence[str], at: Instant) -> Group | None:
        """Keep a record in the group of its keys; None where it is there already."""
        group = self._of(keys, at)
        if not group.add(record):
            return None
        self.records += 1
        return group

    def put(self, group: Group) -> None:
        """Add a group that was kept elsewhere."""
        self._by_number[group.number] = group
        self._next = max(self._next, group.number + 1)
        self.records += len(group)
        self._name(group, group.keys)

    def drop(self, group: Group) -> None:
        """Forget a group; what comes for its keys later is a group of its own."""
        del self._by_number[group.number]
        self.records -= len(group)
        for key in group.keys:
            del self._by_key[key]

    def _of(self, keys: Sequence[str], at: Instant) -> Group:
        """The group of these keys: a new one, a known one, or several that are one from now on."""
        if len(keys) == 1:
            known = self._by_key.get(keys[0])
            return self._new(keys, at) if known is None else known
        found = {group.number: group for key in keys if (group := self._by_key.get(key)) is not None}
        if not found:
            return self._new(keys, at)
        largest = max(found.values(), key=lambda group: (len(group), -group.number))
        for other in found.values():
            if other is not largest:
                self._join(largest, other)
        self._name(largest, keys)
        return largest

    def _new(self, keys: Iterable[str], at: Instant) -> Group:
        group = Group(self._next, at, at)
        self._next += 1
        self._by_number[group.number] = group
        self._name(group, keys)
        return group

    def _name(self, group: Group, keys: Iterable[str]) -> None:
        for key in list(keys):
            group.keys.add(key)
            self._by_key[key] = group

    def _join(self, group: Group, other: Group) -> None:
        del self._by_number[other.number]
        self.records -= len(group) + len(other)
        group.absorb(other)
        self.records += len(group)
        self._name(group, other.keys)


def _identity(record: Record) -> tuple[object, ...]:
    """Enough to tell most records apart; the rest is compared whole."""
    if isinstance(record, Span):
        return (record.trace_id, record.span_id, record.end, len(record.attributes))
    return (record.trace_id, record.span_id, record.time, record.name, len(record.attributes))


def _earliest(one: Instant | None, other: Instant | None) -> Instant | None:
    return other if one is None else one if other is None else min(one, other)
