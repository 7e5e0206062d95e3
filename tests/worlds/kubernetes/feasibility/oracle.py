"""The default scheduler as the judge of our filters."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from ganglion.worlds.kubernetes.types.pod import Pod
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.feasibility.make import REQUIRED, Json

KUBE_SCHEDULER = "kube-scheduler"


WEIGHTS = {"NodeAffinity": 2, "TaintToleration": 3, "PodTopologySpread": 2, "InterPodAffinity": 2}
"""The plugins of the default scheduler that rank nodes by what pods prefer, as it weighs them."""


@contextmanager
def judging(cluster: Cluster, *, by_preference: bool = False) -> Iterator[Cluster]:
    """Run the default scheduler; skip where there is none.

    Args:
        cluster: where.
        by_preference: whether it ranks nodes by nothing but what pods prefer.
    """
    if not cluster.plane.programs.has(KUBE_SCHEDULER):
        pytest.skip(f"{cluster.plane.programs.path} has no {KUBE_SCHEDULER}")
    flags = ["--kube-api-qps=1000", "--kube-api-burst=1000"]
    if by_preference:
        flags.append(f"--config={_configured(cluster)}")
    cluster.plane.launch(KUBE_SCHEDULER, flags)
    try:
        yield cluster
    finally:
        cluster.plane.end(KUBE_SCHEDULER)


def _configured(cluster: Cluster) -> Path:
    """A configuration without its other scores, and without its default rules on spreading."""
    enabled = [{"name": name, "weight": weight} for name, weight in WEIGHTS.items()]
    arguments = {
        "InterPodAffinity": {"hardPodAffinityWeight": 0},
        "PodTopologySpread": {"defaultingType": "List", "defaultConstraints": []},
    }
    profile = {
        "schedulerName": "default-scheduler",
        "plugins": {"score": {"disabled": [{"name": "*"}], "enabled": enabled}},
        "pluginConfig": [{"name": name, "args": args} for name, args in arguments.items()],
    }
    content = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(cluster.kubeconfig), "qps": 1000, "burst": 1000},
        "leaderElection": {"leaderElect": False},
        "profiles": [profile],
    }
    path = cluster.plane.folder / "kube-scheduler.json"
    path.write_bytes(msgspec.json.encode(content))
    return path


def copied(body: Json) -> Json:
    """The same object again."""
    made: Json = msgspec.json.decode(msgspec.json.encode(body))
    return made


def pinned(body: Json, node: str) -> Json:
    """The same pod, for one node only."""
    made = copied(body)
    affinity = made["spec"].setdefault("affinity", {}).setdefault("nodeAffinity", {})
    terms = affinity.setdefault(REQUIRED, {"nodeSelectorTerms": [{}]})["nodeSelectorTerms"]
    for each in terms:
        each["matchFields"] = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    return made


def takes(cluster: Cluster, body: Json) -> tuple[bool, Pod]:
    """Whether the default scheduler binds a pod, and the pod; it is gone afterwards."""
    node, created = chooses(cluster, body)
    return bool(node), created


def chooses(cluster: Cluster, body: Json) -> tuple[str, Pod]:
    """The node to which the default scheduler binds a pod, and the pod; it is gone afterwards."""
    created = msgspec.convert(cluster.create(body)[0], Pod)
    path = cluster.path(body)

    def answer() -> Pod | None:
        now = msgspec.convert(cluster.get(path), Pod)
        return now if now.spec.node_name or now.condition("PodScheduled") else None

    now: Pod = cluster.wait(answer, f"an answer to {body}")
    said = now.condition("PodScheduled")
    assert now.spec.node_name or (said and said.reason == "Unschedulable"), said
    cluster.delete(path, grace=0)
    return now.spec.node_name, created
