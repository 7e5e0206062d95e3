"""The queue worked forward in time: when each waiting gang starts if nothing unforeseen happens.

Gangs start in the order of the scheduler (priority, the standing of their queue, their key), on
nodes with as much free as now, within limits, and later ones overtake one that does not fit.
What runs ends as drawn from learnt run times and limits. One gang that has waited for long
enough holds a reservation by time limits, as in the scheduler: those that may run for longer
than until its time pass only where there is room beside it. No gang is stopped for another.

A roll-out stops after `STEPS` starts and ends; behind that, work counts (a fluid queue).
"""

from bisect import bisect_left, insort
from collections.abc import Iterable
from heapq import heapify, heappop, heappush, heapreplace
from typing import NamedTuple

from ganglion.engine.forecast.free_pool import FreePool, Need, Taken
from ganglion.engine.gangs.pending import Key
from ganglion.engine.runtimes.expected_ends import NEVER

STEPS = 600
"""Starts and ends that one roll-out plays through."""

WITHIN = 8
"""Steps that a try within one domain counts as."""

LONGEST = 1 << 40
"""Run time that counts at most as work, in ms."""

Rank = tuple[int, ...]
Order = tuple[int, int, Key]
"""Whether it is spare, its priority below zero, its key: what orders gangs of one queue."""


class Waiter(NamedTuple):
    """A gang that waits.

    Attributes:
        gang: its id.
        queue: its queue.
        order: its place within the queue; smaller goes first.
        need: what it asks for.
        lengths: how long it will run, in ms by draw.
        known: whether a limit or history is behind that.
        bounds: bounds that its use counts against.
        limit: its time limit in ms; `NEVER` = none.
        due: from when on a place may be reserved for it, in ms; `NEVER` = never.
        submitted: when it was submitted, in ms.
    """

    gang: str
    queue: str
    order: Order
    need: Need
    lengths: tuple[int, ...]
    known: bool
    bounds: tuple[str, ...]
    limit: int = NEVER
    due: int = NEVER
    submitted: int = 0


class Runner(NamedTuple):
    """A gang that runs: its ends by draw, what it then gives back, and to whom it counts.

    `latest` is when its time limit ends it, in ms; `NEVER` = nothing does.
    """

    ends: tuple[int, ...]
    gang: str
    queue: str
    known: bool
    taken: Taken
    bounds: tuple[str, ...]
    latest: int = NEVER


Head = tuple[Order, int, list[Waiter]]
"""A line of equal needs by its first gang, which stands at its end."""


class RolloutStart(NamedTuple):
    """A start in a roll-out.

    Attributes:
        at: when, in ms.
        ended: thousandths given back until then.
        guessed: part of that which gangs gave back whose ends are guesses.
    """

    at: int
    ended: int
    guessed: int


