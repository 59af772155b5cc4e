"""What the compare page shows: two sides, their outcomes and what their turns spent."""

from collections.abc import Sequence
from typing import Final

import altair as alt
import polars as pl

from turnout.dashboards import markup
from turnout.dashboards.scope import Scope
from turnout.outcomes.verdict import Outcome
from turnout.pipeline import charts
from turnout.pipeline.analysis.compare import NOT_DECISIVE
from turnout.pipeline.analysis.intervals import Difference, Share
from turnout.pipeline.charts import COLOURS
from turnout.pipeline.comparisons import QUANTILES, Comparison, OutcomeDifference, ValueDifference, side, with_value
from turnout.pipeline.query import Filters
from turnout.pipeline.wording import NOTHING, count, difference, label, percent, span

WINDOW: Final = "window"
"""Two stretches of time in place of two values of a dimension."""

DIMENSIONS: Final = ("agent_version", "model", "agent", "provider", "service", "environment", "source")
"""What two sides can differ in, besides the time."""

TITLES: Final = {"agent_version": "version", **{name: name for name in (*DIMENSIONS[1:], WINDOW)}}
"""What they are called."""

WINDOWS: Final = ("7d..now", "14d..7d", "24h..now", "48h..24h", "1h..now", "2h..1h", "30d..now", "60d..30d")
"""Stretches of time that can be chosen without typing."""

METHOD: Final = (
    "Differences of shares have Newcombe's 95 % interval and Holm's correction over the outcomes. Not decisive: the interval holds zero, or "
    "several outcomes were looked at and one of them may differ so much by chance."
)
SHIFT: Final = (
    "The shift is Hodges and Lehmann's: the median of all differences between a turn of B and a turn of A. Quantiles: so many of the turns "
    "spend no more."
)
OUTCOME_COLUMNS: Final = (
    markup.Column("outcome", "Ended", "tight"),
    markup.Column("before", "A", "number"),
    markup.Column("after", "B", "number"),
    markup.Column("difference", "B less A", "number"),
    markup.Column("decision", "", "tight"),
    markup.Column("adjusted", "With the same mix", "number"),
)
VALUE_COLUMNS: Final = (
    markup.Column("measure", "A turn's", "tight"),
    markup.Column("side", "Side", "tight"),
    markup.Column("turns", "Turns", "number"),
    *(markup.Column(f"{share:g}", "median" if share == 0.5 else f"{100 * share:g} %", "number") for share in QUANTILES),  # noqa: PLR2004 - the half has a name
    markup.Column("shift", "Shift, B less A", "number"),
    markup.Column("decision", "", "tight"),
)
_WHOLE: Final = 100
"""From here on a number is shown without decimals."""

MEASURES: Final = {"steps": "steps", "tokens": "tokens", "cost_usd": "cost, $", "seconds": "seconds"}


def heading(found: Comparison, before: str, after: str) -> str:
    """The one sentence: which outcomes differ, or that none does."""
    decisive = [one.row for one in found.outcomes if one.row.decisive]
    if not found.before_turns or not found.after_turns:
        return "One side has no turns in this window"
    if not decisive:
        return f"No outcome differs decisively between {before} and {after}"
    largest = max(decisive, key=lambda row: abs(row.difference.value or 0.0))
    more = "more" if (largest.difference.value or 0.0) > 0 else "fewer"
    others = f", and {len(decisive) - 1} more outcomes differ" if len(decisive) > 1 else ""
    return f"B, {after}, has {more} turns that end as {label(largest.outcome)} than A{others}"


def beginning(dimension: str, values: Sequence[str]) -> tuple[str | None, str | None]:
    """The two sides to begin with: the week before and the last one, or the two values with the most turns."""
    if dimension == WINDOW:
        return WINDOWS[1], WINDOWS[0]
    return (values[1], values[0]) if len(values) > 1 else (None, None)


def sides(scope: Scope, dimension: str, a: str, b: str) -> tuple[Filters, Filters]:
    """The filters of both sides."""
    if dimension == WINDOW:
        return side(a, scope.filters, scope.now), side(b, scope.filters, scope.now)
    return with_value(scope.filters, dimension, a), with_value(scope.filters, dimension, b)


def sizes(found: Comparison, dimension: str, window: str) -> str:
    """How many turns each side rests on, and what adjusting left out."""
    where = "the window above plays no part" if dimension == WINDOW else f"both in the last {window}"
    text = f"A: {count(found.before_turns)} turns, B: {count(found.after_turns)} turns; {where}."
    if found.left_out:
        return (
            f"{text} {percent(found.left_out)} of them are of a mix that one side does not have, and are left out of the figures with the "
            "same mix."
        )
    return text


def outcome_rows(outcomes: Sequence[OutcomeDifference]) -> list[dict[str, markup.Cell]]:
    """A row an outcome that either side has."""
    return [
        {
            "outcome": markup.Marked(label(one.row.outcome), COLOURS[Outcome(one.row.outcome)]),
            "before": _share(one.row.before),
            "after": _share(one.row.after),
            "difference": difference(one.row.difference),
            "decision": _decision(decisive=one.row.decisive),
            "adjusted": "" if one.adjusted is None else difference(one.adjusted),
        }
        for one in outcomes
    ]


def outcome_chart(outcomes: Sequence[OutcomeDifference]) -> alt.LayerChart:
    """The differences, each in the colour of its outcome."""
    rows = [
        {
            "label": label(one.row.outcome),
            "value": one.row.difference.value,
            "low": one.row.difference.low,
            "high": one.row.difference.high,
            "colour": COLOURS[Outcome(one.row.outcome)],
        }
        for one in outcomes
    ]
    return charts.differences(pl.DataFrame(rows, schema=_DIFFERENCES), {}, title="points, B less A")


_DIFFERENCES: Final = {
    "label": pl.String(),
    "value": pl.Float64(),
    "low": pl.Float64(),
    "high": pl.Float64(),
    "colour": pl.String(),
}


def value_rows(values: Sequence[ValueDifference]) -> list[dict[str, markup.Cell]]:
    """Two rows a measure, A and B; the shift stands with B."""
    return [row for one in values for row in _value_rows(one)]


def _value_rows(one: ValueDifference) -> list[dict[str, markup.Cell]]:
    sides = (("A", one.before_n, one.before_quantiles), ("B", one.after_n, one.after_quantiles))
    first, second = (
        {
            "side": name,
            "turns": count(turns),
            **{f"{share:g}": _number(value) for share, value in zip(QUANTILES, values, strict=True)},
        }
        for name, turns, values in sides
    )
    decided = {"shift": _shift(one.shift), "decision": _decision(decisive=one.shift.decisive)}
    return [{"measure": MEASURES[one.measure], **first}, {**second, **decided}]


def _share(share: Share) -> str:
    return NOTHING if share.value is None else f"{percent(share.value)} ({span(share.low, share.high)})"


def _shift(found: Difference) -> str:
    if found.value is None:
        return NOTHING
    return (
        f"{_number(found.value, sign=True)} (95 %: {_number(found.low, sign=True)} to {_number(found.high, sign=True)})"
    )


def _decision(*, decisive: bool) -> str:
    return "decisive" if decisive else NOT_DECISIVE


def _number(value: float | None, *, sign: bool = False) -> str:
    if value is None:
        return NOTHING
    plus = "+" if sign else ""
    if abs(value) < _WHOLE:
        return f"{value:{plus}.3g}"
    return f"{value:{plus},.0f}".replace(",", "\N{THIN SPACE}")
