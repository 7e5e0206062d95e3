"""The rules of placement once more, slow and obvious, from the records alone."""

from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.fleet.levels import Level
from ganglion.model.fleet.node import Node
from ganglion.model.resources import PodRequest
from ganglion.model.workload import Gang


def fits_somewhere(state: ClusterState, gang: Gang) -> bool:
    """Whether some node could take the only pod of a gang right now, quota apart."""
    return any(_fits(state, gang, node) for node in state.fleet.nodes.values())


def _fits(state: ClusterState, gang: Gang, node: Node) -> bool:
    request, rules = gang.pod_sets[0].request, gang.constraints
    beside = [
        (record, pod)
        for record in state.gangs.records.values()
        for place in (record.placement if record.phase in SETTLED else None, record.promise)
        for pod in (place.pods if place else ())
        if pod.node == node.name
    ]
    requests = [_request(record, pod.pod_set) for record, pod in beside]
    return (
        not node.cordoned
        and not state.fleet.tree.is_gone(node.name)
        and all(node.labels.get(key) in values for key, values in rules.labels.items())
        and not any(node.labels.get(key) in values for key, values in rules.avoid.items())
        and (not rules.residency or node.domains.get(Level.REGION) in rules.residency)
        and all(_at_peace(gang, record.gang) for record, _ in beside)
        and len(beside) < node.max_pods
        and sum(each.cpu_milli for each in requests) + request.cpu_milli <= node.cpu_milli
        and sum(each.memory_mib for each in requests) + request.memory_mib <= node.memory_mib
        and all(
            sum(dict(each.extras).get(name, 0) for each in requests) + amount
            <= node.extras.get(name, 0)
            for name, amount in request.extras
        )
        and _devices_fit(gang, node, beside)
    )


def _request(record: GangRecord, pod_set: str) -> PodRequest:
    return next(each.request for each in record.gang.pod_sets if each.name == pod_set)


def _at_peace(one: Gang, other: Gang) -> bool:
    kinds = {one.constraints.isolation, other.constraints.isolation}
    if kinds == {"none"}:
        return True
    if kinds == {"queue"}:
        return one.queue == other.queue
    return kinds == {"workload"} and one.workload == other.workload


def _devices_fit(gang: Gang, node: Node, beside: list) -> bool:
    gpu = gang.pod_sets[0].request.gpu
    if not gpu.count:
        return True
    good = 0
    for index, device in enumerate(node.devices):
        used = sum(pod.milli for _, pod in beside if index in pod.devices)
        right = not gpu.types or device.type in gpu.types
        milli = -(-gpu.share_mib * 1000 // device.memory_mib) if gpu.share_mib else gpu.milli
        good += right and device.healthy and used + milli <= 1000 and milli <= 1000
    return good >= gpu.count
