"""Rows of shares: a dot with its interval, or a bar split into parts, with every figure in words beside it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt
import polars as pl

from turnout.pipeline.charts.parts import DENSE, PALE, ROW, STRONG, Part, filling, rule_at, stacked_rects
from turnout.pipeline.wording import share, shortened

_LABELS: Final = 200
_FIGURES: Final = 330


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
            y=rows, x=rate, tooltip=share_tip("of")
        ),
    ]
    if compared:
        layers = [*_before(base, rows), *layers]
    return filling([*layers, *_row_axes(order, words)], max(1, len(order)) * ROW, own_axes=True)


def differences(frame: pl.DataFrame, words: Mapping[str, str | list[str]], *, title: str = "points") -> alt.LayerChart:
    """One row a label: a difference of shares with its 95 % interval around a line at zero, and words at the right, if any.

    Args:
        frame: ``label``, ``value``, ``low``, ``high`` (parts of one, drawn as percentage points), ``colour``, in the order to show.
        words: at the right, by label.
        title: of the axis.
    """
    order = frame["label"].to_list()
    known = frame.filter(pl.col("value").is_not_null()).with_columns(pl.col("value", "low", "high") * 100)
    base = alt.Chart(known)
    rows = alt.Y("label:N", sort=order, title=None, axis=None, scale=alt.Scale(domain=order))
    points = alt.X(
        "value:Q",
        title=title,
        axis=alt.Axis(
            labelExpr="datum.value ? format(datum.value, '+') : '0'", tickCount=5, grid=True, labelFlush=False
        ),
    )
    colour = alt.Color("colour:N", scale=None)
    tips = [
        alt.Tooltip("label:N", title="of"),
        alt.Tooltip("value:Q", format="+.1f", title="points"),
        alt.Tooltip("low:Q", format="+.1f", title="95 % from"),
        alt.Tooltip("high:Q", format="+.1f", title="95 % to"),
    ]
    layers = [
        *rule_at(0, "Q"),
        base.mark_rule(size=3).encode(y=rows, x=alt.X("low:Q"), x2="high:Q", color=colour),
        base.mark_point(filled=True, size=90, opacity=1).encode(y=rows, x=points, color=colour, tooltip=tips),
    ]
    return filling([*layers, *_row_axes(order, words)], max(1, len(order)) * DENSE, own_axes=True)


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
    bars = stacked_rects(scaled, parts, by="label", amount="share", mark_height=18).encode(
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
    return filling([bars, *_row_axes(order, words)], len(order) * ROW, own_axes=True)


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


def share_tip(title: str) -> list[alt.Tooltip]:
    """What is said of a share on hovering."""
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
        labelPadding=12,
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
        labelPadding=12,
        grid=False,
    )
    axes = (plain, right) if words else (plain,)
    empty = alt.Chart(pl.DataFrame({"label": list(order)})).mark_point(opacity=0, size=0)
    scale = alt.Scale(domain=list(order))
    return [empty.encode(y=alt.Y("label:N", sort=list(order), title=None, axis=axis, scale=scale)) for axis in axes]
