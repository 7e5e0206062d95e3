"""What Prometheus may ask of a cluster's scheduler, by queue and flavor."""

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping

from msgspec import Struct
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ganglion.engine.gangs.record import HOLDING
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.causes import Cause
from ganglion.model.events import (
    Event,
    GangEnded,
    GangPlaced,
    GangStopping,
    GangSubmitted,
    NodeAdded,
    NodeLost,
    Outcome,
)
from ganglion.model.placement import Placement
from ganglion.model.plan import Phase
from ganglion.model.queue import ANY_FLAVOR
from ganglion.model.resources import Amount, GpuRequest
from ganglion.model.workload import Gang
from ganglion.server.telemetry.metrics import WAITS, Bounded
from ganglion.specs.grammar.amounts import CPU_FLAVOR
from ganglion.worlds.causes import trade_of
from ganglion.worlds.kubernetes.http.tally import Call
from ganglion.worlds.kubernetes.reporting.reports import figures_of

MOST_QUEUES = 500
MS_PER_HOUR = 3_600_000
MILLI = 1000


class QueueRow(Struct, frozen=True):
    """One queue at the moment that it is asked.

    Attributes:
        used, deserved, quota, borrowed: GPUs by flavor (`*` = of any), those below it included.
        waiting, admitted: gangs of the queue itself, by the flavor that they ask for (`*` = of
            any, or of several) or have.
        asked: GPUs that its waiting gangs ask for, likewise.
    """

    used: dict[str, float]
    deserved: dict[str, float]
    quota: dict[str, float]
    borrowed: dict[str, float]
    waiting: dict[str, int]
    admitted: dict[str, int]
    asked: dict[str, float]


def rows_of(state: ClusterState) -> dict[str, QueueRow]:
    """All queues, by name."""
    flavors = frozenset(state.fleet.totals.flavors())
    waiting, admitted, asked = (defaultdict[str, Tally[str]](Tally) for _ in range(3))
    for record in state.gangs.records.values():
        gang, placement = record.gang, record.placement
        if record.phase in HOLDING and placement:
            admitted[gang.queue][_held_flavor(state, placement)] += 1
        elif record.phase is not Phase.ENDED:
            flavor, sets = _asked_flavor(gang, flavors), gang.pod_sets
            waiting[gang.queue][flavor] += 1
            asked[gang.queue][flavor] += sum(e.count * _milli(e.request.gpu) for e in sets)
    found = {}
    for name, figures in figures_of(state).items():
        used, quota = _gpus(figures.used), _gpus(state.queues.by_name[name].quota)
        found[name] = QueueRow(
            used,
            _gpus(figures.deserved),
            quota,
            _borrowed(used, quota),
            waiting[name],
            admitted[name],
            {flavor: milli / MILLI for flavor, milli in asked[name].items()},
        )
    return found


def _held_flavor(state: ClusterState, placement: Placement) -> str:
    """The flavor of a gang that has a place: that of its first pod; `*` = its node is gone."""
    tree, node = state.fleet.tree, placement.pods[0].node if placement.pods else ""
    return tree.node(node).kind if node in tree.index else ANY_FLAVOR


def _asked_flavor(gang: Gang, flavors: Collection[str]) -> str:
    """The flavor that a gang asks for; `*` = any, several, or a type that the fleet has not.

    What people write is no label of its own: there is no end of it.
    """
    asked = [each.request.gpu for each in gang.pod_sets if each.request.gpu.count]
    types = {types for each in asked for types in (each.types or (ANY_FLAVOR,))}
    if not asked:
        return CPU_FLAVOR
    found = types.pop() if len(types) == 1 else ANY_FLAVOR
    return found if found in flavors else ANY_FLAVOR


def _milli(request: GpuRequest) -> int:
    """What a pod asks for; a share by memory counts as a whole GPU, as its size is not known."""
    return request.count * request.milli


def _gpus(amounts: Mapping[str, Amount]) -> dict[str, float]:
    known = {flavor: each.gpu_milli for flavor, each in amounts.items()}
    return {flavor: milli / MILLI for flavor, milli in known.items() if milli is not None}


def _borrowed(used: Mapping[str, float], quota: Mapping[str, float]) -> dict[str, float]:
    """What is used beyond quota; quota of any flavor covers all of them together."""
    if "*" in quota:
        return {"*": max(0.0, sum(used.values()) - quota["*"])}
    return {flavor: max(0.0, gpus - quota.get(flavor, 0.0)) for flavor, gpus in used.items()}


