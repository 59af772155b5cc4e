"""What the cost page shows: dollars by dimension, and what went into turns that did not finish."""

from typing import Final

import altair as alt
import polars as pl

from turnout.dashboards import frames, markup, words
from turnout.dashboards.words import GREY, Headline, Line
from turnout.outcomes.verdict import Outcome
from turnout.pipeline import charts
from turnout.pipeline.wording import NOT_RECORDED, NOTHING, count, label, percent

PRICED: Final = (
    "Costs are those that the source reports; where it reports none, each call is priced by genai-prices at the time it started, cache and "
    "reasoning as the provider bills them. A turn with a call of an unknown model is unpriced: it is counted and never taken for free."
)
COLUMNS: Final = (
    markup.Column("cost", "Cost", "number"),
    markup.Column("turn", "A turn", "number"),
    markup.Column("finished", "For each that finished", "number"),
    markup.Column("unfinished", "Into turns that did not finish", "number"),
    markup.Column("turns", "Turns", "number"),
    markup.Column("unpriced", "Unpriced", "number"),
)


def headline(now: pl.DataFrame, before: pl.DataFrame, window: str) -> Headline:
    """What the window cost, beside the one before."""
    if now.is_empty() or now["cost_usd"].item() is None:
        return Headline(f"No cost is known in the last {window}", (Line(PRICED),), GREY)
    row = now.row(0, named=True)
    unfinished = _part(row["unfinished_cost_usd"], row["cost_usd"])
    lines = [f"{dollars(row['cost_a_turn_usd'])} a turn; {unfinished} of it went into turns that did not finish."]
    if not before.is_empty() and before["cost_usd"].item() is not None:
        old = before.row(0, named=True)
        lines.append(f"In the {window} before: {dollars(old['cost_usd'])}, {dollars(old['cost_a_turn_usd'])} a turn.")
    if row["unpriced"]:
        lines.append(
            f"{count(row['unpriced'])} turns used tokens and have no price; their cost is not in these figures."
        )
    return Headline(f"{dollars(row['cost_usd'])} in the last {window}", tuple(map(Line, lines)), words.CALM)


def over_time(spent: pl.DataFrame, unit: str) -> alt.LayerChart:
    """Dollars over time, by whether they went into turns that finished."""
    length = pl.duration(days=1) if unit == "day" else pl.duration(hours=1)
    known = frames.over_time(spent.filter(pl.col("cost_usd").is_not_null()), unit).with_columns(
        bucket_end=pl.col("bucket") + length, finished=pl.col("finished_cost_usd").fill_null(0.0)
    )
    parts = (("into turns that finished", words.CALM), ("into turns that did not", charts.PALE))
    named = pl.concat(
        known.select("bucket", "bucket_end", turns=pl.col(column), part=pl.lit(name))
        for (name, _), column in zip(parts, ("finished", "unfinished_cost_usd"), strict=True)
    )
    return charts.parts_over_time(named, parts, title="cost", of="went", number="$,.2~f")


def priced_by(spent: pl.DataFrame) -> str:
    """Whose prices the figures rest on, with how many turns each."""
    told = [
        f"{count(row['priced'])} turns {_by(row['price_list'])}" for row in spent.iter_rows(named=True) if row["priced"]
    ]
    unpriced = int(spent["unpriced"].sum()) if spent.height else 0
    rest = f"{count(unpriced)} turns used tokens and have no price: counted here, and in no sum." if unpriced else ""
    return f"Priced: {'; '.join(told)}. {rest}" if told else rest


def _by(price_list: str | None) -> str:
    return "as their source reports" if price_list is None else f"by {price_list}"


def columns(title: str) -> tuple[markup.Column, ...]:
    """The columns of a table by one dimension."""
    return (markup.Column("value", title), *COLUMNS)


def rows(spent: pl.DataFrame, dimension: str) -> list[dict[str, markup.Cell]]:
    """A row a value of the dimension, the dearest first."""
    return [
        {
            "value": str(row[dimension]) if row[dimension] is not None else NOT_RECORDED,
            "cost": dollars(row["cost_usd"]),
            "turn": dollars(row["cost_a_turn_usd"]),
            "finished": dollars(row["cost_a_finished_usd"]),
            "unfinished": f"{dollars(row['unfinished_cost_usd'])} · {_part(row['unfinished_cost_usd'], row['cost_usd'])}",
            "turns": count(row["turns"]),
            "unpriced": count(row["unpriced"]),
        }
        for row in spent.iter_rows(named=True)
    ]


def ended(outcome: str) -> markup.Cell:
    """An outcome in words, in its colour."""
    return markup.Marked(label(outcome), charts.COLOURS[Outcome(outcome)])


def dollars(amount: float | None) -> str:
    """An amount with as many digits as it needs to be read."""
    if amount is None:
        return NOTHING
    size = abs(amount)
    digits = 0 if size >= 1000 else 2 if size >= 1 or size == 0 else 3 if size >= 0.01 else 5  # noqa: PLR2004 - three figures are enough
    return f"${amount:,.{digits}f}".replace(",", "\N{THIN SPACE}")


def _part(amount: float | None, whole: float | None) -> str:
    return percent(amount / whole) if amount is not None and whole else NOTHING
