"""Pods that Ganglion does not place itself, and why."""

from ganglion.worlds.kubernetes.filters.clauses import node_clauses
from ganglion.worlds.kubernetes.names import GATE, SCHEDULER
from ganglion.worlds.kubernetes.objects.pod import Pod
from ganglion.worlds.kubernetes.requests import Ask


def unsupported(pod: Pod, ask: Ask) -> str:
    """Why a pod is refused for what it is, and what it takes; empty = it is not."""
    if pod.spec.resource_claims and pod.spec.scheduler_name == SCHEDULER:
        names = ", ".join(each.name for each in pod.spec.resource_claims)
        return (
            f"devices by resource claim ({names}) are given out by the default scheduler: give "
            f"the pod the gate {GATE} in place of schedulerName {SCHEDULER}"
        )
    resources = sorted(ask.gpus_by_resource())
    if len(resources) > 1:
        return f"asks for GPUs of several kinds at once: {', '.join(resources)}"
    if not all(node_clauses(pod)):
        return "its required node affinity can match no node: no term is sound"
    return ""
