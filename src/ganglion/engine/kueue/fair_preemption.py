"""Whom Kueue's fair sharing lets a gang have stopped.

Queues compare at the two subtrees below the lowest queue they have in common. A gang may take
one of a queue's gangs when afterwards its own side's share is not above the other side's; if
that is not enough, when its share is below what the other side's was before. The side with the
largest share gives first, one gang at a time.

Source: the two strategies of Kueue's fair sharing, as documented there.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.kueue.classic_preemption import (
    Asker,
    Taken,
    VictimSearch,
    may_take,
    takeable,
    turn,
    uses,
)
from ganglion.engine.queues.cohort import Borrowing, usages_of
from ganglion.engine.queues.dominant_share import NONE, Dominant, Share
from ganglion.engine.store.queue_rules import rules_for
from ganglion.engine.store.store import Store
from ganglion.model.causes import CauseKind
from ganglion.model.queue import Victims

T = TypeVar("T")


def by_share(state: Store, borrowing: Borrowing, asker: Asker) -> Iterator[VictimSearch]:
    """The one attempt of fair sharing."""
    search = _Search(state, borrowing, asker)
    if search.candidates:
        yield VictimSearch(search.victims(), True)


class _Search:
    def __init__(self, state: Store, borrowing: Borrowing, asker: Asker) -> None:
        self._state, self._borrowing, self._asker = state, borrowing, asker
        self._dominant = Dominant(state.queues.shares, borrowing)
        self._ancestors = set(borrowing.above(asker.queue))
        self.candidates = self._find()

    def victims(self) -> Iterator[Taken]:
        left: list[GangRecord] = []
        own = False
        for record, cause in self._first(self.candidates, left):
            own = own or cause is CauseKind.PREEMPTED
            yield record, cause
        if own:
            # The asker's share has shrunk with its own victims: what failed may pass now.
            again, left = left, []
            yield from self._first(again, left)
        yield from self._second(left)

    def _find(self) -> list[GangRecord]:
        rules = rules_for(self._state, self._asker.queue)
        found, runs = [], takeable(self._state, self._asker)
        for queue in self._borrowing.leaves(self._borrowing.root(self._asker.queue)):
            own = queue == self._asker.queue
            rule = rules.preempt if own else rules.reclaim
            if rule is Victims.NEVER or not (own or self._exceeds(queue)):
                continue
            found += [
                record
                for record in runs.get(queue, ())
                if uses(record, self._asker.needs) and may_take(self._asker.record, record, rule)
            ]
        return found

    def _exceeds(self, queue: str) -> bool:
        return any(self._borrowing.borrows(queue, cell) for cell in self._asker.needs)

    def _first(self, candidates: list[GangRecord], left: list[GangRecord]) -> Iterator[Taken]:
        """Take while afterwards the asker's share is not above the victim's."""
        tour = _Tour(self, candidates)
        entitled = not self._with_asker(lambda: self._exceeds(self._asker.queue))
        while queue := tour.next():
            if queue == self._asker.queue:
                yield tour.pop(queue), CauseKind.PREEMPTED
            elif entitled:
                yield tour.pop(queue), CauseKind.RECLAIMED
            elif (record := self._passing(tour, queue, left)) is not None:
                yield record, CauseKind.SHARED

    def _passing(self, tour: "_Tour", queue: str, left: list[GangRecord]) -> GangRecord | None:
        ours, theirs = self.sides(queue)
        share = self.share(ours)
        while tour.has(queue):
            record = tour.pop(queue)
            if share <= self._without(record, theirs):
                return record
            left.append(record)
        return None

    def _second(self, candidates: list[GangRecord]) -> Iterator[Taken]:
        """Take one of each queue whose share is still above what the asker's will be."""
        tour = _Tour(self, candidates)
        while queue := tour.next():
            ours, theirs = self.sides(queue)
            record = tour.pop(queue)
            tour.drop(queue)
            if self.share(ours) < self.share(theirs):
                yield record, CauseKind.SHARED

    def sides(self, queue: str) -> tuple[str, str]:
        """The subtrees of the asker and of a queue right below what they have in common."""
        path = (queue, *self._borrowing.above(queue))
        at = next(number for number, name in enumerate(path) if name in self._ancestors)
        ours = (self._asker.queue, *self._borrowing.above(self._asker.queue))
        return ours[ours.index(path[at]) - 1], path[at - 1]

    def share(self, queue: str) -> Share:
        """The share of a queue with the asker's gang in place."""
        return self._with_asker(lambda: self._dominant.share(queue))

    def is_ours(self, queue: str) -> bool:
        """Whether the asker lies at or under a queue."""
        return queue == self._asker.queue or queue in self._ancestors

    def root(self) -> str:
        """The root of the asker's tree."""
        return self._borrowing.root(self._asker.queue)

    def children(self, queue: str) -> list[str]:
        """Queues right below one."""
        return self._borrowing.children(queue)

    def above(self, queue: str) -> tuple[str, ...]:
        """Queues above one."""
        return self._borrowing.above(queue)

    def _without(self, record: GangRecord, queue: str) -> Share:
        self._state.queues.charge(record.gang, record.charged, -1)
        share = self.share(queue)
        self._state.queues.charge(record.gang, record.charged, 1)
        return share

    def _with_asker(self, read: Callable[[], T]) -> T:
        gang, charged = self._asker.record.gang, usages_of(self._asker.wants)
        self._state.queues.charge(gang, charged, 1)
        found = read()
        self._state.queues.charge(gang, charged, -1)
        return found


class _Tour:
    """Visits queues with candidates, always going down to the largest share."""

    def __init__(self, search: _Search, candidates: list[GangRecord]) -> None:
        self._search = search
        self._left: dict[str, list[GangRecord]] = {}
        for record in sorted(candidates, key=turn):
            self._left.setdefault(record.gang.queue, []).append(record)
        self._closed: set[str] = set()

    def next(self) -> str:
        """The queue that gives next; empty = none is left."""
        root = self._search.root()
        if not self._search.children(root):
            return root if self.has(root) else ""
        while root not in self._closed:
            if found := self._down(root):
                return found
        return ""

    def has(self, queue: str) -> bool:
        """Whether a queue has a candidate left."""
        return bool(self._left.get(queue)) and queue not in self._closed

    def pop(self, queue: str) -> GangRecord:
        """The next candidate of a queue."""
        return self._left[queue].pop(0)

    def drop(self, queue: str) -> None:
        """Visit a queue no more."""
        self._closed.add(queue)

    def _down(self, queue: str) -> str:
        """A queue at the bottom, or empty when something was closed on the way."""
        best: tuple[Share, bool, tuple[int, ...], str] | None = None
        for child in self._search.children(queue):
            if child in self._closed:
                continue
            inner = bool(self._search.children(child))
            share = self._search.share(child)
            if (share == NONE and not self._search.is_ours(child)) or not (
                inner or self.has(child)
            ):
                self._closed.add(child)
                continue
            key = (share, inner, self._eager(child), child)
            best = key if best is None or key[:3] > best[:3] else best
        if best is None:
            self._closed.add(queue)
            return ""
        return self._down(best[-1]) if best[1] else best[-1]

    def _eager(self, queue: str) -> tuple[int, ...]:
        """Among equal shares the queue goes first whose candidate does."""
        heads = [
            turn(left[0])[:2]
            for name, left in self._left.items()
            if left
            and name not in self._closed
            and (name == queue or queue in self._search.above(name))
        ]
        return tuple(-each for each in min(heads)) if heads else (-(1 << 62), 0)
