"""The whole scheduler works with the rights of the manifests."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.rbac import Right, bind_chart_role, define_kinds, without

from ganglion.extensions import load
from ganglion.worlds.kubernetes.api.config import load as endpoint_of
from ganglion.worlds.kubernetes.scheduler import Scheduler


@contextmanager
def scheduling_with(cluster: Cluster, *lacking: Right) -> Iterator[Scheduler]:
    kubeconfig = bind_chart_role(cluster, "scheduler", without(*lacking))
    scheduler = Scheduler({"": endpoint_of(kubeconfig)}, "test", may=lambda: True, load=load)
    scheduler.start()
    try:
        yield scheduler
    finally:
        scheduler.stop()


def test_gangs_of_jobs_and_of_pods_start(cluster: Cluster) -> None:
    define_kinds(cluster)
    cluster.add_nodes(2, gpus=4)
    cluster.create(
        {
            "apiVersion": "ganglion.dev/v1alpha1",
            "kind": "Queue",
            "metadata": {"name": "default"},
            "spec": {"quota": {"*": 8}},
        }
    )
    with scheduling_with(cluster) as scheduler:
        names = cluster.add_gang("train", 2, gpus=4)
        cluster.wait_bound(names)
        assert not scheduler.trouble
        assert [each for each in scheduler.troubles().values() if "forbidden" in each] == []


def test_what_it_may_not_watch_it_says(cluster: Cluster) -> None:
    define_kinds(cluster)
    gone = Right("storage.k8s.io", "volumeattachments", "list")
    with scheduling_with(cluster, gone) as scheduler:
        told = cluster.wait(lambda: "volumeattachments" in str(scheduler.troubles()), "a trouble")
        assert told
        assert not scheduler.ready.is_set()
