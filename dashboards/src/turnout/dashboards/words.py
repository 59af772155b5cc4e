"""Sentences of the pages: what changed, who is silent, what each figure means. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from turnout.outcomes.verdict import Outcome
from turnout.pipeline.analysis.compare import NOT_DECISIVE
from turnout.pipeline.analysis.incident import Cell, Direction, Incident
from turnout.pipeline.charts import COLOURS
from turnout.pipeline.wording import HAPPENS, NOT_RECORDED, count, difference, label, percent, points, share

ALARM: Final = COLOURS[Outcome.ERROR]
CALM: Final = COLOURS[Outcome.COMPLETED]
GREY: Final = COLOURS[Outcome.UNKNOWN]
MAYBE: Final = COLOURS[Outcome.INTERRUPTED]

CHANCE: Final = (
    "Several reasons were looked at, so that one of them moves this much by chance now and then. Look again soon."
)

INTERVAL: Final = "In brackets the 95 % Wilson interval: the range that the true share may well lie in, given so few or so many turns."
ATTENDED: Final = {
    True: ("Attended turns", "Somebody is there who can press Continue."),
    False: ("Unattended turns", "Nobody is there to press Continue: what is cut stays undone."),
    None: ("Not recorded whether attended", "Record it with each turn, to see these two apart."),
}
"""Heading and meaning of each kind of turn."""

KEYS: Final = {True: "attended", False: "unattended", None: "unrecorded"}
"""What each kind is called in an address."""

ESTIMATE: Final = (
    "An estimate under independent censoring (Aalen-Johansen): turns that a limit cut would have gone on like the others that got as far. "
    "Band: 95 % interval."
)

PACE: Final = (
    "The curve takes turns that a small limit cut to go on like those that a larger limit let go on. Before the smaller limit is spent, "
    "turns under either must then finish at the same pace; the log-rank test compares that, each row by itself."
)

PLACES_CAPTION: Final = "Below: the share of turns that end abnormally, with its 95 % interval. In grey, just under each: the same length of time before."

CLEAR: Final = 0.05
"""When the data rule out a larger rise than this, nothing changed; else there is no clear change."""

PLACES: Final = 3
"""So many places of a change are told."""

DIMENSIONS: Final = {
    "model": "model",
    "tool": "last tool",
    "step": "step",
    "agent": "agent",
    "agent_version": "version",
    "provider": "provider",
    "service": "service",
    "environment": "environment",
    "source": "source",
    "outcome": "end",
}
"""What a dimension is called."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line below the headline; ``place`` is what it is about, to narrow the page to."""

    text: str
    place: Cell | None = None


@dataclass(frozen=True, slots=True)
class Headline:
    """The sentence to read first, the lines that it rests on, and a colour that repeats it."""

    title: str
    lines: tuple[Line, ...]
    colour: str


def headline(incident: Incident, window: str, silence: Sequence[str] = ()) -> Headline:
    """Say the one thing that changed.

    Args:
        incident: the verdict over both windows.
        window: in words, as ``hour`` or ``24 hours``.
        silence: sentences about sources that stopped sending; they come before everything else.
    """
    found = _headline(incident, window)
    if not silence or incident.direction is Direction.NO_TURNS:
        return found
    more = (*silence[1:], f"Otherwise: {found.title}")
    return Headline(silence[0], (*map(Line, more), *found.lines), ALARM)


def _headline(incident: Incident, window: str) -> Headline:
    whole = incident.whole
    match incident.direction:
        case Direction.NO_TURNS:
            before = (
                f"{count(whole.before.total)} did in the {window} before."
                if whole.before.total
                else f"None did in the {window} before either."
            )
            return Headline(f"Silence: no turn ended in the last {window}", (Line(before),), ALARM)
        case Direction.NO_BEFORE:
            now = f"{share(whole.now.count, whole.now.total)} of the turns in the last {window} ended abnormally."
            return Headline(
                "Nothing to compare with yet", (Line(now), Line(f"No turn ended in the {window} before.")), GREY
            )
        case Direction.MAYBE:
            title = _moved(incident, "Perhaps more")
            return Headline(title, (*_lines(incident, window), Line(CHANCE)), MAYBE)
        case Direction.SAME:
            return _same(whole, window)
        case Direction.WORSE:
            return Headline(_moved(incident, "More"), _lines(incident, window), ALARM)
        case Direction.BETTER:
            return Headline(_moved(incident, "Fewer"), _lines(incident, window), CALM)
        case _:
            assert_never(incident.direction)


