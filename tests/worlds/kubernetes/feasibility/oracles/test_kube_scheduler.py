"""The default scheduler puts pods exactly where our filters would let them go."""

from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec
import pytest

from ganglion.worlds.kubernetes.feasibility.labels import labels_of, mentioned_by
from ganglion.worlds.kubernetes.feasibility.reading import needs_of
from ganglion.worlds.kubernetes.feasibility.rule import obstacle, rule_of
from ganglion.worlds.kubernetes.feasibility.volumes import Stored, Volumes
from ganglion.worlds.kubernetes.pod_index.fleet import Fleet
from ganglion.worlds.kubernetes.pod_index.pods import PodIndex
from ganglion.worlds.kubernetes.pod_rules.barred import barred
from ganglion.worlds.kubernetes.pod_rules.gang_check import check
from ganglion.worlds.kubernetes.types.node import Node
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.types.storage import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.feasibility.dice import (
    SPACES,
    node_json,
    pod_json,
    some_node_affinity,
    some_tolerations,
)
from tests.worlds.kubernetes.feasibility.make import REQUIRED, ZONE, Json
from tests.worlds.kubernetes.feasibility.oracle import copied, judging, pinned, takes

NODES = tuple(f"n{number}" for number in range(5))
STORED: dict[str, type[Stored]] = {
    "/api/v1/persistentvolumeclaims": PersistentVolumeClaim,
    "/api/v1/persistentvolumes": PersistentVolume,
    "/apis/storage.k8s.io/v1/storageclasses": StorageClass,
    "/apis/storage.k8s.io/v1/csinodes": CSINode,
}


@pytest.fixture
def default_scheduler(cluster: Cluster) -> Iterator[Cluster]:
    """A cluster with the default scheduler and two namespaces."""
    for name, labels in SPACES.items():
        cluster.add_namespace(name, **labels)
    with judging(cluster):
        yield cluster


class Ours:
    """The cluster as our filters see it."""

    def __init__(self, cluster: Cluster) -> None:
        self.nodes = {
            each.metadata.name: each
            for each in msgspec.convert(cluster.list("/api/v1/nodes"), list[Node])
        }
        self.fleet, self.volumes = Fleet(), Volumes()
        for node in self.nodes.values():
            self.fleet.put(node)
        for path, kind in STORED.items():
            for item in cluster.list(path):
                self.volumes.put(msgspec.convert(item, kind))
        self.crowd = PodIndex(self.volumes)
        for space in cluster.list("/api/v1/namespaces"):
            meta = space["metadata"]
            self.crowd.put_namespace(meta["name"], meta["labels"])
        for pod in msgspec.convert(cluster.list("/api/v1/pods"), list[Pod]):
            self.crowd.put(pod, pod.spec.node_name)

    def open_to(self, pod: Pod) -> set[str]:
        """Nodes that the pod may use."""
        rule = rule_of(pod, self.volumes)
        words = mentioned_by([rule])
        closed = barred(needs_of(pod), self.crowd, self.fleet)
        found = {
            name
            for name, node in self.nodes.items()
            if name not in closed and not obstacle(rule, labels_of(node, words))
        }
        assert all(check([(pod, name)], self.crowd, self.fleet) is None for name in found)
        return found


def compare(cluster: Cluster, body: Json) -> list[str]:
    """Ask both about every node; the nodes that they agree to be open."""
    ours, agreed = Ours(cluster), []
    for node in NODES:
        taken, pod = takes(cluster, pinned(body, node))
        assert (node in ours.open_to(pod)) == taken, (node, body)
        agreed += [node] if taken else []
    return agreed


def settle(cluster: Cluster, body: Json, node: str) -> None:
    """Let a pod live on a node."""
    lasting = copied(body)
    lasting["spec"]["nodeName"] = node
    cluster.create(lasting)


