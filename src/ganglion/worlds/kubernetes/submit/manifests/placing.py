"""Where pods may lie, in the words of Kubernetes: affinity, tolerations, annotations."""

from typing import Any

from ganglion.model.errors import FieldError
from ganglion.model.fleet.levels import Level
from ganglion.model.workload import Constraints, Kind, PodSet, Topology, Workload
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.submit.manifests import marks

REGION = "topology.kubernetes.io/region"
GPU_MEMORY_LABEL = "nvidia.com/gpu.memory"
"""Memory of a node's GPUs in MiB, written by GPU feature discovery."""
SLICE = "kueue.x-k8s.io/podset-slice-required-topology"
SLICE_SIZE = "kueue.x-k8s.io/podset-slice-size"
KEYS = {
    Level.REGION: REGION,
    Level.ZONE: "topology.kubernetes.io/zone",
    Level.NODE: names.HOSTNAME,
}
"""Levels that every cluster has a label for."""

Expression = dict[str, Any]


def affinity(workload: Workload, pods: PodSet) -> dict[str, Any]:
    """`affinity` of a pod; empty when everything is allowed.

    Raises:
        FieldError: the cluster has no words for a constraint.
    """
    nodes = _expressions(workload.constraints, pods)
    apart = [*_isolation(workload), *_spread(workload, pods)]
    found: dict[str, Any] = {}
    if nodes:
        terms = {"nodeSelectorTerms": [{"matchExpressions": nodes}]}
        found["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    if apart:
        found["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": apart}
    return found


def _expressions(allowed: Constraints, pods: PodSet) -> list[Expression]:
    found = [_expression(key, "In", values) for key, values in sorted(allowed.labels.items())]
    found += [_expression(key, "NotIn", values) for key, values in sorted(allowed.avoid.items())]
    if allowed.residency:
        found.append(_expression(REGION, "In", allowed.residency))
    least = pods.request.gpu.min_memory_mib
    if least:
        found.append(_expression(GPU_MEMORY_LABEL, "Gt", (str(least - 1),)))
    return found


def _expression(key: str, operator: str, values: tuple[str, ...]) -> Expression:
    return {"key": key, "operator": operator, "values": list(values)}


def _isolation(workload: Workload) -> list[Expression]:
    """Whose pods may not share a node with these, in whatever namespace."""
    if workload.constraints.isolation == "none":
        return []
    alike: dict[str, tuple[str, ...]] = {
        "kind": (marks.KIND, *_labelled(workload.kind)),
        "queue": (names.QUEUE, workload.queue.rpartition("/")[2]),
        "workload": (marks.WORKLOAD, workload.name),
    }
    key, *mine = alike[workload.constraints.isolation]
    others: list[Expression] = [{"key": key, "operator": "Exists"}]
    others.append(_expression(key, "NotIn", tuple(mine)))
    term = {"labelSelector": {"matchExpressions": others}, "namespaceSelector": {}}
    return [{"topologyKey": names.HOSTNAME, **term}]


def _labelled(kind: Kind) -> tuple[str, ...]:
    """Values of the label that pods of a kind carry: a sweep's trial in a Job is a training."""
    return (str(kind), str(Kind.TRAIN)) if kind is Kind.SWEEP else (str(kind),)


def _spread(workload: Workload, pods: PodSet) -> list[Expression]:
    """Pods that may not share a domain with their own kind."""
    found = []
    for topology, selector in (
        (workload.topology, {marks.WORKLOAD: workload.name}),
        (pods.topology, {marks.WORKLOAD: workload.name, names.POD_SET: pods.name}),
    ):
        if topology.forbidden:
            selected = {"labelSelector": {"matchLabels": selector}}
            found.append({"topologyKey": _key(topology.forbidden), **selected})
    return found


def _key(level: Level) -> str:
    if level not in KEYS:
        raise FieldError(
            f"no label of every cluster says which {level} a node is in",
            key="placement.forbidden",
            hint=f"use one of {', '.join(KEYS)}",
        )
    return KEYS[level]


def topology_notes(topology: Topology) -> dict[str, str]:
    """Annotations that say how near each other pods must lie.

    On an object they hold for the gang, on pods for the pod set.
    """
    found = {
        names.TOPOLOGY_REQUIRED: topology.required,
        names.TOPOLOGY_PREFERRED: topology.preferred,
    }
    return {name: str(level) for name, level in found.items() if level}


def slice_notes(pods: PodSet) -> dict[str, str]:
    """Annotations for the one sub-group that shares a domain."""
    found = [each for each in pods.slices if each.required]
    if not found:
        return {}
    return {SLICE: str(found[0].required), SLICE_SIZE: str(found[0].size)}


def tolerations(pods: PodSet) -> list[dict[str, str]]:
    """GPU nodes often keep away everything that asks for no GPU."""
    if not pods.request.gpu.count:
        return []
    return [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
