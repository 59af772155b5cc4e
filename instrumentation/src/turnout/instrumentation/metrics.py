"""The way of the metrics out: what the instruments added up, through an exporter of the SDK, once a minute."""

from collections.abc import Sequence
from typing import Final

from opentelemetry.sdk import metrics as sdk
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    MetricExporter,
    MetricExportResult,
    MetricsData,
    ResourceMetrics,
    ScopeMetrics,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from turnout.instrumentation import attributes as names
from turnout.instrumentation.batch import Batch, Batching
from turnout.instrumentation.instruments import Instruments
from turnout.instrumentation.losses import LOSSES, Losses

INTERVAL_S: Final = 60.0


class Metering:
    """The instruments and their export; the exporter says whether it wants totals or differences."""

    def __init__(
        self,
        exporter: MetricExporter,
        *,
        resource: Resource,
        interval_s: float = INTERVAL_S,
        losses: Losses = LOSSES,
    ) -> None:
        self._exporter = exporter
        self._resource = resource
        self._temporality = _temporality(exporter)
        self._scope = InstrumentationScope(names.SCOPE)
        self._due = self._closed = False
        self._batch: Batch[None] = Batch(
            self._export, what="metrics", losses=losses, batching=Batching(delay_s=interval_s)
        )
        self.instruments = Instruments(self._changed)

    def flush(self, timeout_s: float) -> bool:
        """Export what is new now."""
        return self._batch.flush(timeout_s)

    def close(self, timeout_s: float) -> bool:
        """Export what is new and shut the exporter down."""
        if self._closed:
            return True
        self._closed = True
        emptied = self._batch.close(timeout_s)
        self._exporter.shutdown(timeout_millis=timeout_s * 1000)
        return emptied

    def _changed(self) -> None:
        if not self._due:
            self._due = True
            self._batch.add(None)

    def _export(self, _: Sequence[None]) -> bool:
        self._due = False
        metrics = self.instruments.collect(self._temporality)
        scopes = [ScopeMetrics(self._scope, metrics, "")]
        data = MetricsData([ResourceMetrics(self._resource, scopes, self._resource.schema_url)])
        return self._exporter.export(data) is MetricExportResult.SUCCESS


def _temporality(exporter: MetricExporter) -> AggregationTemporality:
    """What the exporter was told by the standard variable, where it was."""
    preferred: dict[type, AggregationTemporality] = getattr(exporter, "_preferred_temporality", None) or {}
    return preferred.get(sdk.Histogram, AggregationTemporality.CUMULATIVE)
