"""The scheduler against a real API server."""

from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.scheduling import scheduling, why


def test_a_pod_is_bound_to_a_node_with_a_free_gpu(cluster: Cluster) -> None:
    cluster.add_nodes(2, gpus=1)
    with scheduling(cluster):
        cluster.add_pods(2)
        found = cluster.wait_bound(["pod-0", "pod-1"])
    assert sorted(found.values()) == ["node-0", "node-1"]


def test_a_gang_starts_whole_or_not_at_all(cluster: Cluster) -> None:
    cluster.add_nodes(3, gpus=8)
    with scheduling(cluster) as scheduler:
        small, large = cluster.add_gang("small", 2, gpus=8), cluster.add_gang("large", 2, gpus=8)
        cluster.wait(lambda: len(cluster.bound()) >= 2, "one gang is bound")
        cluster.wait(lambda: _told(cluster, small) or _told(cluster, large), "the other waits")
        bound = set(cluster.bound())
        assert bound in (set(small), set(large))
        assert scheduler.turns


def _told(cluster: Cluster, names: list[str]) -> bool:
    pods = cluster.pods()
    return all(why(pods[name]) for name in names)
