"""Two sets of turns side by side: outcome shares, adjusted for mix, with the word "not decisive" where it belongs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import erfc, sqrt
from typing import TypeAlias

from turnout.pipeline.analysis.intervals import LEVEL, Difference, Share, holm, newcombe, wilson, z_value

NOT_DECISIVE = "not decisive"
"""The words for a difference whose interval holds zero."""

Stratum: TypeAlias = tuple[str | None, ...]
"""The values of the dimensions that a comparison is adjusted for."""


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """One outcome in both sets: ``difference`` is the second set less the first, ``p_value`` is Holm's over all outcomes."""

    outcome: str
    before: Share
    after: Share
    difference: Difference
    p_value: float | None

    @property
    def decisive(self) -> bool:
        """Whether the interval leaves zero out and the corrected test agrees at the same level."""
        return self.difference.decisive and self.p_value is not None and self.p_value < 1 - LEVEL


def outcome_rows(before: Mapping[str, int], after: Mapping[str, int]) -> tuple[OutcomeRow, ...]:
    """Compare the counts of every outcome that occurs in either set, in the order of their names."""
    n, m = sum(before.values()), sum(after.values())
    names = sorted(set(before) | set(after))
    tests = [two_share_test(after.get(name, 0), m, before.get(name, 0), n) for name in names]
    known = [value for value in tests if value is not None]
    adjusted = iter(holm(known))
    return tuple(
        OutcomeRow(
            name,
            wilson(before.get(name, 0), n),
            wilson(after.get(name, 0), m),
            newcombe(after.get(name, 0), m, before.get(name, 0), n),
            None if value is None else next(adjusted),
        )
        for name, value in zip(names, tests, strict=True)
    )


def two_share_test(count: int, total: int, other_count: int, other_total: int) -> float | None:
    """The two-sided p-value of the pooled score test of two shares; ``None`` where a set is empty."""
    if total == 0 or other_total == 0:
        return None
    pooled = (count + other_count) / (total + other_total)
    spread = sqrt(pooled * (1 - pooled) * (1 / total + 1 / other_total))
    if spread == 0:
        return 1.0
    return erfc(abs(count / total - other_count / other_total) / spread / sqrt(2))


@dataclass(frozen=True, slots=True)
class Arm:
    """How many turns of one stratum have the outcome, and how many there are."""

    count: int
    total: int


@dataclass(frozen=True, slots=True)
class Adjusted:
    """A difference as it would be with the same mix on both sides; ``left_out`` is the share of turns in strata of one side only."""

    difference: Difference
    left_out: float


def standardised(before: Mapping[Stratum, Arm], after: Mapping[Stratum, Arm], level: float = LEVEL) -> Adjusted:
    """Direct standardisation to the mix of both sets together, over the strata that both have."""
    common = [key for key in before if key in after and before[key].total and after[key].total]
    weight = {key: before[key].total + after[key].total for key in common}
    everyone = sum(arm.total for arm in [*before.values(), *after.values()])
    kept = sum(weight.values())
    if kept == 0:
        return Adjusted(Difference(None, None, None), 1.0 if everyone else 0.0)
    gap = sum(weight[key] / kept * (_share(after[key]) - _share(before[key])) for key in common)
    variance = sum((weight[key] / kept) ** 2 * (_variance(after[key]) + _variance(before[key])) for key in common)
    half = z_value(level) * sqrt(variance)
    return Adjusted(Difference(gap, gap - half, gap + half), 1 - kept / everyone)


def _share(arm: Arm) -> float:
    return arm.count / arm.total


def _variance(arm: Arm) -> float:
    """Agresti and Caffo's: one success and one failure added, so that a small stratum without events is not taken for certain."""
    share = (arm.count + 1) / (arm.total + 2)
    return share * (1 - share) / (arm.total + 2)


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one value of one dimension adds to a change of a rate; ``share`` is its part of the whole change."""

    dimension: str
    value: str | None
    before: Arm
    after: Arm
    added: float
    share: float | None
    difference: Difference


def contributions(
    dimension: str, before: Mapping[str | None, Arm], after: Mapping[str | None, Arm]
) -> tuple[Contribution, ...]:
    """Split the change of a rate over the values of a dimension, largest first; the parts sum to the change.

    A part holds both ways in which a value can move the rate: its own rate changed, or more turns have it now.
    """
    n, m = sum(arm.total for arm in before.values()), sum(arm.total for arm in after.values())
    if n == 0 or m == 0:
        return ()
    whole = sum(arm.count for arm in after.values()) / m - sum(arm.count for arm in before.values()) / n
    rows = [_contribution(dimension, value, before, after, (n, m, whole)) for value in {**before, **after}]
    return tuple(sorted(rows, key=lambda row: (-abs(row.added), row.value or "")))


def _contribution(
    dimension: str,
    value: str | None,
    before: Mapping[str | None, Arm],
    after: Mapping[str | None, Arm],
    totals: tuple[int, int, float],
) -> Contribution:
    n, m, whole = totals
    old, new = before.get(value, Arm(0, 0)), after.get(value, Arm(0, 0))
    added = new.count / m - old.count / n
    difference = newcombe(new.count, new.total, old.count, old.total)
    return Contribution(dimension, value, old, new, added, added / whole if whole else None, difference)


def ranked(found: Sequence[Sequence[Contribution]]) -> tuple[Contribution, ...]:
    """Every contribution of every dimension, largest first: what an incident is looked at by."""
    return tuple(sorted((row for rows in found for row in rows), key=lambda row: -abs(row.added)))
