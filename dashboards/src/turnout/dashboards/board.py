"""The on-call board: loads of both windows, and what they say together."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import polars as pl

from turnout.dashboards import data, frames, words
from turnout.dashboards.rhythm import Rhythm, silences
from turnout.dashboards.rhythm import rhythms as rhythms_of
from turnout.dashboards.scope import Scope
from turnout.pipeline.analysis.incident import Cell, Incident, judge
from turnout.pipeline.query.filters import Clock
from turnout.pipeline.what_changed import Change, what_changed

PLACES: Final = ("model", "tool", "agent", "agent_version", "environment", "provider", "service")
"""Where a change is looked for."""

_USUAL: Final = timedelta(days=14)

SHOWN: Final = (
    ("By model", "model"),
    ("By the last tool", "tool"),
    ("By agent", "agent"),
    ("By version", "agent_version"),
)


def rhythms(scope: Scope) -> tuple[Rhythm, ...]:
    """Each source's rhythm."""
    return rhythms_of(data.arrivals(scope.now), scope.now)


def headline(scope: Scope) -> words.Headline:
    """The sentence to read first."""
    silence = silences(rhythms(scope)) if scope.live else ()
    return words.headline(incident(scope), scope.words, silence)


def incident(scope: Scope) -> Incident:
    """The one change that matters most between the two windows."""
    now, before = (data.metric("outcomes", filters) for filters in (scope.filters, scope.before))
    reasons = frames.cells("outcome", frames.reasons(now), frames.reasons(before))
    return judge(data.both("abnormal", scope), reasons, lambda reason: _places(scope, reason))


def changed(scope: Scope, since: datetime | None) -> tuple[Change, ...]:
    """What changed hour by hour in the last two weeks, or from an hour on."""
    end = scope.since + scope.length
    first = end.replace(minute=0, second=0, microsecond=0) - max(_USUAL, scope.length)
    # A live window is the same question for an hour, whatever arrives.
    filters = replace(scope.filters, since=first, until=None if scope.live else end, clock=Clock.STARTED)
    return data.asked_slowly(what_changed, filters, since)


def ends(scope: Scope, bucket: timedelta) -> pl.DataFrame:
    """Turns by outcome over both windows."""
    return data.ends_over_time(scope.both, bucket)


def totals(found: pl.DataFrame) -> pl.DataFrame:
    """All turns of each bucket."""
    return found.group_by("bucket", "bucket_end").agg(pl.col("turns").sum()).sort("bucket")


def places(scope: Scope) -> list[tuple[str, pl.DataFrame]]:
    """Shares of abnormal turns now and before: by reason, by place, by step."""
    reasons = [frames.reasons(data.metric("outcomes", filters)) for filters in (scope.filters, scope.before)]
    labelled = [frames.outcome_labels(found) for found in reasons]
    steps = [frames.step_bins(found) for found in _arms(scope, "step")]
    return [
        ("By reason", frames.compared(labelled[0], labelled[1])),
        *((title, frames.compared(*_arms(scope, dimension))) for title, dimension in SHOWN),
        ("By the step it ended at", frames.compared(steps[0], steps[1], ordered=True)),
    ]


def _arms(scope: Scope, dimension: str) -> tuple[frames.Arms, frames.Arms]:
    now, before = (data.metric("abnormal", filters, (dimension,)) for filters in (scope.filters, scope.before))
    return frames.arms(now, dimension), frames.arms(before, dimension)


def _places(scope: Scope, outcome: str | None) -> list[Cell]:
    return [cell for dimension in PLACES for cell in _cells(scope, outcome, dimension)]


def _cells(scope: Scope, outcome: str | None, dimension: str) -> list[Cell]:
    if outcome is None:
        return frames.cells(dimension, *_arms(scope, dimension))
    now, before = (data.metric("outcomes", filters, (dimension,)) for filters in (scope.filters, scope.before))
    return frames.cells(
        dimension, frames.of_outcome(now, dimension, outcome), frames.of_outcome(before, dimension, outcome)
    )
