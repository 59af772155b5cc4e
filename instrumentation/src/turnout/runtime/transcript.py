"""Where turns are kept so that they outlive their process: the protocol, what is newer than what, and a store in memory.

One entry is one segment of a turn. What a person sees of a turn is its last segment alone, so that an older segment's finish or
interruption never stands behind a newer one, whoever writes last.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Protocol

from turnout.outcomes.classify import classify
from turnout.outcomes.facts import Instant, TurnFacts
from turnout.outcomes.settle import merge, settle
from turnout.outcomes.state import NO_METADATA, Metadata, Seen, metadata_of, parts_of
from turnout.runtime.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One segment as it stood at one moment.

    ``revision`` counts the states of the segment. ``observed`` says that the segment's own end was seen: a state without it,
    as a restart infers it, never replaces one with it.
    """

    facts: TurnFacts
    messages: tuple[Message, ...] = ()
    metadata: Metadata = NO_METADATA
    revision: int = 1
    running: bool = True
    observed: bool = False
    disposition: str | None = None
    """What the policy for unattended turns made of a spent budget."""

    @property
    def turn_id(self) -> str:
        """The segment."""
        return self.facts.turn_id

    @property
    def root_turn_id(self) -> str:
        """The turn as a person sees it."""
        return self.facts.root_turn_id or self.facts.turn_id

    @property
    def place(self) -> tuple[Instant, str]:
        """Where the segment stands among those of its turn."""
        return (self.facts.started_at or 0, self.turn_id)

    @property
    def seen(self) -> Seen:
        """What `turnout.outcomes.state` reads."""
        return Seen(
            running=self.running,
            metadata=self.metadata,
            tools=parts_of(self.facts),
            attended=self.facts.attended,
        )


class TranscriptStore(Protocol):
    """Keeps entries; every method is done when it returns."""

    def upsert(self, entry: Entry) -> bool:
        """Keep a state whole, its end's three parts together; False where the kept state is as new or newer."""
        ...

    def segment(self, turn_id: str) -> Entry | None:
        """One segment."""
        ...

    def segments(self, root_turn_id: str) -> tuple[Entry, ...]:
        """All segments of a turn, the first one first."""
        ...

    def conversation(self, conversation_id: str) -> tuple[Entry, ...]:
        """All segments of a conversation, in the order in which they started."""
        ...

    def running(self) -> tuple[Entry, ...]:
        """The segments that have not ended: those at work, and after a crash those that died."""
        ...


def supersedes(new: Entry, kept: Entry | None) -> bool:
    """Whether a state is newer than the one that is kept."""
    return kept is None or (new.observed, new.revision) > (kept.observed, kept.revision)


def last_segment(store: TranscriptStore, root_turn_id: str) -> Entry | None:
    """The segment that is the turn to a person."""
    segments = store.segments(root_turn_id)
    return segments[-1] if segments else None


def keep(store: TranscriptStore, entry: Entry) -> Entry:
    """Write a state; where somebody else wrote meanwhile, write what both know, and return what is kept."""
    while not store.upsert(entry):
        kept = store.segment(entry.turn_id)
        if kept is None:
            continue
        entry = _joined(entry, kept)
        if entry == replace(kept, revision=entry.revision):
            return kept
    return entry


def ended(facts: TurnFacts, messages: tuple[Message, ...], *, observed: bool) -> Entry:
    """The state of a segment that is over; its metadata is what the classifier says of its facts."""
    metadata = metadata_of(classify(facts), facts.ended_at)
    return Entry(facts=facts, messages=messages, metadata=metadata, running=False, observed=observed)


def recover(store: TranscriptStore, *, at: Instant, dead: Iterable[Entry] | None = None) -> tuple[Entry, ...]:
    """After a crash: close every segment that never ended, as what it is, and return them.

    ``dead`` names them where other processes are still at work in the same store. A segment that turns out to be alive replaces
    what is inferred here by the end that it comes to.
    """
    closed: list[Entry] = []
    for entry in store.running() if dead is None else dead:
        facts = replace(entry.facts, open=True, last_seen_at=entry.facts.last_seen_at or at)
        state = replace(ended(facts, entry.messages, observed=False), revision=entry.revision + 1)
        closed.append(keep(store, state))
    return tuple(closed)


def _joined(mine: Entry, kept: Entry) -> Entry:
    """What two writers of one segment know together."""
    observed = mine.observed or kept.observed
    running = not observed and mine.running and kept.running
    facts = settle(merge(mine.facts, kept.facts))
    messages = max(mine.messages, kept.messages, key=len)
    joined = Entry(facts=facts, messages=messages) if running else ended(facts, messages, observed=observed)
    return replace(
        joined,
        revision=kept.revision + 1,
        running=running,
        disposition=mine.disposition or kept.disposition,
    )


class Keeper:
    """Keeps the states of one running segment, one after the other."""

    def __init__(self, store: TranscriptStore, messages: Sequence[Message], first: int) -> None:
        self._store = store
        self._messages = messages
        self._first = first
        self._revision = 0

    def __call__(self, facts: TurnFacts) -> None:
        """Keep the state that these facts and the conversation are now."""
        own = tuple(self._messages[self._first :])
        state = Entry(facts=facts, messages=own) if facts.ended_at is None else ended(facts, own, observed=True)
        self._revision = keep(self._store, replace(state, revision=self._revision + 1)).revision


class MemoryStore:
    """Keeps entries as long as the process lives."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._lock = Lock()

    def upsert(self, entry: Entry) -> bool:
        """Keep a state; False where the kept state is as new or newer."""
        with self._lock:
            newer = supersedes(entry, self._entries.get(entry.turn_id))
            if newer:
                self._entries[entry.turn_id] = entry
            return newer

    def segment(self, turn_id: str) -> Entry | None:
        """One segment."""
        return self._entries.get(turn_id)

    def segments(self, root_turn_id: str) -> tuple[Entry, ...]:
        """All segments of a turn, the first one first."""
        return self._ordered(entry for entry in self._all() if entry.root_turn_id == root_turn_id)

    def conversation(self, conversation_id: str) -> tuple[Entry, ...]:
        """All segments of a conversation, in the order in which they started."""
        return self._ordered(entry for entry in self._all() if entry.facts.conversation_id == conversation_id)

    def running(self) -> tuple[Entry, ...]:
        """The segments that have not ended."""
        return self._ordered(entry for entry in self._all() if entry.running)

    def _all(self) -> list[Entry]:
        with self._lock:
            return list(self._entries.values())

    def _ordered(self, entries: Iterable[Entry]) -> tuple[Entry, ...]:
        return tuple(sorted(entries, key=lambda entry: entry.place))
