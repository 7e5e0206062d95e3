"""What the state consists of: holdings, and what is expected of the time ahead."""

from ganglion.engine.forecast.backlog import Backlog
from ganglion.engine.forecast.start_estimates import StartEstimates
from ganglion.engine.gangs.min_available import MinAvailable
from ganglion.engine.gangs.pending import Pending
from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.plugins.protocols import Plugins
from ganglion.engine.queues.usage import Shares
from ganglion.engine.runtimes.estimates import Estimates
from ganglion.engine.runtimes.occupants import Clock, Occupants
from ganglion.engine.state.effort import Effort
from ganglion.engine.store.holdings import Holdings
from ganglion.engine.timeline.backfill import BackfillPlanner
from ganglion.engine.timeline.bookings import Bookings
from ganglion.engine.timeline.profile import Ground
from ganglion.engine.timeline.standby import StandbyPlaces
from ganglion.engine.topology.indexes import Indexes
from ganglion.engine.topology.node_state_table import NodeStateTable
from ganglion.engine.topology.totals import Totals
from ganglion.engine.topology.tree import Tree
from ganglion.model.placement import PodPlacement
from ganglion.model.plan import Phase
from ganglion.model.policy import Policy
from ganglion.model.workload import Gang


class Components(Holdings):
    """Nodes, queues and gangs with what was learnt, kept and planned.

    Attributes:
        estimates: what was learnt about run times.
        occupants: whose pods count on which node.
        backlog: work that waits and runs.
        bookings: nodes that are spoken for.
        kept: places of gangs that sleep.
        stranded: gangs on nodes that came back without devices that they held.
        future: reservations of blocked gangs.
        bands: when waiting gangs are expected to start.
        again_at: when to look again although nothing happened, in ms; None = need not.
        effort: counts the work of a cycle, and remembers what a sweep of cycles has looked at.
        over: queues that used more than they deserve when gangs were last looked at.
        unhelped: elastic gang -> the `freed` counter when it could not grow.
        growth_cut: whether the last cycle was out of work before all had their turn to grow.
        unemptied: node -> (`freed` counter, empty nodes) when its gangs found no other place.
    """

    def __init__(self, policy: Policy | None = None, plugins: Plugins | None = None) -> None:
        super().__init__(policy, plugins)
        self.again_at: int | None = None
        self.effort = Effort()
        self.over: frozenset[str] = frozenset()
        self.unhelped: dict[str, int] = {}
        self.growth_cut = False
        self.unemptied: dict[str, tuple[int, int]] = {}
        self.estimates = Estimates()
        self.stranded: dict[str, None] = {}
        self.bookings = Bookings(self.shares.path)
        self.occupants = Occupants()
        self.kept = StandbyPlaces(self, self.occupants)
        self.backlog = Backlog(self)
        self.replan()
        self.bands = StartEstimates(self, self.estimates)

    def rebuild(self) -> None:
        """Make everything anew that follows from nodes, queues, records and reservations."""
        known, queues, kept, future = self.tree, self.shares.tree, self.kept, self.future
        typical, lanes, order = self.table.typical, self.lanes, self.occupants.records
        self.table = NodeStateTable(self.plugins)
        self.table.measure_by(typical, {})
        self.tree = Tree(self.table)
        for node in known.described().values():
            self.tree.put(node)
        self.tree.settle()
        for name in sorted(known.gone() & known.described().keys()):
            self.tree.drop(name)
        self.indexes = Indexes(self.table, self.tree)
        self.totals = Totals(self.table, self.tree)
        self.fleet_changed()
        self.shares = Shares()
        for name in sorted(queues.queues, key=queues.order.__getitem__):
            self.shares.put(queues.queues[name])
        self.occupants, self.lanes = Occupants(), Pending()
        self.floors = MinAvailable(self.plugins.preempts)
        asleep = dict.fromkeys((*self.asleep, *self.records))
        self.asleep = {each: None for each in asleep if self._may_sleep(each)}
        promised, self.promised, self.leaving = self.promised, {}, {}
        self.short, self._settled = {}, {}
        self.sharers.regroup()
        for gang in dict.fromkeys((*order, *promised, *self.records)):
            if gang in self.records:
                self._count_again(self.records[gang])
        self.promised = {
            gang: None for gang in (*promised, *self.promised) if gang in self.promised
        }
        self.promises += 1
        self.lanes.remember(lanes)
        bookings = self.bookings.all()
        self.bookings = Bookings(self.shares.path)
        self.bookings.restore(bookings)
        self.kept = StandbyPlaces(self, self.occupants)
        self.kept.take_over(kept)
        self.replan()
        self.future.restore(future.held())

    def _may_sleep(self, gang: str) -> bool:
        record = self.records.get(gang)
        return bool(record and record.gang.recall_ms and record.phase is not Phase.ENDED)

    def _count_again(self, record: GangRecord) -> None:
        """Count what a gang holds, is promised, or waits for."""
        if record.placement and record.phase in SETTLED:
            self.join(record, record.placement.pods)
            self.charge(record.gang, record.charged, 1)
            self._settled[record.gang.id] = record
            self.measure(record)
            self.floors.came(record)
            if record.phase is Phase.RUNNING:
                self.floors.runs(record)
        for pod in record.leaving:
            self.leaving.setdefault(pod.node, {})[record.gang.id] = None
        if record.promise:
            self.join(record, record.promise.pods)
            self.charge(record.gang, record.pledged, 1)
            self.promised[record.gang.id] = None
        if record.phase is Phase.PENDING:
            self.wait(record)

    def join(self, record: GangRecord, pods: tuple[PodPlacement, ...]) -> None:
        """Count pods in the tree. Raises NotFound before any does."""
        super().join(record, pods)
        self.occupants.join(record, pods)

    def part(self, record: GangRecord, pods: tuple[PodPlacement, ...]) -> None:
        """Pods count in the tree no more."""
        super().part(record, pods)
        self.occupants.part(record, pods)

    def expected_ms(self, gang: Gang) -> int:
        """Run time that is expected of a gang, for the order: as given, else by its limit.

        Where it has no limit, as learnt.
        """
        return gang.expected_ms or gang.time_limit_ms // 2 or self.estimates.estimate(gang).mean_ms

    def on_node(self, node: str) -> list[GangRecord]:
        """Gangs with pods that count on a node, in the order they came."""
        return [self.records[gang] for gang in self.occupants.on(node)]

    def present_on(self, node: str) -> list[PodPlacement]:
        """Pods that count on a node, are promised a place there, or still leave it."""
        found = [pod for pods in self.occupants.on(node).values() for pod in pods]
        for gang in self.leaving.get(node, ()):
            found += [pod for pod in self.records[gang].leaving if pod.node == node]
        return found

    def replan(self) -> None:
        """The policy is another one: reservations are made anew."""
        clock = Clock(self.estimates, self.policy.future)
        self.future = BackfillPlanner(Ground(self, self.occupants, clock, self.bookings), self.kept)

    def again(self, now: int) -> None:
        """What the time alone does to the state at the beginning of a cycle, in a replay."""
        self.settle()
        self.wake(now)
        self.sharers.refresh(now)

    def next_wake(self) -> int | None:
        """When the time alone makes a difference next, in ms; None = never."""
        times = (super().next_wake(), self.future.next_wake(self.clock), self.again_at)
        return min((each for each in times if each is not None), default=None)
