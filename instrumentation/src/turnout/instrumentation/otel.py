"""The sink that emits spans, events and metrics, through exporters of the OpenTelemetry SDK and batches of its own."""

import time
from collections.abc import Callable, Sequence
from typing import Final

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExporter, LogRecordExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import Decision, Sampler
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, set_span_in_context
from opentelemetry.trace.status import Status, StatusCode

from turnout.instrumentation import attributes as names
from turnout.instrumentation.batch import BATCHING, Batch, Batching
from turnout.instrumentation.columns import Value, last_step, start_attributes
from turnout.instrumentation.known import Values
from turnout.instrumentation.losses import LOSSES, Losses
from turnout.instrumentation.metrics import Metering
from turnout.instrumentation.sink import EndedCall, EndedStep, EndedTurn, OpenTurn, Place
from turnout.instrumentation.spans import (
    span_name,
    step_attributes,
    tool_attributes,
    turn_attributes,
    turn_error,
)
from turnout.outcomes.facts import Instant

_UNSET: Final = Status()
_ERROR: Final = Status(StatusCode.ERROR)
_SEVERITY: Final = {
    names.EVENT_START: (SeverityNumber.INFO, "INFO"),
    names.EVENT_END: (SeverityNumber.INFO, "INFO"),
    names.EVENT_LATE: (SeverityNumber.INFO, "INFO"),
    names.EVENT_ABNORMAL_FINISH: (SeverityNumber.ERROR, "ERROR"),
}


