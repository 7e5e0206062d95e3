"""The typical pods of a trace."""

from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Gang, PodSet
from ganglion.worlds.simulated.job import SimJob
from ganglion.worlds.simulated.metrics.typical import typical_pods


def jobs_of(*counts: tuple[int, int]) -> list[SimJob]:
    """`(gpus, pods)` per job; 0 GPUs is a CPU pod."""
    return [
        SimJob(Gang(f"j-{i}/0", f"j-{i}", "q", pod_sets=(_set(gpus, pods),)), 1)
        for i, (gpus, pods) in enumerate(counts)
    ]


def _set(gpus: int, pods: int) -> PodSet:
    gpu = GpuRequest(gpus) if gpus else GpuRequest()
    return PodSet(count=pods, request=PodRequest(cpu_milli=1_000, gpu=gpu))


def test_the_most_frequent_pods_that_cover_95_percent_are_taken() -> None:
    chosen = typical_pods(jobs_of((1, 90), (2, 6), (4, 3), (8, 1)))
    assert [(request.gpu.count, count) for request, count in chosen] == [(1, 90), (2, 6)]


def test_pods_without_gpus_can_be_left_out() -> None:
    chosen = typical_pods(jobs_of((0, 50), (1, 1), (1, 2)), gpu_only=True)
    assert [(request.gpu.count, count) for request, count in chosen] == [(1, 3)]


def test_no_jobs_have_no_typical_pods() -> None:
    assert typical_pods([]) == ()
