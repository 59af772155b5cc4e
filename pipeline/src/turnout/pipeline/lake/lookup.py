"""Stored rows by turn id and root, through the index of ids, without a scan of the lake."""

from collections.abc import Collection, Iterable
from functools import partial
from typing import Any, Final

import polars as pl

from turnout.outcomes.facts import TurnFacts
from turnout.pipeline.codec import decode_turn
from turnout.pipeline.lake.files import DataFile, micros
from turnout.pipeline.lake.index import IdIndex
from turnout.pipeline.lake.store import FolderStore
from turnout.pipeline.lake.upsert import Place, Stored

_COLUMNS: Final = (
    "turn_id",
    "root_turn_id",
    "digest",
    "classifier_version",
    "received_at",
    "started_at",
    "ended_at",
    "last_segment",
    "facts",
)


class Lookup:
    """Finds the rows that an upsert must look at; learns of each group of files once."""

    def __init__(self, store: FolderStore) -> None:
        self._store = store
        self._index = IdIndex()
        self._places: list[Place] = []
        self._known: set[Place] = set()

    def note(self, place: Place, ids: pl.Series) -> None:
        """Learn which ids (turns and roots) a new group holds, without reading it."""
        self._known.add(place)
        self._index.add(len(self._places), ids)
        self._places.append(place)

    def rows(self, files: Iterable[DataFile], keys: Collection[str]) -> dict[str, Stored]:
        """Every stored row whose turn id or root is one of the keys, and every other segment of those roots."""
        live = {(file.date, file.group): file for file in files}
        self._learn(live)
        found: dict[str, Stored] = {}
        asked: set[str] = set()
        wanted = set(keys)
        while wanted:
            found |= self._matching(live, wanted)
            asked |= wanted
            wanted = {row.root for row in found.values()} - asked
        return found

    def _learn(self, live: dict[Place, DataFile]) -> None:
        for place in live.keys() - self._known:
            path = self._store.local("turns", live[place].path)
            ids = pl.read_parquet(path, columns=["turn_id", "root_turn_id"], hive_partitioning=False)
            self.note(place, pl.concat([ids["turn_id"], ids["root_turn_id"]]))

    def _matching(self, live: dict[Place, DataFile], keys: set[str]) -> dict[str, Stored]:
        wanted = pl.Series(list(keys), dtype=pl.String)
        places = {self._places[number] for number in self._index.places(wanted)}
        found: dict[str, Stored] = {}
        for place in sorted(places & live.keys()):
            path = self._store.local("turns", live[place].path)
            match = pl.col("turn_id").is_in(wanted.implode()) | pl.col("root_turn_id").is_in(wanted.implode())
            rows = pl.scan_parquet(path, hive_partitioning=False).filter(match).select(_COLUMNS).collect()
            found |= {row["turn_id"]: _stored(place, row) for row in rows.iter_rows(named=True)}
        return found


def _stored(place: Place, row: dict[str, Any]) -> Stored:
    return Stored(
        turn_id=row["turn_id"],
        root=row["root_turn_id"],
        digest=row["digest"],
        classifier_version=row["classifier_version"],
        received_at=micros(row["received_at"]) * 1000,
        started_at=None if row["started_at"] is None else micros(row["started_at"]) * 1000,
        ended_at=None if row["ended_at"] is None else micros(row["ended_at"]) * 1000,
        last_segment=row["last_segment"],
        place=place,
        facts=partial(_decoded, row["facts"]),
    )


def _decoded(facts: str) -> TurnFacts:
    return decode_turn(facts.encode()).turn
