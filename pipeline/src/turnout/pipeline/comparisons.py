"""Two sets of turns of a lake side by side: counts from SQL, conclusions from `turnout.pipeline.analysis`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import polars as pl

from turnout.pipeline.analysis.compare import Arm, OutcomeRow, Stratum, outcome_rows, standardised
from turnout.pipeline.analysis.intervals import Difference
from turnout.pipeline.analysis.shift import Histogram, quantile, shift
from turnout.pipeline.errors import TurnoutError
from turnout.pipeline.query.dimensions import EVERYTHING
from turnout.pipeline.query.engine import resource
from turnout.pipeline.query.filters import VALUES, Filters, parse_time
from turnout.pipeline.query.warehouse import Warehouse

MEASURES: Final = ("steps", "tokens", "cost_usd", "seconds")
"""What turns are measured by, beside their outcome."""

QUANTILES: Final = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
"""The quantiles of a measure that stand beside its shift."""

_WINDOW: Final = re.compile(r"(?P<since>.*?)\.\.(?P<until>.*)")


class SideError(TurnoutError):
    """A side of a comparison that cannot be read."""


@dataclass(frozen=True, slots=True)
class OutcomeDifference:
    """One outcome on both sides; ``adjusted`` is the difference with the same mix on both."""

    row: OutcomeRow
    adjusted: Difference | None


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """One measure on both sides: turns with a value, quantiles, and the shift from the first side to the second."""

    measure: str
    before_n: int
    after_n: int
    before_quantiles: tuple[float | None, ...]
    after_quantiles: tuple[float | None, ...]
    shift: Difference

    @property
    def before_median(self) -> float | None:
        """The median of the first side."""
        return self.before_quantiles[QUANTILES.index(0.5)]

    @property
    def after_median(self) -> float | None:
        """The median of the second side."""
        return self.after_quantiles[QUANTILES.index(0.5)]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The second side against the first; ``left_out`` is the share of turns that adjusting had to leave out."""

    before_turns: int
    after_turns: int
    outcomes: tuple[OutcomeDifference, ...]
    values: tuple[ValueDifference, ...]
    adjusted_for: tuple[str, ...]
    left_out: float | None


def side(text: str, base: Filters, now: datetime) -> Filters:
    """Read one side: ``model=gpt-5``, several with commas between them, or a window ``7d..3d``; on top of ``base``.

    Raises:
        SideError: for anything else.
    """
    found = base
    for part in text.split(","):
        name, equals, value = part.strip().partition("=")
        name = name.replace("-", "_")
        if equals and name in VALUES and value:
            found = with_value(found, name, value)
        elif (window := _WINDOW.fullmatch(part.strip())) is not None:
            since, until = (parse_time(window[key], now) if window[key] else None for key in ("since", "until"))
            found = replace(found, since=since, until=until)
        else:
            raise SideError(
                f"compare: got {text!r}, expected NAME=VALUE or SINCE..UNTIL, such as model=gpt-5 or 14d..7d; "
                f"names are {', '.join(VALUES)}"
            )
    return found


def with_value(filters: Filters, name: str, value: str) -> Filters:
    """The filters with one more value of one of `VALUES`."""
    kept: tuple[str, ...] = getattr(filters, name)
    values: dict[str, tuple[str, ...]] = {name: (*kept, value)}
    return replace(filters, **values)  # type: ignore[arg-type]  # the name is one of the value filters


def compare(warehouse: Warehouse, before: Filters, after: Filters, adjust: Sequence[str] = ()) -> Comparison:
    """Compare the turns of two filters, adjusted for the mix of some dimensions where any are named."""
    counts = [
        warehouse.sql(resource("compare/outcomes.sql"), {"by": list(adjust) or [EVERYTHING]}, one)
        for one in (before, after)
    ]
    rows = outcome_rows(_by_outcome(counts[0]), _by_outcome(counts[1]))
    strata = [_strata(count, adjust) for count in counts]
    adjusted = {row.outcome: _adjusted(strata, row.outcome) for row in rows} if adjust else {}
    return Comparison(
        int(counts[0]["turns"].sum()),
        int(counts[1]["turns"].sum()),
        tuple(OutcomeDifference(row, adjusted[row.outcome][0] if adjust else None) for row in rows),
        _values(warehouse, before, after),
        tuple(adjust),
        max((left_out for _, left_out in adjusted.values()), default=None),
    )


def _by_outcome(counts: pl.DataFrame) -> dict[str, int]:
    totals = counts.group_by("outcome").agg(pl.col("turns").sum())
    return {str(outcome): int(turns) for outcome, turns in totals.iter_rows()}


Counted = Mapping[Stratum, Mapping[str, int]]


def _strata(counts: pl.DataFrame, adjust: Sequence[str]) -> Counted:
    found: dict[Stratum, dict[str, int]] = {}
    for row in counts.iter_rows(named=True):
        key = tuple(None if row[name] is None else str(row[name]) for name in adjust)
        found.setdefault(key, {})[row["outcome"]] = int(row["turns"])
    return found


def _adjusted(strata: Sequence[Counted], outcome: str) -> tuple[Difference, float]:
    arms: list[dict[Stratum, Arm]] = [
        {key: Arm(found.get(outcome, 0), sum(found.values())) for key, found in one.items()} for one in strata
    ]
    result = standardised(arms[0], arms[1])
    return result.difference, result.left_out


def _values(warehouse: Warehouse, before: Filters, after: Filters) -> tuple[ValueDifference, ...]:
    sides = [_histograms(warehouse, one) for one in (before, after)]
    return tuple(_value(measure, sides[0][measure], sides[1][measure]) for measure in MEASURES)


def _histograms(warehouse: Warehouse, filters: Filters) -> dict[str, Histogram]:
    rows = warehouse.sql(resource("compare/values.sql"), None, filters)
    counted = rows.group_by("measure", "amount").len("turns").sort("amount")
    parts = {measure: counted.filter(pl.col("measure") == measure) for measure in MEASURES}
    return {
        measure: Histogram(part["amount"].to_numpy(), part["turns"].cast(pl.Int64).to_numpy())
        for measure, part in parts.items()
    }


def _value(measure: str, before: Histogram, after: Histogram) -> ValueDifference:
    return ValueDifference(
        measure,
        before.total,
        after.total,
        tuple(quantile(before, share) for share in QUANTILES),
        tuple(quantile(after, share) for share in QUANTILES),
        shift(after, before),
    )
