"""What changed: from which hour on an outcome has another rate, and in which model, version, tool, provider or environment that lies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from math import log
from typing import Final

import polars as pl

from turnout.outcomes.verdict import Outcome
from turnout.pipeline.analysis.changes import ChangePoint, Hour, Segment, change_points
from turnout.pipeline.analysis.compare import Arm, Contribution, contributions, ranked
from turnout.pipeline.analysis.intervals import Difference, newcombe, wilson
from turnout.pipeline.query.filters import Filters
from turnout.pipeline.query.metrics import run
from turnout.pipeline.query.warehouse import Warehouse

DIMENSIONS: Final = ("model", "agent_version", "tool", "provider", "environment", "agent", "service")
"""Where a change may lie; ``tool`` is the last one that a turn called, ``model`` and ``provider`` those of its last call."""

SMALLEST: Final = 1.1
"""A rate that changed by less than a tenth is no news, however many turns say so."""

_MIRROR: Final = str(Outcome.COMPLETED)


@dataclass(frozen=True, slots=True)
class Change:
    """One outcome that ends turns at another rate from ``at`` on.

    ``places`` hold more of the change than of the turns, ranked by how much more: a place with nearly all turns holds nearly all of any change.
    """

    outcome: str
    at: datetime
    before: Segment
    after: Segment
    ratio: float | None
    difference: Difference
    places: tuple[Contribution, ...]


def what_changed(
    warehouse: Warehouse,
    filters: Filters | None = None,
    since: datetime | None = None,
    by: Sequence[str] = DIMENSIONS,
) -> tuple[Change, ...]:
    """The changes of the rates of all outcomes, the largest first.

    Args:
        warehouse: where.
        filters: over which turns; the longer the window, the better is known what is usual.
        since: hold what came from this hour on against what came before; where nothing is said the hours are found in which a rate changed,
            against the usual rate of their hour of the week.
        by: of which dimensions.
    """
    hours = run(warehouse, "outcomes", filters, ("hour",))
    series = _series(hours)
    points = partial(_points, since=since, looked_at=len(series))
    found = [(outcome, point) for outcome, counted in series.items() for point in points(counted)]
    if not found:
        return ()
    parts = {name: run(warehouse, "outcomes", filters, ("hour", name)) for name in by}
    changes = [_change(outcome, point, parts) for outcome, point in found]
    return tuple(sorted(changes, key=lambda change: (-abs(change.difference.value or 0.0), change.at, change.outcome)))


def frame(changes: Sequence[Change], places: int = 5) -> pl.DataFrame:
    """A row for each change and each of the places that hold most of it."""
    rows = [_row(change, place) for change in changes for place in change.places[:places]]
    return pl.DataFrame(rows, schema=SCHEMA)


SCHEMA: Final = {
    "outcome": pl.String(),
    "at": pl.Datetime("us", "UTC"),
    "before": pl.Float64(),
    "after": pl.Float64(),
    "difference": pl.Float64(),
    "low": pl.Float64(),
    "high": pl.Float64(),
    "dimension": pl.String(),
    "value": pl.String(),
    "share": pl.Float64(),
    "value_before": pl.Float64(),
    "value_after": pl.Float64(),
    "turns_before": pl.Int64(),
    "turns_after": pl.Int64(),
}


def _row(change: Change, place: Contribution) -> dict[str, object]:
    return {
        "outcome": change.outcome,
        "at": change.at,
        "before": change.before.rate.value,
        "after": change.after.rate.value,
        "difference": change.difference.value,
        "low": change.difference.low,
        "high": change.difference.high,
        "dimension": place.dimension,
        "value": place.value,
        "share": place.share,
        "value_before": _rate(place.before),
        "value_after": _rate(place.after),
        "turns_before": place.before.total,
        "turns_after": place.after.total,
    }


def _rate(arm: Arm) -> float | None:
    return arm.count / arm.total if arm.total else None


def _series(rows: pl.DataFrame) -> Mapping[str, list[Hour]]:
    """The hours of every outcome but completion, which only mirrors the others; one that did not occur in an hour ended none of its turns."""
    turns = dict(rows.select("hour", "denominator").unique().sort("hour").iter_rows())
    return {
        str(outcome): [Hour(hour, total, ended.get(hour, 0)) for hour, total in turns.items()]
        for (outcome,), part in rows.filter(pl.col("outcome") != _MIRROR).group_by("outcome", maintain_order=True)
        for ended in [dict(part.select("hour", "numerator").iter_rows())]
    }


def _points(hours: Sequence[Hour], since: datetime | None, looked_at: int) -> list[ChangePoint]:
    points = change_points(hours, looked_at) if since is None else _split(hours, since)
    return [point for point in points if _matters(point)]


def _split(hours: Sequence[Hour], since: datetime) -> list[ChangePoint]:
    sides = [hour for hour in hours if hour.start < since], [hour for hour in hours if hour.start >= since]
    if not all(sides):
        return []
    before, after = (_segment(side) for side in sides)
    ratio = (after.rate.value or 0.0) / before.rate.value if before.rate.value else None
    return [ChangePoint(after.first, before, after, ratio)]


def _segment(hours: Sequence[Hour]) -> Segment:
    turns, ended = sum(hour.turns for hour in hours), sum(hour.ended for hour in hours)
    return Segment(hours[0].start, hours[-1].start, wilson(ended, turns), turns)


def _matters(point: ChangePoint) -> bool:
    large = not point.ratio or abs(log(point.ratio)) >= log(SMALLEST)
    return large and _difference(point).decisive


def _difference(point: ChangePoint) -> Difference:
    before, after = point.before, point.after
    counts = [round((part.rate.value or 0.0) * part.turns) for part in (after, before)]
    return newcombe(counts[0], after.turns, counts[1], before.turns)


def _change(outcome: str, point: ChangePoint, parts: Mapping[str, pl.DataFrame]) -> Change:
    places = [
        contributions(name, _arms(rows, name, outcome, point.before), _arms(rows, name, outcome, point.after))
        for name, rows in parts.items()
    ]
    told = [[place for place in found if len(found) > 1] for found in places]
    return Change(
        outcome,
        point.at,
        point.before,
        point.after,
        point.ratio,
        _difference(point),
        _more_than_its_part(ranked(told), point),
    )


def _more_than_its_part(places: Sequence[Contribution], point: ChangePoint) -> tuple[Contribution, ...]:
    """The places that hold more of the change than of the turns, first those that hold the most beyond that."""
    beyond = [((place.share or 0.0) - place.after.total / point.after.turns, place) for place in places]
    return tuple(place for more, place in sorted(beyond, key=lambda pair: -pair[0]) if more > 0)


def _arms(rows: pl.DataFrame, name: str, outcome: str, segment: Segment) -> dict[str | None, Arm]:
    """The turns of each value of a dimension in a stretch of hours, and how many ended so."""
    within = rows.filter(pl.col("hour").is_between(segment.first, segment.last))
    totals = within.select(name, "hour", "denominator").unique().group_by(name).agg(pl.col("denominator").sum())
    ended = within.filter(pl.col("outcome") == outcome).group_by(name).agg(pl.col("numerator").sum())
    counts = dict(ended.iter_rows())
    return {value: Arm(counts.get(value, 0), total) for value, total in totals.iter_rows()}
