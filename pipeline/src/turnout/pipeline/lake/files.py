"""Which files hold which rows of a lake, as values. Pure.

One write makes for each date one file in each of the tables it touches, all with one group name; a rewrite keeps the group. So the
steps of a turn are in the file of the same date and group, and no search is needed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

START_COLUMNS: Final[Mapping[str, str]] = {
    "turns": "started_at",
    "steps": "turn_started_at",
    "tool_calls": "turn_started_at",
    "ledger": "recorded_at",
}
"""The column of each table that says when the turn of a row started."""

_NO_DATE: Final = "1970-01-01"
_DAY_US: Final = 24 * 60 * 60 * 1_000_000


@dataclass(frozen=True, slots=True)
class DataFile:
    """One Parquet file of a table; ``path`` is relative to the table, instants are microseconds since the epoch.

    ``first`` and ``last`` bound the start of every turn in it (its first receipt where no start is recorded);
    ``ended`` bounds from above when any of them ended.
    """

    path: str
    date: str
    rows: int
    size: int
    first: int
    last: int
    ended: int

    @property
    def group(self) -> str:
        """The name that files of one write share over the tables."""
        return place_of(self.path)[1]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One consistent state of a lake: whole turns only, one row a segment. Version -1 is a lake without a turn.

    Where it is not ``uniform``, an older turnout wrote some files, which lack newer columns.
    """

    root: str
    version: int
    tables: Mapping[str, tuple[DataFile, ...]] = field(default_factory=dict[str, tuple[DataFile, ...]])
    uniform: bool = True

    def files(self, table: str) -> tuple[DataFile, ...]:
        """The files of one table, none for a table that does not exist yet."""
        return self.tables.get(table, ())


def place_of(path: str) -> tuple[str, str]:
    """Date and group of a file of a table, from its path alone."""
    folder, _, name = path.rpartition("/")
    return folder.rpartition("date=")[2], name.split(".", 1)[0]


def at_places(
    files: Iterable[DataFile], turns: Iterable[DataFile], places: Collection[tuple[str, str]]
) -> tuple[DataFile, ...]:
    """The files of another table that may hold what belongs to the turns at some places.

    Args:
        files: of the other table.
        turns: all files of `turns`.
        places: dates and groups; a file whose own group no file of `turns` has was laid out by another writer, and may hold anything.
    """
    known = {(file.date, file.group) for file in turns}
    return tuple(file for file in files if (file.date, file.group) in places or (file.date, file.group) not in known)


def day_of(date: str) -> tuple[int, int]:
    """First and last microsecond of a UTC date."""
    start = int(datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp()) * 1_000_000
    return start, start + _DAY_US - 1


def micros(moment: datetime) -> int:
    """Microseconds since the epoch, exactly."""
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def started_within(files: tuple[DataFile, ...], since: int | None, until: int | None) -> Iterator[DataFile]:
    """The files that may hold turns started in ``[since, until)``."""
    return (file for file in files if (since is None or file.last >= since) and (until is None or file.first < until))


def ended_within(files: tuple[DataFile, ...], since: int | None, until: int | None) -> Iterator[DataFile]:
    """The files that may hold turns that ended in ``[since, until)``; a turn ends no earlier than it starts."""
    return (file for file in files if (since is None or file.ended >= since) and (until is None or file.first < until))


def data_file(table: str, row: Mapping[str, Any]) -> DataFile:
    """A file from its Delta action: ``path``, ``size_bytes``, ``num_records``, and ``min.``, ``max.`` and ``null_count.`` by column."""
    date: str = row.get("partition.date") or ""
    first, last = _started(row, START_COLUMNS[table], day_of(date or _NO_DATE))
    ends = [_micros(row, f"max.{column}") for column in ("ended_at", "last_seen_at")]
    return DataFile(
        path=row["path"],
        date=date,
        rows=row["num_records"],
        size=row["size_bytes"],
        first=first,
        last=last,
        ended=max([last, *(end for end in ends if end is not None)]),
    )


def _started(row: Mapping[str, Any], column: str, day: tuple[int, int]) -> tuple[int, int]:
    """Bounds of the starts; a turn without one counts from its receipt, which is on the file's own date."""
    first, last = _micros(row, f"min.{column}"), _micros(row, f"max.{column}")
    if first is None or last is None:
        return day
    return (first, last) if row.get(f"null_count.{column}") == 0 else (min(first, day[0]), max(last, day[1]))


def _micros(row: Mapping[str, Any], column: str) -> int | None:
    moment = row.get(column)
    return None if moment is None else micros(moment)
