"""What recording a turn of 6 steps and 5 tool calls costs the agent's process.

`recorder_otel_ratio` compares it with as many bare OpenTelemetry spans of as many attributes, both through a batch to an exporter that
throws everything away, in turns of one run. The turn's own cost holds all that comes with it: its facts, its verdict, its two events and
its metrics. With the encoding to OTLP, which happens in another thread but in the same process, it is `recorder_encoded_ratio`.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExporter, LogRecordExportResult
from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult, MetricsData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind

from turnout.instrumentation import FanOut, FileSink, Limits, OtelSink, Output, Recorder, Sink, StructlogSink, Usage
from turnout.instrumentation.metrics import Metering

NAMES = (
    "recorder_otel_ratio",
    "recorder_encoded_ratio",
    "recorder_otel_us_per_turn",
    "recorder_file_us_per_turn",
    "recorder_file_cpu_us_per_turn",
)
STEPS = 6
TURNS = 300
ROUNDS = 7
QUEUE = 1_000_000


class NoSpans(SpanExporter):
    """Takes spans, encodes them if told to, and keeps the last ones."""

    def __init__(self, *, encode: bool) -> None:
        self.encode = encode
        self.last: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Throw spans away."""
        self.last = list(spans)
        if self.encode:
            encode_spans(spans).SerializeToString()
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Nothing is open."""


class NoEvents(LogRecordExporter):
    """Takes events, and encodes them if told to."""

    def __init__(self, *, encode: bool) -> None:
        self.encode = encode

    def export(self, batch: Sequence[ReadableLogRecord]) -> LogRecordExportResult:
        """Throw events away."""
        if self.encode:
            encode_logs(batch).SerializeToString()
        return LogRecordExportResult.SUCCESS

    def force_flush(self, timeout_millis: int = 10_000) -> bool:
        """Nothing is held back."""
        return timeout_millis >= 0

    def shutdown(self) -> None:
        """Nothing is open."""


class NoMetrics(MetricExporter):
    """Takes metrics."""

    def export(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: object) -> MetricExportResult:
        """Throw metrics away."""
        del metrics_data, timeout_millis, kwargs
        return MetricExportResult.SUCCESS

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        """Nothing is held back."""
        return timeout_millis >= 0

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: object) -> None:
        """Nothing is open."""


def record(recorder: Recorder) -> None:
    """One turn that works for five steps and answers in the sixth."""
    with recorder.turn(
        agent="support", agent_version="7", conversation_id="conversation-1", attended=True, limits=Limits(steps=30)
    ) as turn:
        for index in range(1, STEPS + 1):
            last = index == STEPS
            with turn.step(
                model="claude-sonnet-4-5", provider="anthropic", api="messages", max_output_tokens=4096
            ) as step:
                step.finish(
                    finish_reason="stop" if last else "tool-calls",
                    raw_finish_reason="end_turn" if last else "tool_use",
                    usage=Usage(input_tokens=1000 * index, output_tokens=80, cache_read_tokens=500),
                    output=Output(text_chars=400 if last else 0, parts=1),
                    message_id="message-1",
                    stream_complete=True,
                )
                if not last:
                    with step.tool_call("search", id="call-1", mutating=False):
                        pass
        turn.claim("runtime", "end_turn")


def bare(provider: TracerProvider, shapes: Sequence[ReadableSpan]) -> Callable[[], None]:
    """The same spans by hand: the same names, kinds and attributes, one inside the other, and nothing else."""
    tracer = provider.get_tracer("bare")
    *inner, outer = [(span.name, span.kind, dict(span.attributes or {})) for span in shapes]

    def work() -> None:
        with tracer.start_as_current_span(outer[0], kind=outer[1], attributes=outer[2]):
            for name, kind, attributes in inner:
                with tracer.start_as_current_span(name, kind=kind, attributes=attributes):
                    pass

    return work


def shapes() -> list[ReadableSpan]:
    """The spans of one turn, as the recorder emits them."""
    exporter = NoSpans(encode=False)
    recorder = Recorder(sink(exporter, NoEvents(encode=False)))
    record(recorder)
    recorder.close()
    assert len(exporter.last) == 2 * STEPS
    assert exporter.last[-1].kind is SpanKind.INTERNAL
    return exporter.last


def sink(spans: SpanExporter, events: LogRecordExporter) -> OtelSink:
    """The OTLP sink but for its exporters."""
    resource = Resource.create({"service.name": "bench"})
    return OtelSink(
        resource=resource,
        sampler=TracerProvider().sampler,
        spans=spans,
        events=events,
        metrics=Metering(NoMetrics(), resource=resource),
    )


def us_each(work: Callable[[], None], settle: Callable[[], object], clock: Callable[[], float]) -> float:
    """Microseconds a call, until all that it queued is gone."""
    started = clock()
    for _ in range(TURNS):
        work()
    settle()
    return (clock() - started) / TURNS * 1e6


def compared(*, encode: bool) -> tuple[float, float]:
    """Microseconds of a recorded turn and of its bare spans, measured alternately, by the CPU time of all threads together.

    The best round of each: the others only show what else the machine did.
    """
    spans = shapes()
    provider = TracerProvider(resource=Resource.create({"service.name": "bench"}))
    provider.add_span_processor(BatchSpanProcessor(NoSpans(encode=encode), max_queue_size=QUEUE))
    recorder = Recorder(sink(NoSpans(encode=encode), NoEvents(encode=encode)))
    by_hand = bare(provider, spans)
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(ROUNDS):
        theirs.append(us_each(by_hand, provider.force_flush, time.process_time))
        ours.append(us_each(lambda: record(recorder), recorder.flush, time.process_time))
    recorder.close()
    provider.shutdown()
    return min(ours), min(theirs)


def through(target: Sink, clock: Callable[[], float]) -> float:
    """Microseconds a turn through a sink, by a clock of the thread or of the process."""
    recorder = Recorder(target)
    spent = [us_each(lambda: record(recorder), recorder.flush, clock) for _ in range(ROUNDS)]
    recorder.close()
    return min(spent)


def into_a_file(clock: Callable[[], float]) -> float:
    """Microseconds a turn through the file sink, beside a structlog sink that nobody listens to."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "turns.jsonl"
        spent = through(FanOut(FileSink(path), StructlogSink()), clock)
        assert len(path.read_bytes().splitlines()) == TURNS * ROUNDS
    return spent


def figures() -> Iterator[dict[str, object]]:
    """Both comparisons; the file sink by the time of the thread that records, and by that of all threads."""
    ours, theirs = compared(encode=False)
    yield {"name": NAMES[0], "value": round(ours / theirs, 2), "unit": "x", "limit": 1.5}
    encoded, encoded_theirs = compared(encode=True)
    yield {"name": NAMES[1], "value": round(encoded / encoded_theirs, 2), "unit": "x"}
    yield {"name": NAMES[2], "value": round(ours, 1), "unit": "us"}
    yield {"name": NAMES[3], "value": round(into_a_file(time.thread_time), 1), "unit": "us", "limit": 100}
    yield {"name": NAMES[4], "value": round(into_a_file(time.process_time), 1), "unit": "us"}
