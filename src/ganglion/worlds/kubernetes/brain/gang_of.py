"""The engine's gang for what was found in a cluster."""

from collections.abc import Callable, Mapping

from ganglion.model.resources import WHOLE, GpuRequest, PodRequest
from ganglion.model.workload import Constraints, Gang, PodSet, Topology
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.gangs.found import Found, FoundSet
from ganglion.worlds.kubernetes.objects.pod import Pod
from ganglion.worlds.kubernetes.objects.quantity import exactly, mib
from ganglion.worlds.kubernetes.requests import Ask, ask_of

CRITICAL = 2_000_000_000
"""From this priority on pods belong to the cluster itself and are never stopped."""

CLUSTER_LABEL = f"{names.GROUP}/cluster"


TypesOf = Callable[[str, int], tuple[str, ...]]
"""Resource that GPUs are asked by, and how many -> types of device that fit; empty = all."""


def gang_of(
    found: Found,
    types_of: TypesOf,
    hints: Mapping[str, Topology],
    *,
    prefix: str,
    cluster: str,
    queue: str,
    submitted: int,
) -> Gang:
    """The gang that the engine places.

    Args:
        found: what is known of it.
        types_of: types of device by resource.
        hints: pod set -> what its pods' rules for each other amount to.
        prefix: of its id, where there are several clusters.
        cluster: name of its cluster, likewise.
        queue: leaf queue it is charged to.
        submitted: in ms by our clock.

    Raises:
        InputError: a quantity or annotation that is none.
    """
    labels: dict[str, tuple[str, ...]] = {CLUSTER_LABEL: (cluster,)} if cluster else {}
    return Gang(
        id=prefix + found.key,
        workload=prefix + found.workload,
        queue=queue,
        user=found.namespace,
        kind=found.kind,
        priority=found.priority,
        preemptible=found.preemptible and found.priority < CRITICAL,
        pod_sets=tuple(_pod_set(s, types_of, hints.get(s.name, Topology())) for s in found.sets),
        topology=found.topology,
        constraints=Constraints(labels=labels),
        submitted=submitted,
        time_limit_ms=found.time_limit_ms,
        expected_ms=found.expected_ms,
        checkpoint=found.checkpoint,
        index=found.index,
        name=f"{found.namespace}/{found.name}",
    )


def _pod_set(found: FoundSet, types_of: TypesOf, hint: Topology) -> PodSet:
    own = found.topology
    return PodSet(
        name=found.name,
        count=found.count,
        min_count=found.least if found.least < found.count else 0,
        request=request_of(found.request, ask_of(found.request), types_of),
        topology=Topology(
            own.required or hint.required, own.preferred, own.forbidden or hint.forbidden
        ),
        slices=found.slices,
    )


def request_of(pod: Pod, ask: Ask, types_of: TypesOf) -> PodRequest:
    """What one pod takes, in the engine's terms."""
    return PodRequest(ask.cpu_milli, ask.memory_mib, _gpus(pod, ask, types_of))


def _gpus(pod: Pod, ask: Ask, types_of: TypesOf) -> GpuRequest:
    """Whole GPUs by the pod's resources, or a part of one by annotation."""
    notes = pod.metadata.annotations
    if ask.gpus:
        return GpuRequest(ask.gpus, types=types_of(ask.gpu_resource, ask.gpus))
    if names.GPU_FRACTION in notes:
        return GpuRequest(1, milli=int(exactly(notes[names.GPU_FRACTION]) * WHOLE))
    if names.GPU_MEMORY in notes:
        return GpuRequest(1, share_mib=mib(notes[names.GPU_MEMORY]))
    return GpuRequest()
