"""One scheduler for two real API servers."""

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest
from fastapi.testclient import TestClient
from msgspec.structs import replace

from benchmarks.controlplane.flags import Options
from ganglion.extensions import load
from ganglion.model.fleet.levels import Level
from ganglion.server.cluster.readonly import make_readonly_app
from ganglion.server.cluster.source import ClusterSource
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from ganglion.worlds.kubernetes.scheduler import Scheduler
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint
from tests.controlplane.cluster import Cluster, wait
from tests.worlds.kubernetes.rbac import define_kinds

AnotherCluster = Callable[[Options], Cluster]


@contextmanager
def scheduling_both(
    endpoints: Mapping[str, ApiEndpoint], settings: Settings | None = None
) -> Iterator[Scheduler]:
    scheduler = Scheduler(endpoints, "test", may=lambda: True, load=load, settings=settings)
    scheduler.start()
    try:
        yield scheduler
        assert not scheduler.trouble
        scheduler.controller.scene.state.validate()
    finally:
        scheduler.stop()


@pytest.fixture
def west(another_cluster: AnotherCluster) -> Cluster:
    return another_cluster(Options())


def queue(name: str, **spec: object) -> dict[str, object]:
    return {
        "apiVersion": "ganglion.dev/v1alpha1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }


def test_gangs_run_in_their_own_cluster_and_one_tree_of_queues_counts_for_both(
    cluster: Cluster, west: Cluster
) -> None:
    define_kinds(cluster)
    define_kinds(west)
    cluster.create(queue("all", limit={"*": 3}))
    west.create(queue("default", parent="all"))
    for each in (cluster, west):
        each.add_nodes(2, gpus=1)
    with scheduling_both({"east": cluster.endpoint, "west": west.endpoint}) as scheduler:
        mine = cluster.add_gang("g", 2)
        cluster.wait_bound(mine)
        with scheduler.read() as controller:
            tree = controller.scene.state.fleet.tree
            assert sorted(tree.names) == [
                "east/node-0",
                "east/node-1",
                "west/node-0",
                "west/node-1",
            ]
            assert tree.node("west/node-0").domains[Level.CLUSTER] == "west"
        theirs = west.add_gang("g", 2)
        wait(lambda: "queue all" in told(west, "g-0"), "the gang of the other cluster waits")
        assert not west.bound()
        for pod in mine:
            cluster.delete(f"/api/v1/namespaces/default/pods/{pod}", grace=0)
        west.wait_bound(theirs)


def told(cluster: Cluster, pod: str) -> str:
    conditions = cluster.pods()[pod]["status"].get("conditions", ())
    return next((each["message"] for each in conditions if each.get("message")), "")


def test_a_cluster_that_cannot_be_reached_does_not_stop_the_other_and_joins_later(
    cluster: Cluster, another_cluster: AnotherCluster
) -> None:
    west = another_cluster(Options())
    for each in (cluster, west):
        each.add_nodes(1, gpus=1)
    west.plane.part("kube-apiserver").kill()
    endpoints = {"east": cluster.endpoint, "west": west.endpoint}
    with scheduling_both(endpoints, Settings(reach_ms=500)) as scheduler:
        cluster.wait_bound(cluster.add_pods(1))
        assert "cluster west is set aside" in scheduler.troubles()["west"]
        source = ClusterSource()
        source.attach(scheduler)
        with TestClient(make_readonly_app(source)) as views:
            answer = views.get("/readyz")
            assert answer.status_code == 200
            assert answer.json()["trouble"].startswith("cluster west is set aside: ")
            assert "ganglion_clusters_set_aside 1.0" in views.get("/metrics").text
        west.plane.restart("kube-apiserver")
        west.wait_bound(west.add_pods(1))
        assert "west" not in scheduler.troubles()
        assert not source.lacking()


def test_a_cluster_that_goes_down_does_not_stop_the_other(
    cluster: Cluster, another_cluster: AnotherCluster
) -> None:
    west = another_cluster(Options())
    for each in (cluster, west):
        each.add_nodes(2, gpus=1)
    with scheduling_both({"east": cluster.endpoint, "west": west.endpoint}):
        west.wait_bound(west.add_pods(1))
        west.plane.part("kube-apiserver").kill()
        cluster.wait_bound(cluster.add_pods(2))


def test_without_any_cluster_nothing_is_ready(cluster: Cluster) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    nowhere = replace(cluster.endpoint, url=f"https://127.0.0.1:{port}")
    with scheduling_both({"east": nowhere, "west": nowhere}, Settings(reach_ms=0)) as scheduler:
        wait(lambda: len(scheduler.troubles()) > 1, "troubles")
        assert not scheduler.ready.wait(1.0)
        assert not scheduler.turns
