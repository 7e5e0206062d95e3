"""Which pods go when a service of a cluster shrinks, on a real API server."""

from collections.abc import Sequence

import pytest

from ganglion.server.cluster.controllers.eyes import sight_of
from ganglion.worlds.kubernetes.types.pod import Pod
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.lifecycle.metered import Metered
from tests.worlds.kubernetes.lifecycle.test_services import living, ready, service, wanted
from tests.worlds.kubernetes.scheduling import scheduling, why

pytestmark = pytest.mark.usefixtures("manager", "kubelets")


def replicas(cluster: Cluster) -> dict[str, str]:
    """Names of the service's pods that are bound -> their nodes."""
    mine = set(cluster.pods("default", labelSelector="app=api"))
    return {name: node for name, node in cluster.bound().items() if name in mine}


def fill(cluster: Cluster, name: str) -> None:
    """Take the last GPU that there is."""
    cluster.create(manifests.pod(name, gpus=1))
    cluster.wait_bound([name])


def test_the_pod_goes_that_frees_the_most_useful_room(cluster: Cluster) -> None:
    (crowded,) = cluster.add_nodes(1, prefix="old", gpus=2)
    with Metered(lambda: ready(cluster)) as metered, scheduling(cluster) as scheduler:
        cluster.apply(service(metered.port, "1..2"))
        with living(cluster, scheduler):
            (first,) = cluster.wait(lambda: replicas(cluster), "the first replica")
            fill(cluster, "filler-0")
            cluster.add_nodes(1, prefix="new", gpus=2)
            fill(cluster, "filler-1")
            metered.load = 16
            both = cluster.wait(lambda: p if len(p := replicas(cluster)) == 2 else None, "another")
            assert both[first] == crowded
            cluster.wait(lambda: ready(cluster) == 2, "both to be ready")
            cluster.delete("/api/v1/namespaces/default/pods/filler-0")
            cluster.create(manifests.pod("big", gpus=2))
            cluster.wait(lambda: why(cluster.pods("default")["big"]), "the large pod to wait")
            metered.load = 2
            cluster.wait(lambda: wanted(cluster) == 1, "the service to shrink")
            assert cluster.wait_bound(["big"]) == {"big": crowded}
            assert replicas(cluster).keys() == both.keys() - {first}


def test_of_pods_that_others_have_placed_the_latest_go(cluster: Cluster) -> None:
    cluster.add_nodes(1, gpus=4)
    with scheduling(cluster) as scheduler:
        names = cluster.add_pods(3, scheduler="another", gpus=1)
        for name in names[:2]:
            cluster.bind(name, "node-0")
        sight = sight_of(scheduler, "")

        def seen() -> Sequence[Pod]:
            return sight.pods(["default"])["default"]

        placed = {names[0]: "node-0", names[1]: "node-0", names[2]: ""}
        cluster.wait(
            lambda: {each.metadata.name: each.spec.node_name for each in seen()} == placed, "pods"
        )
        pods = seen()
        uid_of = {each.metadata.name: each.metadata.uid for each in pods}
        assert list(sight.worst(pods, 1)) == [uid_of[names[2]]], "one that waits is missed least"
        assert set(sight.worst(pods, 5)) == set(uid_of.values())
