"""What every chart is made of: colours, the frame that it fills, axes and stacked rectangles."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, TypeAlias

import altair as alt
import polars as pl

from turnout.outcomes.verdict import Outcome

COLOURS: Final[Mapping[Outcome, str]] = {
    Outcome.ERROR: "#c30f0f",
    Outcome.BUDGET: "#f06900",
    Outcome.LENGTH: "#3c96ff",
    Outcome.CONTEXT_OVERFLOW: "#872dff",
    Outcome.REFUSED: "#a53c96",
    Outcome.INTERRUPTED: "#b4875a",
    Outcome.COMPLETED: "#2f9e73",
    Outcome.YIELDED: "#5c9aa0",
    Outcome.STOPPED: "#6b7f99",
    Outcome.UNKNOWN: "#808080",
}
"""One colour an outcome, everywhere; stacks follow this order from the bottom up."""

STRONG: Final = "#f06900"
"""What a chart is about."""

PALE: Final = "#8a8f98"
"""What that is compared with."""

SERIES: Final = ("#3a7bd0", "#b0631c", "#0f8f85", "#c04aa0", "#7f8317", "#7a72c8")
"""What is no outcome (agents, models, categories), the largest first; also told apart by order."""

ROW: Final = 36
"""Height in pixels of one row of a bar or interval chart."""

DENSE: Final = 26
"""The same where each row has one mark and one line of words."""

Part: TypeAlias = tuple[str, str]
"""A named part of a whole and its colour."""

Window: TypeAlias = tuple[datetime, datetime]
"""Two instants, the earlier first."""

_A_DAY: Final = timedelta(days=2)


def stacked_rects(
    frame: pl.DataFrame, parts: Sequence[Part], *, by: str, amount: str = "turns", mark_height: int | None = None
) -> alt.Chart:
    """Rectangles from ``below`` to ``above``, stacked within ``by`` in the order of the parts."""
    names = [name for name, _ in parts]
    above = pl.col(amount).cum_sum().over(by)
    placed = (
        frame.filter(pl.col("part").is_in(names))
        .with_columns(rank=pl.col("part").replace_strict(names, range(len(names)), return_dtype=pl.Int64))
        .sort(by, "rank", maintain_order=True)
        .with_columns(above=above)
        .with_columns(below=pl.col("above") - pl.col(amount))
    )
    colour = alt.Color("part:N", scale=coloured(parts), legend=squares())
    upright, lying = alt.Chart(placed).mark_rect(), alt.Chart(placed).mark_bar(size=mark_height or ROW)
    chart: alt.Chart = upright.encode(y2="above:Q") if mark_height is None else lying
    filled: alt.Chart = chart.encode(color=colour)
    return filled


def filling(
    layers: Sequence[alt.Chart], height: int, *, own_axes: bool = False, own_x_axes: bool = False
) -> alt.LayerChart:
    """The layers as one chart with a plot of the given height; with ``own_axes`` each may have a vertical axis of its own."""
    chart = alt.layer(*layers)
    chart = chart.resolve_axis(y="independent") if own_axes else chart
    chart = chart.resolve_axis(x="independent") if own_x_axes else chart
    # The height of the plot alone: with "fit" a legend or an axis would be taken out of it.
    fit = alt.AutoSizeParams(type="fit-x", contains="padding")
    chart = chart.properties(width="container", height=height, autosize=fit)
    assert isinstance(chart, alt.LayerChart)
    return chart


def rule_at(place: datetime | float | None, kind: str = "T") -> list[alt.Chart]:
    """A dashed upright line, or nothing; ``kind`` is that of the axis, ``T`` for instants and ``Q`` for amounts."""
    if place is None:
        return []
    line = alt.Chart(pl.DataFrame({"boundary": [place]})).mark_rule(color=PALE, strokeDash=[5, 4], size=2)
    return [line.encode(x=f"boundary:{kind}")]


def when(column: str) -> pl.Expr:
    """An instant in words, for what is said on hovering."""
    return pl.col(column).dt.strftime("%d %b %H:%M")


def time_axis(column: str, frame: pl.DataFrame, window: Window | None = None) -> alt.X:
    """Instants from left to right in UTC, over a window or as far as the frame reaches."""
    first, last = window or (frame[column].min(), frame[column].max())
    days = isinstance(first, datetime) and isinstance(last, datetime) and last - first > _A_DAY
    axis = alt.Axis(
        format="%d %b" if days else "%H:%M",
        tickCount=8,
        labelOverlap=True,
        grid=False,
        labelFlush=True,
        labelPadding=6,
    )
    spans = alt.Undefined if window is None else [moment.isoformat() for moment in window]
    return alt.X(f"{column}:T", title=None, axis=axis, scale=alt.Scale(type="utc", domain=spans, clamp=True))


def count_axis(ticks: int = 4) -> alt.Axis:
    """Whole numbers."""
    # One extent for every chart over time, so that charts under one another share their left edge.
    return alt.Axis(tickMinStep=1, format="d", tickCount=ticks, minExtent=40, maxExtent=40)


def percent_axis(ticks: int = 5) -> alt.Axis:
    """Shares from the bottom up."""
    return alt.Axis(format=".2~%", tickCount=ticks, minExtent=40)


def squares() -> alt.Legend:
    """The legend of areas."""
    return alt.Legend(orient="top", title=None, columns=6, labelLimit=200, symbolType="square", symbolStrokeWidth=0)


def strokes() -> alt.Legend:
    """The legend of lines."""
    return alt.Legend(orient="top", title=None, columns=6, labelLimit=320, symbolType="stroke", symbolStrokeWidth=3)


def coloured(parts: Sequence[Part]) -> alt.Scale:
    """A colour for each named part."""
    return alt.Scale(domain=[name for name, _ in parts], range=[colour for _, colour in parts])
