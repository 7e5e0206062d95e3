"""Pods that wait get their reason immediately, whatever happened before."""

from tests import effort
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.scheduling import scheduling, why

MANY, LIMIT_S = (2_000, 1.0) if effort.TIMES > 1 else (500, 5.0)
"""By day other tests use the same cores: told in vain, 500 pods took longer than that."""

BOUND, WAITING, ALL_S = (1_920, 1_280, 2.0) if effort.TIMES > 1 else (200, 200, 5.0)


def test_after_many_were_bound_one_that_waits_is_told_at_once(cluster: Cluster) -> None:
    pods = cluster.add_pods(MANY, gpus=1, cpu="10m", memory="1Mi")
    with scheduling(cluster):
        # All of them wait, and are queued for their reasons, when room for them appears.
        cluster.wait(lambda: any(why(each) for each in cluster.pods().values()), "the first word")
        cluster.add_nodes(MANY // 100, gpus=100, pods=200)
        cluster.wait_bound(pods)
        cluster.create(manifests.pod("late", gpus=8))
        path = "/api/v1/namespaces/default/pods/late"
        cluster.wait(lambda: why(cluster.get(path)), "why it waits", limit_s=LIMIT_S)


def test_after_many_were_bound_all_that_wait_are_told_within_seconds(cluster: Cluster) -> None:
    cluster.add_nodes(BOUND // 8, gpus=8, pods=20)
    with scheduling(cluster):
        names = cluster.add_pods(BOUND + WAITING, gpus=1, cpu="10m", memory="1Mi")
        cluster.wait(lambda: len(cluster.bound()) == BOUND, f"{BOUND} bound pods", limit_s=60)
        left = set(names) - cluster.bound().keys()
        assert len(left) == WAITING

        def told() -> bool:
            pods = cluster.pods()
            return all(why(pods[name]) for name in left)

        cluster.wait(told, f"{WAITING} reasons", limit_s=ALL_S)
