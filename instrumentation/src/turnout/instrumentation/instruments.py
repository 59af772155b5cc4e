"""The metrics: every instrument with its unit and buckets, and what is recorded of a turn and of a step."""

from typing import Final

from opentelemetry.metrics import Meter

from turnout.instrumentation import attributes as names
from turnout.instrumentation.known import Values
from turnout.instrumentation.spans import step_error, usage_in_conventions
from turnout.outcomes.facts import TurnFacts
from turnout.outcomes.verdict import Verdict

SECONDS_BUCKETS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
TURN_SECONDS_BUCKETS: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
STEP_BUCKETS: Final = (1.0, 2.0, 3.0, 5.0, 8.0, 10.0, 15.0, 20.0, 30.0, 50.0, 75.0, 100.0, 200.0)
TOKEN_BUCKETS: Final = tuple(float(4**power) for power in range(14))

_NANOS_PER_SECOND = 1_000_000_000
_TOKEN_TYPES = (("input", "input_tokens"), ("output", "output_tokens"))


class Instruments:
    """The five instruments on one meter."""

    def __init__(self, meter: Meter) -> None:
        self._duration = meter.create_histogram(
            names.METRIC_TURN_DURATION,
            unit="s",
            description="How long turns took.",
            explicit_bucket_boundaries_advisory=TURN_SECONDS_BUCKETS,
        )
        self._steps = meter.create_histogram(
            names.METRIC_TURN_STEPS,
            unit="{step}",
            description="How many steps turns took.",
            explicit_bucket_boundaries_advisory=STEP_BUCKETS,
        )
        self._finishes = meter.create_counter(
            names.METRIC_TURN_FINISHES,
            unit="{turn}",
            description="How turns ended.",
        )
        self._tokens = meter.create_histogram(
            names.METRIC_TOKEN_USAGE,
            unit="{token}",
            description="Tokens of model requests.",
            explicit_bucket_boundaries_advisory=TOKEN_BUCKETS,
        )
        self._operation = meter.create_histogram(
            names.METRIC_OPERATION_DURATION,
            unit="s",
            description="How long model requests took.",
            explicit_bucket_boundaries_advisory=SECONDS_BUCKETS,
        )

    def turn(self, facts: TurnFacts, verdict: Verdict, model: str | None) -> None:
        """Record a turn's end."""
        which = {names.TURN_OUTCOME: verdict.outcome.value}
        if facts.agent is not None:
            which[names.AGENT_NAME] = facts.agent
        if facts.started_at is not None and facts.ended_at is not None:
            self._duration.record((facts.ended_at - facts.started_at) / _NANOS_PER_SECOND, which)
        self._steps.record(verdict.steps, which)
        if verdict.cause is not None:
            which = {**which, names.TURN_CAUSE: verdict.cause.value}
        if model is not None:
            which = {**which, names.REQUEST_MODEL: model}
        self._finishes.add(1, which)

    def step(self, step: Values) -> None:
        """Record a model request's end."""
        which: dict[str, str] = {names.OPERATION_NAME: names.CHAT}
        provider, model = step.get("provider"), step.get("model")
        if provider is not None:
            which[names.PROVIDER_NAME] = provider
        if model is not None:
            which[names.REQUEST_MODEL] = model
        usage = usage_in_conventions(step)
        for kind, key in _TOKEN_TYPES:
            tokens = usage.get(key)
            if tokens is not None:
                self._tokens.record(tokens, {**which, names.TOKEN_TYPE: kind})
        started_at, ended_at, error = step.get("started_at"), step.get("ended_at"), step_error(step)
        if started_at is not None and ended_at is not None:
            took = (ended_at - started_at) / _NANOS_PER_SECOND
            self._operation.record(took, which if error is None else {**which, names.ERROR_TYPE: error})
