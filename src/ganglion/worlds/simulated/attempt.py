"""One attempt of a gang in the simulated world, and how long its mechanics take."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from ganglion.model.placement import Placement, PodPlacement
from ganglion.worlds.causes import Trade
from ganglion.worlds.simulated.job import SimJob
from ganglion.worlds.simulated.work import Work, WorkRate

Pods = tuple[PodPlacement, ...]


class Timing(Struct, frozen=True):
    """How the mechanics around the work behave; times in ms.

    Attributes:
        start_ms: from the decision until the pods run (pull of images, rendezvous).
        restart_ms: extra time of every start of a gang that ran before, until it gets on (load
            of the checkpoint, warm-up); its GPU time is lost.
        resize_ms: time without work after every change of an elastic gang's pods.
        stop_ms: from the order to stop until the pods are gone, at most the gang's grace; None =
            the whole grace. Without a checkpoint contract they are gone at once.
        save_on_stop: gangs that save periodically save also when they are asked to stop. Those
            with a contract without interval always do.
        report_checkpoints: every checkpoint is reported; else the engine uses the interval.
        backoff_ms: wait after a failed start; doubles with each failure, up to 64 times.
        most_restarts: a job that was interrupted more often than this ends as failed.
        replace_ms: time without work after lost pods were replaced beside those that live.
    """

    start_ms: int = 0
    restart_ms: int = 0
    resize_ms: int = 0
    stop_ms: int | None = None
    save_on_stop: bool = False
    report_checkpoints: bool = False
    backoff_ms: int = 1_000
    most_restarts: int = 100
    replace_ms: int = 0

    def leaves_ms(self, job: SimJob) -> int:
        """How long pods of a job take to leave."""
        if job.gang.checkpoint is None:
            return 0
        grace = job.gang.checkpoint.grace_ms
        return grace if self.stop_ms is None else min(self.stop_ms, grace)

    def saves(self, job: SimJob) -> bool:
        """Whether a job that is asked to stop saves at that moment."""
        checkpoint = job.gang.checkpoint
        return checkpoint is not None and (self.save_on_stop or not checkpoint.interval_ms)


class EarlierAttempts(Struct):
    """What is left of a job's earlier attempts.

    Attributes:
        saved: work that is safe, in pods x ms.
        ran: whether any of them ran.
        failed_starts: starts that failed.
        trade: what the last one was stopped for; None = for no other gang.
    """

    saved: int = 0
    ran: bool = False
    failed_starts: int = 0
    trade: Trade | None = None


class SimulatedAttempt:
    """One attempt of a gang.

    Attributes:
        job: whose.
        number: of the attempt, from 1.
        scale: how fast it works.
        placement: where it runs; pods that leave are not part of it any more.
        joining: pods of the placement that do not run yet.
        leaving: pods that were asked to stop, each with the number of its order.
        broken: pods of the placement that were lost and wait to be replaced.
        work: how far it is; None = its pods do not run yet.
        begun: when they began to, in ms.
        finish: number of the heap entry that will end it; 0 = none.
        over: it holds nothing any more.
        trade: what it is being stopped for; None = for no other gang.
        stopping: it was asked to stop.
        crashed: its program crashed, and is to be started again.
        traded: its overhead is the price of a preemption or of a change of size.
    """

    __slots__ = (
        "begun", "broken", "crashed", "finish", "job", "joining", "leaving", "number", "over",
        "placement", "scale", "stopping", "trade", "traded", "work",
    )  # fmt: skip

    def __init__(
        self, job: SimJob, number: int, placement: Placement, past: EarlierAttempts
    ) -> None:
        self.job, self.number, self.placement = job, number, placement
        self.scale = WorkRate(job.gang)
        self.joining: frozenset[PodPlacement] = frozenset()
        self.leaving: dict[PodPlacement, int] = {}
        self.broken: frozenset[PodPlacement] = frozenset()
        self.work: Work | None = None
        self.begun = self.finish = 0
        self.trade: Trade | None = None
        self.traded = past.trade is not None
        self.over = self.stopping = self.crashed = False

    def begin(self, past: EarlierAttempts, at: int, restart_ms: int) -> None:
        """Its pods run."""
        overhead = restart_ms if past.ran else 0
        rate = self.scale.rate(self.placement.pods)
        self.begun, past.ran = at, True
        self.work = Work(past.saved, self.job.gang.checkpoint, at, rate, overhead)

    @property
    def rate(self) -> int:
        """Units of work in one ms of the pods that run."""
        return self.scale.rate(pod for pod in self.placement.pods if pod not in self.joining)

    @property
    def pods(self) -> Pods:
        """All pods that are there."""
        there = (pod for pod in self.placement.pods if pod not in self.broken)
        return (*there, *self.leaving)

    def survives(self, lost: Iterable[PodPlacement]) -> bool:
        """Whether the rest of it can wait until these pods are replaced."""
        if not self.job.gang.replace or self.work is None or self.stopping:
            return False
        return not self.broken.union(lost).issuperset(self.placement.pods)

    def uses(self, node: str, device: int | None) -> Iterator[PodPlacement]:
        """Its pods on a node, or only those on one of its devices."""
        for pod in self.pods:
            if pod.node == node and (device is None or device in pod.devices):
                yield pod

    def ends(self) -> tuple[int, bool] | None:
        """When it will end if nothing changes, in ms, and whether its work is done then.

        None = it runs without end.
        """
        assert self.work
        limit = self.begun + self.job.gang.time_limit_ms if self.job.gang.time_limit_ms else None
        duration = self.job.duration_ms
        ends = None if duration is None else self.work.ends(duration * self.scale.full)
        if limit is not None and (ends is None or ends > limit):
            return limit, False
        return None if ends is None else (ends, True)
