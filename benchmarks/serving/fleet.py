"""A simulated service: replicas that serve one request at a time, and their scaler."""

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Protocol

from msgspec import Struct

from benchmarks.serving.requests import HOUR, Request

COLD_START_MS = 60_000


class Seen(Struct, frozen=True):
    """What is known when it is decided how many replicas there should be.

    Attributes:
        now: the time, in ms.
        waiting, running: requests.
        ready: replicas that take requests.
        starting: replicas that do not yet.
        arrived: requests so far.
        late: of them, those that were begun later than they should.
    """

    now: int
    waiting: int
    running: int
    ready: int
    starting: int
    arrived: int
    late: int

    @property
    def requests(self) -> int:
        """Waiting and running ones."""
        return self.waiting + self.running

    @property
    def replicas(self) -> int:
        """Ready and starting ones."""
        return self.ready + self.starting


class Policy(Protocol):
    """Scales the service."""

    def desired(self, seen: Seen) -> int:
        """How many replicas there should be."""

    def started(self, took_ms: int) -> None:
        """A replica became ready, that long after the decision."""


class Rules(Struct, frozen=True):
    """How the service works.

    Attributes:
        every_ms: time between two decisions.
        late_ms: a request that is begun later than this after its arrival is late.
        cold_start: how long the next replica takes to start, in ms.
    """

    every_ms: int = 15_000
    late_ms: int = 10_000
    cold_start: Callable[[], int] = lambda: COLD_START_MS


class Replica(Struct):
    """One replica.

    Attributes:
        number: of its start, from 1.
        model: the base model that it has loaded; empty = none.
        leaving: it goes once its request is done.
    """

    number: int
    model: str = ""
    leaving: bool = False


class Idle(Protocol):
    """Replicas with nothing to do, and which of them takes which request."""

    def add(self, replica: Replica) -> None:
        """It has nothing to do."""

    def take(self, request: Request) -> tuple[Replica, int]:
        """The replica for a request, and how long it prepares itself, in ms."""

    def release(self) -> Replica:
        """The one that can best be done without."""

    def __len__(self) -> int:
        """How many there are."""


class Stack:
    """Any replica will do: the one that was busy last is taken first; an `Idle`."""

    def __init__(self) -> None:
        self._replicas: deque[Replica] = deque()

    def add(self, replica: Replica) -> None:
        """It has nothing to do."""
        self._replicas.append(replica)

    def take(self, request: Request) -> tuple[Replica, int]:
        """The one that was busy last; it needs no preparation."""
        del request
        return self._replicas.pop(), 0

    def release(self) -> Replica:
        """The one that was idle for longest."""
        return self._replicas.popleft()

    def __len__(self) -> int:
        """How many there are."""
        return len(self._replicas)


class Served(Struct):
    """What came out.

    Attributes:
        waits: from arrival to begin of each request, in the order of arrival, in ms.
        replica_ms: time of all replicas, from decision to end.
        preparing_ms: of it, what replicas prepared themselves for a request.
        starts: replicas that were started.
        most: most replicas at a time.
    """

    waits: list[int]
    replica_ms: int = 0
    preparing_ms: int = 0
    starts: int = 0
    most: int = 0

    @property
    def replica_hours(self) -> float:
        """Time of all replicas, in hours."""
        return self.replica_ms / HOUR

    @property
    def preparing_hours(self) -> float:
        """What of it replicas prepared themselves, in hours."""
        return self.preparing_ms / HOUR


class Fleet:
    """The replicas of a service through time.

    Args:
        requests: by time of arrival.
        policy: its scaler.
        rules: how it works.
        idle: which replica takes which request.
    """

    def __init__(
        self, requests: Sequence[Request], policy: Policy, rules: Rules, idle: Idle | None = None
    ) -> None:
        self._requests, self._policy, self._rules = requests, policy, rules
        self._idle: Idle = Stack() if idle is None else idle
        self._queue: deque[int] = deque()
        self._running: list[tuple[int, int, Replica]] = []
        self._starting: list[tuple[int, int, int]] = []
        self._cancelled: set[int] = set()
        self._next = self._now = self._ready = self._late = self._gone = 0
        self._served = Served([0] * len(requests))

    def run(self) -> Served:
        """Serve every request; decisions are made from time 0 on."""
        at = 0
        while self._next < len(self._requests) or self._queue or self._running:
            self._until(at)
            self._decide(at)
            at += self._rules.every_ms
        return self._served

    def _until(self, end: int) -> None:
        """Everything that happens up to a time: ends first, then starts, then arrivals."""
        while True:
            ended = self._running[0][0] if self._running else end + 1
            began = self._starting[0][0] if self._starting else end + 1
            left = self._next < len(self._requests)
            came = self._requests[self._next].at if left else end + 1
            at = min(ended, began, came)
            if at > end:
                self._pass(end)
                return
            self._pass(at)
            if at == ended:
                self._end()
            elif at == began:
                self._begin()
            else:
                self._queue.append(self._next)
                self._next += 1
            while self._queue and self._idle:
                self._serve(at, self._queue.popleft())

    def _pass(self, at: int) -> None:
        there = len(self._idle) + len(self._running) + self._coming()
        self._served.replica_ms += there * (at - self._now)
        self._now = at

    def _coming(self) -> int:
        return len(self._starting) - len(self._cancelled)

    def _serve(self, at: int, number: int) -> None:
        request = self._requests[number]
        replica, prepares = self._idle.take(request)
        wait = at + prepares - request.at
        self._served.waits[number] = wait
        self._served.preparing_ms += prepares
        self._late += wait > self._rules.late_ms
        heappush(self._running, (at + prepares + request.takes, number, replica))

    def _end(self) -> None:
        replica = heappop(self._running)[2]
        if replica.leaving:
            self._gone -= 1
        else:
            self._idle.add(replica)

    def _begin(self) -> None:
        at, number, asked = heappop(self._starting)
        if number in self._cancelled:
            self._cancelled.remove(number)
            return
        self._idle.add(Replica(number))
        self._policy.started(at - asked)

    def _decide(self, at: int) -> None:
        ready = len(self._idle) + len(self._running) - self._gone
        seen = Seen(
            at,
            len(self._queue),
            len(self._running),
            ready,
            self._coming(),
            self._next,
            self._late,
        )
        wanted = self._policy.desired(seen)
        for _ in range(wanted - seen.replicas):
            self._start(at)
        for _ in range(seen.replicas - wanted):
            self._stop()
        there = len(self._idle) + len(self._running) + self._coming()
        self._served.most = max(self._served.most, there)

    def _start(self, at: int) -> None:
        self._served.starts += 1
        ready = at + self._rules.cold_start()
        heappush(self._starting, (ready, self._served.starts, at))

    def _stop(self) -> None:
        """One that starts, or else one that is idle; or else one leaves after its request."""
        coming = [number for _, number, _ in self._starting if number not in self._cancelled]
        if coming:
            self._cancelled.add(max(coming))
        elif self._idle:
            self._idle.release()
        else:
            stays = [each for _, _, each in self._running if not each.leaving]
            max(stays, key=lambda each: each.number).leaving = True
            self._gone += 1