@pytest.mark.parametrize("seed", range(3))
def test_pods_with_random_needs_may_go_where_the_default_scheduler_lets_them(
    default_scheduler: Cluster, seed: int
) -> None:
    dice = Random(seed)
    default_scheduler.create(*(node_json(dice, name) for name in NODES))
    open_, closed = 0, 0
    for number in range(20):
        body = pod_json(dice, f"p{number}", 0.25)
        if dice.random() < 0.25:
            body["spec"]["affinity"]["nodeAffinity"] = {REQUIRED: some_node_affinity(dice)}
        body["spec"]["tolerations"] = some_tolerations(dice)
        agreed = compare(default_scheduler, body)
        open_, closed = open_ + len(agreed), closed + len(NODES) - len(agreed)
        if agreed:
            settle(default_scheduler, body, dice.choice(agreed))
    assert open_ >= 10
    assert closed >= 10


def test_claims_let_pods_go_where_the_default_scheduler_lets_them(
    default_scheduler: Cluster,
) -> None:
    zones = {"n0": {ZONE: "x"}, "n1": {ZONE: "x"}, "n2": {ZONE: "y"}, "n3": {"rack": "r"}}
    default_scheduler.create(*(bare_node(name, zones.get(name, {})) for name in NODES))
    in_x = {"key": ZONE, "operator": "In", "values": ["x"]}
    stored = [
        *volume(
            "pinned", affinity={"required": {"nodeSelectorTerms": [{"matchExpressions": [in_x]}]}}
        ),
        *volume("zoned", labels={ZONE: "y__z"}),
        *volume("alone", modes=("ReadWriteOncePod",)),
        *volume("free"),
        *volume("free-too"),
        volume("lost")[0],
        claim("unbound"),
        claim("unfinished", volumeName="free"),
    ]
    default_scheduler.apply(*stored, limited("n0", 1), limited("n1", 2))
    cases: list[tuple[list[str], set[str]]] = [
        (["pinned"], {"n0", "n1"}),
        (["zoned"], {"n2", "n3", "n4"}),
        (["pinned", "zoned"], set()),
        (["free"], set(NODES)),
        (["free", "free-too"], {"n1", "n2", "n3", "n4"}),
        (["free", "free-too", "pinned"], set()),
        (["lost"], set()),
        (["unbound"], set()),
        (["unfinished"], set()),
        (["nowhere"], set()),
        (["alone"], set(NODES)),
    ]
    for names, expected in cases:
        assert set(compare(default_scheduler, mounting("new", names))) == expected
    settle(default_scheduler, mounting("old", ["alone"]), "n0")
    settle(default_scheduler, mounting("older", ["free"]), "n1")
    assert compare(default_scheduler, mounting("new", ["alone"])) == []
    assert set(compare(default_scheduler, mounting("new", ["free"]))) == {"n1", "n2", "n3", "n4"}
    assert set(compare(default_scheduler, mounting("new", ["free-too"]))) == set(NODES) - {"n0"}


def bare_node(name: str, labels: Json) -> Json:
    made = node_json(Random(0), name)
    made["metadata"]["labels"] = {"kubernetes.io/hostname": name} | labels
    made["spec"] = {}
    return made


def mounting(name: str, claims: list[str]) -> Json:
    volumes = [{"name": e, "persistentVolumeClaim": {"claimName": e}} for e in claims]
    spec = {"containers": [{"name": "main", "image": "none"}], "volumes": volumes}
    meta = {"name": name, "namespace": "ns"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def claim(name: str, modes: tuple[str, ...] = ("ReadWriteOnce",), **spec: Any) -> Json:
    asked = {"accessModes": list(modes), "resources": {"requests": {"storage": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": asked | {"storageClassName": ""} | spec,
    }


def volume(
    name: str,
    affinity: Json | None = None,
    labels: Json | None = None,
    modes: Any = ("ReadWriteOnce",),
) -> tuple[Json, Json]:
    """A claim and the volume it is bound to."""
    bound = claim(name, modes, volumeName=f"pv-{name}")
    bound["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": list(modes),
        "csi": {"driver": "disk.example.com", "volumeHandle": name},
        "claimRef": {"namespace": "ns", "name": name},
        "nodeAffinity": affinity,
    }
    meta = {"name": f"pv-{name}", "labels": labels or {}}
    made = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta, "spec": spec}
    return bound, made


def limited(node: str, count: int) -> Json:
    driver = {"name": "disk.example.com", "nodeID": node, "allocatable": {"count": count}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": node},
        "spec": {"drivers": [driver]},
    }