def _moved(incident: Incident, which: str) -> str:
    cell = incident.reason or incident.whole
    how = "end abnormally" if incident.reason is None else happens(cell)
    place = f", most of them with {place_words(incident.places[0])}" if incident.places else ""
    return f"{which} turns {how}{place}"


def _lines(incident: Incident, window: str) -> tuple[Line, ...]:
    cell = incident.reason or incident.whole
    lines = [Line(_against(cell, window, cause(cell) if incident.reason else "abnormal"))]
    lines += [Line(_against(place, window, f"with {place_words(place)}"), place) for place in incident.places[:PLACES]]
    if incident.reason is not None:
        lines.append(Line(_against(incident.whole, window, "all abnormal ends")))
    return tuple(lines)


def _against(cell: Cell, window: str, what: str) -> str:
    now, before = share(cell.now.count, cell.now.total), share(cell.before.count, cell.before.total)
    if cell.before.total == 0:
        return f"{_capital(what)}: {now} in the last {window}; not seen in the {window} before."
    return (
        f"{_capital(what)}: {now} in the last {window}, {before} in the {window} before; {difference(cell.difference)}."
    )


def _same(whole: Cell, window: str) -> Headline:
    line = Line(f"{_against(whole, window, 'abnormal').removesuffix('.')}: {NOT_DECISIVE}.")
    highest = whole.difference.high
    if highest is not None and highest > CLEAR:
        few = f"So few turns cannot rule out a rise of up to {points(highest).lstrip('+')} points."
        return Headline(f"No clear change: {_short(whole)} of turns end abnormally", (line, Line(few)), GREY)
    return Headline(f"Nothing changed: {_short(whole)} of turns end abnormally", (line,), CALM)


def _short(cell: Cell) -> str:
    return percent(cell.now.count / cell.now.total)


def statement(cell: Cell, window: str, what: str, colour: str) -> Headline:
    """One share of a page with the window before beside it.

    Args:
        cell: the share, now and before.
        window: in words.
        what: after the share, as ``of turns are refused``.
        colour: of what the page is about.
    """
    if cell.now.total == 0:
        return Headline(f"No turns in the last {window}", (Line("Choose a longer window, or fewer filters."),), GREY)
    now = share(cell.now.count, cell.now.total)
    if cell.before.total == 0:
        lines = (Line(f"{now} in the last {window}; no turns in the {window} before."),)
        return Headline(f"{_short(cell)} {what}", lines, colour)
    decisive = "" if cell.difference.decisive else f": {NOT_DECISIVE}"
    before = share(cell.before.count, cell.before.total)
    line = f"{now} in the last {window}, {before} in the {window} before; {difference(cell.difference)}{decisive}."
    return Headline(f"{_short(cell)} {what}", (Line(line),), colour)


def cause(cell: Cell) -> str:
    """The plain words of an outcome cell."""
    return label(cell.value) if cell.value else NOT_RECORDED


def happens(cell: Cell) -> str:
    """What happens to the turns of an outcome cell."""
    return HAPPENS[Outcome(cell.value)] if cell.value in set(Outcome) else f"end as {cause(cell)}"


def place_words(cell: Cell) -> str:
    """A place in words, as ``model gpt-5-mini``."""
    return f"{DIMENSIONS.get(cell.dimension, cell.dimension)} {cell.value or NOT_RECORDED}"


def silence(source: str, since: str, usual: str) -> str:
    """A source that stopped."""
    return f"Silence from {source}: nothing for {since}, where a turn usually arrives every {usual}"


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
