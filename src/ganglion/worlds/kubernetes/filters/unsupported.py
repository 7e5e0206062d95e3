"""Pods that Ganglion does not place itself, and why."""

from ganglion.worlds.kubernetes.filters.clauses import node_clauses
from ganglion.worlds.kubernetes.names import GATE, SCHEDULER
from ganglion.worlds.kubernetes.objects.pod import Pod
from ganglion.worlds.kubernetes.requests import ask_of


def unsupported(pod: Pod) -> str:
    """Why a pod is refused for what it is; empty = it is not.

    Raises:
        InputError: a quantity is none.
    """
    if pod.spec.resource_claims and pod.spec.scheduler_name == SCHEDULER:
        names = ", ".join(each.name for each in pod.spec.resource_claims)
        return (
            f"devices by resource claim ({names}) are given out by the default scheduler: give "
            f"the pod the gate {GATE} in place of schedulerName {SCHEDULER}"
        )
    resources = sorted(ask_of(pod).gpus_by_resource())
    if len(resources) > 1:
        return f"asks for GPUs of several kinds at once: {', '.join(resources)}"
    if not all(node_clauses(pod)):
        return "its required node affinity can match no node: no term is sound"
    return ""
