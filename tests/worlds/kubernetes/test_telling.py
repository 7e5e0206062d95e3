"""Pods that wait get their reason immediately, whatever happened before."""

from tests import effort
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.scheduling import scheduling, why

MANY, LIMIT_S = (2_000, 1.0) if effort.TIMES > 1 else (500, 5.0)
"""By day other tests use the same cores: told in vain, 500 pods took longer than that."""


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
