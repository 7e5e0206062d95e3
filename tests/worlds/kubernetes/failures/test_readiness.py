"""A gang that never becomes ready gives its GPUs back, on a real API server."""

from typing import Any

from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.controlplane.kubelet import Kubelets
from tests.worlds.kubernetes.scheduling import scheduling

EVENTS = "/apis/events.k8s.io/v1/events"
NOTES = {"ganglion.dev/ready-within": "2s", "test/stuck": "ImagePullBackOff"}


def not_ready(cluster: Cluster) -> list[dict[str, Any]]:
    """Events that say so; they are written by themselves, after what is bound meanwhile."""
    return [each for each in cluster.list(EVENTS) if each["reason"] == "NotReady"]


def test_others_get_the_gpus_and_the_reason_names_the_container(
    cluster: Cluster, kubelets: Kubelets, manager: None
) -> None:
    cluster.add_nodes(2, gpus=8)
    with scheduling(cluster):
        cluster.create(manifests.job("stuck", count=2, gpus=8, annotations=NOTES))
        cluster.wait(lambda: len(cluster.bound()) == 2, "the stuck gang is bound")
        good = cluster.add_gang("good", 2, gpus=8)
        cluster.wait_bound(good)
        found = cluster.wait(lambda: not_ready(cluster), "the event is written")
        (event,) = found
        assert event["regarding"]["kind"] == "Job"
        assert "container main" in event["note"]
        assert "ImagePullBackOff" in event["note"]
