"""What Prometheus may ask: few series, with labels from closed or small sets."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ganglion.ledger.records import Batch
from ganglion.model.capacity import FlavorReport
from ganglion.model.reasons import Token

_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Gauges(Collector):
    """Reads the state when it is asked, so that nothing has to be kept up to date.

    Args:
        waiting: token of a reason -> gangs that wait for it.
        capacity: one report per flavor.
    """

    def __init__(
        self,
        waiting: Callable[[], dict[str, int]],
        capacity: Callable[[], list[FlavorReport]],
    ) -> None:
        self._waiting, self._capacity = waiting, capacity

    def describe(self) -> Iterable[Metric]:
        """Nothing may be asked of the state before it is there."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Yield the gauges as of now."""
        waiting = self._waiting()
        depth = GaugeMetricFamily(
            "ganglion_queue_depth", "Gangs that wait, by dominant reason.", labels=["reason"]
        )
        for token in (*Token, "unknown"):
            depth.add_metric([token], waiting.get(token, 0))
        total = GaugeMetricFamily("ganglion_gpus_total", "Healthy GPUs.", labels=["flavor"])
        used = GaugeMetricFamily("ganglion_gpus_used", "GPUs in use.", labels=["flavor"])
        for report in self._capacity():
            total.add_metric([report.flavor], report.gpu_total_milli / 1000)
            used.add_metric([report.flavor], report.gpu_used_milli / 1000)
        yield from (depth, total, used)


class Metrics:
    """The counters of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._cycles = Histogram(
            "ganglion_cycle_seconds",
            "Time the engine took to decide.",
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._events = Counter(
            "ganglion_events_appended", "Events written to the ledger.", registry=self.registry
        )

        self._defects = Counter(
            "ganglion_defects",
            "Failures of the engine, each undone and set apart.",
            ["stage"],
            registry=self.registry,
        )

    @contextmanager
    def cycle(self) -> Iterator[None]:
        """Measure one cycle."""
        began = time.perf_counter()
        yield
        self._cycles.observe(time.perf_counter() - began)

    def appended(self, batch: Batch) -> None:
        """A batch was written."""
        self._events.inc(len(batch.incoming) + len(batch.decisions))

    def failed(self, stage: str) -> None:
        """The engine failed in a stage of its cycle, or over an event."""
        self._defects.labels(stage).inc()

    def text(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self.registry)
