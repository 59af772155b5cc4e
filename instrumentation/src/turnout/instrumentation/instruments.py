"""The metrics: every instrument with its unit and buckets, and what is recorded of a turn and of a step.

They are added up here and handed to an exporter of the SDK as its own data points. The SDK's instruments cost as much for each number as a span does,
and a turn has a score of numbers.
"""

import threading
import time
from bisect import bisect_left
from collections.abc import Callable
from typing import Final, Protocol

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Histogram,
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
    Sum,
)

from turnout.instrumentation import attributes as names
from turnout.instrumentation.known import Values
from turnout.instrumentation.spans import step_error, usage_in_conventions
from turnout.outcomes.facts import Instant, TurnFacts
from turnout.outcomes.verdict import Verdict

SECONDS_BUCKETS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
TURN_SECONDS_BUCKETS: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
STEP_BUCKETS: Final = (1.0, 2.0, 3.0, 5.0, 8.0, 10.0, 15.0, 20.0, 30.0, 50.0, 75.0, 100.0, 200.0)
TOKEN_BUCKETS: Final = tuple(float(4**power) for power in range(14))
MAX_SERIES: Final = 2000
"""How many combinations of attributes an instrument keeps apart; more are added up under one, as the SDK does."""

_NANOS_PER_SECOND = 1_000_000_000
_TOKEN_TYPES = (("input", "input_tokens"), ("output", "output_tokens"))
_OVERFLOW: Final = (("otel.metric.overflow", "true"),)

Series = tuple[tuple[str, str], ...]
"""Attributes as they tell one series from another."""


class Numbers(Protocol):
    """One instrument's numbers, added up."""

    def clear(self) -> None:
        """Begin again, for exporters that want differences."""
        ...

    def metric(self, since: Instant, now: Instant, temporality: AggregationTemporality) -> Metric:
        """The numbers as the SDK's data points."""
        ...


class _Points:
    """A histogram of one series."""

    __slots__ = ("buckets", "count", "highest", "lowest", "total")

    def __init__(self, buckets: int) -> None:
        self.buckets = [0] * buckets
        self.count = 0
        self.total = 0.0
        self.lowest = float("inf")
        self.highest = float("-inf")


class Distribution:
    """A histogram."""

    def __init__(self, name: str, unit: str, description: str, bounds: tuple[float, ...]) -> None:
        self._named = (name, description, unit)
        self._bounds = bounds
        self._series: dict[Series, _Points] = {}

    def record(self, value: float, series: Series) -> None:
        """Add a number; the caller holds the lock."""
        points = self._series.get(series)
        if points is None:
            points = self._open(series)
        points.count += 1
        points.total += value
        points.buckets[bisect_left(self._bounds, value)] += 1
        points.lowest = min(points.lowest, value)
        points.highest = max(points.highest, value)

    def clear(self) -> None:
        """Begin again."""
        self._series.clear()

    def metric(self, since: Instant, now: Instant, temporality: AggregationTemporality) -> Metric:
        """The numbers as the SDK's data points."""
        points = [
            HistogramDataPoint(
                attributes=dict(series),
                start_time_unix_nano=since,
                time_unix_nano=now,
                count=one.count,
                sum=one.total,
                bucket_counts=list(one.buckets),
                explicit_bounds=self._bounds,
                min=one.lowest,
                max=one.highest,
            )
            for series, one in self._series.items()
        ]
        return Metric(*self._named, data=Histogram(points, temporality))

    def _open(self, series: Series) -> _Points:
        key = series if len(self._series) < MAX_SERIES else _OVERFLOW
        return self._series.setdefault(key, _Points(len(self._bounds) + 1))


class Count:
    """A counter."""

    def __init__(self, name: str, unit: str, description: str) -> None:
        self._named = (name, description, unit)
        self._series: dict[Series, int] = {}

    def add(self, series: Series) -> None:
        """Count one; the caller holds the lock."""
        key = series if series in self._series or len(self._series) < MAX_SERIES else _OVERFLOW
        self._series[key] = self._series.get(key, 0) + 1

    def clear(self) -> None:
        """Begin again."""
        self._series.clear()

    def metric(self, since: Instant, now: Instant, temporality: AggregationTemporality) -> Metric:
        """The numbers as the SDK's data points."""
        points = [NumberDataPoint(dict(series), since, now, count) for series, count in self._series.items()]
        return Metric(*self._named, data=Sum(points, temporality, is_monotonic=True))


class Instruments:
    """The five instruments; ``changed`` is called outside the lock whenever there is something new to export."""

    def __init__(self, changed: Callable[[], None], clock: Callable[[], Instant] = time.time_ns) -> None:
        self._changed = changed
        self._clock = clock
        self._since = clock()
        self._lock = threading.Lock()
        self._duration = Distribution(names.METRIC_TURN_DURATION, "s", "How long turns took.", TURN_SECONDS_BUCKETS)
        self._steps = Distribution(names.METRIC_TURN_STEPS, "{step}", "How many steps turns took.", STEP_BUCKETS)
        self._finishes = Count(names.METRIC_TURN_FINISHES, "{turn}", "How turns ended.")
        self._tokens = Distribution(names.METRIC_TOKEN_USAGE, "{token}", "Tokens of model requests.", TOKEN_BUCKETS)
        self._operation = Distribution(
            names.METRIC_OPERATION_DURATION, "s", "How long model requests took.", SECONDS_BUCKETS
        )

    def turn(self, facts: TurnFacts, verdict: Verdict, model: str | None) -> None:
        """Record a turn's end."""
        which: Series = ((names.TURN_OUTCOME, verdict.outcome.value),)
        if facts.agent is not None:
            which = (*which, (names.AGENT_NAME, facts.agent))
        closer = which if verdict.cause is None else (*which, (names.TURN_CAUSE, verdict.cause.value))
        closer = closer if model is None else (*closer, (names.REQUEST_MODEL, model))
        with self._lock:
            if facts.started_at is not None and facts.ended_at is not None:
                self._duration.record((facts.ended_at - facts.started_at) / _NANOS_PER_SECOND, which)
            self._steps.record(verdict.steps, which)
            self._finishes.add(closer)
        self._changed()

    def step(self, step: Values) -> None:
        """Record a model request's end."""
        which: Series = ((names.OPERATION_NAME, names.CHAT),)
        if "provider" in step:
            which = (*which, (names.PROVIDER_NAME, step["provider"]))
        if "model" in step:
            which = (*which, (names.REQUEST_MODEL, step["model"]))
        usage = usage_in_conventions(step)
        error = step_error(step)
        with self._lock:
            for kind, key in _TOKEN_TYPES:
                tokens = usage.get(key)
                if tokens is not None:
                    self._tokens.record(tokens, (*which, (names.TOKEN_TYPE, kind)))
            if "started_at" in step and "ended_at" in step:
                took = (step["ended_at"] - step["started_at"]) / _NANOS_PER_SECOND
                self._operation.record(took, which if error is None else (*which, (names.ERROR_TYPE, error)))
        self._changed()

    def collect(self, temporality: AggregationTemporality = AggregationTemporality.CUMULATIVE) -> list[Metric]:
        """All numbers so far or, for differences, since the last time."""
        everything: tuple[Numbers, ...] = (
            self._duration,
            self._steps,
            self._finishes,
            self._tokens,
            self._operation,
        )
        now = self._clock()
        with self._lock:
            metrics = [numbers.metric(self._since, now, temporality) for numbers in everything]
            if temporality is AggregationTemporality.DELTA:
                self._since = now
                for numbers in everything:
                    numbers.clear()
        return [metric for metric in metrics if metric.data.data_points]
