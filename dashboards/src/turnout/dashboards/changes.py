"""What changed, hour by hour: outcomes that end turns at another rate than before, and where that lies. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from turnout.dashboards import markup
from turnout.dashboards.scope import address
from turnout.dashboards.words import DIMENSIONS
from turnout.outcomes.verdict import Outcome
from turnout.pipeline.analysis.compare import Contribution
from turnout.pipeline.charts import COLOURS
from turnout.pipeline.query.filters import VALUES
from turnout.pipeline.what_changed import Change
from turnout.pipeline.wording import NOT_RECORDED, count, difference, duration, label, percent, span

MEANING: Final = (
    "Every outcome but completion, each hour held against what is usual; a change lasts six hours at least, and moves a rate by a tenth at "
    "least. Places hold more of the change than of the turns: in brackets how much of it. Intervals at 95 %."
)
SINCE: Final = "All that came from this hour on is held against what came before it."
NONE: Final = "No rate changed for six hours or longer."
COLUMNS: Final = (
    markup.Column("at", "From (UTC)", "tight"),
    markup.Column("outcome", "Turns that end as", "tight"),
    markup.Column("before", "Before", "number"),
    markup.Column("after", "Since", "number"),
    markup.Column("difference", "Difference", "number"),
    markup.Column("first", "Most of it in"),
    markup.Column("second", "and", "wide"),
    markup.Column("third", "and", "wide"),
)
_PLACES: Final = ("first", "second", "third")


def rows(changes: Sequence[Change], now: datetime, chosen: Mapping[str, object]) -> list[dict[str, markup.Cell]]:
    """A row a change, the latest first."""
    latest = sorted(changes, key=lambda change: (change.at, abs(change.difference.value or 0.0)), reverse=True)
    return [_row(change, now, chosen) for change in latest]


def _row(change: Change, now: datetime, chosen: Mapping[str, object]) -> dict[str, markup.Cell]:
    before, after = change.before, change.after
    ago = duration((now - change.at).total_seconds())
    places = dict(zip(_PLACES, (_place(place, chosen) for place in change.places), strict=False))
    return {
        "at": f"{change.at:%d %b %H:%M} · {ago} ago",
        "outcome": markup.Marked(label(change.outcome), COLOURS[Outcome(change.outcome)]),
        "before": f"{percent(before.rate.value)} ({span(before.rate.low, before.rate.high)}) of {count(before.turns)}",
        "after": f"{percent(after.rate.value)} ({span(after.rate.low, after.rate.high)}) of {count(after.turns)}",
        "difference": difference(change.difference),
        **places,
    }


def _place(place: Contribution, chosen: Mapping[str, object]) -> markup.Cell:
    value = place.value or NOT_RECORDED
    text = f"{DIMENSIONS.get(place.dimension, place.dimension)} {value} ({percent(place.share)})"
    if place.dimension not in VALUES:
        return text
    return markup.Link(text, address("", {**chosen, place.dimension: [value]}))
