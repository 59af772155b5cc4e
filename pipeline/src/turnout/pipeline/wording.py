"""How figures and outcomes read in words, the same on pages and in reports. Pure."""

from collections.abc import Mapping
from typing import Final

from turnout.outcomes.verdict import Outcome
from turnout.pipeline.analysis.intervals import Difference, Share, wilson

_SMALLEST: Final = 0.0005
_WHOLE: Final = (10, 99)

NOTHING: Final = "\N{EN DASH}"
"""Stands where there was nothing to count."""

NOT_RECORDED: Final = "not recorded"
"""Stands wherever a value is missing; never folded into another value."""

LABELS: Final[Mapping[Outcome, str]] = {
    Outcome.COMPLETED: "finished",
    Outcome.YIELDED: "handed over",
    Outcome.BUDGET: "cut by a limit",
    Outcome.LENGTH: "answer cut off",
    Outcome.CONTEXT_OVERFLOW: "context full",
    Outcome.REFUSED: "refused",
    Outcome.STOPPED: "stopped",
    Outcome.INTERRUPTED: "died",
    Outcome.ERROR: "failed",
    Outcome.UNKNOWN: NOT_RECORDED,
}
"""Two or three plain words for each outcome."""

HAPPENS: Final[Mapping[Outcome, str]] = {
    Outcome.COMPLETED: "finish",
    Outcome.YIELDED: "are handed over",
    Outcome.BUDGET: "are cut by a limit",
    Outcome.LENGTH: "have their answer cut off",
    Outcome.CONTEXT_OVERFLOW: "no longer fit the context",
    Outcome.REFUSED: "are refused",
    Outcome.STOPPED: "are stopped",
    Outcome.INTERRUPTED: "die",
    Outcome.ERROR: "fail",
    Outcome.UNKNOWN: "end without a record of how",
}
"""What happens to turns of each outcome, after "more turns"."""

MEANINGS: Final[Mapping[Outcome, str]] = {
    Outcome.COMPLETED: "The agent said that it was done, and nothing contradicts it.",
    Outcome.YIELDED: "The agent handed over to a person, a plan or another agent, and waits.",
    Outcome.BUDGET: "A limit was spent (steps, tool calls, tokens, time or cost) with work left.",
    Outcome.LENGTH: "The last answer hit its cap of output tokens in the middle.",
    Outcome.CONTEXT_OVERFLOW: "The conversation no longer fits into the model's context window.",
    Outcome.REFUSED: "The provider, a content filter or a guardrail refused. A Continue is never offered.",
    Outcome.STOPPED: "A person or the host stopped it.",
    Outcome.INTERRUPTED: "The turn died: its process or connection went away and nobody closed it.",
    Outcome.ERROR: "A request, a tool or the runtime failed.",
    Outcome.UNKNOWN: "Nothing recorded says how the turn ended. It is never counted as finished.",
}
"""One sentence for each outcome."""


def label(outcome: str) -> str:
    """The plain words of an outcome; a word that is no outcome stays as it is."""
    return LABELS[Outcome(outcome)] if outcome in set(Outcome) else outcome


def shortened(name: str, longest: int = 28) -> str:
    """A long name without its middle: names of models, tools and versions differ at their ends."""
    if len(name) <= longest:
        return name
    head = (longest - 1) // 2
    return f"{name[:head]}\N{HORIZONTAL ELLIPSIS}{name[head + 1 - longest :]}"


def count(number: int) -> str:
    """A count with thousands apart by thin spaces, as ``12 480``."""
    return f"{number:,}".replace(",", "\N{THIN SPACE}")


def percent(part: float | None) -> str:
    """A share as a percentage: one decimal below ten, none above, never a false 0 % or 100 %."""
    if part is None:
        return NOTHING
    if 0 < part < _SMALLEST:
        return "<0.1 %"
    if 1 - _SMALLEST < part < 1:
        return ">99.9 %"
    low, high = _WHOLE
    digits = 0 if low <= 100 * part <= high else 1
    return f"{100 * part:.{digits}f} %".replace(".0 %", " %")


def span(low: float | None, high: float | None) -> str:
    """An interval of a share, as ``2.1 to 4 %``."""
    return f"{percent(low).removesuffix(' %')} to {percent(high)}"


def share(numerator: int, denominator: int) -> str:
    """A share with everything that it rests on: ``61 of 70 · 87 % (77 to 93 %)``."""
    if denominator == 0:
        return "0 of 0"
    found: Share = wilson(numerator, denominator)
    return f"{count(numerator)} of {count(denominator)} · {percent(found.value)} ({span(found.low, found.high)})"


def points(part: float | None) -> str:
    """A difference of shares in percentage points with its sign, as ``+5.8``."""
    if part is None:
        return NOTHING
    value = 100 * part
    if abs(value) < 0.05:  # noqa: PLR2004 - it would read as minus nothing
        return "0.0"
    return f"{value:+.1f}" if abs(value) < _WHOLE[0] else f"{value:+.0f}"


def difference(found: Difference) -> str:
    """A difference with its interval: ``+5.8 points (95 %: +2.4 to +9.3)``."""
    if found.value is None:
        return "nothing to compare with"
    return f"{points(found.value)} points (95 %: {points(found.low)} to {points(found.high)})"


def duration(seconds: float) -> str:
    """A length of time in its largest fitting unit, as ``14 min``."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size or (seconds >= size and unit != "min" and seconds % size == 0):
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"
