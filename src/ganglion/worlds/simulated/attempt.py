"""One attempt of a gang in the simulated world, and what is left of its work when it ends."""

from msgspec import Struct

from ganglion.model.placement import Placement
from ganglion.model.workload import Checkpoint
from ganglion.worlds.simulated.job import SimJob


class Timing(Struct, frozen=True):
    """How long the mechanics around the work take; all in ms.

    Attributes:
        start_ms: from the decision until the pods run (pull of images, rendezvous).
        restart_ms: extra time of every attempt after the first before it gets on (load of the
            checkpoint, warm-up); its GPU time is lost.
        stop_ms: from the order to stop until the pods are gone, at most the gang's grace.
        backoff_ms: wait after a failed start; doubles with each failure, up to 64 times.
        most_restarts: a job that was interrupted more often than this ends as failed.
    """

    start_ms: int = 0
    restart_ms: int = 0
    stop_ms: int = 0
    backoff_ms: int = 1_000
    most_restarts: int = 100


class Attempt:
    """One attempt of a gang.

    Attributes:
        job: whose.
        number: of the attempt, from 1.
        placement: where.
        kept_ms: work that earlier attempts have saved.
        overhead_ms: time before it gets on with the work.
        begun: when its pods began to run; None = not yet.
        finish: number of the heap entry that will end it; 0 = none.
        over: it holds nothing any more.
        stopping: it was told to stop.
    """

    __slots__ = (
        "begun", "finish", "job", "kept_ms", "number", "over", "overhead_ms", "placement",
        "stopping",
    )  # fmt: skip

    def __init__(
        self, job: SimJob, number: int, placement: Placement, kept_ms: int, overhead_ms: int
    ) -> None:
        self.job, self.number, self.placement = job, number, placement
        self.kept_ms, self.overhead_ms = kept_ms, overhead_ms
        self.begun: int | None = None
        self.finish = 0
        self.over = self.stopping = False

    def run_ms(self) -> int | None:
        """How long it would run undisturbed, without a time limit; None = for ever."""
        duration = self.job.duration_ms
        return None if duration is None else self.overhead_ms + max(duration - self.kept_ms, 0)

    def interrupted(self, at: int, *, told: bool) -> tuple[int, int]:
        """What is left when it ends before its work is done.

        Args:
            at: when, in ms.
            told: whether it was asked to stop, so that it can save and leave.

        Returns:
            (work saved in all, time lost of this attempt), in ms.
        """
        held = 0 if self.begun is None else at - self.begun
        worked = max(held - self.overhead_ms, 0)
        reached = self.kept_ms + worked
        saved = max(self.kept_ms, saved_ms(reached, self.job.gang.checkpoint, told=told))
        return saved, held - worked + reached - saved


def saved_ms(reached: int, checkpoint: Checkpoint | None, *, told: bool) -> int:
    """Work that survives an interruption after `reached` ms of work.

    Without a contract nothing does. A gang that is told to stop saves at that moment; one that
    loses its node falls back to its last periodic checkpoint, none when it only saves when told.
    """
    if checkpoint is None:
        return 0
    if told:
        return reached
    return reached - reached % checkpoint.interval_ms if checkpoint.interval_ms else 0
