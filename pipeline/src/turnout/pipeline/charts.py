"""Charts from frames, for pages and reports alike. Pure: a frame in, an Altair chart out.

Every colour has a contrast of at least 3 to 1 on white and on a dark background, and the colours of outcomes stay apart for every
common colour blindness. Text stands on axes and legends alone, because only those take the colour of the theme that a page is read in.
A chart fills the width that it is given; instants are shown in UTC.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

import altair as alt
import polars as pl

from turnout.outcomes.verdict import ABNORMAL, Outcome
from turnout.pipeline.wording import LABELS, NOT_RECORDED, share, shortened

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

ROW: Final = 36
"""Height in pixels of one row of a bar or interval chart."""

Part: TypeAlias = tuple[str, str]
"""A named part of a whole and its colour."""

Window: TypeAlias = tuple[datetime, datetime]
"""Two instants, the earlier first."""

_LABELS: Final = 200
_FIGURES: Final = 330
_A_DAY: Final = timedelta(days=2)


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
    named = frame.with_columns(part=pl.col("outcome").replace(names), when=_when("bucket"))
    bars = _stacked_rects(named, parts, by="bucket").encode(
        x=_time("bucket", frame, window),
        x2="bucket_end:T",
        y=alt.Y("below:Q", title="abnormal", axis=_count_axis()),
        tooltip=[
            alt.Tooltip("when:N", title="from (UTC)"),
            alt.Tooltip("part:N", title="ended"),
            alt.Tooltip("turns:Q"),
        ],
    )
    return _filling([bars, *_line(boundary)], height)


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
        alt.Chart(frame.with_columns(when=_when("bucket"), zero=pl.lit(0)))
        .mark_rect(color=PALE)
        .encode(
            x=_time("bucket", frame, window),
            x2="bucket_end:T",
            y=alt.Y("zero:Q", title="all turns", axis=_count_axis(2)),
            y2="turns:Q",
            tooltip=[alt.Tooltip("when:N", title="from (UTC)"), alt.Tooltip("turns:Q")],
        )
    )
    return _filling([bars, *_line(boundary)], height)


def rate_over_time(frame: pl.DataFrame, *, colour: str = STRONG, title: str, height: int = 150) -> alt.LayerChart:
    """A share over time with its 95 % interval as a band.

    Args:
        frame: ``bucket``, ``numerator``, ``denominator``, ``rate``, ``low``, ``high``.
        colour: of the line.
        title: of the share.
        height: of the plot in pixels.
    """
    base = alt.Chart(frame.with_columns(label=_when("bucket"))).encode(x=_time("bucket", frame))
    percents = alt.Axis(format=".2~%", tickCount=4, minExtent=40)
    rate = alt.Y("rate:Q", title=title, axis=percents, scale=alt.Scale(domainMin=0, nice=True))
    band = base.mark_area(color=colour, opacity=0.22).encode(y=alt.Y("low:Q"), y2="high:Q")
    line = base.mark_line(color=colour, strokeWidth=2, point=alt.OverlayMarkDef(color=colour, size=36)).encode(
        y=rate, tooltip=_share_tip("from (UTC)")
    )
    return _filling([band, line], height)


def budget_curve(
    frame: pl.DataFrame,
    *,
    title: str,
    limits: Sequence[float] = (),
    chains: pl.DataFrame | None = None,
    height: int = 220,
) -> alt.LayerChart:
    """What other budgets would have done: the share that finishes with its 95 % band, and the share that is cut.

    Args:
        frame: ``candidate``, ``finished``, ``finished_low``, ``finished_high``, ``cut``; candidates that are not estimable are null.
        title: of the amount that the budget limits.
        limits: budgets in use, marked by dashed lines.
        chains: ``candidate`` and ``finished`` of chains of continued turns taken as one, drawn apart as a dashed line.
        height: of the plot in pixels.
    """
    names = {"finished": ("would finish", COLOURS[Outcome.COMPLETED]), "cut": ("would be cut", STRONG)}
    lines = frame.unpivot(("finished", "cut"), index="candidate", variable_name="which", value_name="rate")
    lines = lines.with_columns(part=pl.col("which").replace({key: name for key, (name, _) in names.items()}))
    scale = alt.Scale(domain=[name for name, _ in names.values()], range=[colour for _, colour in names.values()])
    x = alt.X("candidate:Q", title=title, axis=alt.Axis(grid=False, tickMinStep=1), scale=alt.Scale(nice=False))
    percents = alt.Axis(format=".2~%", tickCount=5, minExtent=40)
    band = alt.Chart(frame).mark_area(color=names["finished"][1], opacity=0.22, interpolate="step-after")
    line = alt.Chart(lines).mark_line(strokeWidth=2.5, interpolate="step-after")
    rate = alt.Y("rate:Q", title="of all turns", axis=percents, scale=alt.Scale(domain=[0, 1]))
    tips = [
        alt.Tooltip("candidate:Q", title=title),
        alt.Tooltip("part:N", title=" "),
        alt.Tooltip("rate:Q", format=".1%", title="share"),
    ]
    legend = alt.Legend(orient="top", title=None, symbolType="stroke", symbolStrokeWidth=3, labelLimit=200)
    colour = alt.Color("part:N", scale=scale, legend=legend)
    return _filling(
        [
            band.encode(x=x, y=alt.Y("finished_low:Q"), y2="finished_high:Q"),
            line.encode(x=x, y=rate, color=colour, tooltip=tips),
            *_chained(chains, x, rate),
            *(mark for limit in limits for mark in _line(limit, "Q")),
        ],
        height,
    )


def _chained(chains: pl.DataFrame | None, x: alt.X, rate: alt.Y) -> list[alt.Chart]:
    if chains is None or chains.is_empty():
        return []
    dashed = alt.Chart(chains.rename({"finished": "rate"})).mark_line(
        color=COLOURS[Outcome.COMPLETED], strokeWidth=1.5, strokeDash=[5, 3], interpolate="step-after"
    )
    return [dashed.encode(x=x, y=rate, tooltip=[alt.Tooltip("candidate:Q"), alt.Tooltip("rate:Q", format=".1%")])]


def curves(frame: pl.DataFrame, *, title: str, height: int = 180) -> alt.LayerChart:
    """One line a stratum: the share that finishes by each amount.

    Args:
        frame: ``stratum``, ``candidate``, ``finished``.
        title: of the amount.
        height: of the plot in pixels.
    """
    named = frame.with_columns(pl.col("stratum").fill_null(NOT_RECORDED))
    order = list(dict.fromkeys(named["stratum"].to_list()))
    scale = alt.Scale(domain=order, range=[*COLOURS.values()][: len(order)])
    legend = alt.Legend(orient="top", title=None, symbolType="stroke", symbolStrokeWidth=3, labelLimit=200)
    percents = alt.Axis(format=".2~%", tickCount=5, minExtent=40)
    line = alt.Chart(named).mark_line(strokeWidth=2, interpolate="step-after")
    drawn = line.encode(
        x=alt.X("candidate:Q", title=title, axis=alt.Axis(grid=False, tickMinStep=1), scale=alt.Scale(nice=False)),
        y=alt.Y("finished:Q", title="would finish", axis=percents, scale=alt.Scale(domain=[0, 1])),
        color=alt.Color("stratum:N", scale=scale, legend=legend),
        tooltip=["stratum:N", "candidate:Q", alt.Tooltip("finished:Q", format=".1%")],
    )
    return _filling([drawn], height)


def shares(frame: pl.DataFrame, *, colour: str = STRONG) -> alt.LayerChart:
    """One row a label: the share as a dot, its 95 % interval as a line, and all its figures in words at the right.

    Args:
        frame: ``label``, ``numerator``, ``denominator``, ``rate``, ``low``, ``high``, in the order to show; and, to compare with an
            earlier window, the same figures with ``_before`` at the end of their names, which are drawn pale below.
        colour: of the dot and its line.
    """
    order = frame["label"].to_list()
    words = {row["label"]: _figures(row) for row in frame.iter_rows(named=True)}
    known = frame.filter(pl.col("rate").is_not_null())
    base = alt.Chart(known if known.height else frame)
    rows = alt.Y("label:N", sort=order, title=None, axis=None, scale=alt.Scale(domain=order))
    percents = alt.Axis(format=".2~%", tickCount=4, grid=True, labelFlush=False)
    rate = alt.X("rate:Q", title=None, axis=percents, scale=_share_scale(frame))
    compared = "rate_before" in frame.columns
    lift = -ROW * 0.2 if compared else 0
    layers = [
        base.mark_rule(size=3, color=colour, yOffset=lift).encode(y=rows, x=alt.X("low:Q"), x2="high:Q"),
        base.mark_point(filled=True, size=90, color=colour, opacity=1, yOffset=lift).encode(
            y=rows, x=rate, tooltip=_share_tip("of")
        ),
    ]
    if compared:
        layers = [*_before(base, rows), *layers]
    return _filling([*layers, *_row_axes(order, words)], max(1, len(order)) * ROW, own_axes=True)


def stacked(frame: pl.DataFrame, parts: Sequence[Part], words: Mapping[str, str]) -> alt.LayerChart:
    """One bar a label, split into the parts of its whole, with words at the right.

    Args:
        frame: ``label``, ``part``, ``turns``, labels in the order to show.
        parts: from left to right.
        words: at the right, by label.
    """
    order = list(dict.fromkeys(frame["label"].to_list()))
    whole = pl.col("turns").sum().over("label")
    scaled = frame.with_columns(share=pl.col("turns") / whole)
    bars = _stacked_rects(scaled, parts, by="label", amount="share", mark_height=18).encode(
        y=alt.Y("label:N", sort=order, title=None, axis=None, scale=alt.Scale(domain=order)),
        x=alt.X(
            "below:Q",
            title=None,
            axis=alt.Axis(format=".2~%", tickCount=4, labelFlush=False),
            scale=alt.Scale(domain=[0, 1]),
        ),
        x2="above:Q",
        tooltip=[
            alt.Tooltip("label:N", title="of"),
            alt.Tooltip("part:N", title="ended"),
            alt.Tooltip("turns:Q"),
            alt.Tooltip("share:Q", format=".1%"),
        ],
    )
    return _filling([bars, *_row_axes(order, words)], len(order) * ROW, own_axes=True)


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
    bars = _stacked_rects(frame, parts, by="low").encode(
        x=alt.X("low:Q", title=title, axis=alt.Axis(grid=False, tickMinStep=0 if "%" in number else 1, format=number)),
        x2="high:Q",
        y=alt.Y("below:Q", title=counted, axis=_count_axis()),
        tooltip=[
            alt.Tooltip("low:Q", title="from", format=number),
            alt.Tooltip("high:Q", title="to", format=number),
            alt.Tooltip("part:N", title="ended"),
            alt.Tooltip("turns:Q", title=counted),
        ],
    )
    return _filling([bars, *_line(limit, "Q")], height)


def _stacked_rects(
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
    scale = alt.Scale(domain=names, range=[colour for _, colour in parts])
    legend = alt.Legend(orient="top", title=None, columns=6, labelLimit=200, symbolType="square", symbolStrokeWidth=0)
    colour = alt.Color("part:N", scale=scale, legend=legend)
    upright, lying = alt.Chart(placed).mark_rect(), alt.Chart(placed).mark_bar(size=mark_height or ROW)
    chart: alt.Chart = upright.encode(y2="above:Q") if mark_height is None else lying
    coloured: alt.Chart = chart.encode(color=colour)
    return coloured


def _filling(layers: Sequence[alt.Chart], height: int, *, own_axes: bool = False) -> alt.LayerChart:
    """The layers as one chart with a plot of the given height; with ``own_axes`` each may have a vertical axis of its own."""
    chart = alt.layer(*layers)
    chart = chart.resolve_axis(y="independent") if own_axes else chart
    # The height of the plot alone: with "fit" a legend or an axis would be taken out of it.
    fit = alt.AutoSizeParams(type="fit-x", contains="padding")
    chart = chart.properties(width="container", height=height, autosize=fit)
    assert isinstance(chart, alt.LayerChart)
    return chart


def _line(place: datetime | float | None, kind: str = "T") -> list[alt.Chart]:
    if place is None:
        return []
    line = alt.Chart(pl.DataFrame({"boundary": [place]})).mark_rule(color=PALE, strokeDash=[5, 4], size=2)
    return [line.encode(x=f"boundary:{kind}")]


def _before(base: alt.Chart, rows: alt.Y) -> list[alt.Chart]:
    below = ROW * 0.2
    return [
        base.mark_rule(size=2, color=PALE, yOffset=below).encode(y=rows, x=alt.X("low_before:Q"), x2="high_before:Q"),
        base.mark_point(filled=False, size=40, color=PALE, opacity=1, yOffset=below).encode(
            y=rows, x=alt.X("rate_before:Q")
        ),
    ]


def _share_scale(frame: pl.DataFrame) -> alt.Scale:
    tops = [frame[name].max() for name in ("high", "high_before") if name in frame.columns]
    known = [float(top) for top in tops if isinstance(top, float)]
    return alt.Scale(domain=[0, min(1.0, max(known, default=1.0) * 1.04)], clamp=True, nice=False)


def _share_tip(title: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("label:N", title=title),
        alt.Tooltip("numerator:Q", title="counted"),
        alt.Tooltip("denominator:Q", title="of all"),
        alt.Tooltip("rate:Q", format=".1%", title="share"),
        alt.Tooltip("low:Q", format=".1%", title="95 % from"),
        alt.Tooltip("high:Q", format=".1%", title="95 % to"),
    ]


def _figures(row: Mapping[str, Any]) -> list[str]:
    now = share(row["numerator"], row["denominator"])
    if "denominator_before" not in row:
        return [now]
    return [now, f"before: {share(row['numerator_before'], row['denominator_before'])}"]


def _row_axes(order: Sequence[str], words: Mapping[str, str | list[str]]) -> list[alt.Chart]:
    """The labels at the left and words at the right, as axes of two layers that draw nothing."""
    shown = f"({json.dumps(dict(words), ensure_ascii=False)})[datum.value] || ''"
    short = f"({json.dumps({label: shortened(label) for label in order}, ensure_ascii=False)})[datum.value]"
    plain = alt.Axis(
        orient="left",
        labelExpr=short,
        labelLimit=_LABELS,
        labelOverlap=False,
        labelFlush=False,
        ticks=False,
        domain=False,
        labelPadding=8,
        grid=False,
    )
    right = alt.Axis(
        orient="right",
        labelExpr=shown,
        labelLimit=_FIGURES,
        labelOverlap=False,
        labelFlush=False,
        labelLineHeight=13,
        labelOffset=0 if all(isinstance(each, str) or len(each) == 1 for each in words.values()) else -6,
        ticks=False,
        domain=False,
        labelPadding=8,
        grid=False,
    )
    empty = alt.Chart(pl.DataFrame({"label": list(order)})).mark_point(opacity=0, size=0)
    scale = alt.Scale(domain=list(order))
    return [
        empty.encode(y=alt.Y("label:N", sort=list(order), title=None, axis=axis, scale=scale))
        for axis in (plain, right)
    ]


def _when(column: str) -> pl.Expr:
    return pl.col(column).dt.strftime("%d %b %H:%M")


def _time(column: str, frame: pl.DataFrame, window: Window | None = None) -> alt.X:
    first, last = window or (frame[column].min(), frame[column].max())
    days = isinstance(first, datetime) and isinstance(last, datetime) and last - first > _A_DAY
    axis = alt.Axis(
        format="%d %b" if days else "%H:%M",
        tickCount=8,
        labelOverlap=True,
        grid=False,
        labelFlush=False,
        labelPadding=6,
    )
    spans = alt.Undefined if window is None else [moment.isoformat() for moment in window]
    return alt.X(f"{column}:T", title=None, axis=axis, scale=alt.Scale(type="utc", domain=spans, clamp=True))


def _count_axis(ticks: int = 4) -> alt.Axis:
    # One extent for every chart over time, so that charts under one another share their left edge.
    return alt.Axis(tickMinStep=1, format="d", tickCount=ticks, minExtent=40, maxExtent=40)
