"""Rules of Kubernetes about what else runs, honoured on a real API server."""

from typing import Any

import pytest

from ganglion.worlds.kubernetes.names import GATE
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.controlplane.manifests import Object
from tests.worlds.kubernetes.feasibility.oracle import judging
from tests.worlds.kubernetes.scheduling import scheduling

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PODS = "/api/v1/namespaces/default/pods"
TINY: dict[str, Any] = {"gpus": 0, "cpu": "100m", "memory": "64Mi"}


def term(key: str, **labels: str) -> Object:
    return {REQUIRED: [{"labelSelector": {"matchLabels": labels}, "topologyKey": key}]}


def with_port(body: Object, number: int) -> Object:
    body["spec"]["containers"][0]["ports"] = [{"containerPort": number, "hostPort": number}]
    return body


def with_resource(body: Object, name: str, amount: str) -> Object:
    for kind in ("requests", "limits"):
        body["spec"]["containers"][0]["resources"][kind][name] = amount
    return body


def settled(name: str, node: str, **rest: Any) -> Object:
    """A pod of another scheduler that runs on a node."""
    return manifests.pod(name, nodeName=node, scheduler="default-scheduler", **(TINY | rest))


def gated(name: str, **rest: Any) -> Object:
    """A pod that we decide about and the default scheduler binds."""
    gates = [{"name": GATE}]
    return manifests.pod(name, scheduler="default-scheduler", schedulingGates=gates, **rest)


def said(cluster: Cluster, name: str) -> str:
    """Why a pod is not scheduled, as its condition has it."""
    conditions = cluster.get(f"{PODS}/{name}")["status"].get("conditions", ())
    found = [c.get("message", "") for c in conditions if c["type"] == "PodScheduled"]
    return found[0] if found else ""


def wait_said(cluster: Cluster, name: str, words: str) -> None:
    cluster.wait(lambda: words in said(cluster, name), f"{words!r} said of {name}")


def test_two_pods_that_want_one_port_get_a_node_each(cluster: Cluster) -> None:
    cluster.add_nodes(3, gpus=8)
    cluster.create(with_port(settled("other", "node-0"), 80))
    with scheduling(cluster):
        cluster.create(*(with_port(manifests.pod(f"p{i}"), 80) for i in range(3)))
        cluster.wait(lambda: len(_ours(cluster)) == 2, "two are bound")
        (left,) = {"p0", "p1", "p2"} - _ours(cluster).keys()
        wait_said(cluster, left, "constraint: ")
        assert sorted(_ours(cluster).values()) == ["node-1", "node-2"]
        cluster.delete(f"{PODS}/other", grace=0)
        assert cluster.wait_bound([left])[left] == "node-0"


def test_network_cards_are_counted_among_all_pods(cluster: Cluster) -> None:
    cluster.add_nodes(2, gpus=8, extra={"rdma/hca": "2"})
    cluster.create(with_resource(settled("other", "node-0"), "rdma/hca", "1"))
    with scheduling(cluster):
        alone = [manifests.pod(f"p{i}") for i in range(3)]
        cluster.create(*(with_resource(each, "rdma/hca", "1") for each in alone))
        found = cluster.wait_bound(["p0", "p1", "p2"])
        assert sorted(found.values()) == ["node-0", "node-1", "node-1"]


def test_a_gang_gets_nodes_with_enough_network_cards(cluster: Cluster) -> None:
    cluster.add_nodes(3, gpus=8, extra={"rdma/hca": "2"})
    cluster.create(with_resource(settled("other", "node-0"), "rdma/hca", "1"))
    with scheduling(cluster):
        pods = [with_resource(each, "rdma/hca", "2") for each in manifests.gang("g", 2)]
        cluster.create(*pods)
        assert set(cluster.wait_bound(["g-0", "g-1"]).values()) == {"node-1", "node-2"}


def test_holders_of_network_cards_leave_for_a_more_important_gang(cluster: Cluster) -> None:
    cluster.add_nodes(2, gpus=8, extra={"rdma/hca": "2"})
    body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": -10}
    cluster.apply(body | {"metadata": {"name": "scavenger"}})
    with scheduling(cluster):
        cluster.create(
            with_resource(manifests.pod("low", priorityClassName="scavenger"), "rdma/hca", "2")
        )
        cluster.wait_bound(["low"])
        plain = manifests.pod("plain", priorityClassName="scavenger")
        cluster.create(plain)
        cluster.wait_bound(["plain"])
        cluster.create(*(with_resource(e, "rdma/hca", "2") for e in manifests.gang("g", 2)))
        path = f"{PODS}/low"
        cluster.wait(lambda: "deletionTimestamp" in cluster.get(path)["metadata"], "eviction")
        cluster.delete(path, grace=0)
        assert set(cluster.wait_bound(["g-0", "g-1"]).values()) == {"node-0", "node-1"}
        assert "deletionTimestamp" not in cluster.get(f"{PODS}/plain")["metadata"]


