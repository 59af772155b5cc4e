"""Which groups of files to put together, and the putting together. The rows stay the same; readers open fewer files.

Small groups of one date are merged by size class, so that a day of commits every two seconds ends in a few dozen files and each row is
rewritten a handful of times. Rows are sorted by time, so that a window touches few of them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Final

from turnout.pipeline.lake.files import DataFile
from turnout.pipeline.lake.upsert import Place

MEBIBYTE: Final = 1024 * 1024
_FANOUT: Final = 8
_SMALLEST: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Target:
    """How far to go: a merged file of turns stays below ``size`` bytes; ``fanout`` groups of one size class make a merge."""

    size: int
    fanout: int = _FANOUT


HOT: Final = Target(4 * MEBIBYTE)
"""Between two writes: a merge takes a moment."""

WARM: Final = Target(32 * MEBIBYTE, fanout=4)
"""While turns of the date are still coming in: rewrites for late evidence stay cheap."""

COLD: Final = Target(128 * MEBIBYTE, fanout=2)
"""Once a date is over: as few files as possible."""


def mergers(files: Iterable[DataFile], target: Target) -> Iterator[tuple[Place, ...]]:
    """The sets of groups to merge, each of one date.

    Args:
        files: of `turns`.
        target: how far to go.
    """
    by_date: defaultdict[str, list[DataFile]] = defaultdict(list)
    for file in files:
        by_date[file.date].append(file)
    for same_date in by_date.values():
        yield from _mergers(same_date, target)


def _mergers(files: Sequence[DataFile], target: Target) -> Iterator[tuple[Place, ...]]:
    classes: defaultdict[int, list[DataFile]] = defaultdict(list)
    for file in files:
        classes[_size_class(file.size, target)].append(file)
    for same_size in classes.values():
        for batch in _batches(sorted(same_size, key=lambda file: file.first), target.size):
            if len(batch) >= target.fanout:
                yield tuple((file.date, file.group) for file in batch)


def _size_class(size: int, target: Target) -> int:
    """Powers of the fan-out; with a fan-out of two every size is one class, so that all that fit are merged."""
    if target.fanout <= 2:  # noqa: PLR2004
        return 0
    return max(0, int(log(max(size, 1) / _SMALLEST, target.fanout)) + 1) if size > _SMALLEST else 0


def _batches(files: Sequence[DataFile], size: int) -> Iterator[list[DataFile]]:
    """Neighbours in time whose sizes add up to no more than ``size``."""
    batch: list[DataFile] = []
    for file in files:
        if batch and sum(one.size for one in batch) + file.size > size:
            yield batch
            batch = []
        batch.append(file)
    yield batch


def places_of(files: Iterable[DataFile]) -> Mapping[Place, DataFile]:
    """Files by date and group."""
    return {(file.date, file.group): file for file in files}
