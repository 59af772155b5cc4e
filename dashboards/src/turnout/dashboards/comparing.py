"""What the compare page shows: two sides, their outcomes and what their turns spent."""

from collections.abc import Sequence
from typing import Final

from turnout.dashboards import markup
from turnout.outcomes.verdict import Outcome
from turnout.pipeline.analysis.compare import NOT_DECISIVE
from turnout.pipeline.analysis.intervals import Difference, Share
from turnout.pipeline.charts import COLOURS
from turnout.pipeline.comparisons import Comparison, OutcomeDifference, ValueDifference
from turnout.pipeline.wording import NOTHING, count, difference, label, percent, span

DIMENSIONS: Final = ("agent_version", "model", "agent", "provider", "service", "environment", "source")
"""What two sides can differ in."""

METHOD: Final = (
    "Differences of shares have Newcombe's 95 % interval and Holm's correction over the outcomes; shifts are Hodges and Lehmann's, the "
    "median of all differences between a turn of one side and a turn of the other. Not decisive: the interval holds zero, or "
    "several outcomes were looked at and one of them may differ so much by chance."
)
OUTCOME_COLUMNS: Final = (
    markup.Column("outcome", "Ended"),
    markup.Column("before", "A", "tight"),
    markup.Column("after", "B", "tight"),
    markup.Column("difference", "B less A", "tight"),
    markup.Column("adjusted", "With the same mix", "wide"),
    markup.Column("decision", "", "tight"),
)
VALUE_COLUMNS: Final = (
    markup.Column("measure", "A turn's"),
    markup.Column("before", "A: median, 90 %", "tight"),
    markup.Column("after", "B: median, 90 %", "tight"),
    markup.Column("shift", "Shift", "tight"),
    markup.Column("decision", "", "tight"),
)
_WHOLE: Final = 100
"""From here on a number is shown without decimals."""

MEASURES: Final = {"steps": "steps", "tokens": "tokens", "cost_usd": "cost, $", "seconds": "seconds"}


def heading(found: Comparison, before: str, after: str) -> str:
    """The one sentence: which outcomes differ, or that none does."""
    decisive = [one.row for one in found.outcomes if one.row.decisive]
    if not found.before_turns or not found.after_turns:
        return "One side has no turns in this window"
    if not decisive:
        return f"No outcome differs decisively between {before} and {after}"
    largest = max(decisive, key=lambda row: abs(row.difference.value or 0.0))
    more = "more" if (largest.difference.value or 0.0) > 0 else "fewer"
    others = f", and {len(decisive) - 1} more outcomes differ" if len(decisive) > 1 else ""
    return f"{after} has {more} turns that end as {label(largest.outcome)}{others}"


def sizes(found: Comparison) -> str:
    """How many turns each side rests on, and what adjusting left out."""
    words = f"A: {count(found.before_turns)} turns, B: {count(found.after_turns)} turns."
    if found.left_out:
        return f"{words} {percent(found.left_out)} of them are of a mix that one side does not have, and are left out of the adjusted figures."
    return words


def outcome_rows(outcomes: Sequence[OutcomeDifference]) -> list[dict[str, markup.Cell]]:
    """A row an outcome that either side has."""
    return [
        {
            "outcome": markup.Marked(label(one.row.outcome), COLOURS[Outcome(one.row.outcome)]),
            "before": _share(one.row.before),
            "after": _share(one.row.after),
            "difference": difference(one.row.difference),
            "adjusted": NOTHING if one.adjusted is None else difference(one.adjusted),
            "decision": _decision(decisive=one.row.decisive),
        }
        for one in outcomes
    ]


def value_rows(values: Sequence[ValueDifference]) -> list[dict[str, markup.Cell]]:
    """A row a measure."""
    return [
        {
            "measure": MEASURES[one.measure],
            "before": f"{_number(one.before_median)}, {_number(one.before_p90)}",
            "after": f"{_number(one.after_median)}, {_number(one.after_p90)}",
            "shift": _shift(one.shift),
            "decision": _decision(decisive=one.shift.decisive),
        }
        for one in values
    ]


def _share(share: Share) -> str:
    return NOTHING if share.value is None else f"{percent(share.value)} ({span(share.low, share.high)})"


def _shift(found: Difference) -> str:
    if found.value is None:
        return NOTHING
    return (
        f"{_number(found.value, sign=True)} (95 %: {_number(found.low, sign=True)} to {_number(found.high, sign=True)})"
    )


def _decision(*, decisive: bool) -> str:
    return "decisive" if decisive else NOT_DECISIVE


def _number(value: float | None, *, sign: bool = False) -> str:
    if value is None:
        return NOTHING
    plus = "+" if sign else ""
    if abs(value) < _WHOLE:
        return f"{value:{plus}.3g}"
    return f"{value:{plus},.0f}".replace(",", "\N{THIN SPACE}")
