"""No preemption takes a service of a cluster below its floor, on a real API server."""

from collections.abc import Sequence

import pytest

from ganglion.engine.gangs.record import SETTLED
from ganglion.worlds.kubernetes.cluster_view.orders import Order
from ganglion.worlds.kubernetes.controller import ClusterController
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.manifests import Object
from tests.worlds.kubernetes.scheduling import scheduling, why
from tests.worlds.kubernetes.workloads import deployment

PODS = "/api/v1/namespaces/default/pods"
FLOOR = 2
SHORT = {"ganglion.dev/expected": "1m"}
"""Goes before all others of its priority that are at least as large."""

pytestmark = pytest.mark.usefixtures("manager")


def service(replicas: int) -> Object:
    notes = {"ganglion.dev/floor": str(FLOOR)}
    labels = {"ganglion.dev/kind": "service"}
    return deployment("api", replicas, notes, 1, labels=labels)


def serving(cluster: Cluster) -> int:
    """How many replicas are bound and are not told to go."""
    pods = cluster.pods("default", labelSelector="app=api").values()
    bound = [each for each in pods if "nodeName" in each["spec"]]
    return sum("deletionTimestamp" not in each["metadata"] for each in bound)


def urgent(name: str) -> Object:
    return manifests.pod(name, gpus=2, annotations={"ganglion.dev/priority": "90"})


class Fewest:
    """The fewest replicas that started or ran after any turn, once all of them did."""

    def __init__(self, all_of_them: int) -> None:
        self._all = all_of_them
        self.found = 0

    def __call__(
        self, controller: ClusterController, _orders: Sequence[Order], _seconds: float
    ) -> None:
        records = controller.scene.state.gangs.records.values()
        mine = [each for each in records if each.gang.floor and each.phase in SETTLED]
        if len(mine) == self._all:
            self.found = self.found or self._all
        self.found = min(self.found, len(mine))


def test_what_is_above_the_floor_goes_for_the_urgent_and_no_more(
    cluster: Cluster, kubelets: Kubelets
) -> None:
    cluster.add_nodes(2, gpus=2)
    fewest = Fewest(4)
    with scheduling(cluster, turned=fewest):
        cluster.apply(service(4))
        cluster.wait(lambda: serving(cluster) == 4, "four replicas")
        cluster.create(urgent("first"))
        cluster.wait_bound(["first"])
        cluster.create(urgent("second"))
        cluster.wait(lambda: why(cluster.pods("default")["second"]), "the second to wait")
        assert serving(cluster) == FLOOR
        assert fewest.found == FLOOR
        cluster.patch("/apis/apps/v1/namespaces/default/deployments/api", {"spec": {"replicas": 0}})
        cluster.wait_bound(["second"])


def test_a_service_that_lost_its_nodes_comes_back_before_others_that_wait(
    cluster: Cluster, kubelets: Kubelets
) -> None:
    lost = cluster.add_nodes(2, prefix="lost", gpus=1)
    with scheduling(cluster):
        cluster.create(manifests.pod("patient", gpus=2, annotations=SHORT))
        cluster.wait(lambda: why(cluster.pods("default")["patient"]), "another to wait")
        cluster.apply(service(2))
        cluster.wait(lambda: serving(cluster) == 2, "two replicas")
        old = set(cluster.bound())
        for node in lost:
            kubelets.vanish(node)
            cluster.delete(f"/api/v1/nodes/{node}")
        for name in old:
            cluster.delete(f"{PODS}/{name}", grace=0)
        new = cluster.wait(
            lambda: p if len(p := cluster.pods("default").keys() - old) == 3 else None, "new pods"
        )
        (fresh,) = cluster.add_nodes(1, prefix="fresh", gpus=2)
        bound = cluster.wait_bound(new - {"patient"})
        assert bound == dict.fromkeys(new - {"patient"}, fresh)
        assert "patient" not in cluster.bound()
