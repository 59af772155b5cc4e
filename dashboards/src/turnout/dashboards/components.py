"""What several pages draw: the headline, charts with their words, lists of turns, and the states without data."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Final

import altair as alt
import polars as pl
import streamlit as st

from turnout.dashboards import bar, data, frames, markup, telling
from turnout.dashboards.rhythm import Rhythm
from turnout.dashboards.scope import Scope, address
from turnout.dashboards.words import Headline
from turnout.outcomes.facts import TurnFacts
from turnout.outcomes.verdict import Outcome
from turnout.pipeline import charts
from turnout.pipeline.analysis.incident import Cell
from turnout.pipeline.charts import COLOURS
from turnout.pipeline.errors import TurnoutError
from turnout.pipeline.query import TurnDetail, metric
from turnout.pipeline.query.filters import VALUES
from turnout.pipeline.wording import MEANINGS, NOT_RECORDED, count, duration, label

LATEST: Final = 15
"""So many turns are listed."""

_SEVERAL: Final = 2
_LAST_STEPS: Final = 20
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


def by(name: str, scope: Scope, dimension: str) -> pl.DataFrame:
    """One metric as shares of a dimension."""
    return frames.shares(frames.arms(data.metric(name, scope.filters, (dimension,)), dimension))


def days(name: str, scope: Scope, colour: str, title: str) -> None:
    """One metric over time, by day or, in short windows, by hour, with how much each point rests on."""
    unit = "day" if scope.length > _HOURLY else "hour"
    found = frames.over_time(data.metric(name, scope.filters, (unit,)), unit)
    if found.is_empty():
        nothing(f"By {unit}", "No turns in this window.")
        return
    least, most = min(found["denominator"].to_list()), max(found["denominator"].to_list())
    words = f"Each point is one UTC {unit} of {count(least)} to {count(most)} turns; the band is its 95 % interval."
    chart(f"By {unit}", charts.rate_over_time(found, colour=colour, title=title), words)


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


@st.fragment(run_every=LIVE_SECONDS)
def wait_for_turns() -> None:
    """An empty lake: three ways to fill it, until the first turn is there."""
    if data.version() >= 0:
        st.rerun()
    st.markdown("## No turns here yet")
    st.markdown(
        f"The lake `{data.lake()}` is empty. Any one of these brings the first turns; this page shows them by itself."
    )
    _way(
        "1. An agent that speaks OpenTelemetry",
        "Start the receiver, and point the agent at it. GenAI conventions, OpenInference and OpenLLMetry are understood.",
        "turnout serve\nOTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 python your_agent.py",
        "bash",
    )
    _way(
        "2. Logs and transcripts that are already there",
        "Claude Code, Codex, SWE-agent and others; a second import adds nothing.",
        "turnout import auto ~/.claude/projects",
        "bash",
    )
    _way(
        "3. A loop of your own",
        "Record each turn where it runs.",
        "from turnout.instrumentation import Limits, Recorder, otlp_sink\n\n"
        "recorder = Recorder(otlp_sink())\n"
        'with recorder.turn(agent="my-agent", limits=Limits(steps=30)) as turn:\n'
        '    with turn.step(model="gpt-5-mini", provider="openai") as step:\n'
        '        step.finish(raw_finish_reason="stop")',
        "python",
    )
    st.markdown("Or only look around: `turnout demo` runs agents, a receiver and these pages over a lake of its own.")


def _narrowing(place: Cell | None) -> list[markup.Cell]:
    """A link to the same page over one place alone."""
    if place is None or place.dimension not in VALUES:
        return []
    value = NOT_RECORDED if place.value in {None, frames.NO_TOOL} else str(place.value)
    narrowed = {**bar.chosen(), place.dimension: [value]}
    return [markup.Link("Only these", address("", narrowed))]


def turn_id() -> str:
    """The turn that the address names."""
    return st.query_params.get("turn", "")


def find_turn(wanted: str, scope: Scope) -> None:
    """No turn, or one that the lake does not know: a place to name one, and the latest."""
    if wanted:
        st.warning(f"No turn {wanted} in this lake. A turn is here some seconds after it ends.")
    st.text_input("Turn id", key="named_turn", on_change=_open_named, placeholder="as a log line or a trace names it")
    listed = data.turns(scope.listed(()), LATEST)
    turn_list("Latest turns", listed, scope.now, "None in this window.")


def sentences(title: str, lines: Sequence[str]) -> None:
    """A list of sentences, left out where there are none."""
    if lines:
        with st.container(gap="small"):
            st.markdown(f"##### {title}")
            st.markdown("\n".join(f"- {line}" for line in lines))


def rows(title: str, columns: Sequence[markup.Column], found: Sequence[dict[str, markup.Cell]]) -> None:
    """A table, left out where it is empty."""
    if found:
        with st.container(gap="small"):
            st.markdown(f"##### {title}")
            st.html(markup.table(columns, found))


def facts(title: str, pairs: Sequence[tuple[str, markup.Cell]]) -> None:
    """Names and values under a title."""
    with st.container(gap="small"):
        st.markdown(f"##### {title}")
        st.html(markup.facts(pairs))


def continued(turn: TurnFacts) -> list[tuple[str, markup.Cell]]:
    """The turn that this one goes on from."""
    if turn.continues_turn_id is None:
        return []
    return [
        ("Continues", markup.Link(turn.continues_turn_id, address("turn", bar.chosen(), turn=turn.continues_turn_id)))
    ]


def steps(found: Sequence[dict[str, markup.Cell]]) -> None:
    """Every step; of a long turn the last ones first, where it ended."""
    early, last = found[:-_LAST_STEPS], found[-_LAST_STEPS:]
    if early:
        with st.expander(f"The first {len(early)} steps"):
            st.html(markup.table(telling.STEPS, early))
    rows(f"The last {len(last)} steps" if early else "Steps", telling.STEPS, last)


def segments(found: TurnDetail) -> None:
    """All stretches of the same turn, where recoveries broke it into several."""
    if found.segments.height < _SEVERAL:
        return
    columns = (markup.Column("turn", "Stretch"), markup.Column("outcome", "How"))
    lines: list[dict[str, markup.Cell]] = [
        {
            "turn": markup.Link(turn, address("turn", bar.chosen(), turn=turn)),
            "outcome": markup.Marked(label(outcome), COLOURS[Outcome(outcome)]),
        }
        for turn, outcome in found.segments.select("turn_id", "outcome").iter_rows()
    ]
    rows("Stretches of this turn between recoveries; the last one is what a person sees", columns, lines)


def _open_named() -> None:
    st.query_params["turn"] = st.session_state["named_turn"].strip()


def _way(title: str, words: str, code: str, language: str) -> None:
    st.markdown(f"#### {title}")
    st.markdown(words)
    st.code(code, language=language)


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
        "next": "offered" if row["can_continue"] else "no",
    }


def _how(row: dict[str, object]) -> str:
    closer = row["budget_kind"] or row["cause"]
    words = label(str(row["outcome"]))
    return f"{words}: {str(closer).replace('_', ' ')}" if closer else words


def _spent(row: dict[str, object]) -> str:
    steps, limit = row["steps_charged"], row["limit_steps"]
    shown = NOT_RECORDED if steps is None else count(int(str(steps)))
    return shown if limit is None else f"{shown} of {limit}"
