"""Small jobs and clusters for tests of the simulated world."""

from ganglion.model.queue import Queue
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Checkpoint, Gang, PodSet
from ganglion.worlds.simulated.attempt import Timing
from ganglion.worlds.simulated.faults.rates import Faults
from ganglion.worlds.simulated.job import SimJob
from ganglion.worlds.simulated.scenario import SimulatedScenario
from ganglion.worlds.simulated.setup.cluster import build_nodes

S = 1_000
QUEUES = (Queue("q"),)


def job(
    name: str,
    *,
    at: int = 0,
    gpus: int = 1,
    pods: int = 1,
    seconds: float | None = 100,
    limit: int = 0,
    checkpoint: Checkpoint | None = None,
    queue: str = "q",
    after: tuple[str, ...] = (),
    sets: tuple[PodSet, ...] = (),
    priority: int = 50,
) -> SimJob:
    """A job of `pods` pods with `gpus` GPUs each, or of `sets`; times in seconds."""
    equal = PodSet(count=pods, request=PodRequest(gpu=GpuRequest(gpus)))
    gang = Gang(
        id=f"{name}/0",
        workload=name,
        queue=queue,
        priority=priority,
        pod_sets=sets or (equal,),
        submitted=at * S,
        time_limit_ms=limit * S,
        checkpoint=checkpoint,
        after=after,
    )
    return SimJob(gang, None if seconds is None else int(seconds * S))


def scenario(
    *jobs: SimJob,
    nodes: int = 1,
    gpus: int = 8,
    faults: Faults | None = None,
    timing: Timing | None = None,
    horizon: int | None = None,
) -> SimulatedScenario:
    """A cluster of equal nodes and one queue; the horizon in seconds."""
    return SimulatedScenario(
        nodes=build_nodes(nodes, gpus),
        queues=QUEUES,
        jobs=jobs,
        timing=timing or Timing(),
        faults=faults or Faults(),
        horizon_ms=None if horizon is None else horizon * S,
    )