def test_gangs_that_keep_apart_do_so_between_and_within(cluster: Cluster) -> None:
    cluster.add_nodes(4, gpus=8)
    rule = {"podAntiAffinity": term(HOST, app="db")}
    with scheduling(cluster):
        first = cluster.add_gang("a", 2, labels={"app": "db"}, affinity=rule)
        second = cluster.add_gang("b", 2, labels={"app": "db"}, affinity=rule)
        found = cluster.wait_bound([*first, *second])
        assert sorted(found.values()) == [f"node-{i}" for i in range(4)]


def test_pods_go_near_pods_that_run(cluster: Cluster) -> None:
    cluster.add_nodes(4, gpus=8, labels=lambda i: {ZONE: "ab"[i // 2]})
    cluster.create(settled("cache", "node-3", labels={"app": "cache"}))
    with scheduling(cluster):
        rule = {"podAffinity": term(ZONE, app="cache")}
        pods = cluster.add_gang("g", 2, gpus=8, affinity=rule)
        assert set(cluster.wait_bound(pods).values()) == {"node-2", "node-3"}


SPREAD: Object = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
}


def test_pods_are_spread_over_zones(cluster: Cluster) -> None:
    cluster.add_nodes(3, gpus=8, labels=lambda i: {ZONE: "abc"[i]})
    with scheduling(cluster):
        pods = cluster.add_pods(6, labels={"app": "web"}, topologySpreadConstraints=[SPREAD])
        found = sorted(cluster.wait_bound(pods).values())
        assert found == ["node-0", "node-0", "node-1", "node-1", "node-2", "node-2"]


def test_a_gang_that_spreads_over_zones_starts_on_idle_nodes(cluster: Cluster) -> None:
    """The rule counts pods of the gang itself, none of which runs yet."""
    cluster.add_nodes(2, gpus=4, labels=lambda i: {ZONE: "ab"[i]})
    with scheduling(cluster):
        rules = {"labels": {"app": "web"}, "topologySpreadConstraints": [SPREAD]}
        pods = cluster.add_gang("g", 4, gpus=2, **rules)
        found = sorted(cluster.wait_bound(pods).values())
        assert found == ["node-0", "node-0", "node-1", "node-1"]


def test_a_gang_has_a_zone_for_itself(cluster: Cluster) -> None:
    """The rule by which JobSets give each of their Jobs a domain of its own."""
    cluster.add_nodes(4, gpus=1, labels=lambda i: {ZONE: "ab"[i % 2]})
    with scheduling(cluster):
        for name in ("x", "y"):
            other = {"key": "job", "operator": "NotIn", "values": [name]}
            there = {"key": "job", "operator": "Exists"}
            away = {"labelSelector": {"matchExpressions": [there, other]}, "topologyKey": ZONE}
            rule = {
                "podAffinity": term(ZONE, job=name),
                "podAntiAffinity": {REQUIRED: [away]},
            }
            cluster.add_gang(name, 2, labels={"job": name}, affinity=rule)
        found = cluster.wait_bound(["x-0", "x-1", "y-0", "y-1"])
    zones = {name: int(node[-1]) % 2 for name, node in found.items()}
    assert zones["x-0"] == zones["x-1"] != zones["y-0"] == zones["y-1"]


def test_who_waits_is_kept_away_by_those_that_came_later(cluster: Cluster) -> None:
    cluster.add_nodes(2, gpus=0)
    with scheduling(cluster):
        cluster.create(manifests.pod("p", labels={"app": "web"}))
        wait_said(cluster, "p", "no node is allowed")
        rule = {"podAntiAffinity": term(HOST, app="web")}
        cluster.create(settled("guard", "node-0", affinity=rule))
        cluster.add_nodes(1, prefix="late", gpus=1)
        cluster.create(settled("late-guard", "late-0", affinity=rule))
        cluster.add_nodes(1, prefix="open", gpus=1)
        found = cluster.wait_bound(["p"])
        assert found["p"] in ("late-0", "open-0")


def test_whoever_is_kept_away_by_a_victim_alone_waits_and_evicts_nobody(cluster: Cluster) -> None:
    cluster.add_nodes(1, gpus=2)
    cluster.create(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "high"},
            "value": 1000,
        }
    )
    with scheduling(cluster) as scheduler:
        cluster.create(with_port(manifests.pod("low"), 80))
        cluster.wait_bound(["low"])
        cluster.create(with_port(manifests.pod("high", priorityClassName="high"), 80))
        wait_said(cluster, "high", "other pods block it")
        turns = scheduler.turns
        cluster.wait(lambda: scheduler.turns > turns + 5, "more turns")
        assert cluster.bound() == {"low": "node-0"}
        assert "deletionTimestamp" not in cluster.get(f"{PODS}/low")["metadata"]


