"""The counts of the receiver in the text format of Prometheus."""

from collections.abc import Iterator
from dataclasses import dataclass

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from turnout.pipeline.receive.counters import Count, Counters, Gauge, seconds

_PREFIX = "turnout_receiver_"


@dataclass(frozen=True, slots=True, eq=False)
class _Collector(Collector):
    counters: Counters

    def collect(self) -> Iterator[Metric]:
        """Give all families; a count that never moved is there with 0."""
        snapshot = self.counters.snapshot()
        for count in Count:
            family = CounterMetricFamily(
                _PREFIX + count, f"{count.replace('_', ' ')}, since the journal began", labels=["reason"]
            )
            found = {why: value for (name, why), value in snapshot.counts.items() if name == count.value}
            for reason, value in sorted((found or {"": 0}).items()):
                family.add_metric([reason], value)
            yield family
        for gauge in Gauge:
            yield GaugeMetricFamily(
                _PREFIX + gauge, gauge.replace("_", " "), value=snapshot.gauges.get(gauge.value, 0.0)
            )
        age = GaugeMetricFamily(_PREFIX + "source_age_seconds", "since a service was last heard", labels=["service"])
        for source in snapshot.sources:
            age.add_metric([source.service], max(0.0, seconds(self.counters.clock() - source.last_at)))
        yield age


def exposition(counters: Counters) -> tuple[bytes, str]:
    """Write everything; gives the body and its content type."""
    registry = CollectorRegistry()
    registry.register(_Collector(counters))
    return generate_latest(registry), CONTENT_TYPE_LATEST
