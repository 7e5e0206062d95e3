"""What Prometheus may ask: few series, with labels from closed or small sets."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import inf
from typing import NamedTuple

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ganglion.ledger.records import Batch
from ganglion.lifecycle.clusters import cluster_of
from ganglion.lifecycle.failures.causes import CAUSES, SUPERVISOR
from ganglion.model.errors import GanglionError
from ganglion.model.events import GangEnded
from ganglion.model.fleet.capacity import FlavorReport
from ganglion.model.reasons import Token
from ganglion.seams.clock import SYSTEM_CLOCK, Clock

RATIOS = tuple(each / 10 for each in range(11))
"""Bounds of parts of the GPUs and of their time."""
_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_ANSWERS = (0.005, 0.025, 0.1, 0.5, 2.5, 10.0)
WAITS = (1.0, 10.0, 60.0, 600.0, 3_600.0, 21_600.0, 86_400.0, 604_800.0)
MOST_LABELS = 50
"""Most values of a label that users choose; what comes after is counted as `other`."""
OTHER = "other"
STARTS = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3_600.0)
HOUR_MS = 3_600_000
METHODS = frozenset(("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"))


class ServerStanding(NamedTuple):
    """What a server says of itself at the moment that it is asked.

    Attributes:
        failing: checks of `/readyz` that fail, or warn, by name -> `fail` or `warn`.
        ledger_events: number of the newest event.
        ledger_bytes: size of its files; 0 = it lies in no file.
        streams: streams of events that are open.
        apart: gangs that are set apart.
    """

    failing: Mapping[str, str]
    ledger_events: int
    ledger_bytes: int
    streams: int
    apart: int


class ServerFigures(Collector):
    """Reads what a server says of itself when it is asked.

    Args:
        standing: asks the server.
    """

    def __init__(self, standing: Callable[[], ServerStanding]) -> None:
        self._standing = standing

    def describe(self) -> Iterable[Metric]:
        """Nothing may be asked of the server before it is there."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Yield the gauges as of now."""
        now = self._standing()
        checks = GaugeMetricFamily(
            "ganglion_check_failing", "1 = the check of /readyz fails or warns.", labels=["check"]
        )
        for name, status in now.failing.items():
            checks.add_metric([name], 0 if status == "ok" else 1)
        yield checks
        for name, text, value in (
            ("ganglion_ledger_events", "Number of the newest event.", now.ledger_events),
            ("ganglion_ledger_bytes", "Size of the ledger's files.", now.ledger_bytes),
            ("ganglion_event_streams", "Streams of events that are open.", now.streams),
            ("ganglion_gangs_set_apart", "Gangs that the engine failed over.", now.apart),
        ):
            yield GaugeMetricFamily(name, text, value=value)


