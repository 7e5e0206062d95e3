"""Pods that kubelets refuse; nodes that keep refusing them get no new ones for a while."""

from ganglion.worlds.kubernetes.types.pod import Pod

REFUSALS = frozenset(
    {
        "UnexpectedAdmissionError",
        "TopologyAffinityError",
        "NodeAffinity",
        "NodePorts",
        "NodeShutdown",
        "OutOfcpu",
        "OutOfmemory",
        "OutOfpods",
        "OutOfephemeral-storage",
    }
)
"""Reasons with which kubelets fail pods that they do not admit."""


def is_refusal(pod: Pod) -> bool:
    """Whether a kubelet did not admit a pod, which then is failed for good."""
    reason = pod.status.reason
    return pod.status.phase == "Failed" and (reason in REFUSALS or reason.startswith("OutOf"))
