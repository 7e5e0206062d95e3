"""A cluster's scheduler as the views see it: its state, and the workloads it has found."""

from collections import Counter as Tally
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from ganglion.lifecycle.clusters import workload_of
from ganglion.model.events import Event, GangEnded, GangSubmitted
from ganglion.model.workload import Gang
from ganglion.seams.clock import SYSTEM_CLOCK
from ganglion.server.state.audience import Took
from ganglion.server.state.registry import LiveWorkload, Registry
from ganglion.server.state.set_apart import apart_after, told_apart
from ganglion.server.state.transaction import Mind
from ganglion.server.telemetry.cluster_metrics import (
    ClusterCounters,
    ClusterGauges,
    QueueRow,
    rows_of,
)
from ganglion.worlds.kubernetes.cluster_view.orders import Bind, Evict
from ganglion.worlds.kubernetes.http.tally import Call
from ganglion.worlds.kubernetes.rehearsal.rehearse import RehearsedObjects, rehearse
from ganglion.worlds.kubernetes.rehearsal.would_be import Body
from ganglion.worlds.kubernetes.scheduler import Scheduler


class ClusterSource:
    """What `make_readonly_app` serves of a scheduler.

    Report every turn to it by `took`, and give the scheduler to `attach`.

    Attributes:
        unreported: why what is decided reaches no server; empty = it does, or it should not.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.unreported: Callable[[], str] = str
        self._book = Registry()
        self._workload_of: dict[str, str] = {}
        self._number = 0
        self._scheduler: Scheduler | None = None
        self._leader: Callable[[], str] = str
        self._orders = Counter(
            "ganglion_orders", "Writes ordered, by kind.", ["kind"], registry=self.registry
        )
        self._pods = Counter(
            "ganglion_pods",
            "Pods that were bound or deleted.",
            ["what"],
            registry=self.registry,
        )
        self._defects = Counter(
            "ganglion_defects",
            "Failures of the engine, each undone and set apart.",
            ["stage"],
            registry=self.registry,
        )
        self._apart: dict[str, str] = {}
        self._turn = Histogram(
            "ganglion_turn_seconds", "Time one turn took.", registry=self.registry
        )
        self._leads = Gauge(
            "ganglion_leader", "1 while this scheduler decides.", registry=self.registry
        )

        self._set_aside = Gauge(
            "ganglion_clusters_set_aside",
            "Clusters that could not be reached since the start, and are not decided for.",
            registry=self.registry,
        )

        self._counters = ClusterCounters(self.registry)
        self.registry.register(
            ClusterGauges(
                self._rows,
                self._bands,
                self._calls,
                lambda: self._of().unwritten(),
                self._objects_apart,
            )
        )

    def _of(self) -> Scheduler:
        assert self._scheduler
        return self._scheduler

    def _rows(self) -> Mapping[str, QueueRow]:
        with self._of().read() as controller:
            return rows_of(controller.scene.state)

    def _objects_apart(self) -> Mapping[str, int]:
        with self._of().read() as controller:
            return Tally(kind for kind, _ in controller.scene.facts.apart)

    def _bands(self) -> tuple[int, int, int]:
        with self._of().read() as controller:
            found = controller.scene.state.forecast.bands.coverage()
        return found.bands, found.held_p50, found.held_p90

    def _calls(self) -> Mapping[Call, int]:
        return self._of().calls()

    def attach(self, scheduler: Scheduler, leader: Callable[[], str] = str) -> None:
        """Serve this scheduler.

        Args:
            scheduler: whose state it is.
            leader: name of the one that leads; empty = not known.
        """
        self._scheduler, self._leader = scheduler, leader
        self._leads.set_function(lambda: int(scheduler.leads()))
        self._set_aside.set_function(lambda: len(scheduler.aside()))

    def took(self, turn: Took) -> None:
        """A turn is over; called while no other thread reads the state."""
        self._turn.observe(turn.seconds)
        for kind, count in Tally(type(each).__name__.lower() for each in turn.orders).items():
            self._orders.labels(kind).inc(count)
        for order in turn.orders:
            if isinstance(order, Bind | Evict):
                self._pods.labels(type(order).__name__.lower()).inc(len(order.pods))
        for defect in turn.defects:
            self._defects.labels(defect.stage).inc()
        for event in turn.events:
            self._counters.follow(event)
            self._follow(event)
            self._apart = apart_after(self._apart, event)

    @contextmanager
    def read(self) -> Iterator[Mind]:
        """Hold the state still; several threads may ask."""
        assert self._scheduler
        with self._scheduler.read() as controller:
            yield Mind(controller.scene.state, self._book)

    def rehearse(self, objects: Sequence[Body], namespace: str) -> tuple[RehearsedObjects, int]:
        """What would happen to objects that the cluster does not have, by the turn at a time in ms.

        Raises:
            GanglionError: they would not be taken, or nothing can be said.
        """
        with self._of().read() as controller:
            return rehearse(controller, objects, namespace, self.now()), controller.plan.at

    def now(self) -> int:
        """Time in ms since 1970."""
        return SYSTEM_CLOCK.now_ms()

    def endpoints(self) -> Mapping[str, str]:
        """Services of a cluster are reached by its own means."""
        return {}

    def trouble(self) -> str:
        """Why it should be started anew; empty = it works."""
        return self._scheduler.trouble if self._scheduler else ""

    def unready(self) -> str:
        """Why its answers are of no use yet; empty = they are.

        One that does not lead is ready once it knows the cluster: it stands by.
        """
        assert self._scheduler
        if self._scheduler.ready.is_set():
            return ""
        troubles = sorted(self._scheduler.troubles().values())
        return troubles[0] if troubles else "the cluster is being listed"

    def lacking(self) -> str:
        """Clusters that are set aside, gangs that are set apart, what is not reported, and why."""
        assert self._scheduler
        aside = self._scheduler.aside()
        told = [f"cluster {name} is set aside: {why}" for name, why in aside]
        return "; ".join([*told, *filter(None, [self.apart(), self.unreported()])])

    def apart(self) -> str:
        """Gangs that are set apart, and why; empty = there are none."""
        return told_apart(self._apart)

    def elsewhere(self) -> str:
        """Why its views show nothing, as `a leads`; empty = it decides, and they do."""
        assert self._scheduler
        if not self._scheduler.leads():
            leader = self._leader()
            return f"{leader} leads" if leader else "no scheduler leads at present"
        return "" if self._scheduler.turns else "this scheduler leads since now: nothing is decided"

    def _follow(self, event: Event) -> None:
        if isinstance(event, GangSubmitted):
            self._enter(event.gang)
        gang = getattr(event, "gang", "")
        if isinstance(event, GangEnded) and not event.requeue:
            self._drop(event.gang)
        elif not isinstance(gang, str) or not gang or gang in self._workload_of:
            self._book.note(event)

    def _enter(self, gang: Gang) -> None:
        self._workload_of[gang.id] = gang.workload
        if gang.workload not in self._book.entries:
            self._number += 1
            user = gang.name.partition("/")[0]
            workload = workload_of(gang, gang.name, gang.queue, user)
            self._book.enter(
                LiveWorkload(gang.workload, self._number, gang.submitted, b"", workload)
            )

    def _drop(self, gang: str) -> None:
        workload = self._workload_of.pop(gang, "")
        self._book.forget(workload, gang)
