"""What a run is given: cluster, jobs, and how the world behaves."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from ganglion.model.causes import Cause
from ganglion.model.errors import Conflict
from ganglion.model.events import Event
from ganglion.model.fleet.node import Node
from ganglion.model.placement import Placement
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.worlds.simulated.attempt import Timing
from ganglion.worlds.simulated.faults.rates import Faults
from ganglion.worlds.simulated.job import SimJob


class StandingJob(Struct, frozen=True):
    """A job that is there when the scenario begins.

    Attributes:
        job: with the work that it still needs.
        attempt: number of its present or last attempt; 0 = it had none.
        placement: where it runs; None = it waits. Where one of the nodes is not there, it waits.
        cause: why its attempt was asked to stop; None = it was not.
    """

    job: SimJob
    attempt: int = 0
    placement: Placement | None = None
    cause: Cause | None = None


class SimulatedScenario(Struct, frozen=True):
    """Everything that decides the outcome of a run; equal scenarios have equal outcomes.

    Attributes:
        nodes: the cluster.
        queues: parents before their children.
        jobs: by submit time.
        policy: how the engine decides.
        timing: how long starts and stops take.
        faults: what goes wrong.
        horizon_ms: virtual time after the first submission at which the run is cut off;
            None = when nothing is left to happen.
        begin_ms: when it begins; None = with the first submission.
        standing: jobs that are there then.
        facts: what happens to nodes, queues, policy and waiting jobs, by time. One that
            contradicts what became of the run is left out.
        spent_since: queue -> since when people knew, when it begins, that its budget is spent, in
            ms; of budgets that are spent then.
        withdraws: whether the user of a gang that can never start takes it back at once.
        title: what is simulated, for people.
        notes: choices that were made for the user, for people.
    """

    nodes: tuple[Node, ...]
    queues: tuple[Queue, ...]
    jobs: tuple[SimJob, ...]
    policy: Policy = field(default_factory=Policy)
    timing: Timing = Timing()
    faults: Faults = Faults()
    horizon_ms: int | None = None
    begin_ms: int | None = None
    standing: tuple[StandingJob, ...] = ()
    facts: tuple[Event, ...] = ()
    spent_since: Mapping[str, int] = field(default_factory=dict)
    withdraws: bool = True
    title: str = ""
    notes: tuple[str, ...] = ()

    @property
    def start(self) -> int:
        """When it begins, in ms."""
        if self.begin_ms is not None:
            return self.begin_ms
        return min((job.gang.submitted for job in self.jobs), default=0)

    @property
    def every_job(self) -> tuple[SimJob, ...]:
        """Those that are there when it begins, then those that are submitted."""
        return (*(each.job for each in self.standing), *self.jobs)


def with_queues_of(queues: Sequence[Queue], jobs: Sequence[SimJob]) -> tuple[Queue, ...]:
    """The queues, and one without quota for each queue that only the jobs name.

    Raises:
        Conflict: a job names a queue that has queues under it.
    """
    known = {queue.name for queue in queues}
    parents = {queue.parent for queue in queues}
    named = dict.fromkeys(job.gang.queue for job in jobs)
    for name in named:
        if name in parents:
            raise Conflict(
                f"queue {name} has queues under it and takes no jobs itself",
                "name one of the queues under it in the trace",
            )
    return (*queues, *(Queue(name) for name in named if name not in known))
