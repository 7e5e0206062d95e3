"""The default scheduler as the judge of our filters."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.filters.make import REQUIRED, Json

from ganglion.worlds.kubernetes.objects.pod import Pod

KUBE_SCHEDULER = "kube-scheduler"


@contextmanager
def judging(cluster: Cluster) -> Iterator[Cluster]:
    """Run the default scheduler; skip where there is none."""
    if not cluster.plane.programs.has(KUBE_SCHEDULER):
        pytest.skip(f"{cluster.plane.programs.path} has no {KUBE_SCHEDULER}")
    cluster.plane.launch(KUBE_SCHEDULER, ("--kube-api-qps=1000", "--kube-api-burst=1000"))
    try:
        yield cluster
    finally:
        cluster.plane.end(KUBE_SCHEDULER)


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
    created = msgspec.convert(cluster.create(body)[0], Pod)
    path = cluster.path(body)

    def answer() -> Pod | None:
        now = msgspec.convert(cluster.get(path), Pod)
        return now if now.spec.node_name or now.condition("PodScheduled") else None

    now: Pod = cluster.wait(answer, f"an answer to {body}")
    said = now.condition("PodScheduled")
    assert now.spec.node_name or (said and said.reason == "Unschedulable"), said
    cluster.delete(path, grace=0)
    return bool(now.spec.node_name), created
