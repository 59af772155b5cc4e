"""The OTLP sink, made from the standard ``OTEL_*`` variables."""

import atexit
import logging
import os
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Final, TypeVar

from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs.export import LogRecordExporter
from opentelemetry.sdk.metrics.export import MetricExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter

from turnout.instrumentation import environment
from turnout.instrumentation.batch import BATCHING, Batching
from turnout.instrumentation.losses import LOSSES, Losses
from turnout.instrumentation.metrics import INTERVAL_S, Metering
from turnout.instrumentation.otel import OtelSink

CLOSE_AT_EXIT_S: Final = 2.0
"""How long a process's end may wait for a slow or absent receiver."""

_HTTP: Final = "http/protobuf"
_log = logging.getLogger("turnout")

E_ = TypeVar("E_", SpanExporter, LogRecordExporter, MetricExporter)


def otlp_sink(
    endpoint: str | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    resource: Resource | None = None,
    losses: Losses = LOSSES,
    environ: Mapping[str, str] = os.environ,
) -> OtelSink:
    """A sink that sends spans, events and metrics by OTLP.

    Args:
        endpoint: the receiver's address without a signal's path, such as ``http://localhost:4318``; given, it outweighs the variables.
        headers: sent with each request; given, they outweigh the variables.
        resource: who sends; the standard variables and detectors where none is given.
        losses: where losses are counted.
        environ: the variables that choose the exporters and their batches (``OTEL_TRACES_EXPORTER`` and its like); the OTLP
            exporters read the process's own variables.
    """
    resource = resource or Resource.create()
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    make = _Exporters(endpoint, dict(headers) if headers is not None else None, environ)
    sink = OtelSink(
        resource=resource,
        sampler=provider.sampler,
        spans=make.spans(),
        events=make.events(),
        metrics=_metering(make.metrics(), resource, environ, losses),
        losses=losses,
        batching=_batching(environ),
    )
    atexit.register(sink.close, CLOSE_AT_EXIT_S)
    return sink


class _Exporters:
    """One exporter a signal, as the variables choose it: ours for OTLP over HTTP, else whatever is installed by that name."""

    def __init__(self, endpoint: str | None, headers: dict[str, str] | None, environ: Mapping[str, str]) -> None:
        self._endpoint = endpoint.rstrip("/") if endpoint is not None else None
        self._headers = headers
        self._environ = environ

    def spans(self) -> SpanExporter | None:
        """The exporter of spans; None where the variables say so."""
        return self._choose(
            environment.OTEL_TRACES_EXPORTER,
            "opentelemetry_traces_exporter",
            lambda: OTLPSpanExporter(endpoint=self._url("v1/traces"), headers=self._headers),
        )

    def events(self) -> LogRecordExporter | None:
        """The exporter of events; None where the variables say so."""
        return self._choose(
            environment.OTEL_LOGS_EXPORTER,
            "opentelemetry_logs_exporter",
            lambda: OTLPLogExporter(endpoint=self._url("v1/logs"), headers=self._headers),
        )

    def metrics(self) -> MetricExporter | None:
        """The exporter of metrics; None where the variables say so."""
        return self._choose(
            environment.OTEL_METRICS_EXPORTER,
            "opentelemetry_metrics_exporter",
            lambda: OTLPMetricExporter(endpoint=self._url("v1/metrics"), headers=self._headers),
        )

    def _choose(self, variable: str, group: str, otlp: Callable[[], E_]) -> E_ | None:
        chosen = (self._environ.get(variable) or "otlp").split(",")[0].strip().lower()
        if chosen == "none":
            return None
        protocol = self._environ.get(environment.OTEL_EXPORTER_OTLP_PROTOCOL) or _HTTP
        if chosen == "otlp" and (self._endpoint is not None or protocol == _HTTP):
            return otlp()
        name = "otlp_proto_grpc" if chosen == "otlp" else chosen
        for entry in entry_points(group=group, name=name):
            exporter: E_ = entry.load()()
            return exporter
        _log.warning("%s: no exporter %r is installed; sending by OTLP over HTTP instead", variable, name)
        return otlp()

    def _url(self, path: str) -> str | None:
        return f"{self._endpoint}/{path}" if self._endpoint is not None else None


def _metering(
    exporter: MetricExporter | None, resource: Resource, environ: Mapping[str, str], losses: Losses
) -> Metering | None:
    if exporter is None:
        return None
    interval_ms = _number(environ, environment.OTEL_METRIC_EXPORT_INTERVAL, INTERVAL_S * 1000)
    return Metering(exporter, resource=resource, interval_s=interval_ms / 1000, losses=losses)


def _batching(environ: Mapping[str, str]) -> Batching:
    return Batching(
        delay_s=_number(environ, environment.OTEL_BSP_SCHEDULE_DELAY, BATCHING.delay_s * 1000) / 1000,
        max_queue=int(_number(environ, environment.OTEL_BSP_MAX_QUEUE_SIZE, BATCHING.max_queue)),
        max_batch=int(_number(environ, environment.OTEL_BSP_MAX_EXPORT_BATCH_SIZE, BATCHING.max_batch)),
    )


def _number(environ: Mapping[str, str], name: str, default: float) -> float:
    try:
        number = float(environ.get(name) or default)
    except ValueError:
        number = -1.0
    if number > 0:
        return number
    _log.warning("%s: got %r, expected a positive number; using %g", name, environ.get(name), default)
    return default
