"""What a roll-out of the queue starts from, read off the state, and what it says of one gang.

GPUs and CPUs are played apart: gangs with GPUs compete for GPUs, the others for CPUs.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from heapq import nsmallest
from typing import NamedTuple

from ganglion.engine.forecast.free_pool import FreePool, Need, Taken
from ganglion.engine.forecast.rollout import LONGEST, QueueRoom, Rollout, Runner, Waiter
from ganglion.engine.gangs.pending import Key, PendingClass
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.placement.place import required_level
from ganglion.engine.queues.lending import NOTHING
from ganglion.engine.runtimes.expected_ends import DRAWS, NEVER, ExpectedEnds, Times
from ganglion.engine.store.store import Store
from ganglion.model.fleet.levels import DEPTH, Level
from ganglion.model.policy import Backfill, Order
from ganglion.model.queue import ANY_FLAVOR
from ganglion.model.resources import WHOLE, Amount, PodRequest, Usage
from ganglion.model.workload import Gang

PLAYED = 256
"""Gangs that wait and are played through; what is further behind counts by its work."""

LEAST_PLAYED = 8
"""Of these, the fewest of a queue."""

GUESSED = 4
"""A start is unknown if guesses free this part of what is freed until then: a fourth."""

_PADDING = ""
"""Placeholder for the levels that a shallow queue lacks."""


class Foreseen(NamedTuple):
    """The start of one gang in the middle draw.

    Attributes:
        wait_ms: time until then; None = unknown.
        guesses: gangs without time limit and history that make it unknown.
    """

    wait_ms: int | None
    guesses: tuple[str, ...] = ()


class CountedUnit(NamedTuple):
    """What is counted: thousandths of GPUs, or of CPUs."""

    gpus: bool

    def asked(self, request: PodRequest) -> int:
        """Of one pod; a share in memory counts as half a GPU."""
        if not self.gpus:
            return request.cpu_milli
        gpu = request.gpu
        return gpu.count * (WHOLE // 2 if gpu.share_mib else gpu.milli)

    def used(self, usage: Usage) -> int:
        """Of a use."""
        return usage.gpu_milli if self.gpus else usage.cpu_milli

    def most(self, amount: Amount | None) -> int | None:
        """Of a limit; None = it sets none."""
        if amount is None:
            return None
        return amount.gpu_milli if self.gpus else amount.cpu_milli


def unit_of(record: GangRecord) -> CountedUnit:
    """What a gang competes for."""
    return CountedUnit(any(each.request.gpu.count for each in record.gang.pod_sets))


class Foresight:
    """The queue worked forward from one moment, as far as callers ask.

    Args:
        state: must not change while this is in use.
        load: expected ends.
        unit: what is counted.
        now: the time in ms.
    """

    def __init__(self, state: Store, load: ExpectedEnds, unit: CountedUnit, now: int) -> None:
        self._state, self._load, self._unit = state, load, unit
        self._now = now
        self._bounds: dict[tuple[str, bool, str], tuple[str, ...]] = {}
        self._room: dict[str, int] = {}
        self._capacity = max(self._whole(), 1)
        self._lanes = [lane for lane in state.gangs.lanes if self._counts(lane)]
        self._sorted: dict[PendingClass, list[Key]] = {}
        self._needs: dict[object, Need] = {}
        runners = [self._runner(each, load.end(each, now)) for each in running(state)]
        waiters = [self._waiter(key, each, load.length(each)) for key, each in self._first()]
        self._read = len(runners) + len(waiters) + len(state.fleet.tree.nodes) // 16
        pool, ledger = FreePool(self._nodes(), self._groups()), self._ledger()
        strict = frozenset(lane.queue for lane in self._lanes if self._is_strict(lane.queue))
        self._draws = [
            Rollout(draw, now, pool.copy(), runners, waiters, ledger.copy(), strict)
            for draw in range(DRAWS)
        ]

    @property
    def steps(self) -> int:
        """Work done so far: gangs and nodes read, starts and ends played."""
        return self._read + sum(draw.steps for draw in self._draws)

    def foresee(self, records: Iterable[GangRecord]) -> dict[str, Foreseen]:
        """When gangs that wait in lanes of the unit start."""
        listed = {record.gang.id: record for record in records}
        for draw in self._draws:
            draw.until(listed)
        return {gang: self._foreseen(record) for gang, record in listed.items()}

    def _foreseen(self, record: GangRecord) -> Foreseen:
        gang = record.gang.id
        stuck = [gang not in draw.starts and draw.is_stuck for draw in self._draws]
        if 2 * sum(stuck) > DRAWS:
            return Foreseen(None)
        starts = [draw.start_of(gang) for draw in self._draws]
        if 2 * sum(GUESSED * start.guessed > start.ended for start in starts) > DRAWS:
            return Foreseen(None, tuple(self._draws[0].guesses))
        waits = []
        for draw, start in zip(self._draws, starts, strict=True):
            if gang in draw.starts:
                waits.append(start.at - self._now)
            elif draw.is_stuck:
                waits.append(NEVER)
            else:
                behind = max(self._ahead(record) - draw.work, 0)
                waits.append(start.at - self._now + behind // self._capacity)
        return Foreseen(sorted(waits)[DRAWS // 2])

    def _counts(self, lane: PendingClass) -> bool:
        head = lane.head()
        if head is None or (lane.reason and lane.reason.never):
            return False
        return unit_of(self._state.gangs.records[head[-1]]) == self._unit

    def _is_strict(self, queue: str) -> bool:
        own = self._state.queues.by_name[queue].strict
        return self._state.config.policy.strict if own is None else own

    def _first(self) -> Iterator[tuple[Key, GangRecord]]:
        """The gangs of every queue that are played through, in order."""
        queues: dict[str, list[PendingClass]] = {}
        for lane in self._lanes:
            queues.setdefault(lane.queue, []).append(lane)
        most = max(PLAYED // max(len(queues), 1), LEAST_PLAYED)
        for lanes in queues.values():
            found = [
                (-lane.priority, key)
                for lane in lanes
                for key in (self._keys(lane) if len(lane) <= most else nsmallest(most, lane.keys()))
            ]
            for _, key in nsmallest(most, found):
                yield key, self._state.gangs.records[key[-1]]

    def _keys(self, lane: PendingClass) -> list[Key]:
        known = self._sorted.get(lane)
        if known is None:
            known = self._sorted[lane] = lane.in_order()
        return known

    def _ahead(self, record: GangRecord) -> int:
        """Work of all that go before a gang, in thousandths x ms.

        Where queues take turns by their shares, each of the others does as much work
        meanwhile as the gang's own queue, if it has as much.
        """
        gang, own = record.gang, self._state.gangs.lanes.of(record.gang.id)
        key = next(k for k in self._keys(own) if k[-1] == gang.id) if own else None
        fair, work = self._state.config.policy.order is Order.FAIR, dict[str, int]()
        for lane in self._lanes:
            if key is None or lane.priority < gang.priority:
                continue
            mine = lane.queue == gang.queue or not fair
            before = mine and lane.priority == gang.priority
            count = bisect_left(self._keys(lane), key) if before else len(lane)
            work[lane.queue] = work.get(lane.queue, 0) + count * self._work(lane)
        first = work.get(gang.queue, 0)
        return sum(min(each, first) if fair else each for each in work.values())

    def _work(self, lane: PendingClass) -> int:
        """Work of one gang of a lane."""
        key = lane.head()
        if key is None:
            return 0
        head = self._state.gangs.records[key[-1]]
        lengths = self._load.length(head).by_draw
        return self._need(head).total * min(sum(lengths) // DRAWS, LONGEST)

    def _need(self, record: GangRecord) -> Need:
        sets = record.gang.pod_sets
        found = self._needs.get((sets, record.shapes, record.gang.topology))
        if found is None:
            pods = [(self._unit.asked(each.request), each.least) for each in sets]
            listed = tuple(sorted(((milli, n) for milli, n in pods if milli), reverse=True))
            total = sum(milli * count for milli, count in listed)
            flavors = self._state.fleet.totals.flavors_for(record.shapes)
            level = required_level(record.gang)
            if level is Level.FLEET:
                level = None
            elif level is not None and DEPTH[level] > DEPTH[Level.NODE]:
                level = Level.NODE
            found = Need(flavors, listed, total, level)
            self._needs[sets, record.shapes, record.gang.topology] = found
        return found

    def _groups(self) -> dict[Level, list[list[int]]]:
        """The nodes of the domains that the gangs played through must not leave."""
        tree, found = self._state.fleet.tree, dict[Level, list[list[int]]]()
        for level in dict.fromkeys(need.level for need in self._needs.values() if need.level):
            groups: dict[int, list[int]] = {}
            for rank, parent in enumerate(tree.parents):
                at = parent
                while at > 0 and tree.domains[at].level is not level:
                    at = tree.domains[at].parent
                if level is Level.NODE or at > 0:
                    groups.setdefault(rank if level is Level.NODE else at, []).append(rank)
            found[level] = list(groups.values())
        return found

    def _waiter(self, key: Key, record: GangRecord, length: Times) -> Waiter:
        gang = record.gang
        return Waiter(
            gang.id,
            gang.queue,
            (int(gang.spare), -gang.priority, key),
            self._need(record),
            length.by_draw,
            length.known,
            self._bounds_of(gang),
            gang.time_limit_ms or NEVER,
            self._due(record),
            gang.submitted,
        )

    def _due(self, record: GangRecord) -> int:
        """From when on a place may be reserved for a gang."""
        policy = self._state.config.policy.future
        if policy.backfill is Backfill.ANY or not policy.reservations or record.gang.spare:
            return NEVER
        return record.gang.submitted + record.turn_ms * policy.patience_permille // 1000

    def _runner(self, record: GangRecord, ends: Times) -> Runner:
        gang, taken = record.gang, self._taken(record)
        bounds = self._bounds_of(gang)
        began = record.started or record.placed_at or self._now
        latest = max(began + gang.time_limit_ms, self._now) if gang.time_limit_ms else NEVER
        return Runner(ends.by_draw, gang.id, gang.queue, ends.known, taken, bounds, latest)

    def _taken(self, record: GangRecord) -> Taken:
        """What a gang that holds a place, or the promise of one, gives back."""
        placement, index = record.promise or record.placement, self._state.fleet.tree.index
        if placement is None:
            return []
        cpus = {each.name: each.request.cpu_milli for each in record.gang.pod_sets}
        return [
            (index[pod.node], milli)
            for pod in placement.pods
            if (milli := len(pod.devices) * pod.milli if self._unit.gpus else cpus[pod.pod_set])
        ]

    def _nodes(self) -> Iterator[tuple[str, int]]:
        """(flavor, thousandths free) of every node."""
        tree, known = self._state.fleet.tree, self._state.fleet.table.known
        free = {
            number: sum(each.usable) if self._unit.gpus else each.cpu
            for number in tree.counts
            if (each := known[number]).open
        }
        for flavor, condition in zip(tree.flavors, tree.conditions, strict=True):
            yield flavor, max(free.get(condition, 0), 0)

    def _whole(self) -> int:
        """Thousandths of all open nodes."""
        tree, table, whole = self._state.fleet.tree, self._state.fleet.table, 0
        for number, count in tree.counts.items():
            condition = table.known[number]
            if count and condition.open:
                each = table.classes[condition.node_class]
                gpus = (len(each.devices) - len(condition.sick)) * WHOLE
                whole += count * (gpus if self._unit.gpus else each.cpu_milli)
        return whole

    def _bounds_of(self, gang: Gang) -> tuple[str, ...]:
        """The bounds that a gang's use counts against, noting what room they leave."""
        owner = (gang.queue, gang.preemptible, gang.user)
        found = self._bounds.get(owner)
        if found is None:
            shares, listed = self._state.queues.shares, list[str]()
            for queue in shares.tree.binding(gang.queue, gang.preemptible):
                whole = shares.usage[queue.name].get(ANY_FLAVOR, NOTHING)
                mine = shares.of_user(queue.name, gang.user) if queue.user_limit else NOTHING
                fixed = shares.fixed[queue.name].get(ANY_FLAVOR, NOTHING)
                for name, amounts, used in (
                    (queue.name, queue.limit, whole),
                    (f"{queue.name} fixed", {} if gang.preemptible else queue.quota, fixed),
                    (f"{queue.name} user {gang.user}", queue.user_limit, mine),
                ):
                    most = self._unit.most(amounts.get(ANY_FLAVOR))
                    if most is not None:
                        self._room[name] = most - self._unit.used(used)
                        listed.append(name)
            found = self._bounds[owner] = tuple(listed)
        return found

    def _ledger(self) -> QueueRoom:
        """What queues use. Only GPUs count in the comparison of queues."""
        state, depth = self._state, self._state.queues.shares.tree.depth
        governed = state.deserved.governed
        paths: dict[str, tuple[str, ...]] = {}
        used, due = {_PADDING: 0}, {_PADDING: 1 << 60}
        if state.config.policy.order is Order.FAIR and self._unit.gpus:
            for queue in state.queues.by_name:
                path = state.queues.shares.path(queue)[::-1]
                paths[queue] = path + (_PADDING,) * (depth - len(path))
                used[queue] = state.queues.shares.usage[queue].get(ANY_FLAVOR, NOTHING).gpu_milli
                weight = state.queues.by_name[queue].over_quota_weight
                due[queue] = state.deserved.bound(queue) if governed else 1000 * weight
        return QueueRoom(paths, used, due, governed, self._room)


def running(state: Store) -> list[GangRecord]:
    """Gangs that hold a place, or the promise of one."""
    return [
        *state.holdings.settled(),
        *(state.gangs.records[gang] for gang in state.holdings.promised),
    ]
