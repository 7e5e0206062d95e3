"""The typical pods of a workload, which fragmentation is measured against."""

from collections import Counter
from collections.abc import Iterable

from ganglion.engine.plugins.protocols import Typical
from ganglion.model.resources import PodRequest
from ganglion.worlds.simulated.job import SimJob

COVERED_PCT = 95


def typical_pods(jobs: Iterable[SimJob], *, gpu_only: bool = False) -> Typical:
    """The most frequent pod requests until they make up 95 % of all pods.

    The target workload of FGD (Weng et al., "Beware of Fragmentation", USENIX ATC'23); pods
    are counted over the whole trace, ties are broken by the request itself.

    Args:
        jobs: the trace.
        gpu_only: leave out pods without GPUs.

    Returns:
        (request, how many of them), most frequent first.
    """
    counts: Counter[PodRequest] = Counter()
    for job in jobs:
        for pods in job.gang.pod_sets:
            if pods.request.gpu.count or not gpu_only:
                counts[pods.request] += pods.count
    ranked = sorted(counts.items(), key=lambda item: (-item[1], repr(item[0])))
    wanted = sum(counts.values()) * COVERED_PCT
    chosen, covered = [], 0
    for request, count in ranked:
        if covered * 100 >= wanted:
            break
        chosen.append((request, count))
        covered += count
    return tuple(chosen)
