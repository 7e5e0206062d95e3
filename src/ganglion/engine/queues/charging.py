"""What a gang uses, as its queue is charged for it."""

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.topology.tree import Tree
from ganglion.model.placement import Placement
from ganglion.model.resources import Usage


def usage_of(tree: Tree, record: GangRecord, placement: Placement) -> dict[str, Usage]:
    """What a placement uses, by flavor."""
    requests = {s.name: s.request for s in record.gang.pod_sets}
    if len(placement.pods) == len(requests) == 1:
        (pod,), (request,) = placement.pods, requests.values()
        gpu, rank = len(pod.devices) * pod.milli, tree.index[pod.node]
        flavor = tree.flavors[rank]
        if flavor == tree.cpu_flavors[rank]:
            return {flavor: Usage(gpu, request.cpu_milli, request.memory_mib)}
    sums: dict[str, list[int]] = {}
    for pod in placement.pods:
        rank, request = tree.index[pod.node], requests[pod.pod_set]
        if pod.devices:
            total = sums.setdefault(tree.flavors[rank], [0, 0, 0])
            total[0] += len(pod.devices) * pod.milli
        if request.cpu_milli or request.memory_mib or not pod.devices:
            total = sums.setdefault(tree.cpu_flavors[rank], [0, 0, 0])
            total[1] += request.cpu_milli
            total[2] += request.memory_mib
    return {flavor: Usage(*total) for flavor, total in sums.items()}
