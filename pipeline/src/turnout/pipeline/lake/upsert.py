"""What a write changes: incoming turns against the rows that are stored already. Pure.

Evidence of one turn only ever adds up: the facts of a stored row and of an incoming turn are merged and classified again, so that the order
of arrival does not count. A turn whose merged facts are the stored ones changes nothing.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final, TypeAlias

from turnout.outcomes.classify import CLASSIFIER_VERSION
from turnout.outcomes.facts import Instant, TurnFacts
from turnout.outcomes.verdict import Flag
from turnout.pipeline.combine import combine
from turnout.pipeline.lake.calls import Teller, calls_of, elsewhere, teller_of
from turnout.pipeline.lake.relations import RELATION_FLAGS, Family, Kin, with_flags
from turnout.pipeline.rows import ClassifiedTurn, classified, digest_of, facts_json

Place: TypeAlias = tuple[str, str]
"""Date and group of the files that hold a turn."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What an upsert needs to know of a stored row; instants are nanoseconds."""

    turn_id: str
    root: str
    parent: str | None
    told_by_spans: bool
    digest: str
    classifier_version: str
    received_at: Instant
    started_at: Instant | None
    ended_at: Instant | None
    last_segment: bool
    flags: tuple[str, ...]
    usage_known: bool
    place: Place
    facts: Callable[[], TurnFacts]

    @property
    def teller(self) -> Teller:
        """What it tells of calls."""
        calls = frozenset[str]() if self.told_by_spans else calls_of(self.facts())
        return Teller(self.turn_id, self.started_at, calls)


