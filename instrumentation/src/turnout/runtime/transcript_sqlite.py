"""Turns kept in a SQLite file: what is written when `upsert` returns outlives the process.

Several processes may write to one file. A state's messages are written once each, since a conversation only grows.
"""

import json
import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Any, Self, get_args

from turnout.outcomes.facts import TurnFacts
from turnout.outcomes.state import Metadata
from turnout.runtime.encoding import decode, decode_kind, encode
from turnout.runtime.messages import Message
from turnout.runtime.transcript import Entry

_SCHEMA = """
CREATE TABLE IF NOT EXISTS segments (
    turn_id TEXT PRIMARY KEY,
    root_turn_id TEXT NOT NULL,
    conversation_id TEXT,
    started_at INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    observed INTEGER NOT NULL,
    running INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    disposition TEXT,
    facts TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS segments_root ON segments (root_turn_id);
CREATE INDEX IF NOT EXISTS segments_conversation ON segments (conversation_id);
CREATE INDEX IF NOT EXISTS segments_running ON segments (running) WHERE running;
CREATE TABLE IF NOT EXISTS messages (
    turn_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    message TEXT NOT NULL,
    PRIMARY KEY (turn_id, position)
);
"""

_UPSERT = """
INSERT INTO segments VALUES
    (:turn_id, :root_turn_id, :conversation_id, :started_at, :revision, :observed, :running, :metadata, :disposition, :facts)
ON CONFLICT (turn_id) DO UPDATE SET
    root_turn_id = excluded.root_turn_id,
    conversation_id = excluded.conversation_id,
    started_at = excluded.started_at,
    revision = excluded.revision,
    observed = excluded.observed,
    running = excluded.running,
    metadata = excluded.metadata,
    disposition = excluded.disposition,
    facts = excluded.facts
WHERE (excluded.observed, excluded.revision) > (segments.observed, segments.revision)
"""

_SELECT = "SELECT turn_id, revision, observed, running, metadata, disposition, facts FROM segments"
_ORDER = "ORDER BY started_at, turn_id"


class SqliteStore:
    """Keeps entries in a file; use it from one thread."""

    def __init__(self, path: Path | str) -> None:
        # Statements begin their own transactions: each `upsert` is one, with its messages.
        self._db = sqlite3.connect(path, isolation_level=None, timeout=30)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.executescript(_SCHEMA)

    def upsert(self, entry: Entry) -> bool:
        """Keep a state; False where the kept state is as new or newer."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            newer = self._db.execute(_UPSERT, _row(entry)).rowcount > 0
            if newer:
                self._write_messages(entry)
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")
        return newer

    def segment(self, turn_id: str) -> Entry | None:
        """One segment."""
        found = self._entries(f"{_SELECT} WHERE turn_id = ?", turn_id)
        return found[0] if found else None

    def segments(self, root_turn_id: str) -> tuple[Entry, ...]:
        """All segments of a turn, the first one first."""
        return self._entries(f"{_SELECT} WHERE root_turn_id = ? {_ORDER}", root_turn_id)

    def conversation(self, conversation_id: str) -> tuple[Entry, ...]:
        """All segments of a conversation, in the order in which they started."""
        return self._entries(f"{_SELECT} WHERE conversation_id = ? {_ORDER}", conversation_id)

    def running(self) -> tuple[Entry, ...]:
        """The segments that have not ended."""
        return self._entries(f"{_SELECT} WHERE running {_ORDER}")

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write_messages(self, entry: Entry) -> None:
        kept = self._db.execute("SELECT count(*) FROM messages WHERE turn_id = ?", (entry.turn_id,)).fetchone()[0]
        rows = [
            (entry.turn_id, position, json.dumps(encode(message, kind=True)))
            for position, message in enumerate(entry.messages)
            if position >= kept
        ]
        self._db.executemany("INSERT INTO messages VALUES (?, ?, ?)", rows)

    def _entries(self, statement: str, *values: str) -> tuple[Entry, ...]:
        return tuple(self._entry(*row) for row in self._db.execute(statement, values).fetchall())

    def _entry(
        self,
        turn_id: str,
        revision: int,
        observed: int,
        running: int,
        metadata: str,
        disposition: str | None,
        facts: str,
    ) -> Entry:
        return Entry(
            facts=decode(TurnFacts, json.loads(facts)),
            messages=self._messages(turn_id),
            metadata=decode(Metadata, json.loads(metadata)),
            revision=revision,
            running=bool(running),
            observed=bool(observed),
            disposition=disposition,
        )

    def _messages(self, turn_id: str) -> tuple[Message, ...]:
        rows = self._db.execute("SELECT message FROM messages WHERE turn_id = ? ORDER BY position", (turn_id,))
        return tuple(decode_kind(get_args(Message), json.loads(message)) for (message,) in rows)


def _row(entry: Entry) -> dict[str, Any]:
    return {
        "turn_id": entry.turn_id,
        "root_turn_id": entry.root_turn_id,
        "conversation_id": entry.facts.conversation_id,
        "started_at": entry.facts.started_at or 0,
        "revision": entry.revision,
        "observed": entry.observed,
        "running": entry.running,
        "metadata": json.dumps(encode(entry.metadata)),
        "disposition": entry.disposition,
        "facts": json.dumps(encode(entry.facts)),
    }
