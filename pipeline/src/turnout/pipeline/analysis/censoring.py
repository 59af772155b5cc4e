"""Whether the assumption behind a budget curve shows signs of being wrong.

The curve takes turns that a small budget cut to go on like those that a larger budget let go on. That cannot be seen of the cut turns
themselves, but it has a consequence that can: before the smaller of two budgets is spent, turns under either must finish at the same
pace. The log-rank test compares that pace, in each stratum apart, since agents and models with different budgets differ in much else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from turnout.pipeline.analysis.intervals import LEVEL, holm
from turnout.pipeline.analysis.survival import Counts, EndCounts

FEWEST_TURNS = 20
"""Fewer turns under a budget are not compared."""


@dataclass(frozen=True, slots=True)
class PaceTest:
    """One stratum: the budgets that were compared, up to which amount, and Holm's p-value over the strata."""

    stratum: str | None
    budgets: tuple[float, ...]
    up_to: float
    turns: int
    p_value: float

    @property
    def differs(self) -> bool:
        """Whether turns under different budgets went at a different pace before any of these was spent."""
        return self.p_value < 1 - LEVEL


def pace_tests(strata: Mapping[str | None, Mapping[float, EndCounts]], kind: int) -> tuple[PaceTest, ...]:
    """Test every stratum with at least two budgets, the least likely first.

    Args:
        strata: counts by stratum and budget.
        kind: the row of the end whose pace is compared.
    """
    found: list[PaceTest] = []
    for stratum, by_budget in strata.items():
        budgets = sorted(budget for budget, counts in by_budget.items() if _size(counts) >= FEWEST_TURNS)
        if len(budgets) > 1:
            groups = [until(by_budget[budget], budgets[0]) for budget in budgets]
            turns = sum(map(_size, groups))
            found.append(PaceTest(stratum, tuple(budgets), budgets[0], turns, log_rank(groups, kind)))
    adjusted = holm([test.p_value for test in found])
    corrected = [
        PaceTest(test.stratum, test.budgets, test.up_to, test.turns, p_value)
        for test, p_value in zip(found, adjusted, strict=True)
    ]
    return tuple(sorted(corrected, key=lambda test: (test.p_value, test.stratum or "")))


def until(counts: EndCounts, time: float) -> EndCounts:
    """The same turns watched up to a time alone: what came later is cut there."""
    early = counts.times < time
    later = int((counts.ends.sum(axis=0) + counts.cut)[~early].sum())
    times = np.append(counts.times[early], time)
    ends = np.concatenate([counts.ends[:, early], np.zeros((len(counts.ends), 1), dtype=np.int64)], axis=1)
    return EndCounts(times, ends, np.append(counts.cut[early], later))


def log_rank(groups: Sequence[EndCounts], kind: int) -> float:
    """The p-value of the log-rank test that one end comes at the same pace in every group; other ends are taken as cuts."""
    times = np.unique(np.concatenate([group.times for group in groups]))
    seen = np.array([_on(group, group.ends[kind], times) for group in groups])
    leaving = np.array([_on(group, group.ends.sum(axis=0) + group.cut, times) for group in groups])
    at_risk = np.cumsum(leaving[:, ::-1], axis=1)[:, ::-1]
    ends, risk = seen.sum(axis=0), at_risk.sum(axis=0)
    used = (ends > 0) & (risk > 1)
    seen, at_risk, ends, risk = seen[:, used], at_risk[:, used], ends[used], risk[used]
    share = at_risk / risk
    gap = (seen - ends * share).sum(axis=1)[:-1]
    spread = ends * (risk - ends) / (risk - 1)
    covariance = -np.einsum("it,jt,t->ij", share, share, spread) + np.diag((share * spread).sum(axis=1))
    statistic = float(gap @ np.linalg.pinv(covariance[:-1, :-1]) @ gap)
    return float(chi2.sf(statistic, len(groups) - 1))


def _on(group: EndCounts, values: Counts, times: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Counts:
    found = np.zeros(len(times), dtype=np.int64)
    found[np.searchsorted(times, group.times)] = values
    return found


def _size(counts: EndCounts) -> int:
    return int(counts.ends.sum() + counts.cut.sum())
