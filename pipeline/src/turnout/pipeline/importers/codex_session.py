"""What a log of Codex says of its session, and which of its turns are copies of another thread's.

A fork, and a sub-agent, write the history of their parent into their own rollout, at times with the instants of the copying. Ids stay
as they were, and those of version 7 hold the instant at which they were made: a turn that is older than its session is a copy.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from turnout.outcomes.facts import Instant
from turnout.pipeline.importers import fields
from turnout.pipeline.importers.codex_events import Event

_UNATTENDED = frozenset({"codex_exec"})
_TIMED_VERSION = 7
_BITS_AFTER_THE_TIME = 80
_NANOS_PER_MILLI = 1_000_000
# How long a copy may take; where ids hold no instant, what was written sooner after the start is part of it.
_COPYING = 1_000_000_000
_NAME = re.compile(r"[\w-]+")
_DATE_FOLDERS = 3


@dataclass(slots=True)
class Session:
    """What a session says of itself; it holds for the turns that follow.

    Attributes:
        id: the thread that the log is of.
        conversation: the thread that a person talks to; a sub-agent's is its parent's.
        copied: a copied history has begun.
        parent: the thread that started this one as its sub-agent.
        parent_turn: which of its turns did, as far as that is known.
    """

    id: str | None = None
    conversation: str | None = None
    created: Instant | None = None
    copied: bool = False
    model: str | None = None
    provider: str | None = None
    version: str | None = None
    attended: bool | None = None
    parent: str | None = None
    parent_turn: str | None = None

    def learn(self, body: Mapping[str, object], *, of_session: bool) -> None:
        """Take what one line adds; after the first one, a line about another thread opens a copied history."""
        own_name = fields.text(body, "id") if of_session else None
        if own_name is not None and self.created is not None and own_name != self.id:
            self.copied = True
            return
        self.model = fields.text(body, "model") or self.model
        if not of_session:
            return
        self.id = own_name or fields.text(body, "session_id") or self.id
        self.conversation = fields.text(body, "session_id") or self.id
        if own_name is not None:
            self.created = _instant_of(own_name) or fields.instant(body, "timestamp")
        self.provider = fields.text(body, "model_provider") or fields.text(body, "model_provider_id") or self.provider
        self.version = fields.text(body, "cli_version") or self.version
        originator = fields.text(body, "originator")
        if originator is not None or "kind" in body:
            self.attended = originator not in _UNATTENDED
        spawn = fields.mapping(body, "source", "subagent", "thread_spawn")
        self.parent = fields.text(spawn, "parent_thread_id") or self.parent

    def copies(self, event: Event) -> bool:
        """Whether a turn that an event opens is another thread's, copied."""
        if self.created is None:
            return False
        made = _instant_of(fields.text(event.body, "turn_id"))
        if made is not None:
            return made < self.created
        return self.copied and event.at is not None and event.at < self.created + _COPYING


def _instant_of(name: str | None) -> Instant | None:
    """Read the instant out of an id; ``None`` where it holds none."""
    try:
        made = UUID(name or "")
    except ValueError:
        return None
    return (made.int >> _BITS_AFTER_THE_TIME) * _NANOS_PER_MILLI if made.version == _TIMED_VERSION else None


def rollout_of(thread: str, near: Path) -> Path | None:
    """Find the rollout of a thread near another one: in its folder, or in the tree of years, months and days that it lies in."""
    if not _NAME.fullmatch(thread):
        return None
    pattern = f"rollout-*{thread}.jsonl*"
    found = next(near.parent.glob(pattern), None)
    dated = len(near.parents) > _DATE_FOLDERS and all(part.name.isdecimal() for part in near.parents[:_DATE_FOLDERS])
    return found or (next(near.parents[_DATE_FOLDERS].glob(f"*/*/*/{pattern}"), None) if dated else None)
