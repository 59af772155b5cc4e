"""What several pages draw: the headline, charts with their words, lists of turns, and the states without data."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Final

import altair as alt
import polars as pl
import streamlit as st

from turnout.dashboards import bar, board, data, frames, markup
from turnout.dashboards import changes as what_changed
from turnout.dashboards.rhythm import Rhythm
from turnout.dashboards.scope import Scope, address
from turnout.dashboards.words import Headline
from turnout.outcomes.verdict import Outcome
from turnout.pipeline import charts
from turnout.pipeline.analysis.incident import Cell
from turnout.pipeline.charts import COLOURS
from turnout.pipeline.errors import TurnoutError
from turnout.pipeline.query import metric
from turnout.pipeline.query.filters import VALUES, parse_time
from turnout.pipeline.wording import MEANINGS, NOT_RECORDED, count, duration, label

LATEST: Final = 15
"""So many turns are listed."""

CHANGES: Final = 6
"""So many changes are told."""

AT_ONCE: Final = 300_000
"""Up to so many turns a page reads every call of theirs without being asked."""

_HOURLY: Final = timedelta(days=2)

LIVE_SECONDS: Final = 5
"""So often a live page looks at the lake."""


@contextmanager
def guarded() -> Generator[None]:
    """Show a known error as its one sentence, in place of what could not be drawn."""
    try:
        yield
    except TurnoutError as error:
        st.error(str(error))


def sources(found: Sequence[Rhythm]) -> None:
    """When each source was last heard of; silence stands out."""
    st.html(
        markup.badges([("Last telemetry", "", False), *((each.source, each.words, each.unusual) for each in found)])
    )


def headline(found: Headline) -> None:
    """The first thing that is seen."""
    lines = [[line.text, *_narrowing(line.place)] for line in found.lines]
    st.html(markup.headline(found.title, lines, found.colour))


def chart(title: str, drawn: alt.LayerChart, words: str = "") -> None:
    """A chart under its title, with its definition in sight."""
    with st.container(gap="small"):
        st.markdown(f"##### {title}")
        if words:
            st.caption(words)
        st.altair_chart(drawn, width="stretch")


def nothing(title: str, words: str) -> None:
    """A sentence where a chart would be empty."""
    with st.container(gap="small"):
        st.markdown(f"##### {title}")
        st.info(words)


def listing(
    title: str,
    columns: Sequence[markup.Column],
    rows: Sequence[Mapping[str, markup.Cell]],
    words: str = "",
    empty: str = "None in this window.",
) -> None:
    """A table under its title, with its definition in sight; a sentence where it would be empty."""
    if not rows:
        nothing(title, empty)
        return
    with st.container(gap="small"):
        st.markdown(f"##### {title}")
        if words:
            st.caption(words)
        st.html(markup.table(columns, rows))


def by(name: str, scope: Scope, dimension: str) -> pl.DataFrame:
    """One metric as shares of a dimension."""
    return frames.shares(frames.arms(data.metric(name, scope.filters, (dimension,)), dimension))


def unit(scope: Scope) -> str:
    """What charts over time are counted by."""
    return "day" if scope.length > _HOURLY else "hour"


def days(name: str, scope: Scope, colour: str, title: str, counted: str = "turns", of: str = "") -> None:
    """One metric over time, by day or, in short windows, by hour, with how much each point rests on."""
    by_unit = unit(scope)
    heading = f"{of}by {by_unit}" if of else f"By {by_unit}"
    found = frames.over_time(data.metric(name, scope.filters, (by_unit,)), by_unit)
    if found.is_empty():
        nothing(heading, f"No {counted} in this window.")
        return
    least, most = min(found["denominator"].to_list()), max(found["denominator"].to_list())
    words = (
        f"Each point is one UTC {by_unit} of {count(least)} to {count(most)} {counted}; the band is its 95 % interval."
    )
    chart(heading, charts.rate_over_time(found, colour=colour, title=title), words)


def changes(scope: Scope) -> None:
    """What changed hour by hour, found by itself or from an hour that somebody names."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("##### What changed, hour by hour", width="content")
        named = st.text_input(
            "Since",
            key="changed_since",
            bind="query-params",
            placeholder="found by itself; or since 3h, 2026-01-05T10:00",
            label_visibility="collapsed",
            width=380,
        )
    since = parse_time(named, scope.now).replace(minute=0, second=0, microsecond=0) if named else None
    rows = what_changed.rows(board.changed(scope, since), scope.since + scope.length, bar.chosen())
    if not rows:
        st.info(what_changed.NONE)
        return
    st.html(markup.table(what_changed.COLUMNS, rows[:CHANGES]))
    st.caption(f"{what_changed.SINCE} {what_changed.MEANING}" if named else what_changed.MEANING)


