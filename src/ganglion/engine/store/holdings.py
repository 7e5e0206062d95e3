"""Nodes, queues and gangs, and what the gangs hold. Changed through `ClusterState.apply`."""

from operator import attrgetter

from ganglion.engine.gangs.equivalence import asked_by, form, keys_of, leaves_within
from ganglion.engine.gangs.gates import Gates, asleep
from ganglion.engine.gangs.min_available import MinAvailable
from ganglion.engine.gangs.pending import Pending
from ganglion.engine.gangs.rank import aged_rank, breadth
from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.gangs.timers import Alarms
from ganglion.engine.gangs.typical_pods import Census
from ganglion.engine.gangs.urgency import changes, due_rank, escalated
from ganglion.engine.plugins.builtin import builtin_plugins
from ganglion.engine.plugins.protocols import Plugins
from ganglion.engine.queues.charging import usage_of
from ganglion.engine.queues.decayed_usage import PastUse
from ganglion.engine.queues.fair_share import Deserved
from ganglion.engine.queues.usage import Shares
from ganglion.engine.store.journal import Journaled
from ganglion.engine.timesharing.time_sharers import FIRST, TimeSharers
from ganglion.engine.topology.indexes import Indexes
from ganglion.engine.topology.node_state import ShapeView
from ganglion.engine.topology.node_state_table import NodeStateTable
from ganglion.engine.topology.totals import Totals
from ganglion.engine.topology.tree import Tree
from ganglion.model.errors import Conflict, NotFound
from ganglion.model.events import GangUpdated
from ganglion.model.fleet.node import Node
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.plan import Phase
from ganglion.model.policy import Order, Policy
from ganglion.model.queue import Queue
from ganglion.model.reasons import Reason
from ganglion.model.resources import Usage
from ganglion.model.workload import Gang

REMEMBERED = 100_000
"""Node conditions and shapes kept before those not in use are forgotten."""


_STEP = 1 << 60
"""Beyond every rank within one level of attained service."""