class Bounded:
    """Values of a label that users choose, as many as fit.

    Args:
        most: how many are kept apart.
    """

    def __init__(self, most: int = MOST_LABELS) -> None:
        self._most, self._known = most, set[str]()

    def of(self, value: str) -> str:
        """The value, or `other`."""
        if value not in self._known:
            if len(self._known) >= self._most:
                return OTHER
            self._known.add(value)
        return value


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
    """The counters of one server.

    Args:
        clock: says how long something takes.
    """

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
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

        self._requests = Histogram(
            "ganglion_http_request_seconds",
            "From a request to the head of its answer.",
            ["route", "method", "status"],
            buckets=_ANSWERS,
            registry=self.registry,
        )
        self._commits = Histogram(
            "ganglion_commit_seconds",
            "Time that writing a turn to the ledger took.",
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._refused = Counter(
            "ganglion_commits_failed", "Turns that the ledger refused.", registry=self.registry
        )
        self._waits = Histogram(
            "ganglion_queue_wait_seconds",
            "From submission to the first place.",
            ["queue", "size"],
            buckets=WAITS,
            registry=self.registry,
        )
        self._starts, self._readies = (
            Histogram(name, text, ["queue"], buckets=STARTS, registry=self.registry)
            for name, text in (
                ("ganglion_start_seconds", "From the decision to start until all pods run."),
                ("ganglion_ready_seconds", "From the decision until a replica answers."),
            )
        )
        self._allocated = Histogram(
            "ganglion_gpu_allocated_ratio",
            "Part of the healthy GPUs that was in use, looked at every ten seconds.",
            ["flavor"],
            buckets=RATIOS,
            registry=self.registry,
        )
        self._active = Histogram(
            "ganglion_gpu_active_ratio",
            "How busy each GPU in use was by its driver, looked at every ten seconds.",
            ["queue"],
            buckets=RATIOS,
            registry=self.registry,
        )
        self._lost = Counter(
            "ganglion_gpu_hours_lost",
            "Lost work, by cause: of the last checkpoint, or the start.",
            ["queue", "cause"],
            registry=self.registry,
        )
        self._process = ProcessCollector(registry=self.registry)
        self._attempts = Counter(
            "ganglion_attempts_ended",
            "Attempts that ended, by outcome and cause.",
            ["outcome", "cause"],
            registry=self.registry,
        )
        self._supervisors = Counter(
            "ganglion_supervisors_lost",
            "Supervisors that were killed from outside.",
            registry=self.registry,
        )
        self._queues, self._away = Bounded(), Bounded()

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """A request was answered.

        Args:
            route: template of its path; empty = none fits.
            method: its method.
            status: HTTP status.
            seconds: until the head of the answer.
        """
        verb = method if method in METHODS else OTHER
        self._requests.labels(route or OTHER, verb, str(status)).observe(seconds)

    @contextmanager
    def commit(self) -> Iterator[None]:
        """Measure one commit, and whether it was refused."""
        began = self._clock.monotonic()
        try:
            yield
        except GanglionError:
            self._refused.inc()
            raise
        self._commits.observe(self._clock.monotonic() - began)

    def utilised(self, fleet: Iterable[FlavorReport], busy: Iterable[tuple[str, int]]) -> None:
        """GPUs were looked at.

        Args:
            fleet: what there is and what is in use, by flavor.
            busy: of each GPU in use whose driver says it, the queue and the thousandths of the time
                in which it computed.
        """
        for each in fleet:
            if each.gpu_total_milli:
                ratio = each.gpu_used_milli / each.gpu_total_milli
                self._allocated.labels(each.flavor).observe(ratio)
        for queue, milli in busy:
            self._active.labels(self._queues.of(queue)).observe(milli / 1000)

    def placed(self, queue: str, size: str, waited_ms: int) -> None:
        """A gang, of a class of `metering.waits`, got its first place, here or in a cluster."""
        names = self._away if cluster_of(queue) else self._queues
        self._waits.labels(names.of(queue), size).observe(max(0, waited_ms) / 1000)

    def started(self, queue: str, took_ms: int) -> None:
        """All pods of an attempt run, so long after the decision."""
        self._starts.labels(self._queues.of(queue)).observe(max(0, took_ms) / 1000)

    def ready(self, queue: str, took_ms: int) -> None:
        """A replica answers, so long after the decision."""
        self._readies.labels(self._queues.of(queue)).observe(max(0, took_ms) / 1000)

    def ended(self, event: GangEnded, queue: str) -> None:
        """An attempt ended."""
        self.lost_of(event, queue)
        cause = event.cause if event.cause in CAUSES else OTHER if event.cause else "none"
        self._attempts.labels(event.outcome.value, cause).inc()
        if event.cause == SUPERVISOR:
            self._supervisors.inc()

    def lost_of(self, event: GangEnded, queue: str) -> None:
        """Count the work that an end threw away, here or in a cluster; empty = of no queue."""
        if not event.lost_gpu_ms or not queue:
            return
        names = self._away if cluster_of(queue) else self._queues
        label, cause = names.of(queue), event.outcome.value
        self._lost.labels(label, cause).inc(event.lost_gpu_ms / HOUR_MS)

    @contextmanager
    def cycle(self) -> Iterator[None]:
        """Measure one cycle."""
        began = self._clock.monotonic()
        yield
        self._cycles.observe(self._clock.monotonic() - began)

    def appended(self, batch: Batch) -> None:
        """A batch was written."""
        self._events.inc(len(batch.incoming) + len(batch.decisions))

    def failed(self, stage: str) -> None:
        """The engine failed in a stage of its cycle, or over an event."""
        self._defects.labels(stage).inc()

    def timings(self) -> list[tuple[str, int, float | None, float | None]]:
        """Name, number, and upper bounds in ms of the median and the 95th percentile, of steps."""
        named = {"decision": self._cycles, "running": self._starts, "ready": self._readies}
        return [(name, *_percentiles(each)) for name, each in named.items()]

    def cpu_ms(self) -> int | None:
        """CPU time that this process has spent; None where the machine does not say."""
        for family in self._process.collect():
            for sample in family.samples:
                if sample.name == "process_cpu_seconds_total":
                    return round(sample.value * 1000)
        return None

    def text(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self.registry)


def _percentiles(histogram: Histogram) -> tuple[int, float | None, float | None]:
    """Number, median and 95th percentile over all labels, as upper bounds in ms.

    None where there are none, or beyond the last bound.
    """
    below: dict[float, int] = {}
    for family in histogram.collect():
        for sample in family.samples:
            if sample.name.endswith("_bucket"):
                bound = float(sample.labels["le"])
                below[bound] = below.get(bound, 0) + round(sample.value)
    total = below.get(inf, 0)

    def at(permille: int) -> float | None:
        reached = (each for each in sorted(below) if below[each] * 1000 >= total * permille)
        bound = next(reached, inf) if total else inf
        return None if bound == inf else bound * 1000

    return total, at(500), at(950)
