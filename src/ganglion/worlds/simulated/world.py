"""The simulated world: carries plans out in virtual time and reports facts, with faults."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ganglion.model.events import (
    DeviceHealth,
    Event,
    GangEnded,
    GangPlaced,
    GangSubmitted,
    GangUpdated,
    NodeAdded,
    NodeLost,
    Outcome,
)
from ganglion.model.fleet.node import Node
from ganglion.model.plan import Plan, Start, Stop
from ganglion.model.workload import Workload
from ganglion.worlds.simulated.attempt import Timing
from ganglion.worlds.simulated.faults import breakage as broken
from ganglion.worlds.simulated.faults.rates import Dice, Faults
from ganglion.worlds.simulated.faults.reports import REPORT, Reports
from ganglion.worlds.simulated.heap import Heap
from ganglion.worlds.simulated.job import SimJob
from ganglion.worlds.simulated.running import RunningAttempts
from ganglion.worlds.simulated.scenario import StandingJob
from ganglion.worlds.simulated.watcher import Watcher

SUBMIT, WAKE, HAPPEN, TAKEN_BACK = 1, 6, 15, 16


class SimulatedWorld:
    """A cluster that exists only in virtual time; a `World`.

    The truth (attempts, nodes) and the reports of it are kept apart: faults delay, double or
    lose reports, never the truth. Since a simulated job has no workload file, this world
    decides on restarts itself: whatever interrupts a job makes it wait again.

    Args:
        nodes: the cluster.
        jobs: everything that will be submitted.
        watcher: notified of what really happens.
        timing: how long starts and stops take.
        faults: what goes wrong.
        start: virtual time at which it begins, in ms.
        facts: what happens to the cluster and to waiting jobs, beside faults; what happens at
            the start has to be given to `happens`.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        jobs: Iterable[SimJob],
        watcher: Watcher,
        timing: Timing | None = None,
        faults: Faults | None = None,
        start: int = 0,
        facts: Sequence[Event] = (),
    ) -> None:
        self._heap, dice = Heap(), Dice(faults or Faults())
        self._heap.now = self._happened = start
        self._reports = Reports(self._heap, dice)
        self._watcher = watcher
        self._wakeup: tuple[int, bool] | None = None
        joining = (each.node.name for each in facts if isinstance(each, NodeAdded))
        self._running = RunningAttempts(
            (*(node.name for node in nodes), *joining),
            self._heap,
            dice,
            self._reports,
            watcher,
            timing or Timing(),
        )
        self._breakage = broken.Breakage(
            nodes, self._heap, dice, self._reports, watcher, self._running.kill
        )
        self._do: dict[int, Callable[[Any], None]] = {
            REPORT: self._reports.fact,
            SUBMIT: self._submit,
            WAKE: self._wake,
            HAPPEN: self.happens,
            TAKEN_BACK: self._take_back,
            **self._running.actions,
            broken.NODE_DOWN: self._breakage.node_down,
            broken.NODE_UP: self._breakage.node_up,
            broken.DEVICE_DOWN: self._breakage.device_down,
            broken.DEVICE_UP: self._breakage.device_up,
        }
        for job in jobs:
            self._heap.push(job.gang.submitted, SUBMIT, job)
        for fact in (each for each in facts if each.at > start):
            self._heap.push(fact.at, HAPPEN, fact)
        self._breakage.begin()

    # --- World ----------------------------------------------------------------------------

    def now(self) -> int:
        """Virtual time in ms."""
        return self._heap.now

    def execute(self, plan: Plan, workloads: Mapping[str, Workload]) -> None:
        """Carry out stops, starts and resizes; `workloads` is not needed, jobs are known."""
        del workloads
        if plan.stops or plan.starts or plan.resizes:
            self._happened = self._heap.now
        for stop in plan.stops:
            self._running.stop(stop)
        for start in plan.starts:
            self._running.start(start)
        for resize in plan.resizes:
            self._running.resize(resize)

    def observe(self) -> list[Event]:
        """Reports that arrived since the last call, in order of arrival."""
        return self._reports.take()

    # --- time -----------------------------------------------------------------------------

    def advance(self, until: int | None = None) -> bool:
        """Let time pass until there is something to look at.

        Args:
            until: time in ms at which the run ends; None = when nothing is left to happen.

        Returns:
            False when the run is over; `now()` is then `until`, or when something last happened.
        """
        heap, do = self._heap, self._do
        while not self._reports.due:
            at = heap.next_time()
            if at is None:
                if not self._reports.pending():
                    heap.now = self._happened
                break
            if until is not None and at > until:
                heap.now = until
                return False
            heap.now = at
            while action := heap.pop():
                if action[0] != WAKE:
                    self._happened = at
                do[action[0]](action[1])
        return self._reports.due or self._reports.pending()

    def wake_at(self, at: int | None, *, background: bool = False) -> None:
        """Have `advance` stop at this time even if nothing happens then; None = at no time.

        Args:
            at: in ms; takes the place of the time given last.
            background: the run may end before.
        """
        if self._wakeup:
            number, was_background = self._wakeup
            self._heap.cancel(number, background=was_background)
            self._wakeup = None
        if at is not None:
            number = self._heap.push(at, WAKE, None, background=background)
            self._wakeup = number, background

    @property
    def still(self) -> bool:
        """Whether nothing is left to happen but that gangs wake up."""
        awake = self._wakeup is not None and not self._wakeup[1]
        return self._heap.live == awake

    @property
    def whole(self) -> bool:
        """Whether the cluster is complete: no node away, no device failed."""
        return self._breakage.whole

    def withdraw(self, gang: str, message: str) -> None:
        """Take back a job that waits and can never start, as its user would."""
        job = self._running.jobs.pop(gang, None)
        if job is None:
            return
        number = self._running.last_attempt(gang)
        self._watcher.withdrawn(job, self._heap.now)
        self._reports.fact(
            GangEnded(self._heap.now, gang, number, Outcome.CANCELLED, message=message)
        )

    def stands(self, each: StandingJob, *, known: bool) -> list[Event]:
        """A job is there when the run begins.

        Args:
            each: the job.
            known: whether the engine knows of it and its attempts.

        Returns:
            what an engine that does not know of it has to know.
        """
        gang = each.job.gang.id
        submitted = self._enter(each.job)
        self._running.earlier[gang] = each.attempt if known else 0
        place = each.placement
        if place is None or not self._breakage.has(pod.node for pod in place.pods):
            return [submitted]
        self._running.earlier[gang] = each.attempt - 1
        self._running.start(Start(each.job.gang, each.attempt, place), at_once=True)
        if each.cause:
            self._running.stop(Stop(gang, each.attempt, each.cause))
        return [submitted, GangPlaced(self._heap.now, gang, each.attempt, place)]

    def happens(self, fact: Event) -> None:
        """Something happens now to the cluster, or a user changes a job that waits."""
        match fact:
            case NodeAdded():
                self._breakage.joins(fact.node)
            case NodeLost():
                self._breakage.leaves(fact.name)
            case DeviceHealth():
                self._breakage.device_is(fact)
            case GangUpdated() if fact.gang not in self._running.jobs:
                pass
            case _:
                self._reports.fact(fact)

    # --- what happens ---------------------------------------------------------------------

    def _submit(self, job: SimJob) -> None:
        self._reports.fact(self._enter(job))

    def _enter(self, job: SimJob) -> GangSubmitted:
        self._running.jobs[job.gang.id] = job
        self._watcher.submitted(job, self._heap.now)
        if job.cancelled_ms:
            self._heap.push(job.cancelled_ms, TAKEN_BACK, job.gang.id)
        return GangSubmitted(self._heap.now, job.gang)

    def _take_back(self, gang: str) -> None:
        """The user of a job does not want it any more."""
        if not self._running.cancel(gang):
            self.withdraw(gang, "its user took it back")

    def _wake(self, _: None) -> None:
        self._wakeup = None
        self._reports.due = True