def test_pods_of_one_set_with_selectors_of_their_own_start_together(cluster: Cluster) -> None:
    cluster.add_nodes(3, gpus=1, labels=lambda i: {ZONE: "abc"[i]})
    pods = manifests.gang("g", 3)
    for pod, zone in zip(pods, "cab", strict=True):
        pod["spec"]["nodeSelector"] = {ZONE: zone}
    with scheduling(cluster):
        cluster.create(*pods)
        found = cluster.wait_bound(["g-0", "g-1", "g-2"])
        assert found == {"g-0": "node-2", "g-1": "node-0", "g-2": "node-1"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"resourceClaims": [{"name": "gpu", "resourceClaimName": "x"}]},
            "by resource claim (gpu)",
        ),
        (
            {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{}]}}}},
            "no term is sound",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_on_the_pod(
    cluster: Cluster, change: Object, words: str
) -> None:
    cluster.add_nodes(1, gpus=2)
    with scheduling(cluster):
        cluster.create(manifests.pod("p", **change))
        wait_said(cluster, "p", words)
        assert not cluster.bound()


def test_a_gated_pod_with_a_claim_is_refused_and_keeps_its_gate(cluster: Cluster) -> None:
    cluster.add_nodes(1, gpus=2)
    with scheduling(cluster):
        cluster.create(gated("p", resourceClaims=[{"name": "gpu", "resourceClaimName": "x"}]))
        wait_said(cluster, "p", "by resource claim (gpu), of which only the default")
        assert cluster.get(f"{PODS}/p")["spec"]["schedulingGates"] == [{"name": GATE}]


def test_gpus_of_two_kinds_at_once_are_refused_on_the_pod(cluster: Cluster) -> None:
    cluster.add_nodes(1, gpus=2)
    with scheduling(cluster):
        cluster.create(with_resource(manifests.pod("p"), "nvidia.com/mig-1g.10gb", "1"))
        wait_said(cluster, "p", "asks for GPUs of several kinds at once")
        assert not cluster.bound()


def test_the_default_scheduler_binds_a_pod_with_our_gate_where_we_say(cluster: Cluster) -> None:
    cluster.add_nodes(3, gpus=1)
    with judging(cluster), scheduling(cluster):
        cluster.create(gated("p"))
        node = cluster.wait_bound(["p"])["p"]
        spec = cluster.get(f"{PODS}/p")["spec"]
        assert spec["nodeSelector"] == {HOST: node}
        assert not spec.get("schedulingGates")


def test_a_gang_with_our_gate_starts_whole_or_not_at_all(cluster: Cluster) -> None:
    cluster.add_nodes(2, gpus=1)
    marks = {"labels": {"ganglion.dev/gang": "g"}, "annotations": {"ganglion.dev/gang-size": "3"}}
    with judging(cluster), scheduling(cluster) as scheduler:
        cluster.create(*(gated(f"g-{i}", **marks) for i in range(3)))
        turns = scheduler.turns
        cluster.wait(lambda: scheduler.turns > turns + 5, "more turns")
        assert all(pod["spec"]["schedulingGates"] for pod in cluster.pods("default").values())
        cluster.add_nodes(1, prefix="more", gpus=1)
        found = cluster.wait_bound([f"g-{i}" for i in range(3)])
        assert sorted(found.values()) == ["more-0", "node-0", "node-1"]


def _ours(cluster: Cluster) -> dict[str, str]:
    return {name: node for name, node in cluster.bound().items() if name.startswith("p")}
