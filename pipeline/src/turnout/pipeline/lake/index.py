"""Which groups of files may hold a turn id or a call: a small file of hashes beside each group, so that no search reads the lake.

An answer may name a group that does not hold the id (it was rewritten, or two ids share a hash), never leave one out: a group whose
index file is missing or not whole is always named.
"""

from collections.abc import Collection, Iterable
from hashlib import blake2b
from typing import Final

import numpy as np
import numpy.typing as npt

from turnout.pipeline.lake.store import Store
from turnout.pipeline.lake.upsert import Place

FOLDER: Final = "_index"
"""Where the index files are, below the root of the lake."""

_Hashes = npt.NDArray[np.uint64]
_WIDTH: Final = 8
_MAGIC: Final = b"turnout2"
_HEADER: Final = len(_MAGIC) + _WIDTH


class IdIndex:
    """The index files of one lake; each is read once and stays mapped."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held: dict[Place, _Hashes] = {}

    def write(self, place: Place, ids: Iterable[str]) -> None:
        """Note that these ids (of turns, roots and calls) are in a new group."""
        hashes = np.unique(_hashed(ids))
        header = _MAGIC + len(hashes).to_bytes(_WIDTH, "little")
        self._store.put(FOLDER, path_of(place), header + hashes.astype("<u8").tobytes(), durable=False)
        self._held[place] = hashes

    def places(self, ids: Iterable[str], live: Collection[Place], *, whole: bool = True) -> set[Place]:
        """Those of the live groups that may hold any of these ids; ``whole`` where they are all the live groups that there are."""
        wanted = np.unique(_hashed(ids))
        if whole:
            self._held = {place: hashes for place, hashes in self._held.items() if place in live}
        return {place for place in live if self._may_hold(place, wanted)}

    def holds_all(self, place: Place, ids: Iterable[str]) -> bool | None:
        """Whether the index file of a group names all of these ids; None where it is missing or not whole."""
        hashes = self._read(place)
        return None if hashes is None else bool(np.isin(_hashed(ids), hashes).all())

    def _may_hold(self, place: Place, wanted: _Hashes) -> bool:
        hashes = self._held.get(place)
        if hashes is None:
            hashes = self._read(place)
        if hashes is None:
            return True
        self._held[place] = hashes
        if not len(hashes):
            return False
        at = np.searchsorted(hashes, wanted)
        return bool(np.any(hashes[np.minimum(at, len(hashes) - 1)] == wanted))

    def _read(self, place: Place) -> _Hashes | None:
        try:
            raw = np.memmap(self._store.local(FOLDER, path_of(place)), dtype=np.uint8, mode="r")
        except (OSError, ValueError):
            return None
        count = int.from_bytes(raw[len(_MAGIC) : _HEADER].tobytes(), "little")
        whole = raw[: len(_MAGIC)].tobytes() == _MAGIC and len(raw) == _HEADER + count * _WIDTH
        return raw[_HEADER:].view("<u8") if whole else None


def path_of(place: Place) -> str:
    """The path of the index file of a group, below `FOLDER`."""
    date, group = place
    return f"{date}/{group}.ids"


def _hashed(ids: Iterable[str]) -> _Hashes:
    digests = b"".join(blake2b(one.encode(), digest_size=_WIDTH).digest() for one in ids)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64, copy=False)
