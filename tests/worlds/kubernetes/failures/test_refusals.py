"""Kubelets that do not admit pods, budgets that keep victims, and pods that may not be stopped."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.manifests import Object
from tests.worlds.kubernetes.troubled import QUICK, halves, overbooked, scheduling, wants

PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/apis/events.k8s.io/v1/events"
REASONS = ("OutOfcpu", "UnexpectedAdmissionError", "TopologyAffinityError")
MANY = 50
STRICT = replace(QUICK, refusals=1, quarantine_ms=4_000)
LONG = replace(STRICT, quarantine_ms=60_000)


def _refuse_on(kubelets: Kubelets, node: str, reason: str, times: int = MANY) -> None:
    def is_there(pod: Object) -> bool:
        there: bool = pod["spec"]["nodeName"] == node
        return there

    for _ in range(times):
        kubelets.refuse(reason, is_there)


def _running(cluster: Cluster) -> dict[str, str]:
    return {
        name: pod["spec"]["nodeName"]
        for name, pod in cluster.pods().items()
        if pod["status"]["phase"] == "Running"
    }


def _quarantined(cluster: Cluster) -> list[str]:
    found = (each for each in cluster.list(EVENTS) if each["reason"] == "Quarantined")
    return [each["regarding"]["name"] for each in found]


class Controller:
    """Makes the pods of a gang anew whose pods were refused, as their owner would.

    Attributes:
        made: how many were made again.
    """

    def __init__(self, cluster: Cluster, bodies: list[Object]) -> None:
        self._cluster = cluster
        self._bodies = {body["metadata"]["name"]: body for body in bodies}
        self.made = 0

    def goes_on(self, is_over: Callable[[], bool]) -> bool:
        """Do what is to be done; returns whether it is over."""
        for name, pod in self._cluster.pods().items():
            if pod["status"].get("phase") == "Failed" and name in self._bodies:
                self._cluster.delete(f"{PODS}/{name}", grace=0)
                self._cluster.create(self._bodies[name])
                self.made += 1
        return is_over()


@pytest.mark.parametrize("reason", REASONS)
def test_a_gang_leaves_a_node_that_refuses_its_pods(
    cluster: Cluster, kubelets: Kubelets, reason: str
) -> None:
    cluster.add_nodes(3, gpus=4)
    _refuse_on(kubelets, "node-0", reason)
    bodies = manifests.gang("train", 2, gpus=4)
    owner = Controller(cluster, bodies)
    with scheduling(cluster, LONG):
        cluster.create(*bodies)
        cluster.wait(
            lambda: owner.goes_on(lambda: len(_running(cluster)) == 2), "the gang to run elsewhere"
        )
        assert sorted(_running(cluster).values()) == ["node-1", "node-2"]
        cluster.wait(lambda: _quarantined(cluster) == ["node-0"], "the event")
    assert 1 <= owner.made <= 4
    assert not halves(cluster)
    assert not overbooked(cluster)


def test_the_pod_of_a_job_goes_elsewhere(
    cluster: Cluster, kubelets: Kubelets, manager: None
) -> None:
    cluster.add_nodes(2, gpus=4)
    _refuse_on(kubelets, "node-0", REASONS[0])
    with scheduling(cluster, LONG):
        cluster.create(manifests.job("train", gpus=4))
        # The Job waits for 10 s before it makes another pod.
        cluster.wait(lambda: list(_running(cluster).values()) == ["node-1"], "the Job's pod runs")
    assert len(kubelets.refused) == 1


def test_a_node_comes_back_from_quarantine(cluster: Cluster, kubelets: Kubelets) -> None:
    cluster.add_nodes(1, gpus=4)
    kubelets.refuse(REASONS[1])
    with scheduling(cluster, STRICT):
        (first,) = cluster.add_pods(1, prefix="first", gpus=4)
        cluster.wait(lambda: first in kubelets.refused, "the refusal")
        cluster.wait(lambda: _quarantined(cluster), "the event")
        (second,) = cluster.add_pods(1, prefix="second", gpus=4)
        cluster.wait(lambda: _says(cluster, second, "cordoned"), "the reason")
        cluster.wait(lambda: second in _running(cluster), "the node is used again")


def _says(cluster: Cluster, name: str, word: str) -> bool:
    conditions = cluster.pods()[name]["status"].get("conditions", ())
    return not wants(cluster.pods()[name]) and any(word in c.get("message", "") for c in conditions)
