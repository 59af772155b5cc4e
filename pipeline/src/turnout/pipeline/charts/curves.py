"""Curves of a budget: what other limits would have done, for all turns and by stratum."""

from collections.abc import Sequence
from typing import Final

import altair as alt
import polars as pl

from turnout.outcomes.verdict import Outcome
from turnout.pipeline.charts.parts import COLOURS, PALE, SERIES, STRONG, Part, coloured, filling, percent_axis, strokes
from turnout.pipeline.wording import NOT_RECORDED, count

FINISH: Final[Part] = ("would finish", COLOURS[Outcome.COMPLETED])
CUT: Final[Part] = ("would be cut", STRONG)
CHAINS: Final[Part] = ("would finish, continued turns as one", COLOURS[Outcome.YIELDED])

_ALL: Final = alt.Scale(domain=[0, 1])
_TOP: Final = len(SERIES)
_LAST: Final = 1.03


def budget_curve(
    frame: pl.DataFrame,
    *,
    title: str,
    limits: Sequence[float] = (),
    chains: pl.DataFrame | None = None,
    chosen: Sequence[float] = (),
    number: str = "~s",
    height: int = 260,
) -> alt.LayerChart:
    """What other budgets would have done: the share that finishes with its 95 % band, and the share that is cut.

    Past the last candidate that is estimable the plot is grey: nothing is drawn there but chains.

    Args:
        frame: ``candidate``, ``finished``, ``finished_low``, ``finished_high``, ``cut``; candidates that are not estimable are null.
        title: of the amount that the budget limits.
        limits: budgets in use, named on the upper axis.
        chains: ``candidate`` and ``finished`` of chains of continued turns taken as one, drawn apart as a dashed line.
        chosen: candidates to mark.
        number: the format of amounts.
        height: of the plot in pixels.
    """
    estimable = frame.filter(pl.col("finished").is_not_null())
    parts = [FINISH, CUT, *([] if chains is None else [CHAINS])]
    scale = coloured(parts)
    lines = estimable.unpivot(("finished", "cut"), index="candidate", variable_name="which", value_name="rate")
    named = lines.with_columns(part=pl.col("which").replace({"finished": FINISH[0], "cut": CUT[0]}))
    reach = _reach(estimable, chains, [*limits, *chosen])
    x, bare = _amount(title, number, reach), alt.X("candidate:Q", axis=None, scale=_spanning(reach))
    rate = alt.Y("rate:Q", title="of all turns", axis=percent_axis(), scale=_ALL)
    colour = alt.Color("part:N", scale=scale, legend=strokes())
    band = alt.Chart(estimable).mark_area(color=FINISH[1], opacity=0.22, interpolate="step-after")
    line = alt.Chart(named).mark_line(strokeWidth=2.5, interpolate="step-after")
    layers = [
        *_beyond(frame, bare, reach),
        band.encode(x=bare, y=alt.Y("finished_low:Q"), y2="finished_high:Q"),
        line.encode(x=x, y=rate, color=colour),
        *_chained(chains, bare, rate, colour),
        *_in_use(limits, number, reach),
        *_chosen(estimable.filter(pl.col("candidate").is_in(list(chosen))), bare),
        *_hovered(estimable, bare, title, number),
    ]
    return filling(layers, height, own_x_axes=True)


def curves(frame: pl.DataFrame, *, title: str, number: str = "~s", height: int = 200) -> alt.LayerChart:
    """One line a stratum: the share that finishes by each amount; the strata with the most turns, each with how many.

    Args:
        frame: ``stratum``, ``candidate``, ``finished``, ``turns``.
        title: of the amount.
        number: the format of amounts.
        height: of the plot in pixels.
    """
    sizes = frame.group_by("stratum").agg(pl.col("turns").max()).sort("turns", "stratum", descending=[True, False])
    names = {
        stratum: f"{stratum or NOT_RECORDED} · {count(turns)} turns" for stratum, turns in sizes.head(_TOP).iter_rows()
    }
    named = frame.filter(pl.col("stratum").is_in(list(names), nulls_equal=True)).with_columns(
        part=pl.col("stratum").replace_strict(names, return_dtype=pl.String)
    )
    scale = coloured(list(zip(names.values(), SERIES, strict=False)))
    line = alt.Chart(named).mark_line(strokeWidth=2, interpolate="step-after")
    drawn = line.encode(
        x=_amount(title, number, None),
        y=alt.Y("finished:Q", title="would finish", axis=percent_axis(), scale=_ALL),
        color=alt.Color("part:N", scale=scale, legend=strokes()),
        tooltip=[
            alt.Tooltip("part:N", title="of"),
            alt.Tooltip("candidate:Q", title=title, format=number),
            alt.Tooltip("finished:Q", title="would finish", format=".1%"),
        ],
    )
    return filling([drawn], height)


