"""Nodes that keep refusing pods get no new ones for a while."""

from ganglion.worlds.kubernetes.objects.pod import Pod

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

LONGEST = 8
"""Most a quarantine is lengthened by."""


def is_refusal(pod: Pod) -> bool:
    """Whether a kubelet did not admit a pod, which then is failed for good."""
    reason = pod.status.reason
    return pod.status.phase == "Failed" and (reason in REFUSALS or reason.startswith("OutOf"))


class Quarantine:
    """Counts refusals by node.

    Args:
        enough: refusals within one term that shut a node.
        term_ms: how long it stays shut the first time.
    """

    def __init__(self, enough: int, term_ms: int) -> None:
        self._enough, self._term = enough, term_ms
        self._refusals: dict[str, list[int]] = {}
        self._terms: dict[str, int] = {}
        self._until: dict[str, int] = {}
        self._why: dict[str, str] = {}

    def refused(self, node: str, why: str, now: int) -> bool:
        """A pod was refused; returns whether that shuts the node."""
        recent = [at for at in self._refusals.get(node, ()) if now - at < self._term]
        self._refusals[node] = [*recent, now]
        if len(recent) + 1 < self._enough:
            return False
        times = min(2 * self._terms.get(node, 0) or 1, LONGEST)
        self._terms[node], self._until[node] = times, now + times * self._term
        self._why[node] = why
        self._refusals[node] = []
        return True

    def reason(self, node: str, now: int) -> str:
        """Why a node is shut; empty = it is not."""
        if now >= self._until.get(node, 0):
            return ""
        return f"quarantined, as it refused pods: {self._why[node]}"

    def over(self, now: int) -> list[str]:
        """Nodes whose term is over since the last call."""
        done = [node for node, until in self._until.items() if until <= now]
        for node in done:
            del self._until[node]
        return done

    def next_end(self) -> int | None:
        """When the next term is over, in ms; None = no node is shut."""
        return min(self._until.values(), default=None)