class ClusterGauges(Collector):
    """Reads the state when it is asked, so that nothing has to be kept up to date.

    Args:
        rows: asks for all queues.
        bands: returns how often predicted starts came: (bands, by their median, by their end).
        calls: asks for requests sent to API servers.
        unwritten: asks for events that were dropped.
        apart: asks for objects that are left out, by kind.
    """

    def __init__(
        self,
        rows: Callable[[], Mapping[str, QueueRow]],
        bands: Callable[[], tuple[int, int, int]],
        calls: Callable[[], Mapping[Call, int]],
        unwritten: Callable[[], int],
        apart: Callable[[], Mapping[str, int]],
    ) -> None:
        self._rows, self._bands = rows, bands
        self._calls, self._unwritten, self._apart = calls, unwritten, apart

    def describe(self) -> Iterable[Metric]:
        """Nothing may be asked of the state before it is there."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Yield everything as of now."""
        rows = self._rows()
        gangs = GaugeMetricFamily(
            "ganglion_queue_gangs",
            "Gangs of a queue, by state and by the flavor that they ask for or have.",
            labels=["queue", "flavor", "state"],
        )
        for name, row in rows.items():
            for state, counts in (("waiting", row.waiting), ("admitted", row.admitted)):
                for flavor, count in counts.items():
                    gangs.add_metric([name, flavor, state], count)
        yield gangs
        for kind, text in (
            ("asked", "GPUs that waiting gangs ask for."),
            ("used", "GPUs in use in a queue, those below it included."),
            ("deserved", "GPUs that a queue is entitled to now."),
            ("quota", "GPUs that a queue is guaranteed."),
            ("borrowed", "GPUs in use beyond the quota."),
        ):
            family = GaugeMetricFamily(
                f"ganglion_queue_gpus_{kind}", text, labels=["queue", "flavor"]
            )
            for name, row in rows.items():
                for flavor, gpus in getattr(row, kind).items():
                    family.add_metric([name, flavor], gpus)
            yield family
        yield from self._others()

    def _others(self) -> Iterable[Metric]:
        bands, median, end = self._bands()
        held = GaugeMetricFamily(
            "ganglion_start_bands_held",
            "Starts by the predicted time, of the latest predicted starts.",
            labels=["by"],
        )
        held.add_metric(["p50"], median)
        held.add_metric(["p90"], end)
        yield held
        text = "Predicted starts that are over, at most the latest thousand."
        yield GaugeMetricFamily("ganglion_start_bands", text, value=bands)
        calls = CounterMetricFamily(
            "ganglion_api_requests",
            "Requests to API servers, by result.",
            labels=["verb", "resource", "answer"],
        )
        for labels, count in self._calls().items():
            calls.add_metric(list(labels), count)
        yield calls
        apart = GaugeMetricFamily(
            "ganglion_objects_set_apart",
            "Objects that are left out: out of bounds, or the scheduler failed over them.",
            labels=["kind"],
        )
        for kind, count in self._apart().items():
            apart.add_metric([kind], count)
        yield apart
        yield CounterMetricFamily(
            "ganglion_events_dropped",
            "Events that did not fit their budget.",
            value=self._unwritten(),
        )


class ClusterCounters:
    """Waits and losses, counted as they happen.

    Args:
        registry: where they are asked for.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._nodes: dict[str, str] = {}
        self._queue_of: dict[str, tuple[str, int, int]] = {}
        self._flavors: dict[str, str] = {}
        self._stopping: dict[str, Cause] = {}
        self._queues = Bounded(MOST_QUEUES)
        self._waits = Histogram(
            "ganglion_queue_wait_seconds",
            "From submission to the first place.",
            ["queue", "flavor"],
            buckets=WAITS,
            registry=registry,
        )
        self._preemptions = Counter(
            "ganglion_preemptions",
            "Preempted gangs, by cause.",
            ["queue", "flavor", "cause"],
            registry=registry,
        )
        self._lost = Counter(
            "ganglion_gpu_hours_lost",
            "Lost work, by cause: of the last checkpoint, or the start.",
            ["queue", "flavor", "cause"],
            registry=registry,
        )

    def follow(self, event: Event) -> None:
        """Something happened."""
        if isinstance(event, NodeAdded):
            self._nodes[event.node.name] = event.node.kind
        elif isinstance(event, NodeLost):
            self._nodes.pop(event.name, None)
        elif isinstance(event, GangSubmitted):
            gang = event.gang
            self._queue_of[gang.id] = gang.queue, gang.submitted, event.at
        elif isinstance(event, GangPlaced):
            self._placed(event)
        elif isinstance(event, GangStopping):
            self._stopping[event.gang] = event.cause
        elif isinstance(event, GangEnded):
            self._ended(event)

    def _placed(self, event: GangPlaced) -> None:
        queue, submitted, seen = self._queue_of.get(event.gang, ("", 0, 0))
        first = event.placement.pods[0].node if event.placement.pods else ""
        flavor = self._flavors[event.gang] = self._nodes.get(first, ANY_FLAVOR)
        # One that was found running was placed before it was seen.
        if event.attempt == 1 and queue and event.at >= seen:
            wait_s = max(0, event.at - submitted) / 1000
            self._waits.labels(self._queues.of(queue), flavor).observe(wait_s)

    def _ended(self, event: GangEnded) -> None:
        queue, _, _ = self._queue_of.get(event.gang, ("", 0, 0))
        stopped = self._stopping.pop(event.gang, None)
        flavor = self._flavors.pop(event.gang, ANY_FLAVOR)
        if not event.requeue:
            self._queue_of.pop(event.gang, None)
        if not queue or not event.attempt:
            return
        name, trade = self._queues.of(queue), trade_of(stopped) if stopped else None
        is_trade = event.outcome is Outcome.PREEMPTED
        cause = trade.value if is_trade and trade else event.outcome.value
        if is_trade:
            self._preemptions.labels(name, flavor, cause).inc()
        if event.lost_gpu_ms:
            self._lost.labels(name, flavor, cause).inc(event.lost_gpu_ms / MS_PER_HOUR)
