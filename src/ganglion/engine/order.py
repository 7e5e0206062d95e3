"""Who goes next: priority, then share of the queue, then age."""

from heapq import heapify, heappop, heapreplace

from ganglion.engine.lanes import Key, Lane
from ganglion.engine.record import GangRecord
from ganglion.engine.state import ClusterState
from ganglion.model.policy import Order
from ganglion.model.reasons import Reason, Token

Rank = tuple[int, tuple[int, ...], Key]
"""Higher priority first, then the smaller share along the queue tree, then the lane's order."""

Heads = list[tuple[int, Key, Lane]]
"""Lanes of one queue as a heap: (-priority, key of the head, lane)."""

_BEHIND = Reason(Token.ORDER, "another one of its queue goes first and cannot start yet")


class Turns:
    """Hands out gangs in order; shares are read anew after every start.

    Within a queue the order of lanes is fixed; among queues it follows their shares. Shares
    only grow within a cycle, so a queue that comes first with an old share is put back with
    its present one until the first is up to date.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._strict = state.policy.strict
        self._heads: dict[str, Heads] = {}
        for lane in list(state.lanes) if self._strict else state.lanes.open(state.freed):
            key = lane.head()
            if key:
                self._heads.setdefault(lane.queue, []).append((-lane.priority, key, lane))
        for heads in self._heads.values():
            heapify(heads)
        self._ranked = ""
        self._queues = [(self._rank(name), name) for name in self._heads]
        heapify(self._queues)

    def next(self) -> GangRecord | None:
        """The gang to look at now; call `started` or `block` before the next one."""
        queues = self._queues
        while queues:
            rank, name = queues[0]
            if name != self._ranked:
                self._ranked = name
                heapreplace(queues, (self._rank(name), name))
            elif (lane := self._heads[name][0][2]).shut_at == self._state.freed:
                self.block(final=lane.reason is not None and lane.reason.never)
            else:
                return self._state.records[rank[2][-1]]
        return None

    def lane(self) -> Lane:
        """The lane of the gang handed out last."""
        return self._heads[self._queues[0][1]][0][2]

    def started(self) -> None:
        """The gang handed out last has started; its lane may have another."""
        name = self._queues[0][1]
        heads = self._heads[name]
        lane = heads[0][2]
        key = lane.head()
        if key:
            heapreplace(heads, (-lane.priority, key, lane))
        else:
            heappop(heads)
        self._again(name)

    def traded(self) -> None:
        """The gang handed out last was promised the place of others, whose shares shrank."""
        self.started()
        self._queues = [(self._rank(name), name) for _, name in self._queues]
        heapify(self._queues)
        self._ranked = ""

    def block(self, final: bool) -> None:
        """Set the lane aside for this cycle, and under strict order its whole queue.

        A gang that can never start (`final`) holds nobody up.
        """
        name = self._queues[0][1]
        heads = self._heads[name]
        heappop(heads)
        if self._strict and not final:
            for _, _, lane in heads:
                lane.reason = lane.reason or _BEHIND
            heads.clear()
        self._again(name)

    def _again(self, name: str) -> None:
        # Other queues may share an ancestor whose share has just grown; this one is up to date.
        self._ranked = name
        if self._heads[name]:
            heapreplace(self._queues, (self._rank(name), name))
        else:
            heappop(self._queues)

    def _rank(self, name: str) -> Rank:
        priority, key, _ = self._heads[name][0]
        share = self._state.shares.share(name) if self._state.policy.order is Order.FAIR else ()
        return (priority, share, key)


def waiting_in_order(state: ClusterState) -> list[str]:
    """Ids of all gangs that wait in lanes, in the order of the next cycle as things stand."""
    fair = state.policy.order is Order.FAIR
    ranked = [
        ((-lane.priority, state.shares.share(lane.queue) if fair else (), key), key[-1])
        for lane in state.lanes
        for key in lane.in_order()
    ]
    return [gang for _, gang in sorted(ranked)]
