"""What another budget would have done, asked of a lake: counts from SQL, curves from `turnout.pipeline.analysis.budget`."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np
import polars as pl

from turnout.outcomes.verdict import BudgetKind
from turnout.pipeline.analysis.budget import ENDS, Candidate, End, Limit, Progress, candidates, largest_estimable
from turnout.pipeline.analysis.survival import EndCounts, Floats, Incidence, incidence
from turnout.pipeline.query.engine import resource
from turnout.pipeline.query.filters import Filters
from turnout.pipeline.query.warehouse import Warehouse

_KINDS: Final = {
    Limit.STEPS: BudgetKind.STEPS,
    Limit.TOOL_CALLS: BudgetKind.TOOL_CALLS,
    Limit.TOTAL_TOKENS: BudgetKind.TOKENS,
    Limit.SECONDS: BudgetKind.TIME,
    Limit.COST_USD: BudgetKind.COST,
}
_STEPS_OFFERED: Final = (1, 2, 3, 5, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500)
_STEP_COLUMNS: Final = ("steps_charged", "outcome", "budget_kind", "limit_steps")
_QUANTILES: Final = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
_FINEST_GRID: Final = 400


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
    if limit is Limit.STEPS:
        return warehouse.counted(
            resource("budget/step_ends.sql"), {}, filters, view="counted_turns", columns=_STEP_COLUMNS
        )
    parameters = {"limit": str(limit), "kind": str(_KINDS[limit])}
    return warehouse.sql(resource("budget/ends.sql"), parameters, filters)


def _strata(warehouse: Warehouse, by: str, filters: Filters | None) -> pl.DataFrame:
    return warehouse.counted(
        resource("budget/strata.sql"), {"by": [by]}, filters, view="counted_turns", columns=(*_STEP_COLUMNS, by)
    )


def chain_ends(warehouse: Warehouse, filters: Filters | None = None) -> Ends:
    """The same by steps for chains of continued turns taken as one: they reach past the largest budget of a single turn."""
    rows = warehouse.sql(resource("budget/chain_ends.sql"), None, filters)
    return Ends(Limit.STEPS, _counts(rows), None, 0)


def strata(warehouse: Warehouse, by: str, filters: Filters | None = None) -> dict[str | None, dict[float, EndCounts]]:
    """Ends by steps for each value of a dimension and each recorded step limit; turns without a limit are left out."""
    rows = _strata(warehouse, by, filters).filter(pl.col("limit_steps").is_not_null())
    found: dict[str | None, dict[float, EndCounts]] = {}
    for (stratum, limit), part in rows.group_by("stratum", "limit_steps", maintain_order=True):
        name = None if stratum is None else str(stratum)
        found.setdefault(name, {})[float(str(limit))] = _counts(part)
    return found


def stratum_curves(warehouse: Warehouse, by: str, filters: Filters | None = None) -> pl.DataFrame:
    """The curve of each value of a dimension apart: ``stratum``, ``turns``, ``candidate``, ``finished``."""
    rows = _strata(warehouse, by, filters)
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
    row = warehouse.sql(resource("budget/continued.sql"), {"kind": str(_KINDS[limit])}, filters).row(0)
    return Continued(*(int(value) for value in row))


def budget(
    warehouse: Warehouse, limit: Limit, values: Sequence[float] = (), filters: Filters | None = None
) -> tuple[Ends, tuple[Candidate, ...]]:
    """A row a candidate budget, and the counts behind it; candidates are offered where none are given."""
    counted = ends(warehouse, limit, filters)
    wanted = sorted(set(values)) or offered(counted)
    edges = _edges(counted, wanted)
    progress = _progress(warehouse, counted, edges, filters)
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
    times = np.unique(known["spent"].to_numpy().astype(np.float64))
    place = {time: number for number, time in enumerate(times.tolist())}
    rows = {str(end): number for number, end in enumerate(ENDS)}
    found = np.zeros((len(ENDS), len(times)), dtype=np.int64)
    cut = np.zeros(len(times), dtype=np.int64)
    for spent, ended, turns in known.select("spent", "ended", "turns").iter_rows():
        target = cut if ended == "cut" else found[rows[ended]]
        target[place[spent]] += turns
    return EndCounts(times, found, cut)


def _edges(counted: Ends, wanted: Sequence[float]) -> Floats:
    """Where the pieces end: every whole number for what is counted in whole numbers, else the candidates themselves."""
    last = float(counted.counts.times[-1]) if counted.n else 0.0
    whole = counted.limit in {Limit.STEPS, Limit.TOOL_CALLS} and last <= _FINEST_GRID
    inner = np.arange(1.0, last + 1) if whole else np.quantile(counted.counts.times, np.linspace(0, 1, 40)[1:])
    return np.unique(np.concatenate([inner, np.asarray([value for value in wanted if value > 0], dtype=np.float64)]))


def _progress(warehouse: Warehouse, counted: Ends, edges: Floats, filters: Filters | None) -> Progress:
    rows = warehouse.sql(
        resource("budget/progress.sql"), {"limit": str(counted.limit), "edges": edges.tolist()}, filters
    ).filter(pl.col("piece") < len(edges))
    starts = np.concatenate([[0.0], edges[:-1]])
    reached = np.array([_still_going(counted.counts, start) for start in starts], dtype=np.float64)
    pieces = rows["piece"].to_numpy()
    steps = np.zeros(len(edges))
    steps[pieces] = rows["steps"].to_numpy()

    def mean(amount: str) -> Floats:
        sums, known = np.zeros(len(edges)), np.zeros(len(edges))
        sums[pieces] = rows[amount].fill_null(0.0).to_numpy()
        known[pieces] = rows[f"steps_with_{amount.removesuffix('_usd')}"].to_numpy()
        scaled = np.divide(sums * steps, known, out=np.zeros(len(edges)), where=known > 0)
        scaled[(steps > 0) & (known == 0)] = np.nan
        return _a_turn(scaled, reached)

    return Progress(starts, edges, _a_turn(steps, reached), mean("tokens"), mean("cost_usd"), mean("seconds"))


def _still_going(counts: EndCounts, start: float) -> int:
    """How many turns spent more than ``start``; at 0 all turns, those that spent nothing too."""
    if start <= 0:
        return int(counts.ends.sum() + counts.cut.sum())
    place = int(np.searchsorted(counts.times, start, side="right"))
    return int(counts.at_risk[place]) if place < len(counts.times) else 0


def _a_turn(sums: Floats, turns: Floats) -> Floats:
    return np.divide(sums, turns, out=np.zeros(len(sums)), where=turns > 0)
