"""Job lists replayed through the engine in virtual time.

Only arrivals and ends happen; each moment at which something happens is one cycle. This is
the engine as a server runs it, `ClusterState` and `cycle`, without a world's start-up times.
"""

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from time import thread_time
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from benchmarks.common.jobs import GPUS_PER_NODE, Cluster, Job
from benchmarks.common.metrics import Done
from benchmarks.common.oracle import Held, Waiting, victims
from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.errors import InvariantBroken
from ganglion.model.events import (
    Event,
    GangEnded,
    GangStopping,
    GangSubmitted,
    NodeAdded,
    Outcome,
    QueueSet,
)
from ganglion.model.fleet.node import Device, Node
from ganglion.model.placement import Placement
from ganglion.model.plan import Plan, Start
from ganglion.model.policy import Order, Policy
from ganglion.model.queue import Queue
from ganglion.model.workload import Gang
from ganglion.worlds.simulated.job import Shapes

QUEUE = "jobs"


class Recipe(Struct, frozen=True):
    """How to schedule.

    Attributes:
        policy: the engine's policy.
        told: whether the engine knows durations (an oracle).
        preempts: whether running jobs are stopped for those of a better rank: those that have
            less left to do or, with `demotes_at`, that have not run for long.
        demotes_at: GPU-milliseconds after which a job goes behind all that have had less, in
            order of submission on both sides: two-queue least attained service (Tiresias,
            NSDI'19). 0 = ranks are what is left to do.
        factor: service of every further queue over that of the one before: multi-level least
            attained service. 0 = there are two queues.
        restart_ms: what a restart adds to a job's duration, by its GPUs.
    """

    policy: Policy
    told: bool = False
    preempts: bool = False
    demotes_at: int = 0
    factor: int = 0
    restart_ms: Callable[[int], int] = lambda _: 0


class Schedule(Struct, frozen=True):
    """What came out.

    Attributes:
        done: every job, in the order of ending.
        preemptions: attempts stopped before their end.
        decisions: gangs placed.
        cycles: how often the engine was asked.
        engine_seconds: CPU time spent inside the engine.
        eta: how often start bands held; empty = none were looked for.
    """

    done: tuple[Done, ...]
    preemptions: int
    decisions: int
    cycles: int
    engine_seconds: float
    eta: dict[str, Any] = {}


def replay(
    cluster: Cluster, recipe: Recipe, progress: Callable[[int], None] = lambda _: None
) -> Schedule:
    """Run all jobs of a cluster to their end.

    Args:
        cluster: jobs that all fit the empty cluster.
        recipe: how to schedule.
        progress: called with the number of jobs that have ended.
    """
    return _Replay(cluster, recipe).run(progress)


