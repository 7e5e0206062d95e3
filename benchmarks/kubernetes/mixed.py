"""Pods of a hundred applications with rules of their own, and the nodes they are about."""

from typing import Any

from benchmarks.kubernetes.field import pod

APPLICATIONS = 100
ZONES = 3
_ZONE, _HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
_DISK = "example.com/disk"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def mixed_labels(count: int) -> list[dict[str, str]]:
    """Labels of nodes: three zones, every other node with a fast disk."""
    return [
        {_ZONE: f"zone-{index % ZONES}", _DISK: "fast" if index % 2 else "slow"}
        for index in range(count)
    ]


def mixed_pod(name: str, scheduler: str, index: int) -> dict[str, Any]:
    """A pod of one of the applications, each of which has a CPU request of its own.

    Its application is spread over zones with `maxSkew: 1` and has no two pods on one node; one
    application in four asks for a fast disk, and every other one for a GPU.
    """
    number = index % APPLICATIONS
    labels = {"app": f"app-{number}"}
    made = pod(name, scheduler, gpus=1 - number % 2, labels=labels)
    alike = {"labelSelector": {"matchLabels": labels}}
    spread = {"maxSkew": 1, "topologyKey": _ZONE, "whenUnsatisfiable": "DoNotSchedule", **alike}
    apart = {_REQUIRED: [{"topologyKey": _HOST, **alike}]}
    spec = made["spec"]
    spec["containers"][0]["resources"]["requests"]["cpu"] = f"{100 + 10 * number}m"
    spec |= {"topologySpreadConstraints": [spread], "affinity": {"podAntiAffinity": apart}}
    if number % 4 == 1:
        spec["nodeSelector"] = {_DISK: "fast"}
    return made
