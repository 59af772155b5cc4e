"""Random end counts for the analysis tests."""

from collections.abc import Sequence

import numpy as np

from turnout.pipeline.analysis.budget import ENDS
from turnout.pipeline.analysis.survival import EndCounts


class Turns:
    """Turns as two aligned arrays, the form that the oracles read: a time, and 0 (cut) or 1 + the place of the end."""

    def __init__(self, times: Sequence[float], events: Sequence[int]) -> None:
        self.times = np.asarray(times, dtype=np.float64)
        self.events = np.asarray(events, dtype=np.int64)

    def counts(self) -> EndCounts:
        """The same turns counted at each distinct time."""
        distinct = np.unique(self.times)
        ends = np.array([[self._count(time, place + 1) for time in distinct] for place in range(len(ENDS))])
        cut = np.array([self._count(time, 0) for time in distinct])
        return EndCounts(distinct, ends.reshape(len(ENDS), len(distinct)).astype(np.int64), cut.astype(np.int64))

    def _count(self, time: float, event: int) -> int:
        return int(((self.times == time) & (self.events == event)).sum())


def drawn(seed: int, size: int, kinds: int = len(ENDS)) -> Turns:
    """Random turns with many ties; every kind of end occurs, as the oracles ask for."""
    rng = np.random.default_rng(seed)
    events = np.concatenate([np.arange(kinds + 1), rng.integers(0, kinds + 1, size - kinds - 1)])
    return Turns(list(rng.integers(1, 15, size).astype(float)), list(events))