def _amount(title: str, number: str, domain: Sequence[float] | None) -> alt.X:
    axis = alt.Axis(grid=False, tickMinStep=1 if number in {"d", "~s"} else 0, tickCount=10, format=number)
    return alt.X("candidate:Q", title=title, axis=axis, scale=_spanning(domain))


def _spanning(domain: Sequence[float] | None) -> alt.Scale:
    return alt.Scale(nice=False, domain=alt.Undefined if domain is None else list(domain))


def _reach(estimable: pl.DataFrame, chains: pl.DataFrame | None, others: Sequence[float]) -> tuple[float, float] | None:
    """How far the axis goes: a little past everything that is drawn."""
    parts = [estimable["candidate"].to_list(), [] if chains is None else chains["candidate"].to_list(), others]
    every = [float(value) for part in parts for value in part]
    return (min(every), max(every) * _LAST) if every else None


def _beyond(frame: pl.DataFrame, x: alt.X, reach: tuple[float, float] | None) -> list[alt.Chart]:
    """Grey where no observed budget reaches."""
    last = frame.filter(pl.col("finished").is_not_null())["candidate"].max()
    if last is None or reach is None or not frame["finished"].null_count():
        return []
    box = alt.Chart(pl.DataFrame({"candidate": [last], "end": [reach[1]]})).mark_rect(color=PALE, opacity=0.13)
    return [box.encode(x=x, x2="end:Q")]


def _chained(chains: pl.DataFrame | None, x: alt.X, rate: alt.Y, colour: alt.Color) -> list[alt.Chart]:
    if chains is None or chains.is_empty():
        return []
    named = chains.rename({"finished": "rate"}).with_columns(part=pl.lit(CHAINS[0]))
    dashed = alt.Chart(named).mark_line(strokeWidth=2, strokeDash=[5, 3], interpolate="step-after")
    return [dashed.encode(x=x, y=rate, color=colour)]


def _in_use(limits: Sequence[float], number: str, reach: tuple[float, float] | None) -> list[alt.Chart]:
    """Dashed lines at the budgets in use; an axis above names them, because only axes take the colour of the theme."""
    if not limits:
        return []
    lines = alt.Chart(pl.DataFrame({"limit": [float(limit) for limit in limits]}))
    axis = alt.Axis(
        orient="top",
        values=[float(limit) for limit in limits],
        labelExpr=f"'limit ' + format(datum.value, '{number}')",
        labelOverlap=True,
        grid=False,
        ticks=False,
        domain=False,
        title=None,
    )
    x = alt.X("limit:Q", axis=axis, scale=_spanning(reach))
    return [lines.mark_rule(color=PALE, strokeDash=[5, 4], size=2).encode(x=x)]


def _chosen(rows: pl.DataFrame, x: alt.X) -> list[alt.Chart]:
    if rows.is_empty():
        return []
    base = alt.Chart(rows).encode(x=x)
    return [
        base.mark_point(filled=True, opacity=1, size=110, color=colour).encode(y=alt.Y(f"{name}:Q"))
        for name, colour in (("finished", FINISH[1]), ("cut", CUT[1]))
    ]


def _hovered(rows: pl.DataFrame, x: alt.X, title: str, number: str) -> list[alt.Chart]:
    """An upright line under the pointer, with the figures of the nearest candidate."""
    nearest = alt.selection_point(on="pointerover", nearest=True, fields=["candidate"], empty=False, clear="pointerout")
    tips = [
        alt.Tooltip("candidate:Q", title=title, format=number),
        alt.Tooltip("finished:Q", format=".1%", title="would finish"),
        alt.Tooltip("finished_low:Q", format=".1%", title="95 % from"),
        alt.Tooltip("finished_high:Q", format=".1%", title="95 % to"),
        alt.Tooltip("cut:Q", format=".1%", title="would be cut"),
    ]
    shown = alt.when(nearest).then(alt.value(0.8)).otherwise(alt.value(0.0))
    line = alt.Chart(rows).mark_rule(color=PALE, size=1.5).encode(x=x, opacity=shown, tooltip=tips)
    hovered: alt.Chart = line.add_params(nearest)
    return [hovered]
