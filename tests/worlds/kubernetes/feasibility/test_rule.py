"""Rules and what stands in their way."""

import msgspec

from ganglion.worlds.kubernetes.feasibility.labels import all_labels_of, labels_of, mentioned_by
from ganglion.worlds.kubernetes.feasibility.rule import (
    BARRED,
    PodRule,
    obstacle,
    passes,
    rule_of,
    shared,
    with_bars,
)
from ganglion.worlds.kubernetes.feasibility.volumes import Volumes
from ganglion.worlds.kubernetes.types.node import Node
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.types.storage import PersistentVolumeClaim, StorageClass
from tests.worlds.kubernetes.feasibility.make import node, on_nodes, pod, wants


def why_not(of: Pod, where: Node) -> str:
    return obstacle(rule_of(of, Volumes()), all_labels_of(where))


def test_a_plain_pod_may_use_a_plain_node() -> None:
    assert why_not(pod(), node()) == ""


def test_what_is_missing_is_told() -> None:
    assert why_not(pod(nodeSelector={"gpu": "h100"}), node()) == "wanted: gpu is h100"
    nowhere = on_nodes({"matchExpressions": [wants("size", "Gt", "few")]})
    assert why_not(pod(affinity=nowhere), node()) == "its node affinity fits no node at all"


def test_taints_are_told_by_name() -> None:
    tainted = node(taints=[("a/b", "x", "NoSchedule")])
    assert why_not(pod(), tainted) == "taint a/b:NoSchedule is not tolerated"
    assert why_not(pod(tolerations=[{"key": "a/b", "value": "x"}]), tainted) == ""
    assert why_not(pod(tolerations=[{"key": "a/b", "value": "y"}]), tainted)


def test_claims_that_cannot_be_used_close_every_node() -> None:
    lost = pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])
    assert why_not(lost, node()) == "claim ns/data does not exist"


def test_claims_that_wait_for_their_first_consumer_keep_no_pod_from_starting() -> None:
    volumes = Volumes()
    waits = {"provisioner": "d", "volumeBindingMode": "WaitForFirstConsumer"}
    volumes.put(msgspec.convert({"metadata": {"name": "slow"}} | waits, StorageClass))
    meta, spec = {"name": "data", "namespace": "ns"}, {"storageClassName": "slow"}
    volumes.put(msgspec.convert({"metadata": meta, "spec": spec}, PersistentVolumeClaim))
    mounts = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    ours, gated = (
        rule_of(pod(volumes=mounts, schedulerName=name), volumes)
        for name in ("ganglion", "default-scheduler")
    )
    assert ours == gated
    assert ours.impossible == ""


def test_bars_close_the_nodes_that_are_in_the_set() -> None:
    rule = with_bars(PodRule(), ["b", "a", "b"])
    assert rule.bars == ("a", "b")
    words = mentioned_by([rule])
    assert obstacle(rule, labels_of(node(), words, frozenset(("a", "c"))))
    assert not obstacle(rule, labels_of(node(), words, frozenset("c")))


def test_pods_of_one_kind_have_one_rule() -> None:
    def made(seconds: int, name: str) -> PodRule:
        gone = {"key": "x", "operator": "Exists", "effect": "NoExecute"}
        tolerations = [gone | {"tolerationSeconds": seconds}]
        labels = {"index": name}
        return rule_of(
            pod(name, labels=labels, tolerations=tolerations, nodeSelector={"a": "1", "b": "2"}),
            Volumes(),
        )

    assert made(30, "p1") == made(300, "p2")
    assert hash(made(30, "p1")) == hash(made(300, "p2"))


def test_labels_are_what_a_node_is_and_everything_else_may_pass() -> None:
    picky = rule_of(pod(nodeSelector={"gpu": "h100"}), Volumes())
    right = all_labels_of(node(labels={"gpu": "h100"}))
    tainted = all_labels_of(node(labels={"gpu": "h100"}, taints=[("a", "", "NoSchedule")]))
    assert not passes(picky, right)
    assert passes(picky, tainted)
    assert passes(with_bars(picky, ["x"]), right | {BARRED + "x": "true"})
    assert not passes(picky, all_labels_of(node()))
    assert not passes(picky, all_labels_of(node(taints=[("a", "", "NoSchedule")])))


def test_what_only_volumes_demand_may_pass() -> None:
    lost = rule_of(
        pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]), Volumes()
    )
    assert passes(lost, all_labels_of(node()))
    clause = rule_of(pod(nodeSelector={"zone": "a"}), Volumes()).clauses
    assert passes(PodRule(clause, pins=clause), all_labels_of(node()))
    assert not passes(PodRule(clause), all_labels_of(node()))


def test_the_rule_of_several_pods_suits_each_of_them() -> None:
    both = [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}]
    one = rule_of(pod(nodeSelector={"gpu": "h100"}, tolerations=both), Volumes())
    other = rule_of(pod(nodeSelector={"zone": "a"}, tolerations=both[:1]), Volumes())
    rule = shared([one, other])
    assert not obstacle(rule, {"gpu": "h100", "zone": "a", "taint:NoSchedule:a": "*"})
    assert obstacle(rule, {"gpu": "h100", "zone": "a", "taint:NoSchedule:b": "*"})
    assert obstacle(rule, {"gpu": "h100"})
    assert obstacle(rule, {"zone": "a"})
    assert shared([one, one]) == one
