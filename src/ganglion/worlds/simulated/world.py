"""The simulated world: carries plans out in virtual time and reports facts, with faults."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ganglion.model.events import Event, GangEnded, GangStarted, GangSubmitted, Outcome
from ganglion.model.node import Node
from ganglion.model.plan import Plan, Start, Stop
from ganglion.model.workload import Workload
from ganglion.worlds.simulated import breakage as broken
from ganglion.worlds.simulated.attempt import Attempt, Timing
from ganglion.worlds.simulated.faults import Dice, Faults
from ganglion.worlds.simulated.heap import Heap
from ganglion.worlds.simulated.job import SimJob
from ganglion.worlds.simulated.reports import REPORT, Reports
from ganglion.worlds.simulated.watcher import End, Watcher

SUBMIT, BEGIN, FINISH, FAIL, STOPPED, WAKE = 1, 2, 3, 4, 5, 6

RESTARTED = (Outcome.PREEMPTED, Outcome.NODE_LOST, Outcome.START_FAILED)
"""Ends after which a job waits again: the trace says nothing of them, its work is not done."""

CAUSES = {outcome.value: outcome for outcome in Outcome}
"""Cause of a stop -> how the attempt ends, where the cause says it; all others preempt."""


class SimulatedWorld:
    """A cluster that exists only in virtual time; a `World`.

    The truth (attempts, nodes) and the reports of it are kept apart: faults delay, double or
    lose reports, never the truth. Since a simulated job has no workload file, this world
    decides on restarts itself: whatever interrupts a job makes it wait again.

    Args:
        nodes: the cluster.
        jobs: everything that will be submitted.
        watcher: told what really happens.
        timing: how long starts and stops take.
        faults: what goes wrong.
        start: virtual time at which it begins, in ms.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        jobs: Iterable[SimJob],
        watcher: Watcher,
        timing: Timing | None = None,
        faults: Faults | None = None,
        start: int = 0,
    ) -> None:
        self.timing = timing or Timing()
        self._heap, self._dice = Heap(), Dice(faults or Faults())
        self._heap.now = start
        self._reports = Reports(self._heap, self._dice)
        self._watcher = watcher
        self._jobs: dict[str, SimJob] = {}
        self._last: dict[str, Attempt] = {}
        self._kept: dict[str, int] = {}
        self._failed_starts: dict[str, int] = {}
        self._on: dict[str, dict[str, Attempt]] = {node.name: {} for node in nodes}
        self._breakage = broken.Breakage(
            nodes, self._heap, self._dice, self._reports, watcher, self._kill
        )
        self._do: dict[int, Callable[[Any], None]] = {
            REPORT: self._reports.fact,
            SUBMIT: self._submit,
            BEGIN: self._begin,
            FINISH: self._finish,
            FAIL: self._fail,
            STOPPED: self._stopped,
            WAKE: self._wake,
            broken.NODE_DOWN: self._breakage.node_down,
            broken.NODE_UP: self._breakage.node_up,
            broken.DEVICE_DOWN: self._breakage.device_down,
            broken.DEVICE_UP: self._breakage.device_up,
        }
        for job in jobs:
            self._heap.push(job.gang.submitted, SUBMIT, job)
        self._breakage.begin()

    # --- World ----------------------------------------------------------------------------

    def now(self) -> int:
        """Virtual time in ms."""
        return self._heap.now

    def execute(self, plan: Plan, workloads: Mapping[str, Workload]) -> None:
        """Carry out starts and stops; `workloads` is not needed, jobs are known."""
        del workloads
        for stop in plan.stops:
            self._stop(stop)
        for start in plan.starts:
            self._start(start)

    def observe(self) -> list[Event]:
        """Reports that arrived since the last call, in order of arrival."""
        return self._reports.take()

    # --- time -----------------------------------------------------------------------------

    def advance(self, until: int | None = None) -> bool:
        """Let time pass until there is something to look at.

        Args:
            until: time in ms at which the run ends; None = when nothing is left to happen.

        Returns:
            False when the run is over; `now()` is then `until`, or the last event's time.
        """
        heap, do = self._heap, self._do
        while not self._reports.due:
            at = heap.next_time()
            if at is None:
                break
            if until is not None and at > until:
                heap.now = until
                return False
            heap.now = at
            while action := heap.pop():
                do[action[0]](action[1])
        return self._reports.due or self._reports.pending()

    def wake_at(self, at: int) -> None:
        """Have `advance` stop at this time even if nothing happens then."""
        self._heap.push(at, WAKE, None)

    @property
    def whole(self) -> bool:
        """Whether the cluster is complete: no node away, no device failed."""
        return self._breakage.whole

    def withdraw(self, gang: str, message: str) -> None:
        """Take back a job that waits and can never start, as its user would."""
        job = self._jobs.pop(gang, None)
        if job is None:
            return
        last = self._last.get(gang)
        number = last.number if last else 0
        self._watcher.withdrawn(job, self._heap.now)
        self._reports.fact(
            GangEnded(self._heap.now, gang, number, Outcome.CANCELLED, message=message)
        )

    # --- what happens ---------------------------------------------------------------------

    def _submit(self, job: SimJob) -> None:
        self._jobs[job.gang.id] = job
        self._watcher.submitted(job, self._heap.now)
        self._reports.fact(GangSubmitted(self._heap.now, job.gang))

    def _wake(self, _: None) -> None:
        self._reports.due = True

    def _start(self, start: Start) -> None:
        gang, last = start.gang.id, self._last.get(start.gang.id)
        if gang not in self._jobs or (last and last.number >= start.attempt):
            return
        job, kept = self._jobs[gang], self._kept.get(gang, 0)
        overhead = self.timing.restart_ms if start.attempt > 1 else 0
        attempt = Attempt(job, start.attempt, start.placement, kept, overhead)
        self._last[gang] = attempt
        for pod in start.placement.pods:
            self._on[pod.node][gang] = attempt
        self._watcher.placed(job, start.placement, self._heap.now)
        delay = self.timing.start_ms + self._dice.start_delay_ms()
        if self._dice.start_fails():
            self._heap.push(self._heap.now + delay, FAIL, attempt)
        elif delay:
            self._heap.push(self._heap.now + delay, BEGIN, attempt)
        else:
            self._begin(attempt)

    def _begin(self, attempt: Attempt) -> None:
        if attempt.over:
            return
        now, job = self._heap.now, attempt.job
        attempt.begun = now
        self._watcher.begun(job, now)
        self._reports.started(GangStarted(now, job.gang.id, attempt.number))
        needed, limit = attempt.run_ms(), job.gang.time_limit_ms
        runs = limit if limit and (needed is None or needed > limit) else needed
        if runs is not None:
            outcome = job.outcome if runs == needed else Outcome.TIMED_OUT
            attempt.finish = self._heap.push(now + runs, FINISH, (attempt, outcome))

    def _finish(self, done: tuple[Attempt, Outcome]) -> None:
        attempt, outcome = done
        attempt.finish = 0
        self._end(attempt, outcome, attempt.overhead_ms)

    def _fail(self, attempt: Attempt) -> None:
        if not attempt.over and not attempt.stopping:
            gang = attempt.job.gang.id
            self._failed_starts[gang] = self._failed_starts.get(gang, 0) + 1
            self._end(attempt, Outcome.START_FAILED, 0)

    def _stop(self, stop: Stop) -> None:
        attempt = self._last.get(stop.gang)
        if attempt is None or attempt.number != stop.attempt or attempt.over or attempt.stopping:
            return
        attempt.stopping = True
        self._never_finishes(attempt)
        checkpoint = attempt.job.gang.checkpoint
        grace = min(self.timing.stop_ms, checkpoint.grace_ms) if checkpoint else 0
        outcome = CAUSES.get(stop.cause, Outcome.PREEMPTED)
        self._heap.push(self._heap.now + grace, STOPPED, (attempt, outcome))

    def _stopped(self, done: tuple[Attempt, Outcome]) -> None:
        attempt, outcome = done
        if not attempt.over:
            self._interrupt(attempt, outcome, told=True)

    def _kill(self, node: str, device: int | None) -> None:
        for attempt in list(self._on[node].values()):
            uses = device is None or any(
                pod.node == node and device in pod.devices for pod in attempt.placement.pods
            )
            if uses:
                self._interrupt(attempt, Outcome.NODE_LOST, told=False)

    def _interrupt(self, attempt: Attempt, outcome: Outcome, *, told: bool) -> None:
        saved, lost = attempt.interrupted(self._heap.now, told=told)
        self._kept[attempt.job.gang.id] = saved
        self._never_finishes(attempt)
        self._end(attempt, outcome, lost)

    def _never_finishes(self, attempt: Attempt) -> None:
        if attempt.finish:
            self._heap.cancel(attempt.finish)
            attempt.finish = 0

    def _end(self, attempt: Attempt, outcome: Outcome, lost_ms: int) -> None:
        now, gang = self._heap.now, attempt.job.gang.id
        attempt.over = True
        for pod in attempt.placement.pods:
            self._on[pod.node].pop(gang, None)
        requeue = outcome in RESTARTED and attempt.number <= self.timing.most_restarts
        if outcome in RESTARTED and not requeue:
            outcome = Outcome.FAILED
        end = End(now, outcome, not requeue, lost_ms)
        self._watcher.ended(attempt.job, attempt.placement, end)
        if not requeue:
            self._jobs.pop(gang)
        self._reports.ended(
            GangEnded(
                now,
                gang,
                attempt.number,
                outcome,
                requeue=requeue,
                exit_code=_exit_code(outcome),
                not_before=self._not_before(gang, outcome) if requeue else 0,
            )
        )

    def _not_before(self, gang: str, outcome: Outcome) -> int:
        if outcome is not Outcome.START_FAILED:
            return 0
        doublings = min(self._failed_starts[gang] - 1, 6)
        return self._heap.now + (self.timing.backoff_ms << doublings)


def _exit_code(outcome: Outcome) -> int | None:
    return {Outcome.SUCCEEDED: 0, Outcome.FAILED: 1}.get(outcome)
