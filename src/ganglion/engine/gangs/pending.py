"""What waits: gangs in lanes of equals.

Gangs of one queue, priority and form are interchangeable but for their age, so that when
the oldest of a lane cannot start, none of the lane can; the whole lane is then shut until
something is freed. A backlog of ten thousand equal gangs costs as much as one.
"""

from collections.abc import Hashable, Iterable, Iterator
from heapq import heapify, heappop, heappush, nsmallest
from typing import Protocol

from ganglion.engine.gangs.record import GangRecord
from ganglion.model.reasons import Reason

Key = tuple[int, int, int, str]
"""Order within a lane: rank by policy, submission time, index among its siblings, id."""

BEFORE_EQUALS = -1
"""Rank within its lane of a gang that holds a reservation."""


Asked = tuple[tuple[str, ...], int]
"""GPU types, () = any, and thousandths of GPUs."""


class WaitWatcher(Protocol):
    """Is notified of where gangs stand, so that their waits can be added up; decides nothing."""

    def stands(self, record: GangRecord, at: int) -> None:
        """A gang waits somewhere, or somewhere else, or no more, from a time in ms on."""

    def forgets(self, gang: str) -> None:
        """A gang is no more."""


class Unwatched:
    """Nothing is added up."""

    def stands(self, record: GangRecord, at: int) -> None:
        """Where a gang stands does not matter."""

    def forgets(self, gang: str) -> None:
        """There is nothing to forget."""


class PendingClass:
    """Equal gangs of one queue.

    Attributes:
        queue: their queue.
        priority: their priority.
        reason: why the first of them waits; None = not looked at yet.
        shut_at: the state's `freed` counter when it was found that none can start; -1 = open.
        asked: (GPU types, thousandths of GPUs) that each of them asks for at most.
        level: their level of attained service; 0 where they share their time with no other.
        sweep: the last sweep in which its first gang was searched for in full; -1 = none.
    """

    __slots__ = (
        "_heap",
        "_live",
        "asked",
        "level",
        "priority",
        "queue",
        "reason",
        "shut_at",
        "sweep",
    )

    def __init__(self, queue: str, priority: int, asked: Asked = ((), 0), level: int = 0) -> None:
        self.queue, self.priority, self.asked, self.level = queue, priority, asked, level
        self.reason: Reason | None = None
        self.shut_at = self.sweep = -1
        self._heap: list[Key] = []
        self._live: dict[str, Key] = {}

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, gang: str) -> bool:
        return gang in self._live

    def add(self, key: Key) -> None:
        """A gang begins to wait."""
        self._live[key[-1]] = key
        heappush(self._heap, key)

    def discard(self, gang: str) -> None:
        """A gang waits no longer."""
        self._live.pop(gang, None)
        if len(self._heap) > 2 * len(self._live) + 64:
            self._heap = list(self._live.values())
            heapify(self._heap)

    def head(self) -> Key | None:
        """The one that goes first."""
        heap, live = self._heap, self._live
        while heap and live.get(heap[0][-1]) != heap[0]:
            heappop(heap)
        return heap[0] if heap else None

    def keys(self) -> Iterable[Key]:
        """Keys of all of them, in no order."""
        return self._live.values()

    def in_order(self, most: int | None = None) -> list[Key]:
        """All of them, or the first `most` of them, the first one first."""
        if most is None:
            return sorted(self._live.values())
        return nsmallest(most, self._live.values())


class Pending:
    """All lanes; those that may hold a gang that can start are open.

    Attributes:
        demand: queue -> GPU types asked, () = any -> thousandths of GPUs that wait.
        changes: grows with every change of what waits.
    """

    def __init__(self) -> None:
        self.demand: dict[str, dict[tuple[str, ...], int]] = {}
        self.changes = 0
        self._all: dict[Hashable, PendingClass] = {}
        self._open: dict[Hashable, PendingClass] = {}
        self._where: dict[str, Hashable] = {}
        self._freed = -1
        self._priorities: dict[int, int] = {}

    def __iter__(self) -> Iterator[PendingClass]:
        return iter(self._all.values())

    def __len__(self) -> int:
        return len(self._where)

    def add(
        self,
        lane_key: Hashable,
        queue: str,
        priority: int,
        key: Key,
        asked: Asked = ((), 0),
        level: int = 0,
    ) -> None:
        """A gang begins to wait in the lane of its equals."""
        lane = self._all.get(lane_key)
        if lane is None:
            lane = self._all[lane_key] = PendingClass(queue, priority, asked, level)
            self._open[lane_key] = lane
            self._priorities[priority] = self._priorities.get(priority, 0) + 1
        lane.add(key)
        self.expect(lane.queue, lane.asked, 1)
        self._where[key[-1]] = lane_key

    def discard(self, gang: str) -> None:
        """A gang waits no longer; does nothing for one that did not."""
        lane_key = self._where.pop(gang, None)
        if lane_key is None:
            return
        lane = self._all[lane_key]
        lane.discard(gang)
        self.expect(lane.queue, lane.asked, -1)
        if not len(lane):
            del self._all[lane_key]
            self._open.pop(lane_key, None)
            self._priorities[lane.priority] -= 1
            if not self._priorities[lane.priority]:
                del self._priorities[lane.priority]

    def highest(self, least: int) -> int:
        """The highest priority of all lanes, `least` where none is above it."""
        return max(least, *self._priorities) if self._priorities else least

    def expect(self, queue: str, asked: Asked, sign: int) -> None:
        """Count a gang as waiting (`sign` 1), or no more (-1)."""
        types, milli = asked
        waiting = self.demand.setdefault(queue, {})
        waiting[types] = waiting.get(types, 0) + sign * milli
        self.changes += 1

    def remember(self, others: "Pending") -> None:
        """Lanes that were shut among others, for the same reason, are shut here."""
        self._freed = others._freed
        for key, lane in self._all.items():
            known = others._all.get(key)
            if known:
                lane.reason, lane.shut_at = known.reason, known.shut_at
                if key not in others._open:
                    self._open.pop(key, None)

    def of(self, gang: str) -> PendingClass | None:
        """The lane in which a gang waits."""
        lane_key = self._where.get(gang)
        return None if lane_key is None else self._all[lane_key]

    def first_of(self, lane_key: Hashable) -> str:
        """The gang that goes first in a lane; empty = none waits there."""
        lane = self._all.get(lane_key)
        key = lane.head() if lane else None
        return key[-1] if key else ""

    def open(self, freed: int) -> list[PendingClass]:
        """Lanes worth a look now that the state's `freed` counter stands there."""
        if freed != self._freed:
            self._freed = freed
            self._open = dict(self._all)
        return list(self._open.values())

    def shut(self, gang: str, reason: Reason) -> None:
        """None of this gang's lane can start until something is freed."""
        lane_key = self._where[gang]
        lane = self._all[lane_key]
        lane.reason, lane.shut_at = reason, self._freed
        self._open.pop(lane_key, None)

    def reopen(self, gang: str) -> None:
        """This gang's lane is worth a look again."""
        lane_key = self._where[gang]
        lane = self._open[lane_key] = self._all[lane_key]
        lane.shut_at = -1

    def reopen_levels(self, queue: str, priority: int, least: int, end: int) -> None:
        """Lanes of a queue and priority from one level to below another are worth a look again."""
        for lane_key, lane in self._all.items():
            if lane.queue == queue and lane.priority == priority and least <= lane.level < end:
                self._open[lane_key] = lane
                lane.shut_at = -1
