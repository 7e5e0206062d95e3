"""Everything that runs in the simulated world: starts, stops, changes of size, ends."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ganglion.model.events import (
    CheckpointCommitted,
    GangEnded,
    GangStarted,
    Outcome,
    PodsLeft,
)
from ganglion.model.placement import PodPlacement
from ganglion.model.plan import Resize, Start, Stop
from ganglion.worlds.causes import outcome_of, trade_of
from ganglion.worlds.simulated.attempt import EarlierAttempts, SimulatedAttempt, Timing
from ganglion.worlds.simulated.faults.rates import Dice
from ganglion.worlds.simulated.faults.reports import Reports
from ganglion.worlds.simulated.heap import Heap
from ganglion.worlds.simulated.job import SimJob, gpu_milli
from ganglion.worlds.simulated.watcher import SimulatedEnd, Watcher

BEGIN, FINISH, FAIL, STOPPED, JOINED, LEFT, SAVED, CRASH = 2, 3, 4, 5, 7, 8, 9, 14

RESTARTED = (Outcome.PREEMPTED, Outcome.SUSPENDED, Outcome.NODE_LOST, Outcome.START_FAILED)
"""Ends after which a job waits again: the trace says nothing of them, its work is not done."""


class RunningAttempts:
    """The attempts of a simulated world.

    Args:
        nodes: names of all nodes.
        heap: where things to come are planned.
        dice: which starts are late or fail.
        reports: how all of it reaches the engine.
        watcher: who else does.
        timing: how long things take.

    Attributes:
        jobs: submitted and not over, by gang id.
        earlier: number of the last attempt before the run began, by gang id.
    """

    def __init__(
        self,
        nodes: Iterable[str],
        heap: Heap,
        dice: Dice,
        reports: Reports,
        watcher: Watcher,
        timing: Timing,
    ) -> None:
        self._heap, self._dice, self._reports = heap, dice, reports
        self._watcher, self._timing = watcher, timing
        self.jobs: dict[str, SimJob] = {}
        self.earlier: dict[str, int] = {}
        self._last: dict[str, SimulatedAttempt] = {}
        self._past: dict[str, EarlierAttempts] = {}
        self._on: dict[str, dict[str, SimulatedAttempt]] = {name: {} for name in nodes}
        self._orders = 0

    @property
    def actions(self) -> dict[int, Callable[[Any], None]]:
        """What the entries of the heap mean."""
        return {
            BEGIN: self._begin,
            FINISH: self._finish,
            FAIL: self._fail,
            STOPPED: self._stopped,
            JOINED: self._joined,
            LEFT: self._left,
            SAVED: self._saved,
            CRASH: self._crash,
        }

    def last_attempt(self, gang: str) -> int:
        """Number of a gang's last attempt; 0 = it had none."""
        last = self._last.get(gang)
        return last.number if last else self.earlier.get(gang, 0)

    # --- orders ---------------------------------------------------------------------------

    def start(self, start: Start, *, at_once: bool = False) -> None:
        """Start an attempt, unless it or a later one was started before.

        Args:
            start: where.
            at_once: its pods run already.
        """
        gang = start.gang.id
        if gang not in self.jobs or self.last_attempt(gang) >= start.attempt:
            return
        past = self._past.setdefault(gang, EarlierAttempts())
        attempt = SimulatedAttempt(self.jobs[gang], start.attempt, start.placement, past)
        self._last[gang] = attempt
        self._settle_on(attempt)
        self._watcher.placed(attempt.job, start.placement.pods, self._heap.now)
        if at_once:
            self._begin(attempt)
            return
        delay = self._timing.start_ms + self._dice.start_delay_ms()
        if self._dice.start_fails():
            self._heap.push(self._heap.now + delay, FAIL, attempt)
        elif delay:
            self._heap.push(self._heap.now + delay, BEGIN, attempt)
        else:
            self._begin(attempt)

    def stop(self, stop: Stop) -> None:
        """Order an attempt to stop."""
        attempt = self._live(stop.gang, stop.attempt)
        if attempt is None or attempt.stopping:
            return
        attempt.stopping, attempt.trade = True, trade_of(stop.cause)
        at = self._heap.now + self._timing.leaves_ms(attempt.job)
        self._heap.push(at, STOPPED, (attempt, outcome_of(stop.cause)))

    def resize(self, resize: Resize) -> None:
        """Run an attempt on these pods; repeating it changes nothing."""
        attempt = self._live(resize.gang.id, resize.attempt)
        if attempt is None or attempt.stopping or attempt.placement == resize.placement:
            return
        now, before = self._heap.now, attempt.placement.pods
        old, new = set(before), set(resize.placement.pods)
        gone = tuple(pod for pod in before if pod not in new)
        came = tuple(pod for pod in resize.placement.pods if pod not in old)
        attempt.placement = resize.placement
        dead, attempt.broken = attempt.broken, attempt.broken & frozenset(resize.placement.pods)
        self._settle_on(attempt)
        if came:
            self._watcher.resized(attempt.job, (), came, now)
        self._join(attempt, came)
        self._rate_changed(attempt)
        self._mended(attempt)
        if gone:
            self._leave(attempt, tuple(pod for pod in gone if pod not in dead))

    def cancel(self, gang: str) -> bool:
        """End what runs of a job for good, as its user asked; False = nothing of it runs."""
        attempt = self._live(gang, self.last_attempt(gang))
        if attempt is None:
            return False
        attempt.trade = None
        if attempt.work:
            attempt.work.settle(self._heap.now)
        self._end(attempt, Outcome.CANCELLED, 0, attempt.work.overhead if attempt.work else 0)
        return True

    # --- attempts -------------------------------------------------------------------------

    def _begin(self, attempt: SimulatedAttempt) -> None:
        if attempt.over:
            return
        now, gang = self._heap.now, attempt.job.gang
        attempt.begin(self._past[gang.id], now, self._timing.restart_ms)
        self._watcher.begun(attempt.job, now)
        self._reports.started(GangStarted(now, gang.id, attempt.number))
        self._plan_end(attempt)
        self._plan_report(attempt)
        self._plan_crash(attempt)

    def _plan_end(self, attempt: SimulatedAttempt) -> None:
        if attempt.finish:
            self._heap.cancel(attempt.finish)
        ends = attempt.ends()
        attempt.finish = 0
        if ends:
            outcome = attempt.job.outcome if ends[1] else Outcome.TIMED_OUT
            attempt.finish = self._heap.push(ends[0], FINISH, (attempt, outcome))

    def _plan_crash(self, attempt: SimulatedAttempt) -> None:
        after = self._dice.crash_ms(len(attempt.placement.pods))
        if after:
            self._heap.push(self._heap.now + after, CRASH, attempt, background=True)

    def _finish(self, done: tuple[SimulatedAttempt, Outcome]) -> None:
        attempt, outcome = done
        attempt.finish, attempt.trade = 0, None  # it was faster than the gang that wanted its place
        assert attempt.work
        attempt.work.settle(self._heap.now)
        self._end(attempt, outcome, 0, attempt.work.overhead)

    def _fail(self, attempt: SimulatedAttempt) -> None:
        if not attempt.over and not attempt.stopping:
            past = self._past[attempt.job.gang.id]
            past.failed_starts += 1
            past.trade = None
            self._end(attempt, Outcome.START_FAILED, 0, 0)

    def _stopped(self, done: tuple[SimulatedAttempt, Outcome]) -> None:
        attempt, outcome = done
        if not attempt.over:
            self._interrupt(attempt, outcome, saves=self._timing.saves(attempt.job))

    def kill(self, node: str, device: int | None) -> None:
        """A node or one of its devices is gone, with all that runs there."""
        for attempt in list(self._on[node].values()):
            pods = tuple(attempt.uses(node, device))
            lost = [pod for pod in pods if pod not in attempt.leaving]
            if lost and attempt.survives(lost):
                self._break(attempt, lost)
            elif lost:
                attempt.trade = None
                self._interrupt(attempt, Outcome.NODE_LOST, saves=False)
            else:
                self._vanish(attempt, pods)

    def _break(self, attempt: SimulatedAttempt, lost: Sequence[PodPlacement]) -> None:
        """The rest of an attempt waits until some of its pods are replaced."""
        assert attempt.work
        attempt.broken |= frozenset(lost)
        attempt.joining -= attempt.broken
        self._watcher.resized(attempt.job, lost, (), self._heap.now)
        self._unseat(attempt, lost)
        attempt.work.pause(self._heap.now)
        self._plan_end(attempt)

    def _mended(self, attempt: SimulatedAttempt) -> None:
        """All lost pods have been replaced, and those that came run."""
        if attempt.work and attempt.work.paused and not attempt.broken and not attempt.joining:
            attempt.work.go_on(self._heap.now, self._timing.replace_ms)
            self._plan_end(attempt)

    def _crash(self, attempt: SimulatedAttempt) -> None:
        """The program ends by a fault of its own, and is started again."""
        if not attempt.over and not attempt.stopping:
            attempt.trade, attempt.crashed = None, True
            self._interrupt(attempt, Outcome.FAILED, saves=False)

    def _interrupt(self, attempt: SimulatedAttempt, outcome: Outcome, *, saves: bool) -> None:
        past, work = self._past[attempt.job.gang.id], attempt.work
        past.trade = attempt.trade
        if work is None:
            self._end(attempt, outcome, 0, 0)
            return
        work.settle(self._heap.now)
        past.saved = work.done if saves else work.saved if attempt.job.gang.checkpoint else 0
        self._end(attempt, outcome, work.done - past.saved, work.overhead)

    def _end(self, attempt: SimulatedAttempt, outcome: Outcome, thrown: int, overhead: int) -> None:
        now, gang = self._heap.now, attempt.job.gang.id
        if attempt.finish:
            self._heap.cancel(attempt.finish)
        attempt.over, attempt.finish = True, 0
        for pod in attempt.pods:
            self._on[pod.node].pop(gang, None)
        again = outcome in RESTARTED or (outcome is Outcome.FAILED and attempt.crashed)
        requeue = again and attempt.number <= self._timing.most_restarts
        if again and not requeue:
            outcome = Outcome.FAILED
        full = attempt.scale.full
        traded = thrown * (attempt.trade is not None) + overhead * attempt.traded
        end = SimulatedEnd(
            now, outcome, not requeue, (thrown + overhead) // full, traded // full, attempt.trade
        )
        self._watcher.ended(attempt.job, attempt.pods, end)
        if not requeue:
            self.jobs.pop(gang)
            del self._past[gang]
        not_before = self._not_before(gang, outcome) if requeue else 0
        self._reports.ended(
            GangEnded(
                now,
                gang,
                attempt.number,
                outcome,
                requeue=requeue,
                exit_code=_exit_code(outcome),
                not_before=not_before,
                lost_gpu_ms=thrown * gpu_milli(attempt.job.gang) // (1000 * full),
            )
        )

    def _not_before(self, gang: str, outcome: Outcome) -> int:
        if outcome is not Outcome.START_FAILED:
            return 0
        doublings = min(self._past[gang].failed_starts - 1, 6)
        return self._heap.now + (self._timing.backoff_ms << doublings)

    # --- pods that come and go ------------------------------------------------------------

    def _join(self, attempt: SimulatedAttempt, came: tuple[PodPlacement, ...]) -> None:
        """New pods of an attempt that runs work once they have started."""
        if came and attempt.work and self._timing.start_ms:
            attempt.joining |= frozenset(came)
            self._heap.push(self._heap.now + self._timing.start_ms, JOINED, (attempt, came))
        attempt.joining &= frozenset(attempt.placement.pods)

    def _joined(self, done: tuple[SimulatedAttempt, tuple[PodPlacement, ...]]) -> None:
        attempt, came = done
        attempt.joining -= frozenset(came)
        if not attempt.over:
            self._rate_changed(attempt)
            self._mended(attempt)

    def _rate_changed(self, attempt: SimulatedAttempt) -> None:
        """The pods that run are others; in the moment of the start that costs nothing."""
        now, work = self._heap.now, attempt.work
        if work is None or attempt.rate == work.rate:
            return
        cost = self._timing.resize_ms if now > attempt.begun else 0
        attempt.traded |= cost > 0
        work.resize(now, attempt.rate, cost)
        self._plan_end(attempt)

    def _leave(self, attempt: SimulatedAttempt, gone: tuple[PodPlacement, ...]) -> None:
        self._orders += 1
        attempt.leaving |= dict.fromkeys(gone, self._orders)
        delay = self._timing.leaves_ms(attempt.job) if attempt.work and gone else 0
        if delay:
            self._heap.push(self._heap.now + delay, LEFT, (attempt, self._orders))
        else:
            self._left((attempt, self._orders))

    def _left(self, done: tuple[SimulatedAttempt, int]) -> None:
        """The report says that none is left, so it waits for the last one."""
        attempt, order = done
        if attempt.over:
            return
        self._vanish(attempt, tuple(pod for pod, by in attempt.leaving.items() if by == order))
        if not attempt.leaving:
            gang = attempt.job.gang.id
            self._reports.fact(PodsLeft(self._heap.now, gang, attempt.number))

    def _vanish(self, attempt: SimulatedAttempt, pods: tuple[PodPlacement, ...]) -> None:
        for pod in pods:
            attempt.leaving.pop(pod, None)
        if pods:
            self._watcher.resized(attempt.job, pods, (), self._heap.now)
        self._unseat(attempt, pods)

    def _unseat(self, attempt: SimulatedAttempt, pods: Iterable[PodPlacement]) -> None:
        for pod in pods:
            if not any(attempt.uses(pod.node, None)):
                self._on[pod.node].pop(attempt.job.gang.id, None)

    def _settle_on(self, attempt: SimulatedAttempt) -> None:
        for pod in attempt.placement.pods:
            self._on[pod.node][attempt.job.gang.id] = attempt

    # --- checkpoints ----------------------------------------------------------------------

    def _plan_report(self, attempt: SimulatedAttempt) -> None:
        checkpoint = attempt.job.gang.checkpoint
        if self._timing.report_checkpoints and checkpoint and checkpoint.interval_ms:
            at = self._heap.now + checkpoint.interval_ms
            self._heap.push(at, SAVED, attempt, background=True)

    def _saved(self, attempt: SimulatedAttempt) -> None:
        if not attempt.over:
            gang = attempt.job.gang.id
            self._reports.saved(CheckpointCommitted(self._heap.now, gang, attempt.number))
            self._plan_report(attempt)

    def _live(self, gang: str, number: int) -> SimulatedAttempt | None:
        attempt = self._last.get(gang)
        return attempt if attempt and attempt.number == number and not attempt.over else None


def _exit_code(outcome: Outcome) -> int | None:
    return {Outcome.SUCCEEDED: 0, Outcome.FAILED: 1}.get(outcome)
