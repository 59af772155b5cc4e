"""Histograms: how many turns or calls spent how much, by how they ended."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from turnout.pipeline.charts.parts import Part, count_axis, filling, rule_at, stacked_rects


def amounts(
    frame: pl.DataFrame,
    parts: Sequence[Part],
    *,
    title: str,
    limit: float | None = None,
    counted: str = "turns",
    number: str = "d",
    height: int = 150,
) -> alt.LayerChart:
    """How many turns (or steps) spent how much, by how they ended; a dashed line marks the limit.

    Args:
        frame: ``low`` and ``high`` (bounds of a bin), ``part``, ``turns``.
        parts: from the bottom up.
        title: of the amount.
        limit: where the limit stands.
        counted: what is counted.
        number: the format of the amount.
        height: of the plot in pixels.
    """
    bars = stacked_rects(frame, parts, by="low").encode(
        x=alt.X("low:Q", title=title, axis=alt.Axis(grid=False, tickMinStep=0 if "%" in number else 1, format=number)),
        x2="high:Q",
        y=alt.Y("below:Q", title=counted, axis=count_axis()),
        tooltip=[
            alt.Tooltip("low:Q", title="from", format=number),
            alt.Tooltip("high:Q", title="to", format=number),
            alt.Tooltip("part:N", title="ended"),
            alt.Tooltip("turns:Q", title=counted),
        ],
    )
    return filling([bars, *rule_at(limit, "Q")], height)
