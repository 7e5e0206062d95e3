"""Where pods may lie, in the words of Kubernetes: affinity, tolerations, annotations."""

from typing import Any

from ganglion.model.errors import FieldError
from ganglion.model.levels import Level
from ganglion.model.workload import Constraints, PodSet, Topology, Workload
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.submit import marks

REGION = "topology.kubernetes.io/region"
GPU_MEMORY_LABEL = "nvidia.com/gpu.memory"
"""Memory of a node's GPUs in MiB, written by GPU feature discovery."""
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
    alike = {
        "queue": (names.QUEUE, workload.queue.rpartition("/")[2]),
        "workload": (marks.WORKLOAD, workload.name),
    }
    key, mine = alike[workload.constraints.isolation]
    others: list[Expression] = [{"key": key, "operator": "Exists"}]
    others.append(_expression(key, "NotIn", (mine,)))
    term = {"labelSelector": {"matchExpressions": others}, "namespaceSelector": {}}
    return [{"topologyKey": names.HOSTNAME, **term}]


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


def topology_notes(workload: Workload, pods: PodSet) -> dict[str, str]:
    """Annotations that say how near each other pods must lie.

    Raises:
        FieldError: a whole gang and a pod set of it ask for different levels.
    """
    both = (workload.topology, pods.topology)
    found = {
        names.TOPOLOGY_REQUIRED: _one([each.required for each in both], workload),
        names.TOPOLOGY_PREFERRED: _one([each.preferred for each in both], workload),
    }
    return {name: str(level) for name, level in found.items() if level}


def _one(levels: list[Level | None], workload: Workload) -> Level | None:
    given = [level for level in levels if level]
    if len(given) > 1 and len(workload.pod_sets) > 1 and given[0] is not given[1]:
        raise FieldError(
            f"the gang asks for one {given[0]}, a pod set of it for one {given[1]}",
            key="pod_sets.placement",
            hint="in a cluster one of the two can be said; leave the other out",
        )
    return given[-1] if given else None


def tolerations(pods: PodSet) -> list[dict[str, str]]:
    """GPU nodes often keep away everything that asks for no GPU."""
    if not pods.request.gpu.count:
        return []
    return [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]


def is_free(topology: Topology) -> bool:
    """Whether pods may lie anywhere."""
    return topology == Topology()
