"""Tables and sentences of the budget page. Pure."""

from collections.abc import Sequence
from typing import Final

from turnout.dashboards import markup
from turnout.dashboards.limits import amount, kind
from turnout.pipeline.analysis.budget import NOT_ESTIMABLE, Candidate, Limit
from turnout.pipeline.analysis.censoring import FEWEST_TURNS, PaceTest
from turnout.pipeline.budgets import Ends
from turnout.pipeline.wording import NOT_RECORDED, NOTHING, count, label, percent, span

_SMALL: Final = 0.001


def columns(limit: Limit) -> tuple[markup.Column, ...]:
    """The columns of the table of candidates."""
    return (
        markup.Column("candidate", kind(limit).title, "number"),
        markup.Column("finished", "Would finish (95 %)", "number"),
        markup.Column("cut", "Cut", "number"),
        markup.Column("other", "Other ends", "number wide"),
        markup.Column("at_risk", "Seen to get so far", "number"),
        markup.Column("steps", "Steps a turn", "number"),
        markup.Column("tokens", "Tokens a turn", "number wide"),
        markup.Column("cost", "Cost a turn", "number"),
        markup.Column("seconds", "Seconds a turn", "number wide"),
        markup.Column("more", "One more finished costs", "number"),
    )


def rows(limit: Limit, candidates: Sequence[Candidate]) -> list[dict[str, markup.Cell]]:
    """A row a candidate; one that no observed budget reaches says so."""
    return [_row(limit, one) for one in candidates]


def pair_columns(limit: Limit, pair: Sequence[Candidate]) -> tuple[markup.Column, ...]:
    """The columns of the table of two candidates side by side."""
    named = (markup.Column(str(place), amount(limit, one.candidate), "number") for place, one in enumerate(pair))
    return (markup.Column("what", f"With a limit of … {kind(limit).unit}", "tight"), *named)


def pair_rows(pair: Sequence[Candidate]) -> list[dict[str, markup.Cell]]:
    """A row a figure: shares of all turns, then what a turn is expected to spend."""
    named = [_figures(one) for one in pair]
    return [
        {"what": what, **{str(place): figures[what] for place, figures in enumerate(named)}}
        for what in named[0]
        if any(figures[what] != NOTHING for figures in named)
    ]


def beyond(counted: Ends, chains: Ends | None) -> str:
    """Where the estimate ends, and what reaches further."""
    unit = kind(counted.limit).unit
    if counted.largest == float("inf"):
        return (
            f"No turn has a limit of this kind on record, so that every amount up to the largest seen is known: {unit}."
        )
    words = (
        f"Beyond {amount(counted.limit, counted.largest)} {unit}: {NOT_ESTIMABLE}, no observed budget reaches further."
    )
    last = 0.0 if chains is None or not chains.n else float(chains.counts.times[-1])
    if chains is None or last <= counted.largest:
        return words
    return (
        f"{words} Dashed: turns and those that continue them taken as one, up to {amount(counted.limit, last)} together, but only as far as "
        "people went on."
    )


def left_out(counted: Ends) -> str:
    """Turns that the curve cannot count."""
    if not counted.left_out:
        return ""
    return f" {count(counted.left_out)} turns without a record of {kind(counted.limit).unit} are left out."


def pace(limit: Limit, tests: Sequence[PaceTest], name: str) -> str:
    """The test of the assumption in one sentence."""
    if not tests:
        return (
            f"Whether turns under different limits can be compared cannot be tested by {name}: nowhere are there two limits with "
            f"{FEWEST_TURNS} turns each."
        )
    differing = [test for test in tests if test.differs]
    if not differing:
        return (
            f"Checked by {name}: before the smaller limit is spent, turns under different limits finish at the same pace ({_sizes(tests)}); "
            "no sign against the estimate."
        )
    named = "; ".join(f"{test.stratum or NOT_RECORDED} until {amount(limit, test.up_to)}" for test in differing)
    return (
        f"Careful: turns under different limits finish at a different pace before any limit is spent ({named}). They are different turns, "
        "so that those cut early may not go on like those that got further. Look at each limit or agent apart."
    )


PACE_COLUMNS: Final = (
    markup.Column("stratum", ""),
    markup.Column("limits", "Limits compared", "tight"),
    markup.Column("turns", "Turns", "number"),
    markup.Column("p", "Log-rank p (Holm)", "number"),
    markup.Column("says", ""),
)


def pace_rows(limit: Limit, tests: Sequence[PaceTest]) -> list[dict[str, markup.Cell]]:
    """A row a stratum that could be tested."""
    return [
        {
            "stratum": test.stratum or NOT_RECORDED,
            "limits": " and ".join(amount(limit, budget) for budget in test.budgets),
            "turns": count(test.turns),
            "p": "<0.001" if test.p_value < _SMALL else f"{test.p_value:.2g}",
            "says": "different turns: look at each limit apart" if test.differs else "no sign of a difference",
        }
        for test in tests
    ]


def _row(limit: Limit, one: Candidate) -> dict[str, markup.Cell]:
    if not one.estimable:
        return {"candidate": amount(limit, one.candidate), "finished": NOT_ESTIMABLE, "at_risk": count(one.at_risk)}
    others = sum(share or 0.0 for share in (one.refused, one.error, one.stopped, one.interrupted, one.other))
    return {
        "candidate": amount(limit, one.candidate),
        "finished": f"{percent(one.finished)} ({span(one.finished_low, one.finished_high)})",
        "cut": percent(one.cut),
        "other": percent(others),
        "at_risk": count(one.at_risk),
        "steps": _mean(one.mean_steps, 1),
        "tokens": _mean(one.mean_tokens, 0),
        "cost": _dollars(one.mean_cost_usd),
        "seconds": _mean(one.mean_seconds, 0),
        "more": _dollars(one.cost_of_one_more_finished_usd),
    }


def _figures(one: Candidate) -> dict[str, str]:
    finished = f"{percent(one.finished)} ({span(one.finished_low, one.finished_high)})"
    return {
        "finish": finished if one.estimable else NOT_ESTIMABLE,
        label("budget"): percent(one.cut),
        label("refused"): percent(one.refused),
        label("error"): percent(one.error),
        label("stopped"): percent(one.stopped),
        label("interrupted"): percent(one.interrupted),
        "another end": percent(one.other),
        "steps a turn": _mean(one.mean_steps, 1),
        "tokens a turn": _mean(one.mean_tokens, 0),
        "cost a turn": _dollars(one.mean_cost_usd),
        "seconds a turn": _mean(one.mean_seconds, 0),
        "turns seen to get so far": count(one.at_risk),
    }


def _sizes(tests: Sequence[PaceTest]) -> str:
    return ", ".join(
        f"{test.stratum or NOT_RECORDED}: {count(test.turns)} turns, p = {test.p_value:.2g}" for test in tests
    )


def _mean(value: float | None, digits: int) -> str:
    if value is None:
        return NOTHING
    return count(round(value)) if digits == 0 else f"{value:.{digits}f}"


def _dollars(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"${value:.3g}" if value < 1 else f"${value:.2f}"