def wanted(scope: Scope, key: str, what: str) -> bool:
    """Whether to read every call of the window: at once where there are few turns, else when somebody asks for it."""
    turns = frames.arm(data.metric("abnormal", scope.filters)).total
    if turns <= AT_ONCE:
        return True
    return st.toggle(
        f"{what}: read every call of these {count(turns)} turns, which takes a while", key=key, bind="query-params"
    )


def definitions(names: Sequence[str], *more: str) -> None:
    """What the figures of the page count, from the registry of metrics."""
    with st.expander("What is counted"):
        for name in names:
            found = metric(name)
            st.markdown(f"**{found.title}**: {found.definition}")
        for words in more:
            st.markdown(words)


def outcome_meanings() -> str:
    """Every way to end, in one list."""
    lines = [f"- **{label(outcome)}** (`{outcome}`): {MEANINGS[outcome]}" for outcome in COLOURS]
    return "\n".join(lines)


def turn_list(title: str, turns: pl.DataFrame, now: datetime, empty: str) -> None:
    """The latest turns; each opens its own page."""
    st.markdown(f"##### {title}")
    if turns.is_empty():
        st.info(empty)
        return
    columns = (
        markup.Column("ended", "Ended", "tight"),
        markup.Column("outcome", "How"),
        markup.Column("agent", "Agent"),
        markup.Column("model", "Model", "wide"),
        markup.Column("spent", "Steps", "number"),
        markup.Column("tool", "Last tool", "wide"),
        markup.Column("next", "Continue"),
    )
    st.html(markup.table(columns, [_turn_row(row, now) for row in turns.iter_rows(named=True)]))


def _narrowing(place: Cell | None) -> list[markup.Cell]:
    """A link to the same page over one place alone."""
    if place is None or place.dimension not in VALUES:
        return []
    value = NOT_RECORDED if place.value in {None, frames.NO_TOOL} else str(place.value)
    narrowed = {**bar.chosen(), place.dimension: [value]}
    return [markup.Link("Only these", address("", narrowed))]


def _turn_row(row: dict[str, object], now: datetime) -> dict[str, markup.Cell]:
    ended, outcome = row["over_at"], str(row["outcome"])
    assert isinstance(ended, datetime)
    started = row["started_at"]
    date = started.strftime("%Y-%m-%dT%H:%M") if isinstance(started, datetime) else str(row["date"])
    href = address("turn", bar.chosen(), turn=str(row["turn_id"]), date=date)
    return {
        "ended": markup.Link(f"{duration((now - ended).total_seconds())} ago", href),
        "outcome": markup.Marked(_how(row), COLOURS[Outcome(outcome)]),
        "agent": " ".join(str(part) for part in (row["agent"] or NOT_RECORDED, row["agent_version"]) if part),
        "model": str(row["model"] or NOT_RECORDED),
        "spent": _spent(row),
        "tool": str(row["last_tool"] or ""),
        "next": ("offered" if row["can_continue"] else "no") if row["abnormal"] else "",
    }


def _how(row: dict[str, object]) -> str:
    closer = row["budget_kind"] or row["cause"]
    words = label(str(row["outcome"]))
    return f"{words}: {str(closer).replace('_', ' ')}" if closer else words


def _spent(row: dict[str, object]) -> str:
    steps, limit = row["steps_charged"], row["limit_steps"]
    if steps is None:
        return NOT_RECORDED
    shown = count(int(str(steps)))
    return shown if limit is None else f"{shown} of {limit}"
