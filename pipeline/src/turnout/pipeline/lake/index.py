"""Which groups of files may hold a turn id: hashes in memory, so that a new turn costs no scan of the lake.

An answer may name a group that does not hold the id (it was rewritten, or two ids share a hash), never leave one out.
"""

import numpy as np
import numpy.typing as npt
import polars as pl

_Hashes = npt.NDArray[np.uint64]
_Places = npt.NDArray[np.int32]


class IdIndex:
    """Sorted runs of id hashes, each run at least twice as long as the next, so that adding and finding stay cheap."""

    def __init__(self) -> None:
        self._runs: list[tuple[_Hashes, _Places]] = []

    def __len__(self) -> int:
        """How many ids were added."""
        return sum(len(hashes) for hashes, _ in self._runs)

    def add(self, place: int, ids: pl.Series) -> None:
        """Note that these ids are at a place."""
        hashes = _hashed(ids)
        run = (np.sort(hashes), np.full(len(hashes), place, dtype=np.int32))
        while self._runs and len(self._runs[-1][0]) < 2 * len(run[0]):
            run = _joined(self._runs.pop(), run)
        self._runs.append(run)

    def places(self, ids: pl.Series) -> set[int]:
        """The places that may hold any of these ids."""
        wanted = _hashed(ids)
        found: set[int] = set()
        for hashes, places in self._runs:
            left = np.searchsorted(hashes, wanted, side="left")
            right = np.searchsorted(hashes, wanted, side="right")
            for start, stop in zip(left[left < right], right[left < right], strict=True):
                found.update(places[start:stop].tolist())
        return found


def _hashed(ids: pl.Series) -> _Hashes:
    return ids.drop_nulls().unique().hash().to_numpy()


def _joined(one: tuple[_Hashes, _Places], other: tuple[_Hashes, _Places]) -> tuple[_Hashes, _Places]:
    hashes = np.concatenate([one[0], other[0]])
    order = np.argsort(hashes, kind="stable")
    return hashes[order], np.concatenate([one[1], other[1]])[order]
