"""Readers: the newest `turns` commit, and the other tables at exactly the versions it names."""

from typing import Final

from turnout.pipeline.lake.delta import Table
from turnout.pipeline.lake.errors import LakeError
from turnout.pipeline.lake.files import Snapshot
from turnout.pipeline.lake.store import Store

NAMED: Final = {"steps": "turnout.steps", "tool_calls": "turnout.tool_calls"}
"""The application under which a `turns` commit names the version of another table."""

_TRIES: Final = 5


class Reader:
    """Reads snapshots of one lake; keeps its handles, so that the next snapshot costs what has changed since."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._turns: Table | None = None
        self._others: dict[str, Table] = {}
        self._ledger: Table | None = None
        self._last: Snapshot | None = None

    def snapshot(self) -> Snapshot:
        """One consistent state; a lake that does not exist yet is an empty one.

        Raises:
            LakeError: when it cannot be read or was made by a newer turnout.
        """
        for attempt in range(_TRIES):
            try:
                return self._read()
            except LakeError:
                # The versions that this turns commit named have just been cleaned away: a newer commit names newer ones.
                if attempt == _TRIES - 1:
                    raise
        raise AssertionError

    def _read(self) -> Snapshot:
        self._turns = _newest("turns", self._store, self._turns)
        self._ledger = _newest("ledger", self._store, self._ledger)
        tables = {} if self._ledger is None else {"ledger": self._ledger}
        if self._turns is not None:
            tables["turns"] = self._turns
            for name, application in NAMED.items():
                tables[name] = self._at(name, self._turns.transaction(application) or 0)
        return Snapshot(
            self._store.root,
            -1 if self._turns is None else self._turns.version,
            {name: table.files() for name, table in tables.items()},
            all(table.uniform for table in tables.values()),
        )

    def _at(self, name: str, version: int) -> Table:
        """A table at the version that was named; a newer one may hold rows whose turn is not there yet."""
        held = self._others.get(name)
        if held is None or held.version != version:
            held = Table.find(name, self._store, version)
        if held is None:
            raise LakeError(f"lake {self._store.root}: table {name} is gone; restore it from a copy")
        self._others[name] = held
        return held


def _newest(name: str, store: Store, held: Table | None) -> Table | None:
    if held is None:
        return Table.find(name, store)
    held.refresh()
    return held
