"""Whether a node takes new pods at all. Taints decide; conditions only say why."""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from ganglion.worlds.kubernetes.types.meta import Condition
from ganglion.worlds.kubernetes.types.node import UNSCHEDULABLE, Node, Taint

CLOSING: Mapping[str, str] = {
    UNSCHEDULABLE: "cordoned",
    "node.kubernetes.io/not-ready": "not ready",
    "node.kubernetes.io/unreachable": "unreachable",
    "node.kubernetes.io/out-of-service": "out of service",
    "node.kubernetes.io/disk-pressure": "short of disk",
    "node.kubernetes.io/pid-pressure": "short of process ids",
    "node.kubernetes.io/network-unavailable": "without network",
    "node.cloudprovider.kubernetes.io/uninitialized": "not yet set up by its cloud",
    "node.cloudprovider.kubernetes.io/shutdown": "shut down",
    "cloud.google.com/impending-node-termination": "about to be taken away",
    "ToBeDeletedByClusterAutoscaler": "about to be removed by the autoscaler",
    "karpenter.sh/disrupted": "about to be removed by Karpenter",
    "karpenter.sh/unregistered": "not yet set up by Karpenter",
}
"""Taints that close a node to every pod of ours, and what they mean.

A pod that tolerates everything is not better off on a node that is dying. A cordon alone may be
tolerated: see `uncordoned`. Memory pressure is not
among them: pods that ask for memory tolerate it, and others are kept out by their tolerations.
"""

EVIDENCE: Mapping[str, str] = {
    "node.kubernetes.io/not-ready": "Ready",
    "node.kubernetes.io/unreachable": "Ready",
    "node.kubernetes.io/disk-pressure": "DiskPressure",
    "node.kubernetes.io/pid-pressure": "PIDPressure",
    "node.kubernetes.io/network-unavailable": "NetworkUnavailable",
}
"""Taint -> the condition that it stems from."""

_EFFECTS = frozenset({"NoSchedule", "NoExecute"})


def why_closed(node: Node) -> str:
    """Why no pod of ours may start on a node, in plain words; empty when they may."""
    reasons = dict.fromkeys(_reasons(node))
    return "; ".join(reasons)


def uncordoned(node: Node) -> Node:
    """The node as it would be without its cordon; all else that closes it stays."""
    taints = tuple(each for each in node.spec.taints if each.key != UNSCHEDULABLE)
    return replace(node, spec=replace(node.spec, unschedulable=False, taints=taints))


def why_doubtful(node: Node) -> str:
    """What its conditions say against a node that no taint closes; empty when nothing does."""
    ready = _condition(node, "Ready")
    if ready is None or ready.status == "True" or why_closed(node):
        return ""
    return f"it is not ready{_told(ready)}, but has no taint that says so"


def _reasons(node: Node) -> Iterator[str]:
    if node.metadata.deletion_timestamp:
        yield "being deleted"
    if node.spec.unschedulable:
        yield "cordoned"
    for taint in sorted(node.spec.taints, key=lambda each: (each.key, each.effect)):
        if taint.effect in _EFFECTS and taint.key in CLOSING:
            yield CLOSING[taint.key] + _evidence(node, taint)


def _evidence(node: Node, taint: Taint) -> str:
    condition = _condition(node, EVIDENCE.get(taint.key, ""))
    good = "True" if condition and condition.type == "Ready" else "False"
    return _told(condition) if condition and condition.status != good else ""


def _told(condition: Condition) -> str:
    parts = [condition.reason, condition.message]
    told = ": ".join(part for part in parts if part)
    return f" ({told})" if told else ""


def _condition(node: Node, kind: str) -> Condition | None:
    return next((each for each in node.status.conditions if each.type == kind), None)
