"""What the instrumentation's tests share: sinks that keep what they get, and recorders whose clock and ids do not vary."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter
from opentelemetry.sdk.metrics import Histogram
from opentelemetry.sdk.metrics.export import AggregationTemporality, MetricExporter, MetricExportResult, MetricsData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler

from turnout.instrumentation import FanOut, Losses, OtelSink, Recorder, Sink, StructlogSink
from turnout.instrumentation.metrics import Metering
from turnout.instrumentation.testing import CountingIds, MemorySink, fixed_clock


class KeptMetrics(MetricExporter):
    """Keeps what is exported."""

    def __init__(self, temporality: AggregationTemporality = AggregationTemporality.CUMULATIVE) -> None:
        super().__init__(preferred_temporality={Histogram: temporality})
        self.got: list[MetricsData] = []

    def export(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **_: object) -> MetricExportResult:
        del timeout_millis
        self.got.append(metrics_data)
        return MetricExportResult.SUCCESS

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        return timeout_millis >= 0

    def shutdown(self, timeout_millis: float = 30_000, **_: object) -> None:
        pass


class Emitted:
    """An OTLP sink but for the wire, and what came out of it."""

    def __init__(self, losses: Losses, sampler: Sampler = ALWAYS_ON) -> None:
        self._spans = InMemorySpanExporter()
        self._events = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
        self._metering = Metering(KeptMetrics(), resource=Resource({}), losses=losses)
        self.sink = OtelSink(
            resource=Resource({"service.name": "shop"}),
            sampler=sampler,
            spans=self._spans,
            events=self._events,
            metrics=self._metering,
            losses=losses,
        )

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """The spans, once all are exported."""
        assert self.sink.flush(5)
        return self._spans.get_finished_spans()

    @property
    def events(self) -> tuple[ReadableLogRecord, ...]:
        """The events, once all are exported."""
        assert self.sink.flush(5)
        return tuple(self._events.get_finished_logs())

    def span(self, name: str) -> ReadableSpan:
        """The one span of a name."""
        (found,) = [span for span in self.spans if span.name == name]
        return found

    def event(self, name: str) -> ReadableLogRecord:
        """The one event of a name."""
        (found,) = [event for event in self.events if event.log_record.event_name == name]
        return found

    def event_names(self) -> list[str | None]:
        """The events' names in order."""
        return [event.log_record.event_name for event in self.events]

    def metrics(self) -> dict[str, list[Any]]:
        """The data points of each metric."""
        return {metric.name: list(metric.data.data_points) for metric in self._metering.instruments.collect()}


@dataclass
class EventLog:
    """A logger that keeps what it is told, as structlog's does."""

    lines: list[tuple[str, str, dict[str, object]]] = field(default_factory=list[tuple[str, str, dict[str, object]]])

    def info(self, event: str, **values: object) -> None:
        self.lines.append(("info", event, values))

    def error(self, event: str, **values: object) -> None:
        self.lines.append(("error", event, values))


@pytest.fixture
def warnings() -> list[str]:
    """What the losses log."""
    return []


@pytest.fixture
def losses(warnings: list[str]) -> Losses:
    """A count of its own for each test."""
    return Losses(warn=warnings.append)


@pytest.fixture
def emitted(losses: Losses) -> Iterator[Emitted]:
    """A sink with exporters in memory."""
    emitted = Emitted(losses)
    yield emitted
    emitted.sink.close(5)


@pytest.fixture
def unsampled(losses: Losses) -> Iterator[Emitted]:
    """A sink whose sampler wants no spans."""
    emitted = Emitted(losses, ALWAYS_OFF)
    yield emitted
    emitted.sink.close(5)


@pytest.fixture
def kept_metrics() -> type[KeptMetrics]:
    """A metric exporter that keeps what it gets, by the temporality it asks for."""
    return KeptMetrics


@pytest.fixture
def memory() -> MemorySink:
    """The public test sink."""
    return MemorySink()


@pytest.fixture
def recorder(emitted: Emitted, losses: Losses) -> Recorder:
    """A recorder over the exporters in memory."""
    return recording(emitted.sink, losses)


@pytest.fixture
def event_log() -> EventLog:
    """A logger to hand to the structlog sink."""
    return EventLog()


@pytest.fixture
def make_recorder(losses: Losses) -> Callable[..., Recorder]:
    """A recorder over any sinks."""

    def make(*sinks: Sink, **options: Any) -> Recorder:
        return recording(sinks[0] if len(sinks) == 1 else FanOut(*sinks, losses=losses), losses, **options)

    return make


@pytest.fixture
def logged(event_log: EventLog) -> StructlogSink:
    """The structlog sink over the test's logger."""
    return StructlogSink(event_log)


def recording(sink: Sink, losses: Losses, **options: Any) -> Recorder:
    """A recorder whose clock and ids do not vary."""
    given: dict[str, Any] = {"clock": fixed_clock(), "ids": CountingIds(), "losses": losses, **options}
    return Recorder(sink, **given)
