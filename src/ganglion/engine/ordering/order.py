"""Which gang goes next: the standing of its queue and its priority, then age."""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush, heapreplace

from ganglion.engine.gangs.pending import Key, PendingClass
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.kueue.cycle import SIDE_BY_SIDE
from ganglion.engine.ordering.ranking import KaiStanding, Rank, ShareStanding
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.policy import Entitlement
from ganglion.model.reasons import Reason, Token
from ganglion.model.workload import Gang

Head = tuple[int, int, Key, PendingClass]
"""A lane of a queue: (-priority, use of its user, key of its first gang, lane)."""

RETURNING = -1
"""In place of the use of its user: its workload has fewer siblings than its floor says."""

BEHIND = Reason(Token.ORDER, "another one of its queue goes first and cannot start yet")


class GangOrder:
    """Yields gangs in order; queues are compared anew after every start.

    Within a queue lanes go by priority, then those of workloads below their floor, then by use
    of their user where that counts, then by their first gang's key. Shares mostly grow within a
    cycle, so a queue that comes first with an old rank is put back with its present one until
    the first is up to date.

    Args:
        state: the queues and what waits.
        now: the time in ms.

    Attributes:
        behind: lanes that were set aside for another one and had no reason before.
    """

    def __init__(self, state: ClusterState, now: int) -> None:
        self._state = state
        self.behind: list[PendingClass] = []
        self._standing = ShareStanding(state, state.deserved, state.queues.past, now)
        kai = state.config.policy.entitlement is Entitlement.KAI
        self._tournament = KaiStanding(state, state.deserved) if kai else None
        self._heads: dict[str, list[Head]] = {}
        strict = {name for name in state.queues.by_name if self._is_strict(name)}
        for lane in (
            list(state.gangs.lanes) if strict else state.gangs.lanes.open(state.progress.freed)
        ):
            if not strict or lane.queue in strict or lane.shut_at != state.progress.freed:
                head = self._head(lane)
                if head:
                    self._heads.setdefault(lane.queue, []).append(head)
        for heads in self._heads.values():
            heapify(heads)
        self._ranked = self._current = ""
        self._queues: list[tuple[Rank, Key, str]] = []
        self._rank_all()

    def next(self) -> GangRecord | None:
        """The gang to look at now; call `started`, `traded` or `block` before the next one."""
        while self._heads:
            self._current = name = self._first()
            lane = self._heads[name][0][3]
            if lane.shut_at != self._state.progress.freed:
                return self._state.gangs.records[self._heads[name][0][2][-1]]
            self.block(final=lane.reason is not None and lane.reason.never)
        return None

    def rest(self) -> Iterator[PendingClass]:
        """Lanes that were not handed out, apart from those in which none can start."""
        for heads in self._heads.values():
            for *_, lane in heads:
                if lane.shut_at != self._state.progress.freed:
                    yield lane

    def lane(self) -> PendingClass:
        """The lane of the gang handed out last."""
        return self._heads[self._current][0][3]

    def started(self) -> None:
        """The gang handed out last has started; its lane may have another."""
        heads = self._heads[self._current]
        head = self._head(heads[0][3])
        if head:
            heapreplace(heads, head)
        else:
            heappop(heads)
        self._again()

    def traded(self) -> None:
        """The gang handed out last was promised the place of others, whose shares shrank."""
        self.started()
        self._rank_all()

    def block(self, final: bool) -> None:
        """Set the lane aside for this cycle, and in a strict queue all lanes.

        A gang that can never start (`final`) holds no other up.
        """
        heads = self._heads[self._current]
        heappop(heads)
        if not final and self._is_strict(self._current):
            for *_, lane in heads:
                if lane.reason is None:
                    lane.reason = BEHIND
                    self.behind.append(lane)
            heads.clear()
        self._again()

    def again(self, gang: str) -> None:
        """Yield a gang again whose lane was set aside, as it can start by now."""
        lane = self._state.gangs.lanes.of(gang)
        head = self._head(lane) if lane else None
        if lane is None or head is None or head[2][-1] != gang:
            return
        self._state.gangs.lanes.reopen(gang)
        lane.sweep = -1
        known = lane.queue in self._heads
        heads = self._heads.setdefault(lane.queue, [])
        if any(each is lane for *_, each in heads):
            return
        heappush(heads, head)
        if not self._tournament:
            if known:
                self._rank_all()
            else:
                heappush(self._queues, self._rank(lane.queue))
        self._ranked = ""

    def _is_strict(self, queue: str) -> bool:
        own = self._state.queues.by_name[queue].strict
        return self._state.config.policy.strict if own is None else own

    def _head(self, lane: PendingClass) -> Head | None:
        key = lane.head()
        if key is None:
            return None
        record = self._state.gangs.records[key[-1]]
        if self._state.gangs.floors.is_short(record):
            return (-lane.priority, RETURNING, key, lane)
        return (-lane.priority, self._standing.of_user(record), key, lane)

    def _first(self) -> str:
        """The queue whose first gang goes next."""
        if self._tournament:
            firsts = [self._record(name) for name in self._heads]
            return self._tournament.choose(firsts).gang.queue
        queues = self._queues
        while queues[0][2] != self._ranked:
            self._ranked = name = queues[0][2]
            self._freshen(name)
            heapreplace(queues, self._rank(name))
        return self._ranked

    def _freshen(self, queue: str) -> None:
        """Of one user's lanes the first was ranked before the others started."""
        heads = self._heads[queue]
        while (head := self._head(heads[0][3])) and head[:2] != heads[0][:2]:
            heapreplace(heads, head)

    def _again(self) -> None:
        # Other queues may share an ancestor whose share has just grown; this one is up to date.
        name = self._current
        alive = bool(self._heads[name])
        if not alive:
            del self._heads[name]
        if self._tournament:
            return
        heappop(self._queues)
        if alive:
            self._freshen(name)
            heappush(self._queues, self._rank(name))
        self._ranked = name if alive else ""

    def _rank_all(self) -> None:
        self._ranked = ""
        if not self._tournament:
            self._queues = [self._rank(name) for name in self._heads]
            heapify(self._queues)

    def _rank(self, name: str) -> tuple[Rank, Key, str]:
        record = self._record(name)
        return (self._standing.rank(record), self._heads[name][0][2], name)

    def _record(self, name: str) -> GangRecord:
        return self._state.gangs.records[self._heads[name][0][2][-1]]


