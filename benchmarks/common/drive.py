"""Gangs driven through the engine in virtual time, when the engine itself stops running ones.

Beside `replay`, where an oracle preempts and restarts are free: here the engine's own stops are
carried out, interrupted work is lost or saved as the world says, and restarts cost time.
"""

from collections.abc import Callable, Sequence
from time import perf_counter, thread_time
from typing import Any

from msgspec import Struct

from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.errors import InvariantBroken
from ganglion.model.events import (
    CheckpointCommitted,
    Event,
    GangEnded,
    GangStarted,
    GangSubmitted,
    NodeAdded,
    Outcome,
    QueueSet,
)
from ganglion.model.fleet.node import Node
from ganglion.model.plan import Plan, Start, Stop
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.model.workload import Gang
from ganglion.worlds.simulated.heap import Heap
from ganglion.worlds.simulated.job import SimJob, gpu_milli

SUBMIT, FINISH, COMMIT, WAKE = 1, 2, 3, 4


class Course(Struct):
    """How a job went.

    Attributes:
        job: the job.
        started: when it first ran, in ms; -1 = not yet.
        ended: when its work was done, in ms; -1 = not yet.
        attempts: how often it was started.
        redone: work that was lost when it was stopped, in ms.
        restarting: time spent on restarts, in ms.
    """

    job: SimJob
    started: int = -1
    ended: int = -1
    attempts: int = 0
    redone: int = 0
    restarting: int = 0

    @property
    def wait(self) -> int:
        """From submission to the first start, in ms."""
        return self.started - self.job.gang.submitted

    @property
    def jct(self) -> int:
        """From submission to the end, in ms."""
        return self.ended - self.job.gang.submitted

    @property
    def lost_gpu_ms(self) -> int:
        """GPU-milliseconds that preemption cost it."""
        return (self.redone + self.restarting) * gpu_milli(self.job.gang) // 1000


class Stage(Struct, frozen=True):
    """A cluster, what runs on it, and the world's habits.

    Attributes:
        nodes, queues: the cluster.
        jobs: in order of submission; each has a duration.
        policy: the engine's.
        restart_ms: time an attempt after the first needs before it goes on, by gang.
        saves: whether a gang that is asked to stop saves its work then; else it falls back to
            its last periodic checkpoint, or to nothing.
        until_ms: when the run is cut off, whatever still runs or waits; 0 = at its end.
    """

    nodes: Sequence[Node]
    queues: Sequence[Queue]
    jobs: Sequence[SimJob]
    policy: Policy
    restart_ms: Callable[[Gang], int] = lambda _: 0
    saves: bool = True
    until_ms: int = 0


class Outcomes(Struct, frozen=True):
    """What came out.

    Attributes:
        courses: how each job went, in order of submission.
        preemptions: attempts stopped before their end.
        starts: attempts started.
        cycles: how often the engine was asked.
        engine_seconds: CPU time of the whole run, nearly all of it inside the engine.
        slowest_ms: the slowest cycle by the clock.
    """

    courses: tuple[Course, ...]
    preemptions: int
    starts: int
    cycles: int
    engine_seconds: float
    slowest_ms: float


Look = Callable[[ClusterState, Sequence[Event], Plan], None]
"""Called with the state, the events and the plan after every cycle."""


def drive(
    stage: Stage,
    progress: Callable[[int], None] = lambda _: None,
    look: Look = lambda _state, _events, _plan: None,
) -> Outcomes:
    """Run all jobs of a stage to their end.

    Raises:
        InvariantBroken: the engine refused a fact, broke an invariant, or left jobs waiting.
    """
    return _Drive(stage, look).run(progress)


class _Attempt:
    """One attempt: when it began, what it does first, and what ends it."""

    __slots__ = ("begun", "entries", "number", "overhead")

    def __init__(self, number: int, begun: int, overhead: int) -> None:
        self.number, self.begun, self.overhead = number, begun, overhead
        self.entries: dict[int, int] = {}