class _Replay:
    """Virtual time, and what the jobs are up to."""

    def __init__(self, cluster: Cluster, recipe: Recipe) -> None:
        self._jobs, self._recipe = cluster.jobs, recipe
        self._state = ClusterState(recipe.policy)
        self._setup = [NodeAdded(0, node) for node in nodes_of(cluster.nodes)]
        self._shapes = Shapes(GPUS_PER_NODE)
        self._free = [GPUS_PER_NODE] * cluster.nodes
        self._left = [job.duration for job in cluster.jobs]
        self._demoted = [0] * len(cluster.jobs)
        self._served = [0] * len(cluster.jobs)
        self._gangs = [self._gang(job, 0) for job in cluster.jobs]
        self._running: dict[int, Held] = {}
        self._waiting = Waiting()
        self._ends: list[tuple[int, int, str]] = []
        self._demotions: list[tuple[int, int, str]] = []
        self._next = 0
        self._done: list[Done] = []
        self._stops = self._starts = self._cycles = 0
        self._seconds = 0.0

    def run(self, progress: Callable[[int], None]) -> Schedule:
        self._ask([*self._setup, QueueSet(0, Queue(QUEUE))], 0)
        while (now := self._when()) is not None:
            over = self._over(now)
            self._demote(now)
            events = [*over, *self._arrived(now)]
            stopped = self._stop(now) if self._recipe.preempts else []
            self._ask([*events, *stopped], now)
            for event in (*over, *stopped):
                if isinstance(event, GangEnded):
                    self._state.gangs.forget(event.gang)
            progress(len(self._done))
        self._check()
        return Schedule(tuple(self._done), self._stops, self._starts, self._cycles, self._seconds)

    def _when(self) -> int | None:
        """The next moment at which something happens."""
        for heap in (self._ends, self._demotions):
            while heap and not self._is_current(heap[0]):
                heappop(heap)
        arrives = [self._jobs[self._next].submitted] if self._next < len(self._jobs) else []
        changes = [entry[0] for entry in (*self._ends[:1], *self._demotions[:1])]
        return min(arrives + changes, default=None)

    def _is_current(self, end: tuple[int, int, str]) -> bool:
        return end[1] in self._running and self._gangs[end[1]].id == end[2]

    def _over(self, now: int) -> list[Event]:
        over: list[Event] = []
        while self._ends and self._ends[0][0] <= now:
            end = heappop(self._ends)
            if self._is_current(end):
                self._vacate(end[1])
                self._done.append(Done(self._jobs[end[1]], now))
                over.append(GangEnded(now, end[2], 1, Outcome.SUCCEEDED))
        return over

    def _demote(self, now: int) -> None:
        """Put those behind that have had their share of service."""
        while self._demotions and self._demotions[0][0] <= now:
            due = heappop(self._demotions)
            if self._is_current(due):
                number = due[1]
                reached = self._bound(number)
                self._demoted[number] += 1
                held = self._running[number]
                self._running[number] = replace(held, order=self._order(number))
                self._demote_later(number, now, reached)

    def _arrived(self, now: int) -> list[Event]:
        arrived: list[Event] = []
        jobs = self._jobs
        while self._next < len(jobs) and jobs[self._next].submitted <= now:
            arrived.append(self._submit(self._next, now))
            self._next += 1
        return arrived

    def _submit(self, number: int, now: int) -> Event:
        if self._recipe.preempts:
            self._waiting.add(self._jobs[number].gpus, self._rank(number), number)
        return GangSubmitted(now, self._gangs[number])

    def _stop(self, now: int) -> list[Event]:
        """Stop what the oracle says; what is left of it is submitted as a new gang."""
        events: list[Event] = []
        for number in victims(self._waiting, self._running, self._free, now):
            old, job = self._gangs[number].id, self._jobs[number]
            left = self._vacate(number).ends - now
            self._served[number] += (self._left[number] - left) * job.gpus
            self._left[number] = left + self._recipe.restart_ms(job.gpus)
            events.append(GangStopping(now, old, 1, Cause(CauseKind.PREEMPTED)))
            events.append(GangEnded(now, old, 1, Outcome.PREEMPTED))
            attempt = int(old.split("/")[0].split("-")[1]) + 1
            self._gangs[number] = self._gang(job, attempt)
            events.append(self._submit(number, now))
            self._stops += 1
        return events

    def _vacate(self, number: int) -> Held:
        held = self._running.pop(number)
        for node, gpus in held.seats:
            self._free[node] += gpus
        return held

    def _ask(self, events: Sequence[Event], now: int) -> None:
        began = thread_time()
        plan = cycle(self._state, events, now)
        self._seconds += thread_time() - began
        self._cycles += 1
        _no_rejection(plan)
        for start in plan.starts:
            self._started(start, now)

    def _started(self, start: Start, now: int) -> None:
        number = int(start.gang.id.split("-")[0])
        job = self._jobs[number]
        if self._recipe.preempts:
            self._waiting.remove(job.gpus, self._rank(number), number)
        seats = _seats_of(start.placement)
        for node, gpus in seats:
            self._free[node] -= gpus
        ends = now + self._left[number]
        order = self._order(number) if self._recipe.demotes_at else None
        self._running[number] = Held(ends, self._weight(job), job.gpus, seats, order)
        heappush(self._ends, (ends, number, start.gang.id))
        if order is not None:
            self._demote_later(number, now, self._served[number])
        self._starts += 1

    def _bound(self, number: int) -> int:
        """Service after which a job goes one queue down; 0 = it is in the last one."""
        recipe, below = self._recipe, self._demoted[number]
        return recipe.demotes_at * recipe.factor**below if recipe.factor or not below else 0

    def _demote_later(self, number: int, now: int, served: int) -> None:
        bound, gpus = self._bound(number), self._jobs[number].gpus
        if bound:
            due = now + max(-(-(bound - served) // gpus), 0)
            heappush(self._demotions, (due, number, self._gangs[number].id))

    def _order(self, number: int) -> int:
        """Those that were demoted behind the others, each side in order of submission."""
        return number + len(self._jobs) * self._demoted[number]

    def _rank(self, number: int) -> int:
        if self._recipe.demotes_at:
            return self._order(number)
        return self._left[number] * self._weight(self._jobs[number])

    def _weight(self, job: Job) -> int:
        return job.gpus if self._recipe.policy.order is Order.SMALLEST else 1

    def _gang(self, job: Job, attempt: int) -> Gang:
        workload = f"{job.number:07d}-{attempt}"
        return Gang(
            id=f"{workload}/0",
            workload=workload,
            queue=QUEUE,
            pod_sets=self._shapes.gpus(job.gpus),
            submitted=job.submitted,
            expected_ms=self._expected(job.number),
        )

    def _expected(self, number: int) -> int:
        """What the engine orders by: what is left to do, or 1 and, once it was demoted, 2."""
        if self._recipe.told:
            return self._left[number]
        return 1 + self._demoted[number] if self._recipe.demotes_at else 0

    def _check(self) -> None:
        if len(self._done) < len(self._jobs):
            missing = len(self._jobs) - len(self._done)
            raise InvariantBroken(f"{missing} jobs wait for ever on an empty cluster")
        self._state.validate()


def nodes_of(count: int) -> list[Node]:
    """A number of equal nodes of eight GPUs."""
    devices = (Device("GPU"),) * GPUS_PER_NODE
    return [Node(f"n{number:05d}", 64_000, 512_000, devices) for number in range(count)]


def _seats_of(placement: Placement) -> tuple[tuple[int, int], ...]:
    return tuple((int(pod.node[1:]), len(pod.devices)) for pod in placement.pods)


def _no_rejection(plan: Plan) -> None:
    for each in plan.rejected:
        raise InvariantBroken(f"the engine refused {each.event}: {each.message}")