def goes_first(state: ClusterState, gang: Gang, now: int) -> bool:
    """Whether it is sure that nothing is decided before a gang that is submitted now.

    All that waits has been looked at, no time has come for anything, and nothing holds it up.

    Args:
        state: after a cycle.
        gang: not submitted.
        now: the time in ms.
    """
    due, freed = state.next_wake(), state.progress.freed
    if state.config.policy.entitlement in SIDE_BY_SIDE or (due is not None and due <= now):
        return False
    own = state.queues.by_name[gang.queue].strict
    strict = state.config.policy.strict if own is None else own
    return not any(
        lane.shut_at != freed or (strict and lane.queue == gang.queue) for lane in state.gangs.lanes
    )


def waiting_in_order(state: ClusterState, now: int = 0, most: int | None = None) -> list[str]:
    """Ids of gangs that wait in lanes, in the order of the next cycle as things stand.

    Args:
        state: of the engine.
        now: time in ms; at least that of the state.
        most: how many of them, the first; None = all.
    """
    standing = ShareStanding(
        state, state.deserved, state.queues.past, max(now, state.progress.clock)
    )
    ranked = []
    for lane in state.gangs.lanes:
        keys = lane.in_order(most)
        if keys:
            record = state.gangs.records[keys[0][-1]]
            short = state.gangs.floors.is_short(record)
            rank, user = standing.rank(record), RETURNING if short else standing.of_user(record)
            ranked += [((rank, user, key), key[-1]) for key in keys]
    return [gang for _, gang in sorted(ranked)[:most]]
