"""What one tenant can do to another, tried on a real API server with the rights of the chart."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.controlplane.kubelet import Kubelets
from tests.worlds.kubernetes.rbac import define_kinds
from tests.worlds.kubernetes.scheduling import scheduling, why

QUEUE = "ganglion.dev/queue"


@pytest.fixture(autouse=True)
def teams(cluster: Cluster) -> Iterator[None]:
    """Two teams with a namespace and a queue each."""
    define_kinds(cluster)
    for team in ("red", "blue"):
        cluster.add_namespace(team, team=team)
        selector = {"matchLabels": {"team": team}}
        add_queue(cluster, team, quota={"*": 1}, namespaces={"selector": selector})
    yield


def add_queue(cluster: Cluster, name: str, **spec: Any) -> None:
    version, meta = "ganglion.dev/v1alpha1", {"name": name}
    cluster.apply({"apiVersion": version, "kind": "Queue", "metadata": meta, "spec": spec})


def submit(cluster: Cluster, name: str, team: str, queue: str, **notes: str) -> None:
    cluster.create(
        manifests.pod(
            name,
            namespace=team,
            labels={QUEUE: queue} if queue else {},
            annotations={f"ganglion.dev/{key}": text for key, text in notes.items()},
        )
    )


def told(cluster: Cluster, name: str, text: str) -> None:
    cluster.wait(lambda: text in why(cluster.pods()[name]), f"{name} told {text!r}")


def test_nobody_evicts_the_work_of_another_team_by_what_a_pod_claims(
    cluster: Cluster, kubelets: Kubelets
) -> None:
    """The queue of others, the highest priority, and that it may not be stopped."""
    cluster.add_nodes(1, gpus=1)
    submit(cluster, "work", "red", "red")
    with scheduling(cluster):
        cluster.wait_bound(["work"], "red")
        submit(cluster, "thief", "blue", "red", priority="100", preemptible="false")
        told(cluster, "thief", "queue red takes no pods of namespace blue: see its namespaces")
        # Its own queue and everything else that it may claim do not help either.
        submit(cluster, "bold", "blue", "blue", priority="100")
        told(cluster, "bold", "only a PriorityClass gives priority there")
        submit(cluster, "guest", "blue", "", preemptible="false")
        told(cluster, "guest", "queue default has no quota of GPUs")
        assert cluster.bound("red") == {"work": "node-0"}
        assert "deletionTimestamp" not in cluster.pods("red")["work"]["metadata"]


def test_a_namespace_has_a_queue_and_gets_another(
    cluster: Cluster, kubelets: Kubelets, quick_figures: None
) -> None:
    cluster.add_nodes(1, gpus=4)
    cluster.patch("/api/v1/namespaces/red", {"metadata": {"labels": {QUEUE: "blue"}}})
    with scheduling(cluster):
        submit(cluster, "p", "red", "")
        told(cluster, "p", "queue blue takes no pods of namespace red")
        cluster.patch("/api/v1/namespaces/red", {"metadata": {"labels": {QUEUE: "red"}}})
        cluster.wait_bound(["p"], "red")
        cluster.wait(
            lambda: (
                cluster.get("/apis/ganglion.dev/v1alpha1/queues/red")
                .get("status", {})
                .get("running")
            ),
            "the pod to be charged to the queue of its namespace",
        )


def test_the_first_queue_stops_no_pod_that_names_none(cluster: Cluster, kubelets: Kubelets) -> None:
    cluster.add_nodes(1, gpus=4)
    with scheduling(cluster):
        submit(cluster, "p", "red", "")
        cluster.wait_bound(["p"], "red")
