"""Which replicas of a service to give up first, and which of those that sleep to wake.

Nothing here decides: it looks at the state, tries on it and leaves it as it was.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

from ganglion.engine.gangs import preemption_cost
from ganglion.engine.gangs.record import SETTLED, WAITING, GangRecord
from ganglion.engine.ordering.attempt import ABOUT_ROOM, seek
from ganglion.engine.ordering.order import waiting_in_order
from ganglion.engine.preemption.preempt import TRIED
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.store.undo import Tentative
from ganglion.engine.store.victims import VictimUnit
from ganglion.engine.upkeep.standby_recall import in_the_way
from ganglion.model.causes import CauseKind
from ganglion.model.plan import Phase
from ganglion.model.resources import WHOLE

ASKERS = 4
"""Gangs that wait for room, the first ones, of which it is tried whether they would fit."""

SEARCHES = 128
"""Searches for a place in all; after them only the room that comes free is compared."""

Home = tuple[int, int]
"""A failure domain: the lowest one above nodes, or the node where there is none."""

Worth = tuple[tuple[bool, ...], int, int]
"""Which of those that wait would fit, whole GPUs free on one node, nodes that would be empty."""


def to_release(state: ClusterState, gangs: Sequence[str], count: int) -> list[str]:
    """Gangs of which a service can be spared best, the first one first.

    Those that wait go first: without a promise before with one, the latest before the earliest.
    Then those that start, then those that run; among these, one after the other as if those
    before had left:

    1. gangs on a node that accepts no pods any more;
    2. never the last one in its rack while another rack has two;
    3. those whose place would let the first of those that wait for room start, then the second..;
    4. those that leave most whole GPUs free on one node, then those that empty nodes;
    5. those with most siblings in their rack, then the one placed last.

    Args:
        state: left as it is.
        gangs: the gangs to choose from; those that are leaving or unknown are passed over.
        count: how many.

    Returns:
        At most `count` ids.
    """
    known = [
        state.gangs.records[gang] for gang in dict.fromkeys(gangs) if gang in state.gangs.records
    ]
    waiting = sorted((each for each in known if each.phase in WAITING), key=_dispensable)
    chosen = [each.gang.id for each in waiting[:count]]
    settled = [each for each in known if each.phase in SETTLED]
    return chosen + _Farewell(state, settled).choose(count - len(chosen))


def to_wake(state: ClusterState, gangs: Sequence[str], count: int) -> list[str]:
    """Gangs that sleep and are back first and cheapest, the first one first.

    Gangs whose place is free go first, then those whose borrowers lose least; without a place last.

    Args:
        state: left as it is.
        gangs: the gangs to choose from; those that do not sleep are passed over.
        count: how many.

    Returns:
        At most `count` ids.
    """
    known = [
        state.gangs.records[gang] for gang in dict.fromkeys(gangs) if gang in state.gangs.records
    ]
    asleep = [each for each in known if each.gang.recall_ms and each.phase is Phase.PENDING]
    return [each.gang.id for each in sorted(asleep, key=lambda e: _effort(state, e))[:count]]


def _dispensable(record: GangRecord) -> tuple[bool, int, int, str]:
    gang = record.gang
    return (record.phase is Phase.RESERVED, -gang.submitted, -gang.index, gang.id)


def _effort(state: ClusterState, record: GangRecord) -> tuple[bool, int, int, int, str]:
    kept, gang = state.timeline.kept.get(record.gang.id), record.gang
    if kept is None or not state.timeline.kept.is_sound(kept):
        return (True, 0, 0, gang.index, gang.id)
    restart, leaving = state.config.policy.evict.restart_ms, in_the_way(state, kept)
    lost = sum(
        preemption_cost.of_gang(state.gangs.records[each], state.progress.clock, restart)
        for each in leaving
    )
    return (False, lost, len(leaving), gang.index, gang.id)


class _Seat:
    """Where a replica is; that does not change while it is looked at."""

    __slots__ = ("devices", "homes", "ranks", "record")

    def __init__(self, state: ClusterState, record: GangRecord) -> None:
        assert record.placement
        tree, pods = state.fleet.tree, record.placement.pods
        self.record = record
        self.ranks = sorted({tree.rank(pod.node) for pod in pods})
        homes = ((tree.parents[rank], 0 if tree.parents[rank] else rank) for rank in self.ranks)
        self.homes: tuple[Home, ...] = tuple(dict.fromkeys(homes))
        self.devices = tuple((pod.devices, pod.milli) for pod in pods)


class _Farewell:
    """Replicas that run, and what comes free when they leave one after the other."""

    def __init__(self, state: ClusterState, records: list[GangRecord]) -> None:
        self._state = state
        self._left = [_Seat(state, each) for each in records]
        self._searches = SEARCHES
        self._homes = Counter(home for seat in self._left for home in seat.homes)
        self._askers: list[GangRecord] = []
        self._worths: dict[Hashable, Worth] = {}

    def choose(self, count: int) -> list[str]:
        """The first `count` of them."""
        if count <= 0 or not self._left:
            return []
        chosen: list[str] = []
        tentative, self._askers = Tentative(self._state), list(_askers(self._state))
        try:
            while len(chosen) < count and self._left:
                seat = self._next(tentative)
                tentative.take(_whole(seat.record))
                self._left.remove(seat)
                self._homes.subtract(seat.homes)
                chosen.append(seat.record.gang.id)
        finally:
            tentative.undo()
        return chosen

    def _next(self, tentative: Tentative) -> _Seat:
        """The next one to go; which gangs others wait for is found anew while searches remain."""
        if self._searches:
            self._worths = {}
        several = max(self._homes.values()) > 1
        worths: dict[Hashable, tuple[Hashable, ...]] = {}

        def key(seat: _Seat) -> tuple[Hashable, ...]:
            alike = self._alike(seat)
            common = worths.get(alike)
            if common is None:
                common = worths[alike] = self._common(seat, alike, several, tentative)
            record = seat.record
            running = record.phase is Phase.RUNNING
            return (running, common, -record.placed_at, -record.gang.index, record.gang.id)

        return min(self._left, key=key)

    def _common(
        self, seat: _Seat, alike: Hashable, several: bool, tentative: Tentative
    ) -> tuple[Hashable, ...]:
        """What a replica has in common with all on equal nodes of its rack."""
        if alike not in self._worths:
            self._worths[alike] = self._worth(seat, tentative)
        fits, free, emptied = self._worths[alike]
        beside = [self._homes[home] for home in seat.homes]
        return (
            not self._is_shut(seat),
            several and min(beside) == 1,
            tuple(not each for each in fits),
            -free,
            -emptied,
            -max(beside),
        )

    def _is_shut(self, seat: _Seat) -> bool:
        tree = self._state.fleet.tree
        return any(not tree.table.known[tree.conditions[rank]].open for rank in seat.ranks)

    def _alike(self, seat: _Seat) -> Hashable:
        """Replicas on equal nodes of one domain, with as many devices, are worth the same."""
        tree = self._state.fleet.tree
        if len(seat.ranks) == 1:
            rank = seat.ranks[0]
            return seat.homes, tree.conditions[rank], tree.pods[rank], seat.devices
        nodes = tuple((tree.conditions[rank], tree.pods[rank]) for rank in seat.ranks)
        return seat.homes, nodes, seat.devices

    def _worth(self, seat: _Seat, tentative: Tentative) -> Worth:
        """What comes of it when a replica leaves."""
        tree, unit = self._state.fleet.tree, _whole(seat.record)
        tentative.take(unit)
        fits = tuple(self._fits(each) for each in self._askers)
        emptied = sum(not tree.pods[rank] for rank in seat.ranks)
        usable = (tree.table.known[tree.conditions[rank]].usable for rank in seat.ranks)
        free = max(sum(left == WHOLE for left in devices) for devices in usable)
        tentative.give_back(unit)
        return fits, free, emptied

    def _fits(self, asker: GangRecord) -> bool:
        if not self._searches:
            return False
        self._searches -= 1
        return seek(self._state, asker, self._state.progress.clock, TRIED)[1] is not None


def _askers(state: ClusterState) -> Iterator[GangRecord]:
    """The first gangs that wait for room, one of each kind of equals."""
    seen: set[Hashable] = set()
    for gang in waiting_in_order(state, state.progress.clock):
        lane = state.gangs.lanes.of(gang)
        kind = state.gangs.records[gang].lane
        if lane is None or lane.reason is None or kind in seen or lane.reason.never:
            continue
        if lane.reason.token in ABOUT_ROOM:
            seen.add(kind)
            yield state.gangs.records[gang]
        if len(seen) == ASKERS:
            return


def _whole(record: GangRecord) -> VictimUnit:
    assert record.placement
    return VictimUnit(record, record.placement.pods, True, 0, CauseKind.PREEMPTED)