@dataclass(frozen=True, slots=True)
class Mark:
    """What a row says that follows from other rows; ``elsewhere`` are the calls that count in another one."""

    last_segment: bool
    flags: tuple[str, ...]
    elsewhere: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Fresh:
    """A turn to write; ``changed_at`` is when the newest of its evidence came."""

    turn: ClassifiedTurn
    changed_at: Instant
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What to write and what to take away.

    ``written`` are new rows and replacements; ``replaced`` are the stored rows in whose place they stand, ``withdrawn`` those in whose place
    nothing stands; ``recounted`` are written and replaced rows of the same facts that count other calls than before; ``marked`` are stored rows
    that stay, with a new mark.
    """

    written: tuple[Fresh, ...]
    replaced: tuple[Stored, ...]
    recounted: tuple[tuple[Stored, Fresh], ...]
    withdrawn: tuple[Stored, ...]
    marked: tuple[tuple[Stored, Mark], ...]
    unchanged: int

    @property
    def gone(self) -> tuple[Stored, ...]:
        """The stored rows to take away with their steps and tool calls."""
        return (*self.replaced, *self.withdrawn, *(row for row, _ in self.recounted))

    @property
    def touched(self) -> frozenset[Place]:
        """Where rows are taken away or marked anew, so that files are rewritten."""
        return frozenset(row.place for row in (*self.gone, *(row for row, _ in self.marked)))

    @property
    def rows(self) -> tuple[Fresh, ...]:
        """All turns to write."""
        return (*self.written, *(fresh for _, fresh in self.recounted))

    @property
    def new(self) -> int:
        """How many turns the lake did not know."""
        return len(self.written) - len(self.replaced)


def plan_upsert(
    incoming: Sequence[ClassifiedTurn],
    stored: Mapping[str, Stored],
    supersedes: Mapping[str, str] | None = None,
    withdrawn: Mapping[str, str] | None = None,
) -> Plan:
    """Decide what changes.

    Args:
        incoming: turns in any order, doubled or not.
        stored: by turn id, at least every row with an incoming or withdrawn turn id, their parents, the children of either, every segment
            of all these roots, all that tell of a call that any of them tells of, and all that tell of a call that one of these does.
        supersedes: by turn id, the digest of the stored facts that the incoming ones were made from more evidence than: they stand
            in the place of exactly those, and add up with any other.
        withdrawn: by turn id, the digest of stored facts that are no turn of their own.
    """
    instead = supersedes or {}
    arrived = [_joined(turns) for turns in _by_id(incoming).values()]
    changed = [fresh for fresh in (_against(one, stored, instead) for one in arrived) if fresh is not None]
    ids = [fresh.turn.facts.turn_id for fresh in changed]
    replaced = tuple(stored[turn_id] for turn_id in ids if turn_id in stored)
    came = {fresh.turn.facts.turn_id for fresh in arrived}
    taken_back = [row for row in stored.values() if row.digest == (withdrawn or {}).get(row.turn_id)]
    lost = tuple(row for row in taken_back if row.turn_id not in came)
    marks = _Marks(changed, stored, (*replaced, *lost), lost)
    return Plan(
        written=tuple(replace(fresh, mark=marks.of_fresh(fresh)) for fresh in changed),
        replaced=replaced,
        recounted=marks.recounted(),
        withdrawn=lost,
        marked=marks.changes(),
        unchanged=len(arrived) - len(changed),
    )


def plan_removal(ids: Collection[str], stored: Mapping[str, Stored]) -> Plan:
    """Take turns away for good.

    Args:
        ids: of the turns.
        stored: by turn id, these turns and all that a change must look at besides, as for `plan_upsert`.
    """
    lost = tuple(row for row in stored.values() if row.turn_id in ids)
    marks = _Marks((), stored, lost, lost)
    return Plan((), (), marks.recounted(), lost, marks.changes(), unchanged=0)


_NONE: Final = frozenset[str]()


def _calls_elsewhere(
    changed: Iterable[Fresh], stored: Mapping[str, Stored], kept: Iterable[Stored], leaving: Iterable[str]
) -> tuple[Mapping[str, frozenset[str]], Mapping[str, frozenset[str]]]:
    """By turn, the calls that count in another one: after the change, and before it."""
    coming = [teller_of(fresh.turn.facts) for fresh in changed]
    going = [stored[turn_id].teller for turn_id in leaving]
    if not any(teller.calls for teller in (*coming, *going)):
        return {}, {}
    staying = [row.teller for row in kept]
    return elsewhere([*staying, *coming]), elsewhere([*staying, *going])


class _Marks:
    """What rows say of each other once a change is made."""

    def __init__(
        self, changed: Sequence[Fresh], stored: Mapping[str, Stored], gone: Iterable[Stored], lost: Sequence[Stored]
    ) -> None:
        """Look at everything.

        Args:
            changed: the turns to write.
            stored: all rows.
            gone: those of them that are taken away.
            lost: those of these that nothing stands in the place of.
        """
        leaving = {row.turn_id for row in gone}
        self._kept = [row for row in stored.values() if row.turn_id not in leaving]
        self._last = _last_segments(changed, self._kept)
        self._elsewhere, self._elsewhere_before = _calls_elsewhere(changed, stored, self._kept, leaving)
        self._now = max((fresh.changed_at for fresh in changed), default=0)
        own = [_kin_of(fresh.turn) for fresh in changed]
        self._parents = {kin.parent for kin in own if kin.parent is not None}
        self._parents |= {row.parent for row in lost if row.parent is not None}
        self._names = {name for kin in own for name in (kin.turn_id, kin.root)}
        self._names |= {name for row in lost for name in (row.turn_id, row.root)}
        self._family = Family([*own, *(_stored_kin(row, self._parents) for row in self._kept)])

    def of_fresh(self, fresh: Fresh) -> Mark:
        kin = _kin_of(fresh.turn)
        calls = self._elsewhere.get(kin.turn_id, _NONE)
        relation = self._family.flags(kin) | ({Flag.DUPLICATE_CALL} if calls else set())
        return Mark(kin.turn_id in self._last, with_flags(fresh.turn.verdict.flags, relation), calls)

    def recounted(self) -> tuple[tuple[Stored, Fresh], ...]:
        return tuple((row, self._written_anew(row)) for row in self._kept if self._counts_anew(row))

    def changes(self) -> tuple[tuple[Stored, Mark], ...]:
        kept = [row for row in self._kept if not self._counts_anew(row)]
        marks = ((row, Mark(row.turn_id in self._last, self._flags(row))) for row in kept)
        return tuple((row, mark) for row, mark in marks if mark != Mark(row.last_segment, row.flags))

    def _counts_anew(self, row: Stored) -> bool:
        return self._elsewhere.get(row.turn_id, _NONE) != self._elsewhere_before.get(row.turn_id, _NONE)

    def _written_anew(self, row: Stored) -> Fresh:
        calls = self._elsewhere.get(row.turn_id, _NONE)
        relation = {Flag(flag) for flag in self._flags(row)} & RELATION_FLAGS - {Flag.DUPLICATE_CALL}
        turn = classified(row.facts(), row.received_at)
        flags = with_flags(turn.verdict.flags, relation | ({Flag.DUPLICATE_CALL} if calls else set()))
        return Fresh(turn, max(self._now, row.received_at), Mark(row.turn_id in self._last, flags, calls))

    def _flags(self, row: Stored) -> tuple[str, ...]:
        """The flags of a row that stays: only what the change bears on, for the rest of its family may not be here."""
        relation = {Flag(flag) for flag in row.flags} & RELATION_FLAGS
        kin = _stored_kin(row, self._parents)
        if row.parent in self._names:
            relation = relation - {Flag.ORPHAN} | ({Flag.ORPHAN} if self._family.is_orphan(kin) else set())
        if self._parents & {row.turn_id, row.root}:
            lacks = self._family.lacks_usage_of_children(kin)
            relation = relation - {Flag.CHILD_USAGE_MISSING} | ({Flag.CHILD_USAGE_MISSING} if lacks else set())
        return with_flags(row.flags, relation)


def _kin_of(turn: ClassifiedTurn) -> Kin:
    facts, verdict = turn.facts, turn.verdict
    root = facts.root_turn_id or facts.turn_id
    known = verdict.usage is not None and verdict.usage_complete
    return Kin(facts.turn_id, root, facts.parent_turn_id, facts.children_expected, known)


def _stored_kin(row: Stored, parents: Collection[str]) -> Kin:
    """A stored row; what it expects is looked up only where a child of it has changed."""
    expected = row.facts().children_expected if {row.turn_id, row.root} & set(parents) else ()
    return Kin(row.turn_id, row.root, row.parent, expected, row.usage_known)


def _by_id(incoming: Iterable[ClassifiedTurn]) -> dict[str, list[ClassifiedTurn]]:
    groups: defaultdict[str, list[ClassifiedTurn]] = defaultdict(list)
    for turn in incoming:
        groups[turn.facts.turn_id].append(turn)
    return groups


def _joined(turns: Sequence[ClassifiedTurn]) -> Fresh:
    """One turn out of all that came for its id."""
    first, *more = turns
    if not more:
        return Fresh(first, first.received_at)
    received = [turn.received_at for turn in turns]
    return Fresh(classified(reduce(combine, (turn.facts for turn in turns)), min(received)), max(received))


def _against(fresh: Fresh, stored: Mapping[str, Stored], instead: Mapping[str, str]) -> Fresh | None:
    """The turn to write in place of a stored row; None where the row says it all already."""
    turn = fresh.turn
    row = stored.get(turn.facts.turn_id)
    if row is None:
        return fresh
    if is_same(row, turn):
        return None
    received = min(row.received_at, turn.received_at)
    if row.digest == instead.get(turn.facts.turn_id):
        return Fresh(ClassifiedTurn(turn.facts, turn.verdict, received), fresh.changed_at)
    merged = classified(combine(row.facts(), turn.facts), received)
    return None if is_same(row, merged) else Fresh(merged, fresh.changed_at)


def is_same(row: Stored, turn: ClassifiedTurn) -> bool:
    """Whether a row says all that a turn says, as this classifier decides it."""
    return row.classifier_version == CLASSIFIER_VERSION and row.digest == digest_of(facts_json(turn))


def _last_segments(changed: Iterable[Fresh], kept: Iterable[Stored]) -> set[str]:
    """The ids of the last segment of each root, by start, then end, then id."""
    ranked: dict[str, tuple[int, int, str]] = {}
    for fresh in changed:
        facts = fresh.turn.facts
        _rank(ranked, facts.root_turn_id or facts.turn_id, facts.started_at, facts.ended_at, facts.turn_id)
    for row in kept:
        _rank(ranked, row.root, row.started_at, row.ended_at, row.turn_id)
    return {turn_id for _, _, turn_id in ranked.values()}


def _rank(
    ranked: dict[str, tuple[int, int, str]], root: str, start: Instant | None, end: Instant | None, turn_id: str
) -> None:
    # Rows keep microseconds; facts that come fresh are compared at the same grain.
    place = ((start or 0) // 1000, (end or 0) // 1000, turn_id)
    ranked[root] = max(ranked.get(root, place), place)
