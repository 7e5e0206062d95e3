"""Rules of Kubernetes that no other page of tests is about, with the whole scheduler at work."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import permutations

import yaml
from tools.manifests import ROOT

from ganglion.extensions import load
from ganglion.worlds.kubernetes.cluster_view.orders import Bind
from ganglion.worlds.kubernetes.scheduler import Scheduler
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.controlplane.manifests import Object
from tests.worlds.kubernetes.controller.stage import Stage

PODS = "/api/v1/namespaces/default/pods"


@contextmanager
def scheduling(cluster: Cluster) -> Iterator[Scheduler]:
    scheduler = Scheduler({"": cluster.endpoint}, "test", may=lambda: True, load=load)
    scheduler.start()
    try:
        yield scheduler
        assert not scheduler.trouble
    finally:
        scheduler.stop()


def add_class(cluster: Cluster, name: str, value: int, policy: str = "PreemptLowerPriority") -> str:
    """A priority class of a value; its name."""
    cluster.apply(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "preemptionPolicy": policy,
        }
    )
    return name


def pod(cluster: Cluster, name: str) -> Object:
    return cluster.get(f"{PODS}/{name}")


def message(cluster: Cluster, name: str) -> str:
    """Why a pod waits; empty = no reason given."""
    conditions = pod(cluster, name)["status"].get("conditions", ())
    return next((c["message"] for c in conditions if c.get("reason") == "Unschedulable"), "")


def test_lower_priorities_yield_even_negative_ones(cluster: Cluster) -> None:
    cluster.add_nodes(1, gpus=1)
    low = add_class(cluster, "scavenger", -10)
    with scheduling(cluster):
        cluster.wait_bound(cluster.add_pods(1, prefix="low", priorityClassName=low))
        cluster.add_pods(1, prefix="plain")
        cluster.wait(lambda: "deletionTimestamp" in pod(cluster, "low-0")["metadata"], "eviction")
        victim = next(
            c for c in pod(cluster, "low-0")["status"]["conditions"] if "Disruption" in c["type"]
        )
        assert victim["status"] == "True"
        assert pod(cluster, "plain-0")["status"]["nominatedNodeName"] == "node-0"


def test_whoever_says_so_stops_nobody(cluster: Cluster) -> None:
    cluster.add_nodes(1, gpus=1)
    low, polite = add_class(cluster, "scavenger", -10), add_class(cluster, "polite", 1000, "Never")
    with scheduling(cluster):
        cluster.wait_bound(cluster.add_pods(1, prefix="low", priorityClassName=low))
        cluster.add_pods(1, prefix="waits", priorityClassName=polite)
        cluster.wait(lambda: message(cluster, "waits-0"), "the reason")
        assert "deletionTimestamp" not in pod(cluster, "low-0")["metadata"]
        cluster.delete(f"{PODS}/low-0", grace=0)
        cluster.wait_bound(["waits-0"])


def test_what_is_critical_for_the_system_is_no_victim(cluster: Cluster) -> None:
    cluster.add_nodes(1, gpus=1)
    critical = {"namespace": "kube-system", "priorityClassName": "system-cluster-critical"}
    cluster.wait(lambda: cluster.find("/api/v1/namespaces/kube-system"), "its namespace")
    node = {"priorityClassName": "system-node-critical", "namespace": "kube-system"}
    with scheduling(cluster):
        cluster.create(manifests.pod("dns", **critical))
        cluster.wait_bound(["dns"], "kube-system")
        cluster.create(manifests.pod("more", **node))
        above = "/api/v1/namespaces/kube-system/pods"
        cluster.wait(
            lambda: cluster.get(f"{above}/more")["status"].get("conditions"), "the reason to wait"
        )
        assert "deletionTimestamp" not in cluster.get(f"{above}/dns")["metadata"]
        cluster.delete(f"{above}/dns", grace=0)
        cluster.wait_bound(["more"], "kube-system")
        cluster.delete(f"{above}/more", grace=0)


def test_a_pod_that_is_leaving_still_holds_its_gpu(cluster: Cluster) -> None:
    cluster.add_nodes(1, gpus=1)
    with scheduling(cluster) as scheduler:
        cluster.wait_bound(cluster.add_pods(1, prefix="old"))
        cluster.set_phase("old-0", "Running")
        cluster.delete(f"{PODS}/old-0", grace=300)
        cluster.add_pods(1, prefix="new")
        cluster.wait(lambda: message(cluster, "new-0"), "the reason to wait")
        turns = scheduler.turns
        cluster.wait(lambda: scheduler.turns > turns + 3, "more turns")
        assert "nodeName" not in pod(cluster, "new-0")["spec"]
        cluster.delete(f"{PODS}/old-0", grace=0)
        cluster.wait_bound(["new-0"])


def test_a_pod_that_is_over_holds_nothing(cluster: Cluster) -> None:
    cluster.add_nodes(1, gpus=1)
    with scheduling(cluster):
        cluster.wait_bound(cluster.add_pods(1, prefix="old"))
        cluster.set_phase("old-0", "Succeeded")
        cluster.wait_bound(cluster.add_pods(1, prefix="new"))


def test_what_we_have_bound_counts_before_it_is_seen_bound() -> None:
    stage = Stage()
    stage.show(manifests.node("n", gpus=1), manifests.pod("a"), manifests.pod("b"))
    stage.turn()
    assert bound(stage) == ["a"]
    stage.turn()
    stage.turn()
    assert bound(stage) == [], "no watch has shown the binding, and its place is taken all the same"


def test_ties_do_not_depend_on_who_was_seen_first() -> None:
    winners = set()
    for order in permutations("abc"):
        stage = Stage()
        stage.show(manifests.node("n", gpus=1))
        for name in order:
            body = manifests.pod(name)
            body["metadata"]["creationTimestamp"] = "2026-11-22T10:00:00Z"
            stage.show(body)
        stage.turn()
        winners.add(tuple(bound(stage)))
    assert len(winners) == 1


def bound(stage: Stage) -> list[str]:
    return [each.pod.name for order in stage.ordered(Bind) for each in order.pods]


def test_a_namespace_that_is_being_deleted_stops_nobody_else(cluster: Cluster) -> None:
    cluster.add_nodes(1, gpus=2)
    with scheduling(cluster):
        # Without a controller the namespace stays as it is, half gone.
        cluster.add_namespace("leaving")
        cluster.create(manifests.pod("last", namespace="leaving", gpus=4))
        cluster.delete("/api/v1/namespaces/leaving")
        cluster.wait_bound(cluster.add_pods(1, prefix="fine"))


def test_nothing_of_ours_stands_in_the_way_of_other_requests() -> None:
    objects = [
        each
        for name in ("crds.yaml", "ganglion.yaml")
        for each in yaml.safe_load_all((ROOT / "deploy" / name).read_text("utf-8"))
        if each
    ]
    kinds = {each["kind"] for each in objects}
    assert "CustomResourceDefinition" in kinds
    assert not {each for each in kinds if "Webhook" in each or each == "APIService"}
    conversions = [each["spec"].get("conversion") for each in objects if "Custom" in each["kind"]]
    assert conversions == [None, None]
