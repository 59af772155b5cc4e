"""Charts over time: ends by reason, the traffic under them, and a share with its band."""

from collections.abc import Sequence
from datetime import datetime

import altair as alt
import polars as pl

from turnout.outcomes.verdict import ABNORMAL
from turnout.pipeline.charts.parts import (
    COLOURS,
    PALE,
    STRONG,
    Part,
    Window,
    count_axis,
    filling,
    percent_axis,
    rule_at,
    stacked_rects,
    time_axis,
    when,
)
from turnout.pipeline.charts.shares import share_tip
from turnout.pipeline.wording import LABELS


def ends_over_time(
    frame: pl.DataFrame, *, window: Window | None = None, boundary: datetime | None = None, height: int = 150
) -> alt.LayerChart:
    """Abnormal turns by reason over time, as stacked bars; a line marks where "now" begins.

    Args:
        frame: ``bucket`` and ``bucket_end`` (instants), ``outcome``, ``turns``.
        window: what the axis spans.
        boundary: the instant that parts now from before.
        height: of the plot in pixels.
    """
    present = set(frame["outcome"].to_list())
    parts = [(LABELS[each], COLOURS[each]) for each in COLOURS if each in ABNORMAL and each in present]
    names = {str(outcome): words for outcome, words in LABELS.items()}
    named = frame.with_columns(part=pl.col("outcome").replace(names))
    return parts_over_time(named, parts, title="abnormal", of="ended", window=window, boundary=boundary, height=height)


def parts_over_time(
    frame: pl.DataFrame,
    parts: Sequence[Part],
    *,
    title: str,
    of: str = "of",
    number: str = "d",
    window: Window | None = None,
    boundary: datetime | None = None,
    height: int = 150,
) -> alt.LayerChart:
    """Amounts over time split into parts, as stacked bars.

    Args:
        frame: ``bucket`` and ``bucket_end`` (instants), ``part``, ``turns`` (the amount).
        parts: from the bottom up; others are not drawn.
        title: of the amount.
        of: what a part is.
        number: the format of the amount.
        window: what the axis spans.
        boundary: the instant that parts now from before.
        height: of the plot in pixels.
    """
    axis = count_axis() if number == "d" else alt.Axis(format=number, tickCount=4, minExtent=40)
    bars = stacked_rects(frame.with_columns(when=when("bucket")), parts, by="bucket").encode(
        x=time_axis("bucket", frame, window or _spanned(frame)),
        x2="bucket_end:T",
        y=alt.Y("below:Q", title=title, axis=axis),
        tooltip=[
            alt.Tooltip("when:N", title="from (UTC)"),
            alt.Tooltip("part:N", title=of),
            alt.Tooltip("turns:Q", title=title, format=number),
        ],
    )
    return filling([bars, *rule_at(boundary)], height)


def turns_over_time(
    frame: pl.DataFrame, *, window: Window | None = None, boundary: datetime | None = None, height: int = 44
) -> alt.LayerChart:
    """All turns over time: the traffic under the abnormal ones, where a gap is silence.

    Args:
        frame: ``bucket``, ``bucket_end``, ``turns``.
        window: what the axis spans.
        boundary: the instant that parts now from before.
        height: of the plot in pixels.
    """
    bars = (
        alt.Chart(frame.with_columns(when=when("bucket"), zero=pl.lit(0)))
        .mark_rect(color=PALE)
        .encode(
            x=time_axis("bucket", frame, window),
            x2="bucket_end:T",
            y=alt.Y("zero:Q", title="all turns", axis=count_axis(2)),
            y2="turns:Q",
            tooltip=[alt.Tooltip("when:N", title="from (UTC)"), alt.Tooltip("turns:Q")],
        )
    )
    return filling([bars, *rule_at(boundary)], height)


def rate_over_time(frame: pl.DataFrame, *, colour: str = STRONG, title: str, height: int = 150) -> alt.LayerChart:
    """A share over time with its 95 % interval as a band.

    Args:
        frame: ``bucket``, ``numerator``, ``denominator``, ``rate``, ``low``, ``high``.
        colour: of the line.
        title: of the share.
        height: of the plot in pixels.
    """
    base = alt.Chart(frame.with_columns(label=when("bucket"))).encode(x=time_axis("bucket", frame))
    rate = alt.Y("rate:Q", title=title, axis=percent_axis(4), scale=alt.Scale(domainMin=0, nice=True))
    band = base.mark_area(color=colour, opacity=0.22).encode(y=alt.Y("low:Q"), y2="high:Q")
    line = base.mark_line(color=colour, strokeWidth=2, point=alt.OverlayMarkDef(color=colour, size=36)).encode(
        y=rate, tooltip=share_tip("from (UTC)")
    )
    return filling([band, line], height)


def _spanned(frame: pl.DataFrame) -> Window | None:
    """From the first bucket to the end of the last."""
    first, last = frame["bucket"].min(), frame["bucket_end"].max()
    return (first, last) if isinstance(first, datetime) and isinstance(last, datetime) else None
