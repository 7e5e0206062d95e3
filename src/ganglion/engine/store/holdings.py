"""What gangs hold and are promised, and what still leaves."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from operator import attrgetter

from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.queues.budgets import promised
from ganglion.engine.queues.queues import Queues
from ganglion.engine.runtimes.occupants import Occupants
from ganglion.engine.store.costs import GangCosts, usage_of
from ganglion.engine.store.gangs import Gangs
from ganglion.engine.topology.fleet import EngineProgress, NodeFleet
from ganglion.engine.topology.node_state import ShapeView
from ganglion.model.errors import InvariantBroken
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.plan import Phase
from ganglion.model.resources import WHOLE, Usage


class Holdings:
    """Which pods count on which node, and for which gang.

    Invariant: the pods that count are those that settled gangs hold and others are promised;
    no device is given to more than it has, by those that count and those that leave together.

    Args:
        fleet: the nodes, which count the pods.
        queues: charged for what is held.
        gangs: whose pods they are.
        progress: notified when a place becomes free.

    Attributes:
        occupants: whose pods count on which node.
        leaving: node -> gangs with pods that are still there but count no more.
        costs: counts what is held and promised against budgets.
        promised: gangs that hold a promise, in the order they got it.
        promises: changes of promises so far: made, taken back, or their gang waits for them now.
        short: gangs that run with fewer pods than they might.
        oversized: gangs that may have more pods than are wanted of them.
        stranded: gangs on nodes that came back without devices that they held.
    """

    def __init__(
        self, fleet: NodeFleet, queues: Queues, gangs: Gangs, progress: EngineProgress
    ) -> None:
        self._fleet, self._queues, self._gangs, self._progress = fleet, queues, gangs, progress
        self.occupants, self.costs = Occupants(), GangCosts(fleet, queues, progress)
        self.leaving: dict[str, dict[str, None]] = {}
        self.promised: dict[str, None] = {}
        self.promises = 0
        self.short, self.oversized, self.stranded = (dict[str, None]() for _ in range(3))
        self._settled: dict[str, GangRecord] = {}

    def settled(self) -> list[GangRecord]:
        """Gangs that start or run, in the order in which they were submitted."""
        return sorted(self._settled.values(), key=_number)

    def on_node(self, node: str) -> list[GangRecord]:
        """Gangs with pods that count on a node, in the order they came."""
        records = self._gangs.records
        return [records[gang] for gang in self.occupants.on(node)]

    def present_on(self, node: str) -> list[PodPlacement]:
        """Pods that count on a node, are promised a place there, or still leave it."""
        found = [pod for pods in self.occupants.on(node).values() for pod in pods]
        for gang in self.leaving.get(node, ()):
            found += [pod for pod in self._gangs.records[gang].leaving if pod.node == node]
        return found

    def usage_of(self, record: GangRecord, placement: Placement) -> dict[str, Usage]:
        """What a placement uses, by flavor, as the queue of its gang is charged for it."""
        return usage_of(self._fleet.tree, record, placement)

    def hold(self, record: GangRecord, placement: Placement) -> None:
        """A gang takes its place. Raises NotFound before anything is taken."""
        self.join(record, placement.pods)
        record.placement = placement
        self._settled[record.gang.id] = record
        self._gangs.sharers.runs(record)
        record.charged = tuple(self.usage_of(record, placement).items())
        self._queues.charge(record.gang, record.charged, 1)
        self._remember(record, 1)
        self.measure(record)
        self._gangs.floors.came(record)

    def release(self, record: GangRecord) -> None:
        """A gang gives its place back; pods that count no more are gone with it."""
        if record.placement and record.phase in SETTLED:
            self._remember(record, -1)
            self.part(record, record.placement.pods)
            self._queues.charge(record.gang, record.charged, -1)
            self._gangs.floors.left(record)
        self.gone(record)
        self._settled.pop(record.gang.id, None)
        self._queues.budgets.drop(record.gang.id, self._progress.clock)
        self._gangs.sharers.rests(record)
        record.placement, record.charged, record.relocated = None, (), False
        self._gangs.gates.stopped(record.gang)
        self.short.pop(record.gang.id, None)
        self._progress.changed()

    def step_off(self, record: GangRecord) -> None:
        """All pods of a gang are asked to stop: others may be promised its place."""
        assert record.placement
        self._remember(record, -1)
        self.part(record, record.placement.pods)
        self._queues.charge(record.gang, record.charged, -1)
        record.charged = ()
        del self._settled[record.gang.id]
        self._gangs.sharers.rests(record)
        self._gangs.floors.left(record)
        self._leaves(record, record.placement.pods)
        self.short.pop(record.gang.id, None)
        self._progress.changed()

    def resize(self, record: GangRecord, placement: Placement) -> None:
        """A gang runs on other pods from now on; those it had before are asked to stop."""
        assert record.placement
        before, after = set(record.placement.pods), set(placement.pods)
        dropped = tuple(pod for pod in record.placement.pods if pod not in after)
        self.part(record, dropped)
        self.join(record, tuple(pod for pod in placement.pods if pod not in before))
        self._queues.charge(record.gang, record.charged, -1)
        self._remember(record, -1)
        record.placement = placement
        record.charged = tuple(self.usage_of(record, placement).items())
        self._queues.charge(record.gang, record.charged, 1)
        self._remember(record, 1)
        self.costs.count(record)
        self.measure(record)
        if dropped:
            self._leaves(record, dropped)
            self._progress.changed()

    def recharge(self, record: GangRecord) -> None:
        """A gang is charged in the flavors that its nodes have now."""
        assert record.placement
        self._queues.charge(record.gang, record.charged, -1)
        record.charged = tuple(self.usage_of(record, record.placement).items())
        self._queues.charge(record.gang, record.charged, 1)

    def measure(self, record: GangRecord) -> None:
        """Note whether a gang runs with fewer pods than it might."""
        pods = record.placement.pods if record.placement else ()
        if len(pods) < sum(each.count for each in record.gang.pod_sets):
            self.short[record.gang.id] = None
        else:
            self.short.pop(record.gang.id, None)

    def gone(self, record: GangRecord) -> None:
        """The pods of a gang that were asked to stop are gone."""
        for pod in record.leaving:
            self.leaving.get(pod.node, {}).pop(record.gang.id, None)
            if not self.leaving.get(pod.node, True):
                del self.leaving[pod.node]
        record.leaving = ()

    def pledge(self, record: GangRecord, placement: Placement) -> None:
        """Promise a place to a gang. Raises NotFound before anything is taken."""
        self.join(record, placement.pods)
        record.promise = placement
        record.pledged = tuple(self.usage_of(record, placement).items())
        self._queues.charge(record.gang, record.pledged, 1)
        self.promised[record.gang.id] = None
        self.promises += 1
        self.costs.count_promise(record)

    def redeem(self, record: GangRecord) -> None:
        """Take a promise back, if there is one."""
        if record.promise is None:
            return
        self.part(record, record.promise.pods)
        self._queues.charge(record.gang, record.pledged, -1)
        record.promise, record.pledged = None, ()
        self._queues.budgets.drop(promised(record.gang.id), self._progress.clock)
        del self.promised[record.gang.id]
        self.promises += 1
        self._progress.changed()

    def awaited(self) -> None:
        """A gang has left, and waits for its promise alone."""
        self.promises += 1

    def list_promised(self, gangs: Iterable[str]) -> None:
        """These gangs hold a promise, in this order; the rest is made anew then."""
        self.promised = dict.fromkeys(gangs)
        self.promises += 1

    @contextmanager
    def counting_what_leaves(self) -> Iterator[None]:
        """For a moment the tree counts pods that were asked to stop, as long as they are there."""
        tree, before = self._fleet.tree, dict[int, tuple[int, int]]()
        tree.settle()
        for gang in dict.fromkeys(gang for gangs in self.leaving.values() for gang in gangs):
            record = self._gangs.records[gang]
            sights = self._sights(record)
            for pod in record.leaving:
                rank = tree.index.get(pod.node)
                # A node may be gone, or have come back without devices that are held on it.
                known = () if rank is None else tree.nodes[rank].devices
                if rank is not None and all(each < len(known) for each in pod.devices):
                    before.setdefault(rank, (tree.conditions[rank], tree.pods[rank]))
                    tree.join(rank, sights[pod.pod_set], pod.devices, pod.milli)
        try:
            yield
        finally:
            for rank, (condition, pods) in before.items():
                tree.pods[rank] = pods
                tree.move(rank, condition)

    def count_costs(self) -> None:
        """Count what all gangs hold and are promised against budgets, from nothing."""
        self._queues.budgets.forget_held()
        for record in self._gangs.records.values():
            self.costs.count(record)
            self.costs.count_promise(record)

    def _remember(self, record: GangRecord, sign: int) -> None:
        self._queues.remember(record.gang, record.charged, sign, self._progress.clock)

    def _leaves(self, record: GangRecord, pods: tuple[PodPlacement, ...]) -> None:
        record.leaving += pods
        for pod in pods:
            self.leaving.setdefault(pod.node, {})[record.gang.id] = None

    def join(self, record: GangRecord, pods: tuple[PodPlacement, ...]) -> None:
        """Count pods in the tree. Raises NotFound before any does."""
        tree, sights = self._fleet.tree, self._sights(record)
        ranks = [tree.rank(pod.node) for pod in pods]
        for rank, pod in zip(ranks, pods, strict=True):
            tree.join(rank, sights[pod.pod_set], pod.devices, pod.milli)
        self.occupants.join(record, pods)

    def part(self, record: GangRecord, pods: tuple[PodPlacement, ...]) -> None:
        """Pods count in the tree no more."""
        tree, sights = self._fleet.tree, self._sights(record)
        for rank, pod in [(tree.rank(pod.node), pod) for pod in pods]:
            tree.leave(rank, sights[pod.pod_set], pod.devices, pod.milli)
        self.occupants.part(record, pods)

    def _sights(self, record: GangRecord) -> dict[str, ShapeView]:
        sight = self._fleet.table.sight
        return {
            each.name: sight(shape)
            for each, shape in zip(record.gang.pod_sets, record.shapes, strict=True)
        }

    def rebuild(self) -> None:
        """Count anew what gangs hold, are promised, or wait for; fleet and queues count nothing."""
        order, self.occupants = self.occupants.records, Occupants()
        promised, self.promised, self.leaving = self.promised, {}, {}
        self.short, self._settled = {}, {}
        records = self._gangs.records
        for gang in dict.fromkeys((*order, *promised, *records)):
            if gang in records:
                self._count_again(records[gang])
        self.list_promised([g for g in (*promised, *self.promised) if g in self.promised])

    def _count_again(self, record: GangRecord) -> None:
        if record.placement and record.phase in SETTLED:
            self.join(record, record.placement.pods)
            self._queues.charge(record.gang, record.charged, 1)
            self._settled[record.gang.id] = record
            self.measure(record)
            self._gangs.floors.came(record)
            if record.phase is Phase.RUNNING:
                self._gangs.floors.runs(record)
        self.costs.count(record)
        self.costs.count_promise(record)
        for pod in record.leaving:
            self.leaving.setdefault(pod.node, {})[record.gang.id] = None
        if record.promise:
            self.join(record, record.promise.pods)
            self._queues.charge(record.gang, record.pledged, 1)
            self.promised[record.gang.id] = None
        if record.phase is Phase.PENDING:
            self._gangs.wait(record)

    def check(self) -> None:
        """Check the invariant. Raises InvariantBroken."""
        records = self._gangs.records
        settled = {gang for gang, each in records.items() if each.phase in SETTLED}
        _require(settled == self._settled.keys(), "settled gangs are not listed")
        promised = {gang for gang, each in records.items() if each.promise}
        _require(promised == self.promised.keys(), "promises are not listed")
        for gang in sorted(promised):
            phase = records[gang].phase
            allowed = phase in (Phase.RESERVED, Phase.STOPPING)
            _require(allowed, f"gang {gang} is {phase}, promised a place")
        self._check_leaving()
        self._check_occupants()

    def _check_leaving(self) -> None:
        """No device is really used by more than it has, pods that leave included."""
        devices: Counter[tuple[str, int]] = Counter()
        leaving: dict[str, set[str]] = {}
        for record in self._gangs.records.values():
            settled = record.placement if record.phase in SETTLED else None
            for pod in (*(settled.pods if settled else ()), *record.leaving):
                for device in pod.devices:
                    devices[pod.node, device] += pod.milli
            for pod in record.leaving:
                leaving.setdefault(pod.node, set()).add(record.gang.id)
        over = sorted(each for each, milli in devices.items() if milli > WHOLE)
        _require(not over, f"devices are in use twice: {over}")
        listed = {node: set(gangs) for node, gangs in self.leaving.items()}
        _require(leaving == listed, "the list of what leaves is stale")

    def _check_occupants(self) -> None:
        """The pods that count, by gang and by node, are those of the records."""
        by_gang: dict[str, Counter[PodPlacement]] = {}
        by_node: dict[str, dict[str, Counter[PodPlacement]]] = {}
        records = self._gangs.records
        for gang, record in records.items():
            for pod in chain.from_iterable(each.pods for each in counted(record)):
                by_gang.setdefault(gang, Counter())[pod] += 1
                by_node.setdefault(pod.node, {}).setdefault(gang, Counter())[pod] += 1
        occupants = self.occupants
        _require(by_gang == occupants.counted(), "the pods of a gang are miscounted")
        listed = by_gang.keys() == occupants.records.keys()
        _require(listed, "the gangs that hold pods are not listed")
        for gang, record in occupants.records.items():
            _require(record is records[gang], f"the pods of gang {gang} are another record's")
        for node in sorted({*by_node, *self._fleet.tree.names}):
            here = {gang: Counter(pods) for gang, pods in occupants.on(node).items()}
            _require(here == by_node.get(node, {}), f"the gangs on node {node} are miscounted")


def counted(record: GangRecord) -> list[Placement]:
    """Placements of a gang that the tree counts."""
    settled = record.placement if record.phase in SETTLED else None
    return [each for each in (settled, record.promise) if each]


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise InvariantBroken(what)


_number = attrgetter("number")
