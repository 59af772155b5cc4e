"""Records that arrive in pieces -> whole turns, and dead turns by quiet time. Pure: time comes in as an argument.

A turn is over when its end was seen and nothing more came for a short while. A turn without an end is closed as it stands (its facts say
that it is open, so it is interrupted) once it has been quiet for long, or soon after its process is known to have died. What comes
later is put to the records that are still kept, and the turn is given again whole; once they are let go it is given by itself, and the
lake adds it to what is stored. A turn that was given and turns out to be none, because its records belong to another (its name was that of a
missing span, and the span came), is withdrawn.

The same records, in any order, doubled, split into any requests and taken up again from stored groups at any point, end in the same turns.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import TypeVar

from turnout.outcomes.classify import classify
from turnout.outcomes.facts import Instant, TurnFacts
from turnout.outcomes.quick import quick
from turnout.outcomes.verdict import Outcome
from turnout.pipeline.codec import encode_turn, pack_turn, unpack_turn
from turnout.pipeline.dialects import Normalised, is_relevant, link_keys, turns_from, unrecognised_scope
from turnout.pipeline.grouping import Group, Groups, Process, Told
from turnout.pipeline.rows import ClassifiedTurn, canonical, digest_of, judged
from turnout.pipeline.telemetry import Record

SECOND = 1_000_000_000

_UNDECIDED = frozenset({Outcome.UNKNOWN, Outcome.INTERRUPTED})
_PER_RECORD = SECOND // 1000
_SPARE = 16
_AT_A_TIME = 256

_R = TypeVar("_R")


class How(StrEnum):
    """Why a turn was given."""

    ENDED = "ended"
    """Its end was seen."""
    CALM = "calm"
    """Its dialect has no end, but it looks like one and nothing more came."""
    QUIET = "quiet"
    """Nothing came for the quiet time."""
    DIED = "died"
    """Its process is gone."""
    PRESSED = "pressed"
    """More is open than may be kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long the assembler waits for more, in nanoseconds, and how much it keeps."""

    settle: Instant = SECOND // 2
    """After the last record, before the turns are looked at."""
    patience: Instant = 3 * SECOND
    """The same while records go on coming."""
    calm: Instant = 3 * SECOND
    """Where a dialect has no end, but what is there looks like one."""
    quiet: Instant = 15 * 60 * SECOND
    dead: Instant = 60 * SECOND
    linger: Instant = 60 * 60 * SECOND
    """How long the records of a closed turn are kept for late evidence."""
    groups: int = 100_000
    records: int = 36_000
    """About 2.5 KiB each: with what a commit needs, inside the default memory bound of the receiver."""


@quick
@dataclass(frozen=True, slots=True)
class Given:
    """A turn to store, as packed facts that nobody has judged yet: they take a fifth of the memory until they are written.

    ``supersedes`` is the digest of what was given for it before: these facts were made from more records and stand in its place.
    ``told`` is what its group remembers of it.
    """

    turn_id: str
    received_at: Instant
    packed: bytes
    told: Told
    how: How
    supersedes: str | None

    @property
    def digest(self) -> str:
        """The digest of its facts as they are stored."""
        return self.told.digest

    @property
    def turn(self) -> ClassifiedTurn:
        """The turn with its verdict, worked out anew each time."""
        return judged(unpack_turn(self.packed), self.received_at)


@quick
@dataclass(frozen=True, slots=True)
class _Read:
    """One turn as the records of its group tell it now."""

    facts: TurnFacts
    packed: bytes


@dataclass(slots=True)
class Assembler:
    """The reducer: `accept` records, `advance` the time, store what it gives."""

    pace: Pace = field(default_factory=Pace)
    irrelevant: int = 0
    """How many records were passed over because their dialect does not need them."""
    unrecognised: Counter[str] = field(default_factory=Counter[str])
    """Records in no dialect, by scope, each counted once."""
    failed: int = 0
    """How many times a dialect could not read a group; the group is passed over."""
    withdrawn: dict[str, str] = field(default_factory=dict[str, str])
    """Turns that were given and are none, by id, with the digest of what was given; whoever stores turns empties it."""
    _groups: Groups = field(default_factory=Groups)
    _agenda: list[tuple[Instant, int]] = field(default_factory=list[tuple[Instant, int]])

    @property
    def records(self) -> int:
        """How many records are kept."""
        return self._groups.records

    @property
    def next_due(self) -> Instant | None:
        """When `advance` may have something to do."""
        return self._agenda[0][0] if self._agenda else None

    def accept(self, records: Iterable[Record], at: Instant) -> None:
        """Take records that were received at one time."""
        touched: dict[int, Group] = {}
        for record in records:
            if not is_relevant(record):
                self._pass_over(record)
                continue
            group = self._groups.add(record, _keys(record), at)
            if group is not None:
                touched[group.number] = group
        for group in touched.values():
            if self._groups.get(group.number) is group:  # else it has become part of another
                self._touch(group, at)

    def advance(self, now: Instant) -> list[Given]:
        """Give every turn that is over, or was quiet for too long, by ``now``."""
        given: list[Given] = []
        while due := self._due(now):
            pending, closed = [group for group in due if group.pending], [group for group in due if not group.pending]
            for group, turns in zip(pending, self._turns(pending), strict=True):
                given += self._attend(group, turns, now)
            for group in closed:
                self._groups.drop(group)
        return given + self._make_room()

    def _due(self, now: Instant) -> list[Group]:
        """The groups whose time has come, some at a time."""
        due: dict[int, Group] = {}
        while self._agenda and self._agenda[0][0] <= now and len(due) < _AT_A_TIME:
            at, number = heapq.heappop(self._agenda)
            group = self._groups.get(number)
            if group is not None and group.due == at:
                due[number] = group
        return list(due.values())

    def let_go(self) -> None:
        """Give up the records of closed turns at once; what is late for them is then added to what is stored."""
        for group in [group for group in self._groups if not group.pending]:
            self._groups.drop(group)

    def open_groups(self) -> int:
        """How many groups may hold a running turn."""
        return sum(group.pending for group in self._groups)

    def processes(self) -> set[Process]:
        """The processes whose turns may still be running."""
        return {process for group in self._groups if group.pending for process in group.processes()}

    def died(self, process: Process, at: Instant) -> None:
        """Note that a process is gone: its open turns are waited for no longer than a process needs to be heard out."""
        for group in self._groups:
            if group.pending and group.died_at is None and process in group.processes():
                group.died_at = at
                self._schedule(group, min(group.due, self._quiet_at(group)))

    def groups(self) -> Iterator[Group]:
        """All that is kept, oldest first, to be stored elsewhere."""
        return iter(self._groups)

    def restore(self, groups: Iterable[Group]) -> None:
        """Go on with what was stored elsewhere."""
        for group in groups:
            self._groups.put(group)
            heapq.heappush(self._agenda, (group.due, group.number))

    def names(self) -> set[str]:
        """Every id by which spans alone may have named a turn of what is kept, at whatever time."""
        return {name for group in self._groups for name in group.span_names()}

    def remember(self, stored: Mapping[str, TurnFacts]) -> None:
        """Note what was given of the kept records already, as far as nothing else is told in it.

        Args:
            stored: the facts of turns by id.
        """
        for group in self._groups:
            known = {name: stored[name] for name in group.span_names() if name in stored}
            instants = group.instants() if known else frozenset[Instant]()
            for name, facts in known.items():
                if _instants(facts) <= instants:
                    group.emitted[name] = Told(digest=digest_of(encode_turn(facts)))

    def _pass_over(self, record: Record) -> None:
        scope = unrecognised_scope(record)
        if scope is None:
            self.irrelevant += 1
        else:
            self.unrecognised[scope] += 1

    def _touch(self, group: Group, at: Instant) -> None:
        group.first_at, group.last_at = min(group.first_at, at), max(group.last_at, at)
        group.fresh_at = at if group.fresh_at is None else min(group.fresh_at, at)
        group.pending = True
        settled = min(group.last_at + self.pace.settle, group.fresh_at + self.pace.patience)
        # Looking costs by the record: a long turn that goes on is looked at less and less often.
        self._schedule(group, max(settled, group.looked_at + len(group) * _PER_RECORD))

    def _schedule(self, group: Group, due: Instant) -> None:
        if due != group.due:
            group.due = due
            heapq.heappush(self._agenda, (due, group.number))

    def _attend(self, group: Group, turns: Sequence[_Read] | None, now: Instant) -> list[Given]:
        """Give what is over of a group whose time has come, and say when to look at it again."""
        given, wait = self._look(group, turns, now)
        group.looked_at, group.fresh_at, group.pending = now, None, wait is not None
        self._schedule(group, group.last_at + self.pace.linger if wait is None else max(wait, now + 1))
        return given

    def _look(self, group: Group, turns: Sequence[_Read] | None, now: Instant) -> tuple[list[Given], Instant | None]:
        """Give the turns of a group that are over, and say when to look again for the others."""
        if turns is None:
            return [], None
        given: list[Given] = []
        waits: list[Instant] = []
        for turn in turns:
            how, wait = self._state(turn, group, now)
            if how is None:
                waits.append(wait)
            else:
                given += self._news(group, turn, how)
        if given or not waits:
            self._withdraw(group, turns)
        return given, min(waits, default=None)

    def _news(self, group: Group, turn: _Read, how: How) -> list[Given]:
        """The turn, unless the same was given before."""
        turn_id, told = turn.facts.turn_id, Told(turn.packed)
        before = group.emitted.get(turn_id)
        if before is not None and before.is_same(told):
            return []
        group.emitted[turn_id] = told
        self.withdrawn.pop(turn_id, None)
        return [Given(turn_id, group.first_at, turn.packed, told, how, None if before is None else before.digest)]

    def _withdraw(self, group: Group, turns: Iterable[_Read]) -> None:
        """Take back what was given of a group and is not among its turns any more, together with what stands for it now."""
        for turn_id in group.emitted.keys() - {turn.facts.turn_id for turn in turns}:
            self.withdrawn[turn_id] = group.emitted.pop(turn_id).digest

    def _turns(self, groups: Sequence[Group]) -> list[list[_Read] | None]:
        """The turns of each group as its records tell them now; None where no dialect can read it.

        Step by step for all: what a step needs is then at hand in the processor's caches, which makes a fifth of the time.
        """
        read = [_tried(partial(turns_from, group.records)) for group in groups]
        turns = [None if one is None else _tried(partial(_packed, one)) for one in read]
        for group, one, told in zip(groups, read, turns, strict=True):
            if one is None or told is None:
                self.failed += 1
            else:
                self._report(group, one.unrecognised)
        return turns

    def _state(self, turn: _Read, group: Group, now: Instant) -> tuple[How | None, Instant]:
        """Why a turn is over, or None and when to look again."""
        if not turn.facts.open and not _is_endless(turn.facts):
            return How.ENDED, now
        quiet = self._quiet_at(group)
        if quiet <= now:
            return (How.QUIET if group.died_at is None else How.DIED), now
        if turn.facts.open or classify(turn.facts).outcome in _UNDECIDED:
            return None, quiet
        calm = group.last_at + self.pace.calm
        return (How.CALM if calm <= now else None), calm

    def _quiet_at(self, group: Group) -> Instant:
        quiet = group.last_at + self.pace.quiet
        return quiet if group.died_at is None else min(quiet, max(group.last_at, group.died_at) + self.pace.dead)

    def _report(self, group: Group, unrecognised: Mapping[str, int]) -> None:
        for scope, count in unrecognised.items():
            self.unrecognised[scope] += max(0, count - group.unrecognised.get(scope, 0))
        group.unrecognised = dict(unrecognised)

    def _make_room(self) -> list[Given]:
        """Past the bounds the records of closed turns go first, then the oldest open turns are closed as they stand."""
        if not self._over(self.pace.records, self.pace.groups):
            return []
        given: list[Given] = []
        for group in sorted(self._groups, key=lambda group: (group.pending, group.last_at, group.number)):
            # A part is left free, so that room is not made record by record.
            if not self._over(*(bound - bound // _SPARE for bound in (self.pace.records, self.pace.groups))):
                break
            turns = self._turns([group])[0] if group.pending else None
            if turns is not None:
                given += [one for turn in turns for one in self._news(group, turn, How.PRESSED)]
                self._withdraw(group, turns)
            self._groups.drop(group)
        return given

    def _over(self, records: int, groups: int) -> bool:
        return self.records > records or len(self._groups) > groups


def _keys(record: Record) -> Sequence[str]:
    """What ties a record to others; one that nothing ties stands alone."""
    return link_keys(record) or (f"alone:{record.span_id}:{record.name}",)


def _tried(work: Callable[[], _R]) -> _R | None:
    """What comes of some work; None where nothing does: one group that no dialect can read must not keep all others from the lake."""
    try:
        return work()
    except Exception:  # noqa: BLE001 - whatever it was
        return None


def _packed(read: Normalised) -> list[_Read]:
    turns = [canonical(facts) for facts in read.turns]
    return [_Read(facts, pack_turn(facts)) for facts in turns]


def _is_endless(facts: TurnFacts) -> bool:
    """Whether a turn is known by a key of log records alone: its dialect has no span that ends with the turn."""
    return facts.source is not None and facts.turn_id.startswith(f"{facts.source}:")


def _instants(facts: TurnFacts) -> set[Instant]:
    """When its requests and tool calls started and ended, as their spans say."""
    steps = [(step.started_at, step.ended_at) for step in facts.steps]
    calls = [(call.started_at, call.ended_at) for step in facts.steps for call in step.tool_calls]
    return {at for times in (*steps, *calls) for at in times if at is not None}
