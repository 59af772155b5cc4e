"""What turns spend on their way to a limit: sums from SQL, means a piece of the limited amount.

By steps they come from cubes and hold every step. For other limits the steps of a turn must be gone through one by one; of very many turns
a part is looked at, which moves a mean by a small part of a percent.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from turnout.pipeline.analysis.budget import Limit, Progress
from turnout.pipeline.analysis.survival import EndCounts, Floats
from turnout.pipeline.query.engine import resource
from turnout.pipeline.query.filters import Clock, Filters
from turnout.pipeline.query.warehouse import Warehouse

MOST_TURNS: Final = 200_000
"""About so many turns are gone through step by step."""

Pieces: TypeAlias = NDArray[np.int64]

_FINEST_GRID: Final = 400
_PIECES: Final = 40
_IN_CUBES: Final = frozenset({"since", "until", "environment", "agent", "attended", "outcome"})
_AMOUNTS: Final = ("tokens", "cost_usd", "seconds")


def spent_on_the_way(
    warehouse: Warehouse,
    limit: Limit,
    counted: Callable[[Warehouse], EndCounts],
    wanted: Sequence[float],
    filters: Filters | None,
) -> Progress:
    """The means of steps, tokens, cost and time between the candidates, over the turns that had not ended before.

    Args:
        warehouse: where.
        limit: of which kind.
        counted: counts how turns ended, by what they had spent of it.
        wanted: the candidates.
        filters: over which turns.
    """
    asked = filters or Filters()
    if limit is Limit.STEPS and {name for name, _ in asked} <= _IN_CUBES and asked.clock is Clock.STARTED:
        return _by_step(warehouse, counted(warehouse), filters)
    part = warehouse.part(MOST_TURNS, filters)
    counts = counted(part)
    edges = _edges(limit, counts, wanted)
    starts = np.concatenate([[0.0], edges[:-1]])
    parameters = {"limit": str(limit), "edges": edges.tolist()}
    rows = part.sql(resource("budget/progress.sql"), parameters, filters).filter(pl.col("piece") < len(edges))
    reached = np.array([_still_going(counts, start) for start in starts], dtype=np.float64)
    pieces = rows["piece"].to_numpy()
    steps = _placed(rows["steps"], pieces, len(edges))
    return Progress(
        starts,
        edges,
        _a_turn(steps, reached),
        *(_a_turn(means * steps, reached) for means in _means(rows, pieces, steps)),
    )


def _by_step(warehouse: Warehouse, counts: EndCounts, filters: Filters | None) -> Progress:
    """Every turn that reaches a step takes it: a piece is a step, its means are those of all steps at that place."""
    columns = ("position", *_AMOUNTS, *(f"{name}_known" for name in _AMOUNTS))
    statement = resource("budget/step_progress.sql")
    rows = warehouse.counted(statement, {}, filters, view="counted_progress", columns=columns)
    last = int(counts.times[-1]) if len(counts.times) else 0
    rows = rows.filter(pl.col("position") <= last)
    pieces = rows["position"].to_numpy() - 1
    stops = np.arange(1.0, last + 1)
    taken = np.ones(last)
    return Progress(stops - 1, stops, taken, *_means(rows, pieces, taken))


def _means(rows: pl.DataFrame, pieces: Pieces, taken: Floats) -> list[Floats]:
    """The mean of each amount over the steps of a piece that say it; NaN where steps were taken and none does."""
    found: list[Floats] = []
    for amount in _AMOUNTS:
        sums = _placed(rows[amount].fill_null(0.0), pieces, len(taken))
        known = _placed(rows[f"steps_with_{amount.removesuffix('_usd')}"], pieces, len(taken))
        means = np.divide(sums, known, out=np.zeros(len(taken)), where=known > 0)
        means[(taken > 0) & (known == 0)] = np.nan
        found.append(means)
    return found


def _placed(values: pl.Series, pieces: Pieces, size: int) -> Floats:
    found = np.zeros(size)
    found[pieces] = values.to_numpy()
    return found


def _edges(limit: Limit, counts: EndCounts, wanted: Sequence[float]) -> Floats:
    """Where the pieces end: every whole number for what is counted in whole numbers, else quantiles and the candidates themselves."""
    last = float(counts.times[-1]) if len(counts.times) else 0.0
    whole = limit in {Limit.STEPS, Limit.TOOL_CALLS} and last <= _FINEST_GRID
    inner = np.arange(1.0, last + 1) if whole or not last else np.quantile(counts.times, np.linspace(0, 1, _PIECES)[1:])
    return np.unique(np.concatenate([inner, np.asarray([value for value in wanted if value > 0], dtype=np.float64)]))


def _still_going(counts: EndCounts, start: float) -> int:
    """How many turns spent more than ``start``; at 0 all turns, those that spent nothing too."""
    if start <= 0:
        return int(counts.ends.sum() + counts.cut.sum())
    place = int(np.searchsorted(counts.times, start, side="right"))
    return int(counts.at_risk[place]) if place < len(counts.times) else 0


def _a_turn(sums: Floats, turns: Floats) -> Floats:
    return np.divide(sums, turns, out=np.zeros(len(sums)), where=turns > 0)