class Holdings(Journaled):
    """Nodes, queues and gangs as the events so far have made them.

    Attributes:
        policy: how to decide.
        plugins: Filter, Score, Permit and Preempt plugins.
        records: every gang that was submitted and not forgotten, by id.
        tree: the topology with node conditions.
        shares: the queue tree with usage.
        lanes: what waits and may be looked at.
        gates: what waits and may not.
        floors: how many of every workload start or run.
        census: what sort of pods are submitted.
        sharers: gangs that share time with their equals.
        leaving: node -> gangs with pods that are still there but count no more.
        promised: gangs that hold a promise, in the order they got it.
        promises: changes of promises so far: made, taken back, or their gang waits for them now.
        asleep: gangs that sleep, or would if they did not run.
        short: gangs that run with fewer pods than they might.
        oversized: gangs that may have more pods than are wanted of them.
        fresh: gangs submitted since the last cycle.
        freed: grows whenever something became possible that was not before.
        vetoes: how often a Permit plugin has forbidden a start.
        turn, submissions: decisions made, and gangs submitted, so far.
        fleet: grows whenever nodes come, go or change.
        clock: time of the latest event, in ms.
        past: decayed use of queues and users.
        deserved: what every queue is entitled to as of the last cycle.
    """

    def __init__(self, policy: Policy | None = None, plugins: Plugins | None = None) -> None:
        super().__init__()
        self.policy = policy or Policy()
        self.plugins = plugins or builtin_plugins(self.policy)
        self.table = NodeStateTable(self.plugins)
        self.tree = Tree(self.table)
        self.indexes = Indexes(self.table, self.tree)
        self.totals = Totals(self.table, self.tree)
        self.shares = Shares()
        self.past = PastUse(self.policy.usage.half_life_ms)
        self.lanes = Pending()
        self.gates = Gates()
        self.floors = MinAvailable(self.plugins.preempts)
        self.census = Census()
        self.sharers = TimeSharers(self)
        self.records: dict[str, GangRecord] = {}
        self.leaving: dict[str, dict[str, None]] = {}
        self.promised: dict[str, None] = {}
        self.asleep, self.short, self.oversized = (dict[str, None]() for _ in range(3))
        self.freed = self.vetoes = self.turn = self.submissions = self.clock = 0
        self.fleet = self.promises = 0
        self.deserved = Deserved(self, self.past)
        self._alarms = Alarms()
        self._keys = keys_of(self.plugins)
        self.fresh, self._settled = list[str](), dict[str, GangRecord]()
        self._empty: tuple[int, Indexes] | None = None

    @property
    def queues(self) -> dict[str, Queue]:
        """All queues by name."""
        return self.shares.queues

    @property
    def nodes(self) -> dict[str, Node]:
        """All nodes by name, lost ones that still hold pods included."""
        self.tree.settle()
        return dict(zip(self.tree.names, self.tree.nodes, strict=True))

    def enter(self, record: GangRecord) -> None:
        """A gang was submitted."""
        self.submissions += 1
        record.number = self.submissions
        self.records[record.gang.id] = record
        self.gates.add(record.gang)
        self.sharers.enter(record)

    def settled(self) -> list[GangRecord]:
        """Gangs that start or run, in the order in which they were submitted."""
        return sorted(self._settled.values(), key=_number)

    def wake(self, now: int) -> list[GangUpdated]:
        """Let gangs be looked at for which the time makes a difference.

        Returns:
            The priorities that gangs have waited for, not yet theirs.
        """
        raised: list[GangUpdated] = []
        for gang in self._alarms.due(now):
            record = self.records.get(gang)
            if record and record.phase is Phase.PENDING and record.not_before <= now:
                record.not_before = 0
                self.freed += 1
                self.wait(record, now)
                raised += escalated(record, self.policy.escalate, now)
            elif record and record.phase is Phase.RUNNING:
                self.freed += 1  # others may stop it from now on
        return raised

    def settle(self) -> None:
        """Take in new nodes, and keep what is remembered in proportion to the fleet."""
        self.tree.settle()
        if self.table.size > max(REMEMBERED, 8 * len(self.tree.nodes)):
            self.tree.compact()
            self.indexes = Indexes(self.table, self.tree)
            self._empty = None

    def next_wake(self) -> int | None:
        """When the next back-off or alarm is due, in ms; None = there is none."""
        found = (self._alarms.next(), self.sharers.next_turn())
        return min((at for at in found if at is not None), default=None)

    def alarms(self) -> list[tuple[int, str]]:
        """When gangs are due, in ms, in order."""
        return self._alarms.all()

    def alarm(self, at: int, gang: str) -> None:
        """Look again at that time, in ms, as the time alone makes a difference for a gang."""
        self._alarms.add(at, gang)

    def reason(self, gang: str) -> Reason | None:
        """Why a gang waits, as far as cycles have found out; None = it does not, or unknown."""
        record = self.record(gang)
        if record.phase is not Phase.PENDING:
            return None
        lane = self.lanes.of(gang)
        return record.reason or (lane.reason if lane else None)

    def record(self, gang: str) -> GangRecord:
        """The record of a gang. Raises NotFound."""
        found = self.records.get(gang)
        if found is None:
            raise NotFound(f"there is no gang {gang}")
        return found

    def forget(self, gang: str) -> None:
        """Drop the record of a gang that has ended. Raises Conflict for one that has not."""
        record = self.record(gang)
        if record.phase is not Phase.ENDED:
            raise Conflict(f"gang {gang} is {record.phase} and cannot be forgotten")
        del self.records[gang]
        self.gates.forget(record.gang)

    def empty(self) -> Indexes:
        """The fleet as it would be without pods, cordons and sick devices; do not change it."""
        if self._empty is None or self._empty[0] != self.fleet:
            self._empty = (self.fleet, Indexes(self.table, self.tree.emptied()))
        return self._empty[1]

    def fleet_changed(self) -> None:
        """Nodes came, went or changed: what is known of the empty fleet is stale."""
        self.fleet += 1
        self.freed += 1

    def wait(self, record: GangRecord, now: int = 0) -> None:
        """Put a pending gang where it waits: behind a gate, asleep, or in its lane."""
        gang = record.gang
        self.leave_lane(record)
        record.reason = self.gates.reason(gang, record.not_before, record.held_for, record.fault)
        if gang.recall_ms:
            record.reason = record.reason or asleep(gang)
            self._goes_to_sleep(gang)
        if record.not_before:
            self.alarm(record.not_before, gang.id)
        if record.reason is None:
            owner = gang.user if self._by_user(gang) else ""
            leaves, level = leaves_within(gang) if self.asleep else 0, self.sharers.level(record)
            keys = tuple(key(gang) for key in self._keys)
            record.lane = (*form(record), owner, level, leaves, *keys)
            rank = level * _STEP + self._among_equals(record) if level != FIRST else FIRST * _STEP
            pressing = self._pressing(record, max(now, self.clock))
            rank = rank if pressing is None else 2 * FIRST * _STEP + pressing
            order = (rank, gang.submitted, gang.index, gang.id)
            self.lanes.add(record.lane, gang.queue, gang.priority, order, asked_by(gang), level)

    def leave_lane(self, record: GangRecord) -> None:
        """A gang waits in no lane any more."""
        if record.lane is not None:
            self.lanes.discard(record.gang.id)
            record.lane = None

    def _goes_to_sleep(self, gang: Gang) -> None:
        """From the first one on, it matters of all others how soon they leave."""
        others = () if self.asleep else [k[-1] for lane in self.lanes for k in lane.in_order()]
        self.asleep[gang.id] = None
        for each in others:
            self.wait(self.records[each])

    def expected_ms(self, gang: Gang) -> int:
        """Run time that is expected of a gang; 0 = unknown."""
        return gang.expected_ms

    def _pressing(self, record: GangRecord, now: int) -> int | None:
        """Rank of an urgent gang; it is looked at again when that or its priority changes."""
        gang, steps = record.gang, self.policy.escalate
        if not gang.deadline_ms and not steps:
            return None
        length = self.expected_ms(gang)
        for at in changes(record, steps, length, now):
            self.alarm(at, gang.id)
        return due_rank(gang, length, now)

    def _among_equals(self, record: GangRecord) -> int:
        """Rank among gangs of one queue and priority; smaller goes first."""
        policy, gang = self.policy, record.gang
        learnt = policy.order is Order.FAIR and policy.future.learn
        if not learnt and policy.order not in (Order.SHORTEST, Order.SMALLEST):
            return 0
        length = self.expected_ms(gang) * (1 if policy.order is Order.SHORTEST else breadth(gang))
        if learnt:
            length = aged_rank(length, gang.submitted, policy.future.ageing_ms)
        return length

    def _by_user(self, gang: Gang) -> bool:
        """Whether it matters whose gang it is."""
        if self.past.half_life_ms and "user" in self.policy.usage.levels:
            return True
        return any(self.queues[name].user_limit for name in self.shares.path(gang.queue))

    def usage_of(self, record: GangRecord, placement: Placement) -> dict[str, Usage]:
        """What a placement uses, by flavor."""
        return usage_of(self.tree, record, placement)

    def hold(self, record: GangRecord, placement: Placement) -> None:
        """A gang takes its place. Raises NotFound before anything is taken."""
        self.join(record, placement.pods)
        record.placement = placement
        self._settled[record.gang.id] = record
        self.sharers.runs(record)
        record.charged = tuple(self.usage_of(record, placement).items())
        self.charge(record.gang, record.charged, 1)
        self._remember(record, 1)
        self.measure(record)
        self.floors.came(record)

    def release(self, record: GangRecord) -> None:
        """A gang gives its place back; pods that count no more are gone with it."""
        if record.placement and record.phase in SETTLED:
            self._remember(record, -1)
            self.part(record, record.placement.pods)
            self.charge(record.gang, record.charged, -1)
            self.floors.left(record)
        self.gone(record)
        self._settled.pop(record.gang.id, None)
        self.sharers.rests(record)
        record.placement, record.charged, record.relocated = None, (), False
        self.gates.stopped(record.gang)
        self.short.pop(record.gang.id, None)
        self.freed += 1

    def step_off(self, record: GangRecord) -> None:
        """All pods of a gang are asked to stop: others may be promised its place."""
        assert record.placement
        self._remember(record, -1)
        self.part(record, record.placement.pods)
        self.charge(record.gang, record.charged, -1)
        record.charged = ()
        del self._settled[record.gang.id]
        self.sharers.rests(record)
        self.floors.left(record)
        self._leaves(record, record.placement.pods)
        self.short.pop(record.gang.id, None)
        self.freed += 1

    def resize(self, record: GangRecord, placement: Placement) -> None:
        """A gang runs on other pods from now on; those it had before are asked to stop."""
        assert record.placement
        before, after = set(record.placement.pods), set(placement.pods)
        dropped = tuple(pod for pod in record.placement.pods if pod not in after)
        self.part(record, dropped)
        self.join(record, tuple(pod for pod in placement.pods if pod not in before))
        self.charge(record.gang, record.charged, -1)
        self._remember(record, -1)
        record.placement = placement
        record.charged = tuple(self.usage_of(record, placement).items())
        self.charge(record.gang, record.charged, 1)
        self._remember(record, 1)
        self.measure(record)
        if dropped:
            self._leaves(record, dropped)
            self.freed += 1

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
        self.charge(record.gang, record.pledged, 1)
        self.promised[record.gang.id] = None
        self.promises += 1

    def redeem(self, record: GangRecord) -> None:
        """Take a promise back, if there is one."""
        if record.promise is None:
            return
        self.part(record, record.promise.pods)
        self.charge(record.gang, record.pledged, -1)
        record.promise, record.pledged = None, ()
        del self.promised[record.gang.id]
        self.promises += 1
        self.freed += 1

    def _remember(self, record: GangRecord, sign: int) -> None:
        """Past use of queue and user goes on from here with more or less."""
        if self.past.half_life_ms:
            gang, milli = record.gang, sum(usage.gpu_milli for _, usage in record.charged)
            self.past.charge(self.shares.path(gang.queue), gang.user, milli, sign, self.clock)

    def _leaves(self, record: GangRecord, pods: tuple[PodPlacement, ...]) -> None:
        record.leaving += pods
        for pod in pods:
            self.leaving.setdefault(pod.node, {})[record.gang.id] = None

    def join(self, record: GangRecord, pods: tuple[PodPlacement, ...]) -> None:
        """Count pods in the tree. Raises NotFound before any does."""
        tree, sights = self.tree, self._sights(record)
        ranks = [tree.rank(pod.node) for pod in pods]
        for rank, pod in zip(ranks, pods, strict=True):
            tree.join(rank, sights[pod.pod_set], pod.devices, pod.milli)

    def part(self, record: GangRecord, pods: tuple[PodPlacement, ...]) -> None:
        """Pods count in the tree no more."""
        tree, sights = self.tree, self._sights(record)
        for rank, pod in [(tree.rank(pod.node), pod) for pod in pods]:
            tree.leave(rank, sights[pod.pod_set], pod.devices, pod.milli)

    def charge(self, gang: Gang, charged: tuple[tuple[str, Usage], ...], sign: int) -> None:
        """Add what a gang uses to its queue, or take it back."""
        for flavor, usage in charged:
            self.shares.charge(gang.queue, flavor, usage, gang.preemptible, sign, gang.user)

    def _sights(self, record: GangRecord) -> dict[str, ShapeView]:
        sight = self.table.sight
        return {
            each.name: sight(shape)
            for each, shape in zip(record.gang.pod_sets, record.shapes, strict=True)
        }


_number = attrgetter("number")
