"""Volumes that are made for their first consumer, on a real API server."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.controlplane.cluster import Cluster
from tests.controlplane.manifests import Object
from tests.worlds.kubernetes.scheduling import scheduling

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
NODE, DONE = "volume.kubernetes.io/selected-node", "pv.kubernetes.io/bind-completed"
PATIENCE_S = 0.02


class Provisioner:
    """Plays a storage driver: makes a volume for every claim that names a node, and binds both.

    Attributes:
        refused: nodes on which it cannot make any; it takes their name off the claim.
        held: claims that it makes no volume for, as one that is slow.
        asked: (claim, node) in the order in which it saw them.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.refused: set[str] = set()
        self.held: set[str] = set()
        self.asked: list[tuple[str, str]] = []
        self._over = threading.Event()

    def work(self) -> None:
        """Serve all claims until the end of the test."""
        while not self._over.wait(PATIENCE_S):
            for claim in self.cluster.list(CLAIMS):
                node = claim["metadata"].get("annotations", {}).get(NODE)
                if node and not claim["spec"].get("volumeName"):
                    self._make(claim, node)

    def stop(self) -> None:
        """Make no more."""
        self._over.set()

    def _make(self, claim: Object, node: str) -> None:
        name, meta = claim["metadata"]["name"], claim["metadata"]
        if (name, node) not in self.asked:
            self.asked.append((name, node))
        if name in self.held:
            return
        if node in self.refused:
            self.cluster.patch(f"{CLAIMS}/{name}", {"metadata": {"annotations": {NODE: None}}})
            return
        reference = {key: meta[key] for key in ("name", "namespace", "uid")}
        self.cluster.create(volume(f"pv-{name}", node, claimRef=reference))
        bound = {"metadata": {"annotations": {DONE: "yes"}}, "spec": {"volumeName": f"pv-{name}"}}
        self.cluster.patch(f"{CLAIMS}/{name}", bound)
        self.cluster.patch(f"{CLAIMS}/{name}/status", {"status": {"phase": "Bound"}})


@contextmanager
def provisioning(cluster: Cluster) -> Iterator[Provisioner]:
    """A storage driver with a class `lazy` at work."""
    storage_class = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "lazy"},
        "provisioner": "disks.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    cluster.create(storage_class)
    provisioner = Provisioner(cluster)
    thread = threading.Thread(target=provisioner.work)
    thread.start()
    try:
        yield provisioner
    finally:
        provisioner.stop()
        thread.join()


def volume(name: str, node: str, **spec: object) -> Object:
    term = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "lazy",
            "csi": {"driver": "disks.example.com", "volumeHandle": name},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}},
            **spec,
        },
    }


def claims(*names: str) -> Iterator[Object]:
    for name in names:
        yield {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "storageClassName": "lazy",
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }


def gang(cluster: Cluster, *names: str) -> list[str]:
    """A gang of one pod for each claim."""
    cluster.create(*claims(*names))
    found = []
    for name in names:
        notes = {"ganglion.dev/gang-size": str(len(names))}
        found += cluster.add_pods(
            1,
            prefix=name,
            labels={"ganglion.dev/gang": "g"},
            annotations=notes,
            volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": name}}],
        )
    return found


def test_every_pod_of_a_gang_is_bound_where_its_volume_was_made(cluster: Cluster) -> None:
    cluster.add_nodes(3, gpus=1)
    with provisioning(cluster) as provisioner, scheduling(cluster):
        nodes = cluster.wait_bound(gang(cluster, "a", "b", "c"))
    assert dict(provisioner.asked) == {
        name.removesuffix("-0"): node for name, node in nodes.items()
    }


def test_no_pod_is_bound_while_one_volume_is_missing(cluster: Cluster) -> None:
    cluster.add_nodes(2, gpus=1)
    with provisioning(cluster) as provisioner:
        provisioner.held.add("b")
        with scheduling(cluster):
            pods = gang(cluster, "a", "b")
            cluster.wait(lambda: len(provisioner.asked) == len(pods), "both are asked for")
            cluster.wait(lambda: phase(cluster, "a") == "Bound", "one volume is there")
            assert not cluster.bound()
        # Another scheduler takes over while the second volume is being made.
        with scheduling(cluster) as scheduler:
            cluster.wait(lambda: scheduler.turns > 1, "it decides")
            assert not cluster.bound()
            provisioner.held.clear()
            nodes = cluster.wait_bound(pods)
    assert dict(provisioner.asked) == {
        name.removesuffix("-0"): node for name, node in nodes.items()
    }


def test_a_node_without_room_for_the_volume_is_left_for_another(cluster: Cluster) -> None:
    cluster.add_nodes(2, gpus=1)
    with provisioning(cluster) as provisioner:
        provisioner.refused.add("node-0")
        with scheduling(cluster):
            nodes = cluster.wait_bound(gang(cluster, "a"))
    assert nodes == {"a-0": "node-1"}
    assert provisioner.asked[-1] == ("a", "node-1")


def phase(cluster: Cluster, claim: str) -> str:
    return str(cluster.get(f"{CLAIMS}/{claim}")["status"].get("phase"))