class QueueRoom:
    """What queues use and may still use in a roll-out.

    Args:
        paths: queue -> all above it and itself, the root first; levels that it lacks are "".
        used: thousandths in use by queue.
        due: what a queue is compared with; 0 = it may use nothing without being over.
        governed: whether a queue that stays within its due goes before one that does not.
        room: bound -> thousandths that may still be used.
    """

    def __init__(
        self,
        paths: dict[str, tuple[str, ...]],
        used: dict[str, int],
        due: dict[str, int],
        governed: bool,
        room: dict[str, int],
    ) -> None:
        self._paths, self._due, self._governed = paths, due, governed
        self._used, self._room = used, room

    def copy(self) -> "QueueRoom":
        """Return a ledger that changes apart from this one."""
        used, room = self._used.copy(), self._room.copy()
        return QueueRoom(self._paths, used, self._due, self._governed, room)

    def allows(self, waiter: Waiter) -> bool:
        """Whether no bound is passed if the gang starts."""
        return all(self._room[bound] >= waiter.need.total for bound in waiter.bounds)

    def charge(self, queue: str, bounds: Iterable[str], milli: int) -> None:
        """A gang of the queue uses `milli` thousandths more."""
        for name in self._paths.get(queue, ()):
            self._used[name] += milli if name else 0
        for bound in bounds:
            if bound in self._room:
                self._room[bound] -= milli

    def standing(self, waiter: Waiter) -> tuple[Rank, Key]:
        """Where the queue of a gang stands among others; smaller goes first."""
        used, due, path = self._used, self._due, self._paths.get(waiter.queue, ())
        more = waiter.need.total
        over = [int(used[name] + more > due[name]) for name in path] if self._governed else []
        shares = [used[name] * 1000 // max(due[name], 1) for name in path]
        spare, priority, key = waiter.order
        return (spare, *over, priority, *shares), key


class Rollout:
    """One draw, played forward as far as callers ask.

    Attributes:
        at: the time reached, in ms.
        starts: starts so far, by gang.
        work: thousandths x ms of the gangs that have started so far.
        guesses: gangs that ended so far at a guess, the first ones first.
        is_stuck: whether something waits although nothing ends any more.
        steps: starts tried and ends so far.

    Args:
        draw: which one.
        now: the time in ms.
        pool: what is free; changed.
        runners: what runs.
        waiters: what waits and is played through, the first of each queue first.
        ledger: what queues use; changed.
        strict: queues in which no gang overtakes.
    """

    def __init__(
        self,
        draw: int,
        now: int,
        pool: FreePool,
        runners: Iterable[Runner],
        waiters: Iterable[Waiter],
        ledger: QueueRoom,
        strict: frozenset[str],
    ) -> None:
        self.at, self.work, self._draw = now, 0, draw
        self.starts: dict[str, RolloutStart] = {}
        self.guesses: dict[str, None] = {}
        self.is_stuck = False
        self._pool, self._ledger, self._strict = pool, ledger, strict
        self._ends = [(each.ends[draw], number, each) for number, each in enumerate(runners)]
        heapify(self._ends)
        self._count, self.steps = len(self._ends), 0
        # Latest ends of what runs, and what it then gives back.
        self._latest = sorted((r.latest, n, _milli(r)) for _, n, r in self._ends)
        self._first: Waiter | None = None
        self._shadow, self._beside = NEVER, 0
        self._ended = self._guessed = 0
        lines: dict[tuple[str, Need, tuple[str, ...]], list[Waiter]] = {}
        for each in waiters:
            lines.setdefault((each.queue, each.need, each.bounds), []).append(each)
        self._lines: dict[str, list[list[Waiter]]] = {}
        for (queue, _, _), line in lines.items():
            self._lines.setdefault(queue, []).append(line[::-1])
        self._least = self._smallest()

    def until(self, gangs: Iterable[str]) -> None:
        """Play on until all these gangs have started, or nothing more is known.

        Nothing starts before something ends: what could start now has started.
        """
        missing = [gang for gang in gangs if gang not in self.starts]
        while missing and self._lines and self.steps < STEPS:
            self.is_stuck = not self._ends or self._ends[0][0] >= NEVER
            if self.is_stuck:
                return
            self._end_next()
            self._start_all()
            missing = [gang for gang in missing if gang not in self.starts]

    def start_of(self, gang: str) -> RolloutStart:
        """The start of a gang, or the time reached if it has not started."""
        return self.starts.get(gang) or RolloutStart(self.at, self._ended, self._guessed)

    def _end_next(self) -> None:
        self.at = self._ends[0][0]
        while self._ends and self._ends[0][0] <= self.at:
            _, number, runner = heappop(self._ends)
            self.steps += 1
            milli = _milli(runner)
            del self._latest[bisect_left(self._latest, (runner.latest, number, milli))]
            self._pool.give(runner.taken)
            self._ledger.charge(runner.queue, runner.bounds, -milli)
            self._ended += milli
            if not runner.known:
                self._guessed += milli
                self.guesses[runner.gang] = None

    def _start_all(self) -> None:
        """Start all that fit, in order."""
        if self._pool.left < self._least:
            return
        self._reserve()
        heads = {queue: self._heads(queue) for queue in self._lines}
        # A queue on its own need not be compared.
        standing = self._ledger.standing if len(heads) > 1 else _alone
        emptied = False
        order = [(standing(first[0][2][-1]), q) for q, first in heads.items() if first]
        heapify(order)
        while order:
            queue = order[0][1]
            first = heads[queue]
            line = first[0][2]
            if self._start(line[-1]):
                line.pop()
                emptied = emptied or not line
            else:
                line = []
                if queue in self._strict:
                    first.clear()
            if line:
                heapreplace(first, (line[-1].order, first[0][1], line))
            elif first:
                heappop(first)
            if first:
                heapreplace(order, (standing(first[0][2][-1]), queue))
            else:
                heappop(order)
        if emptied:
            kept = {queue: [each for each in lines if each] for queue, lines in self._lines.items()}
            self._lines = {queue: lines for queue, lines in kept.items() if lines}
            self._least = self._smallest()

    def _heads(self, queue: str) -> list[Head]:
        """The first of every line of a queue for which there may be room."""
        left = NEVER if queue in self._strict else self._pool.left
        heads = [
            (line[-1].order, number, line)
            for number, line in enumerate(self._lines[queue])
            if line[-1].need.total <= left
        ]
        heapify(heads)
        return heads

    def _reserve(self) -> None:
        """Find out until when, and how much, others may take before the gang with a reservation.

        As the scheduler does: of those that have waited for long enough, the oldest one of the
        highest priority gets one and keeps it. Only time limits vouch for its time.
        """
        self._shadow, self._beside = NEVER, 0
        if self._first is None or self._first.gang in self.starts:
            self._first = self._senior()
        # A gang that a limit keeps waiting needs no room yet.
        if self._first is None or not self._ledger.allows(self._first):
            return
        free, missing = self._pool.left, self._first.need.total
        for latest, _, milli in self._latest if free < missing else ():
            free += milli
            if free >= missing:
                self._shadow = latest
                break
        self._beside = free - missing

    def _senior(self) -> Waiter | None:
        heads = (line[-1] for lines in self._lines.values() for line in lines)
        due = [each for each in heads if each.due <= self.at and self._ledger.allows(each)]
        return min(due, key=lambda each: (each.order[1], each.submitted, each.gang), default=None)

    def _passes(self, waiter: Waiter) -> bool:
        """Whether a gang may start before the one with a reservation."""
        first, total = self._first, waiter.need.total
        if first is None or self._shadow >= NEVER or waiter.gang == first.gang:
            return True
        if waiter.order[1] < first.order[1] or self.at + waiter.limit <= self._shadow:
            return True
        if total > self._beside:
            return False
        self._beside -= total
        return True

    def _start(self, waiter: Waiter) -> bool:
        """Start a gang; whether there is room."""
        self.steps += 1 if waiter.need.level is None else WITHIN
        taken = self._pool.take(waiter.need) if self._ledger.allows(waiter) else None
        if taken is None:
            return False
        if not self._passes(waiter):
            self._pool.give(taken)
            return False
        milli = waiter.need.total
        self._ledger.charge(waiter.queue, waiter.bounds, milli)
        self.starts[waiter.gang] = RolloutStart(self.at, self._ended, self._guessed)
        length = waiter.lengths[self._draw]
        self.work += milli * min(length, LONGEST)
        end = self.at + length
        latest = min(self.at + waiter.limit, NEVER)
        who = (waiter.gang, waiter.queue, waiter.known, taken, waiter.bounds)
        heappush(self._ends, (end, self._count, Runner((end,), *who, latest)))
        insort(self._latest, (latest, self._count, milli))
        self._count += 1
        return True

    def _smallest(self) -> int:
        needs = [line[-1].need.total for lines in self._lines.values() for line in lines]
        return min(needs, default=0)


def _milli(runner: Runner) -> int:
    return sum([part for _, part in runner.taken])


def _alone(waiter: Waiter) -> tuple[Rank, Key]:
    return (), waiter.order[2]