class OtelSink:
    """Emits each span when its work is over and each event at its instant; exports run in threads of their own.

    Spans are built whole at their end, with the ids that the recorder gave out at their start, so that children of any other
    instrumentation find their parent. An exporter that is None leaves its signal out.
    """

    traces = True

    def __init__(
        self,
        *,
        resource: Resource,
        sampler: Sampler,
        spans: SpanExporter | None = None,
        events: LogRecordExporter | None = None,
        metrics: Metering | None = None,
        losses: Losses = LOSSES,
        batching: Batching = BATCHING,
    ) -> None:
        self._resource = resource
        self._sampler = sampler
        self._scope = InstrumentationScope(names.SCOPE)
        self._metrics = metrics
        self._instruments = metrics.instruments if metrics is not None else None
        self._spans: Batch[ReadableSpan] | None = None
        self._events: Batch[ReadableLogRecord] | None = None
        if spans is not None:
            self._spans = Batch(_span_export(spans), what="spans", losses=losses, batching=batching)
        if events is not None:
            self._events = Batch(_event_export(events), what="events", losses=losses, batching=batching)

    def samples(self, context: SpanContext, parent: SpanContext | None, name: str) -> bool:
        """Ask the sampler."""
        around = set_span_in_context(NonRecordingSpan(parent)) if parent is not None else None
        decision = self._sampler.should_sample(around, context.trace_id, name, SpanKind.INTERNAL).decision
        return decision is Decision.RECORD_AND_SAMPLE

    def turn_started(self, turn: OpenTurn) -> None:
        """Emit ``agent.turn.start``."""
        self._event(names.EVENT_START, turn, turn.facts.started_at, start_attributes(turn.facts), None)

    def step_ended(self, turn: OpenTurn, step: EndedStep) -> None:
        """Emit the step's span and metrics."""
        values = step.values
        if self._instruments is not None:
            self._instruments.step(values)
        if not step.place.context.trace_flags.sampled:
            return
        attributes = step_attributes(turn.known.turn, values)
        if step.response_model is not None:
            attributes[names.RESPONSE_MODEL] = step.response_model
        name = span_name(names.CHAT, values.get("model"))
        self._span(name, SpanKind.CLIENT, step.place, attributes, _times(values), failed=names.ERROR_TYPE in attributes)

    def tool_ended(self, turn: OpenTurn, call: EndedCall) -> None:
        """Emit the tool call's span."""
        if not call.place.context.trace_flags.sampled:
            return
        values = call.values
        attributes = tool_attributes(turn.known.turn, call.step, values)
        name = span_name(names.EXECUTE_TOOL, values.get("name"))
        self._span(
            name, SpanKind.INTERNAL, call.place, attributes, _times(values), failed=names.ERROR_TYPE in attributes
        )

    def turn_ended(self, turn: EndedTurn) -> None:
        """Emit the turn's span, its end event, the abnormal finish beside it, and the metrics."""
        at = turn.facts.ended_at
        self._event(names.EVENT_END, turn, at, turn.attributes, turn.known.record())
        if turn.verdict.abnormal:
            self._event(names.EVENT_ABNORMAL_FINISH, turn, at, turn.attributes, None)
        if turn.place.context.trace_flags.sampled:
            self._turn_span(turn)
        if self._instruments is not None:
            step = last_step(turn.facts)
            self._instruments.turn(turn.facts, turn.verdict, step.model if step is not None else None)

    def turn_late(self, turn: EndedTurn) -> None:
        """Emit ``agent.turn.late``; its instant is the time of emission."""
        self._event(names.EVENT_LATE, turn, None, turn.attributes, turn.known.record())

    def flush(self, timeout_s: float) -> bool:
        """Wait until what is queued is exported."""
        deadline = time.monotonic() + timeout_s
        flushed = [way.flush(max(0.0, deadline - time.monotonic())) for way in self._ways()]
        return all(flushed)

    def close(self, timeout_s: float) -> bool:
        """Export what is queued, end the threads and shut the exporters down, within the time for all of it."""
        deadline = time.monotonic() + timeout_s
        closed = [way.close(max(0.0, deadline - time.monotonic())) for way in self._ways()]
        return all(closed)

    def _ways(self) -> "list[Batch[ReadableLogRecord] | Batch[ReadableSpan] | Metering]":
        """Events first: they hold the whole turn."""
        return [way for way in (self._events, self._spans, self._metrics) if way is not None]

    def _turn_span(self, turn: EndedTurn) -> None:
        attributes = turn_attributes(turn.attributes, turn.agent_id)
        error = turn_error(turn.verdict)
        if error is not None:
            attributes[names.ERROR_TYPE] = error
        name = span_name(names.INVOKE_AGENT, turn.facts.agent)
        times = _times(turn.known.turn)
        self._span(name, SpanKind.INTERNAL, turn.place, attributes, times, failed=error is not None)

    def _span(
        self,
        name: str,
        kind: SpanKind,
        place: Place,
        attributes: dict[str, Value],
        times: tuple[Instant | None, Instant | None],
        *,
        failed: bool,
    ) -> None:
        if self._spans is None:
            return
        self._spans.add(
            ReadableSpan(
                name=name,
                context=place.context,
                parent=place.parent,
                resource=self._resource,
                attributes=attributes,
                kind=kind,
                status=_ERROR if failed else _UNSET,
                start_time=times[0],
                end_time=times[1] if times[1] is not None else times[0],
                instrumentation_scope=self._scope,
            )
        )

    def _event(
        self,
        name: str,
        turn: OpenTurn,
        at: Instant | None,
        attributes: dict[str, Value],
        body: dict[str, object] | None,
    ) -> None:
        if self._events is None:
            return
        severity, severity_text = _SEVERITY[name]
        record = LogRecord(
            event_name=name,
            context=set_span_in_context(NonRecordingSpan(turn.place.context)),
            severity_number=severity,
            severity_text=severity_text,
            body=body,  # type: ignore[arg-type]  # a JSON object is an AnyValue; dict is invariant
            attributes=attributes,
        )
        record.timestamp = at if at is not None else record.observed_timestamp
        self._events.add(ReadableLogRecord(record, self._resource, self._scope))


def _span_export(exporter: SpanExporter) -> Callable[[Sequence[ReadableSpan]], bool]:
    return lambda batch: exporter.export(batch) is SpanExportResult.SUCCESS


def _event_export(exporter: LogRecordExporter) -> Callable[[Sequence[ReadableLogRecord]], bool]:
    return lambda batch: exporter.export(batch) is LogRecordExportResult.SUCCESS


def _times(values: Values) -> tuple[Instant | None, Instant | None]:
    """When a span's work began and ended."""
    return values.get("started_at"), values.get("ended_at")
