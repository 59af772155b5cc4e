"""What another budget would have done, asked of a lake: counts from SQL, curves from `turnout.pipeline.analysis.budget`."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np
import polars as pl

from turnout.outcomes.verdict import BudgetKind, Outcome
from turnout.pipeline.analysis.budget import ENDS, Candidate, End, Limit, candidates, largest_estimable
from turnout.pipeline.analysis.survival import Counts, EndCounts, Incidence, incidence
from turnout.pipeline.budget_progress import spent_on_the_way
from turnout.pipeline.query.engine import resource
from turnout.pipeline.query.filters import Filters
from turnout.pipeline.query.warehouse import Warehouse

_KINDS: Final[Mapping[Limit, str]] = {
    Limit.STEPS: str(BudgetKind.STEPS),
    Limit.TOOL_CALLS: str(BudgetKind.TOOL_CALLS),
    Limit.STEP_OUTPUT_TOKENS: str(Outcome.LENGTH),
    Limit.TOTAL_TOKENS: str(BudgetKind.TOKENS),
    Limit.SECONDS: str(BudgetKind.TIME),
    Limit.COST_USD: str(BudgetKind.COST),
}
_STEPS_OFFERED: Final = (1, 2, 3, 5, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500)
_STEP_COLUMNS: Final = ("steps_charged", "outcome", "budget_kind", "limit_steps")
_OUTPUT_COLUMNS: Final = ("step_output_tokens", "outcome", "step_cut", "step_output_cap")
_CHAIN_COLUMNS: Final = (
    "turn_id",
    "segment_of",
    "continues_turn_id",
    "outcome",
    "budget_kind",
    "step_cut",
    "steps_charged",
    "tool_calls",
    "step_output_tokens",
    "input_tokens",
    "output_tokens",
    "duration_s",
    "cost_usd",
)
_MANY_TURNS: Final = 100_000
"""From so many turns on amounts are rounded up to four significant digits, which moves no candidate that has so few."""

_DIGITS: Final = 4
_QUANTILES: Final = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)


@dataclass(frozen=True, slots=True)
class Ends:
    """The turns of one question, counted; ``left_out`` are those whose amount was not recorded."""

    limit: Limit
    counts: EndCounts
    largest_budget: float | None
    left_out: int

    @property
    def n(self) -> int:
        """How many turns there are."""
        return int(self.counts.ends.sum() + self.counts.cut.sum())

    @property
    def largest(self) -> float:
        """The largest candidate that the data speak of; infinite where nothing bounds it."""
        return largest_estimable(self.counts, self.largest_budget)

    def curve(self) -> Incidence:
        """The curves of all ends."""
        return incidence(self.counts)


def ends(warehouse: Warehouse, limit: Limit, filters: Filters | None = None) -> Ends:
    """Count how turns ended by what they had spent."""
    rows = _ended(warehouse, limit, filters)
    known = rows.filter(pl.col("spent").is_not_null())
    largest = known["largest_budget"].max()
    assert largest is None or isinstance(largest, float)
    return Ends(limit, _counts(known), largest, int(rows["turns"].sum()) - int(known["turns"].sum()))


def _ended(warehouse: Warehouse, limit: Limit, filters: Filters | None) -> pl.DataFrame:
    match limit:
        case Limit.STEPS:
            statement, columns = resource("budget/step_ends.sql"), _STEP_COLUMNS
            return warehouse.counted(statement, {}, filters, view="counted_turns", columns=columns)
        case Limit.STEP_OUTPUT_TOKENS:
            statement, columns = resource("budget/output_ends.sql"), _OUTPUT_COLUMNS
            parameters = {"digits": _digits(warehouse, filters)}
            return warehouse.counted(statement, parameters, filters, view="counted_turns", columns=columns)
        case _:
            return warehouse.sql(resource("budget/ends.sql"), _asked(warehouse, limit, filters), filters)


def _asked(warehouse: Warehouse, limit: Limit, filters: Filters | None) -> dict[str, object]:
    return {"limit": str(limit), "kind": _KINDS[limit], "digits": _digits(warehouse, filters)}


def _digits(warehouse: Warehouse, filters: Filters | None) -> int:
    return _DIGITS if warehouse.most_turns(filters) > _MANY_TURNS else 0


def _strata(warehouse: Warehouse, by: str, filters: Filters | None, limit: Limit) -> pl.DataFrame:
    if limit is Limit.STEPS:
        return warehouse.counted(
            resource("budget/strata.sql"), {"by": [by]}, filters, view="counted_turns", columns=(*_STEP_COLUMNS, by)
        )
    parameters = {**_asked(warehouse, limit, filters), "by": [by]}
    return warehouse.sql(resource("budget/strata_of_any.sql"), parameters, filters)


def chain_ends(warehouse: Warehouse, filters: Filters | None = None, limit: Limit = Limit.STEPS) -> Ends:
    """The same for chains of continued turns taken as one: they reach past the largest budget of a single turn.

    A chain begins with a turn that did not complete; turns that continue one which is not known are left out.
    """
    single = _ended(warehouse, limit, filters).filter(pl.col("spent").is_not_null())
    changes = warehouse.counted(
        resource("budget/chain_ends.sql"),
        _asked(warehouse, limit, filters),
        filters,
        view="counted_links",
        columns=_CHAIN_COLUMNS,
    )
    columns = ("spent", "ended", "turns")
    every = pl.concat([single.select(columns), changes.select(columns)])
    together = every.group_by("spent", "ended").agg(pl.col("turns").sum()).filter(pl.col("turns") > 0)
    return Ends(limit, _counts(together), None, 0)


def strata(
    warehouse: Warehouse, by: str, filters: Filters | None = None, limit: Limit = Limit.STEPS
) -> dict[str | None, dict[float, EndCounts]]:
    """Ends for each value of a dimension and each recorded limit; turns without a limit are left out."""
    rows = _strata(warehouse, by, filters, limit).filter(pl.col("recorded_limit").is_not_null())
    found: dict[str | None, dict[float, EndCounts]] = {}
    for (stratum, recorded), part in rows.group_by("stratum", "recorded_limit", maintain_order=True):
        name = None if stratum is None else str(stratum)
        found.setdefault(name, {})[float(str(recorded))] = _counts(part)
    return found


def stratum_curves(
    warehouse: Warehouse, by: str, filters: Filters | None = None, limit: Limit = Limit.STEPS
) -> pl.DataFrame:
    """The curve of each value of a dimension apart: ``stratum``, ``turns``, ``candidate``, ``finished``."""
    rows = _strata(warehouse, by, filters, limit)
    parts = [
        _points(incidence(_counts(part)), int(part["turns"].sum())).with_columns(
            stratum=pl.lit(stratum, dtype=pl.String)
        )
        for (stratum,), part in rows.group_by("stratum", maintain_order=True)
    ]
    return pl.concat(parts) if parts else pl.DataFrame(schema=_POINTS)


_POINTS: Final[dict[str, pl.DataType]] = {
    "candidate": pl.Float64(),
    "finished": pl.Float64(),
    "turns": pl.Int64(),
    "stratum": pl.String(),
}


def curve_points(counted: Ends) -> pl.DataFrame:
    """A curve as ``candidate``, ``finished``, ``turns``: the share that finishes by each amount that occurs."""
    return _points(counted.curve(), counted.n)


def _points(curve: Incidence, turns: int) -> pl.DataFrame:
    finished = curve.share[ENDS.index(End.FINISHED)]
    return pl.DataFrame({"candidate": curve.times, "finished": finished}).with_columns(
        turns=pl.lit(turns, dtype=pl.Int64)
    )


@dataclass(frozen=True, slots=True)
class Continued:
    """Turns that a budget cut, how many of them were continued, and how many of those then finished."""

    cut: int
    continued: int
    finished: int


def continued(warehouse: Warehouse, limit: Limit, filters: Filters | None = None) -> Continued:
    """What became of the turns that a limit cut."""
    columns = ("turn_id", "segment_of", "continues_turn_id", "outcome", "budget_kind")
    statement, parameters = resource("budget/continued.sql"), {"kind": _KINDS[limit]}
    row = warehouse.counted(statement, parameters, filters, view="counted_links", columns=columns).row(0)
    return Continued(*(int(value) for value in row))


def budget(
    warehouse: Warehouse, limit: Limit, values: Sequence[float] = (), filters: Filters | None = None
) -> tuple[Ends, tuple[Candidate, ...]]:
    """A row a candidate budget, and the counts behind it; candidates are offered where none are given."""
    counted = ends(warehouse, limit, filters)
    wanted = sorted(set(values)) or offered(counted)

    def counts_of(part: Warehouse) -> EndCounts:
        return counted.counts if part is warehouse else ends(part, limit, filters).counts

    progress = spent_on_the_way(warehouse, limit, counts_of, wanted, filters)
    return counted, candidates(counted.counts, progress, wanted, largest_budget=counted.largest_budget)


def frame(rows: Sequence[Candidate]) -> pl.DataFrame:
    """The rows as a frame, with the columns of `Candidate`."""
    schema = {name: _TYPES.get(name, pl.Float64()) for name in Candidate.__dataclass_fields__}
    return pl.DataFrame([asdict(row) for row in rows], schema=schema)


_TYPES: Final[dict[str, pl.DataType]] = {"n": pl.Int64(), "at_risk": pl.Int64(), "estimable": pl.Boolean()}


def offered(counted: Ends) -> list[float]:
    """Candidates to start with: round steps, or quantiles of what turns spent, up to the largest estimable."""
    if counted.n == 0:
        return []
    times = counted.counts.times
    last = float(times[-1])
    if counted.limit in {Limit.STEPS, Limit.TOOL_CALLS}:
        return [float(step) for step in _STEPS_OFFERED if step < last] + [last]
    leaving = np.cumsum(counted.counts.ends.sum(axis=0) + counted.counts.cut)
    places = [int(np.searchsorted(leaving, share * leaving[-1])) for share in _QUANTILES]
    return sorted({float(times[min(place, len(times) - 1)]) for place in places})


def _counts(known: pl.DataFrame) -> EndCounts:
    times, place = np.unique(known["spent"].to_numpy().astype(np.float64), return_inverse=True)
    turns = known["turns"].to_numpy()
    ended = known["ended"].to_numpy()

    def of(name: str) -> Counts:
        mine = ended == name
        return np.bincount(place[mine], weights=turns[mine], minlength=len(times)).astype(np.int64)

    found = np.array([of(str(end)) for end in ENDS]).reshape(len(ENDS), len(times))
    return EndCounts(times, found, of("cut"))