class _Drive:
    def __init__(self, stage: Stage, look: Look) -> None:
        self._stage, self._look = stage, look
        self._state = ClusterState(stage.policy)
        self._heap = Heap()
        self._courses = {job.gang.id: Course(job) for job in stage.jobs}
        self._left = {job.gang.id: job.duration_ms or 0 for job in stage.jobs}
        self._running: dict[str, _Attempt] = {}
        self._late: list[Event] = []
        self._done = self._stops = self._starts = self._cycles = self._submitted = 0
        self._slowest = 0.0
        self._wake = -1
        self._do: dict[int, Callable[[Any], list[Event]]] = {
            SUBMIT: self._submit,
            FINISH: self._finish,
            COMMIT: self._commit,
            WAKE: lambda _: [],
        }

    def run(self, progress: Callable[[int], None]) -> Outcomes:
        began = thread_time()
        opening: list[Event] = [QueueSet(0, queue) for queue in self._stage.queues]
        self._ask([*opening, *(NodeAdded(0, node) for node in self._stage.nodes)])
        for job in self._stage.jobs:
            self._heap.push(job.gang.submitted, SUBMIT, job)
        until = self._stage.until_ms
        while (at := self._heap.next_time()) is not None and not 0 < until < at:
            self._heap.now = at
            self._moment()
            progress(self._done)
        self._check()
        courses = tuple(self._courses.values())
        took, slowest = thread_time() - began, 1000 * self._slowest
        return Outcomes(courses, self._stops, self._starts, self._cycles, took, slowest)

    def _moment(self) -> None:
        """Everything that happens at one time, until the engine has nothing to add."""
        events, self._late, look = self._late, [], False
        while action := self._heap.pop():
            kind, payload = action
            events.extend(self._do[kind](payload))
            look = look or self._matters(kind)
        while look:
            events = self._ask(events)
            look = bool(events)
        self._late = [*events, *self._late]

    def _matters(self, kind: int) -> bool:
        """Whether the engine has to be asked: a wake that a later plan put off is over."""
        if kind == WAKE:
            wake = self._state.next_wake()
            return wake is not None and wake <= self._heap.now
        return kind != COMMIT or self._somebody_waits()

    def _somebody_waits(self) -> bool:
        return self._submitted > self._done + len(self._running)

    def _ask(self, events: Sequence[Event]) -> list[Event]:
        """One cycle; returns what its stops bring about at once."""
        state, now = self._state, self._heap.now
        began = perf_counter()  # asking for CPU time this often would cost more than a cycle
        plan = cycle(state, events, now)
        self._slowest = max(self._slowest, perf_counter() - began)
        self._cycles += 1
        for each in plan.rejected:
            raise InvariantBroken(f"the engine refused {each.event}: {each.message}")
        for event in events:
            if isinstance(event, GangEnded) and not event.requeue:
                state.gangs.forget(event.gang)
        stopped = [event for stop in plan.stops for event in self._stop(stop)]
        for start in plan.starts:
            self._start(start)
        self._look(state, events, plan)
        self._plan_wake()
        return stopped

    def _plan_wake(self) -> None:
        wake = self._state.next_wake()
        if wake is not None and wake > self._heap.now and wake != self._wake:
            self._wake = wake
            self._heap.push(wake, WAKE, None, background=True)

    def _submit(self, job: SimJob) -> list[Event]:
        self._submitted += 1
        return [GangSubmitted(self._heap.now, job.gang)]

    def _start(self, start: Start) -> None:
        gang, now = start.gang, self._heap.now
        course = self._courses[gang.id]
        overhead = self._stage.restart_ms(gang) if course.attempts else 0
        course.attempts += 1
        course.started = now if course.started < 0 else course.started
        attempt = self._running[gang.id] = _Attempt(start.attempt, now, overhead)
        self._starts += 1
        ends = now + overhead + self._left[gang.id]
        attempt.entries[FINISH] = self._heap.push(ends, FINISH, gang.id)
        self._next_commit(gang, attempt)
        self._late.append(GangStarted(now, gang.id, start.attempt))

    def _next_commit(self, gang: Gang, attempt: _Attempt) -> None:
        interval = gang.checkpoint.interval_ms if gang.checkpoint else 0
        if interval:
            work = self._worked(gang.id, attempt)
            at = attempt.begun + attempt.overhead + (work // interval + 1) * interval
            attempt.entries[COMMIT] = self._heap.push(at, COMMIT, gang)

    def _commit(self, gang: Gang) -> list[Event]:
        attempt = self._running[gang.id]
        self._next_commit(gang, attempt)
        return [CheckpointCommitted(self._heap.now, gang.id, attempt.number)]

    def _worked(self, gang: str, attempt: _Attempt) -> int:
        worked = max(self._heap.now - attempt.begun - attempt.overhead, 0)
        return min(worked, self._left[gang])

    def _finish(self, gang: str) -> list[Event]:
        attempt, course = self._running.pop(gang), self._courses[gang]
        self._cancel(attempt, FINISH)
        course.ended = self._heap.now
        course.restarting += attempt.overhead
        self._done += 1
        return [GangEnded(self._heap.now, gang, attempt.number, Outcome.SUCCEEDED)]

    def _cancel(self, attempt: _Attempt, over: int = 0) -> None:
        for kind, entry in attempt.entries.items():
            if kind != over:
                self._heap.cancel(entry)

    def _stop(self, stop: Stop) -> list[Event]:
        """A gang leaves at once; its saved work counts, the rest of the attempt was for nothing."""
        attempt, course = self._running.pop(stop.gang), self._courses[stop.gang]
        self._cancel(attempt)
        now = self._heap.now
        worked = self._worked(stop.gang, attempt)
        saved = self._saved(course.job.gang, worked)
        self._left[stop.gang] -= saved
        course.redone += worked - saved
        course.restarting += min(now - attempt.begun, attempt.overhead)
        self._stops += 1
        return [GangEnded(now, stop.gang, attempt.number, Outcome.PREEMPTED, requeue=True)]

    def _saved(self, gang: Gang, worked: int) -> int:
        if gang.checkpoint is None:
            return 0
        if self._stage.saves:
            return worked
        interval = gang.checkpoint.interval_ms
        return worked - worked % interval if interval else 0

    def _check(self) -> None:
        if self._done < len(self._courses) and not self._stage.until_ms:
            missing = len(self._courses) - self._done
            raise InvariantBroken(f"{missing} jobs wait for ever on an idle cluster")
        self._state.validate()
