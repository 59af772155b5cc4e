"""Frames of metrics -> frames that charts draw. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import polars as pl

from turnout.outcomes.verdict import ABNORMAL
from turnout.pipeline.analysis.compare import Arm
from turnout.pipeline.analysis.incident import Cell
from turnout.pipeline.analysis.intervals import wilson
from turnout.pipeline.wording import NOT_RECORDED, label

TOP: Final = 8
"""So many rows of a dimension are shown one by one; the rest together in one."""

NO_TOOL: Final = "no tool called"
"""The value of the dimension ``tool`` for turns that called none."""

_TWENTIETH: Final = 0.05
_OTHERS: Final = " others"
_STEP_BINS: Final = (1, 2, 3, 5, 9, 17, 33, 65)

Arms = dict[str | None, Arm]
"""Counts by the value of a dimension; ``None`` is not recorded."""

_SCHEMA: Final = pl.Schema(
    {
        "label": pl.String,
        "numerator": pl.Int64,
        "denominator": pl.Int64,
        "rate": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
    }
)


def arms(frame: pl.DataFrame, dimension: str) -> Arms:
    """Numerators and denominators by the value of a dimension."""
    rows = frame.select(dimension, "numerator", "denominator").iter_rows()
    return {_value(dimension, value): Arm(numerator, denominator) for value, numerator, denominator in rows}


def arm(frame: pl.DataFrame) -> Arm:
    """The one count of a metric that was not grouped."""
    return Arm(int(frame["numerator"].sum()), int(frame["denominator"].sum()))


def step_bins(found: Arms) -> Arms:
    """Steps in bins that double, so that a long tail stays readable."""
    binned: Arms = {}
    for value, counted in found.items():
        name = None if value is None else _step_bin(int(value))
        held = binned.get(name, Arm(0, 0))
        binned[name] = Arm(held.count + counted.count, held.total + counted.total)
    return dict(sorted(binned.items(), key=lambda item: _first_number(item[0])))


def named(found: Arms, name: Callable[[str], str]) -> Arms:
    """The same counts under other names."""
    return {None if value is None else name(value): counted for value, counted in found.items()}


def shares(found: Arms, *, ordered: bool = False) -> pl.DataFrame:
    """One row a value with its share and interval: the largest denominators first, few rows, not recorded last and apart.

    Args:
        found: counts by value.
        ordered: keep the order of the values, and every one of them.
    """
    chosen = _chosen(found, ordered=ordered, top=None if ordered else TOP)
    return pl.DataFrame([_row(name, counted) for name, counted in chosen], schema=_SCHEMA)


def compared(now: Arms, before: Arms, *, ordered: bool = False) -> pl.DataFrame:
    """As `shares`, with the figures of the window before beside them; what rose most comes first.

    Args:
        now: counts by value.
        before: counts by value of the window before.
        ordered: keep the order of the values.
    """
    both = {value: Arm(0, 0) for value in before} | now
    if not ordered:
        risen = sorted(cells("", now, before), key=lambda cell: (-cell.excess, -cell.now.total, cell.value or ""))
        both = {cell.value: cell.now for cell in risen}
    chosen = list(_chosen(both, ordered=True, top=None if ordered else TOP))
    rows = [_row(name, counted) | _before(name, chosen, before) for name, counted in chosen]
    earlier = {f"{name}_before": kind for name, kind in _SCHEMA.items() if name != "label"}
    return pl.DataFrame(rows, schema=dict(_SCHEMA) | earlier)


def cells(dimension: str, now: Arms, before: Arms) -> list[Cell]:
    """Both windows of every value of a dimension."""
    values = dict.fromkeys([*now, *before])
    nothing = Arm(0, 0)
    return [
        Cell(dimension=dimension, value=value, now=now.get(value, nothing), before=before.get(value, nothing))
        for value in values
    ]


def reasons(frame: pl.DataFrame) -> Arms:
    """Abnormal outcomes of all turns, from the metric of outcomes; one that did not occur counts zero."""
    total = max(frame["denominator"].to_list(), default=0)
    found = arms(frame, "outcome")
    return {str(outcome): Arm(found[outcome].count if outcome in found else 0, total) for outcome in sorted(ABNORMAL)}


def of_outcome(frame: pl.DataFrame, dimension: str, outcome: str) -> Arms:
    """One outcome of all turns, by the value of a dimension; values where it did not occur count zero."""
    totals = {
        _value(dimension, row[0]): int(row[1]) for row in frame.select(dimension, "denominator").unique().iter_rows()
    }
    found = arms(frame.filter(pl.col("outcome") == outcome), dimension)
    return {value: Arm(found[value].count if value in found else 0, total) for value, total in totals.items()}


def outcome_labels(found: Arms) -> Arms:
    """Outcomes under their plain words."""
    return named(found, label)


def only(frame: pl.DataFrame, column: str, value: object) -> pl.DataFrame:
    """The rows of one value, ``None`` for not recorded."""
    return frame.filter(pl.col(column).eq_missing(pl.lit(value)))


def paired(frame: pl.DataFrame, first: str, second: str, words: Callable[[str, str], str]) -> Arms:
    """Counts by two dimensions under one name."""
    rows = frame.select(first, second, "numerator", "denominator").iter_rows()
    return {words(_text(one) or NOT_RECORDED, _text(two) or NOT_RECORDED): Arm(n, of) for one, two, n, of in rows}


def parts(frame: pl.DataFrame, name: Mapping[str, str], other: str, *keys: str) -> pl.DataFrame:
    """Outcomes folded into a few parts of each whole: the keys, ``part``, ``turns``.

    Args:
        frame: a metric with the column ``outcome``.
        name: which part an outcome belongs to.
        other: the part of every other outcome.
        keys: the columns that make a whole.
    """
    folded = frame.with_columns(part=pl.col("outcome").replace_strict(name, default=other, return_dtype=pl.String))
    return folded.group_by(*keys, "part", maintain_order=True).agg(turns=pl.col("numerator").sum())


def limits(frame: pl.DataFrame, largest: int) -> list[int]:
    """The step limits with the most turns, so many at most, in ascending order."""
    known = frame.filter(pl.col("limit_steps").is_not_null()).group_by("limit_steps").agg(pl.col("numerator").sum())
    chosen = known.sort("numerator", "limit_steps", descending=[True, False]).head(largest)["limit_steps"].to_list()
    return sorted(int(limit) for limit in chosen)


def bins(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """Whole numbers as bins of one around them."""
    return frame.with_columns(low=pl.col(column) - 0.5, high=pl.col(column) + 0.5)


def used_bins(frame: pl.DataFrame, at_cap: str, below: str) -> pl.DataFrame:
    """Twentieths of a cap as bins; what used it all stands past the end."""
    whole = pl.col("used_from") >= 1
    binned = frame.with_columns(
        low=pl.col("used_from"),
        high=pl.col("used_from") + _TWENTIETH,
        part=pl.when(whole).then(pl.lit(at_cap)).otherwise(pl.lit(below)),
    )
    return binned.group_by("low", "high", "part").agg(turns=pl.col("numerator").sum()).sort("low")


def over_time(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """A metric by day or hour with its instants as ``bucket``."""
    return frame.with_columns(bucket=pl.col(column).cast(pl.Datetime("us")).dt.replace_time_zone("UTC"))


def bucketed(frame: pl.DataFrame, column: str, part: str, missing: str = NOT_RECORDED) -> pl.DataFrame:
    """A metric by day or hour and one more column, as stacked bars draw it: ``bucket``, ``bucket_end``, ``part``, ``turns``."""
    length = pl.duration(days=1) if column == "day" else pl.duration(hours=1)
    return over_time(frame, column).select(
        "bucket",
        bucket_end=pl.col("bucket") + length,
        part=pl.col(part).cast(pl.String).fill_null(missing),
        turns=pl.col("numerator"),
    )


def largest(frame: pl.DataFrame, top: int) -> list[str]:
    """The parts with the most turns, the largest first; not recorded last."""
    sums = frame.group_by("part").agg(pl.col("turns").sum()).sort("turns", "part", descending=[True, False])
    names = [str(name) for name in sums["part"].to_list()]
    return [*[name for name in names if name != NOT_RECORDED][:top], *[name for name in names if name == NOT_RECORDED]]


def _chosen(found: Arms, *, ordered: bool, top: int | None = TOP) -> Iterable[tuple[str, Arm]]:
    recorded = [(value, counted) for value, counted in found.items() if value is not None]
    if not ordered:
        recorded.sort(key=lambda item: (-item[1].total, -item[1].count, item[0]))
    cut = len(recorded) if top is None or len(recorded) <= top + 1 else top
    yield from recorded[:cut]
    if recorded[cut:]:
        yield f"{len(recorded) - cut}{_OTHERS}", _sum(counted for _, counted in recorded[cut:])
    if None in found:
        yield NOT_RECORDED, found[None]


def _before(name: str, chosen: Sequence[tuple[str, Arm]], before: Arms) -> dict[str, object]:
    shown = {value for value, _ in chosen}
    if name == NOT_RECORDED:
        counted = before.get(None, Arm(0, 0))
    elif name.endswith(_OTHERS):
        counted = _sum(found for value, found in before.items() if value is not None and value not in shown)
    else:
        counted = before.get(name, Arm(0, 0))
    return {f"{column}_before": value for column, value in _row(name, counted).items() if column != "label"}


def _row(name: str, counted: Arm) -> dict[str, object]:
    found = wilson(counted.count, counted.total)
    return {
        "label": name,
        "numerator": counted.count,
        "denominator": counted.total,
        "rate": found.value,
        "low": found.low,
        "high": found.high,
    }


def _sum(found: Iterable[Arm]) -> Arm:
    counted = list(found)
    return Arm(sum(each.count for each in counted), sum(each.total for each in counted))


def _step_bin(step: int) -> str:
    first = max(low for low in _STEP_BINS if low <= max(1, step))
    following = next((low for low in _STEP_BINS if low > first), None)
    if following is None:
        return f"step {first} or later"
    return f"step {first}" if following == first + 1 else f"steps {first} to {following - 1}"


def _first_number(name: str | None) -> int:
    return 1_000_000 if name is None else int(name.split()[1])


def _value(dimension: str, value: object) -> str | None:
    """A turn without a tool called none, which is no gap in the record."""
    return NO_TOOL if value is None and dimension == "tool" else _text(value)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
