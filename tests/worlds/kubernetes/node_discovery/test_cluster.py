"""Nodes, pods and slices of a real API server, described as they are there."""

from collections.abc import Mapping

import msgspec

from ganglion.model.fleet.levels import Level
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.gpu_discovery.dra import Published, published
from ganglion.worlds.kubernetes.gpu_discovery.foreign import held_of
from ganglion.worlds.kubernetes.node_discovery.nesting import check_levels
from ganglion.worlds.kubernetes.node_discovery.nodes import Described, describe
from ganglion.worlds.kubernetes.requests import ask_of
from ganglion.worlds.kubernetes.types.dra import ResourceSlice
from ganglion.worlds.kubernetes.types.node import Node
from ganglion.worlds.kubernetes.types.pod import Pod
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.node_discovery.samples import (
    bare_metal,
    eks,
    free,
    gb200,
    mig_mixed,
    types,
)

GPU = "nvidia.com/gpu"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"


def add(cluster: Cluster, *samples: Node) -> None:
    """Create nodes and tell their status, as kubelets do."""
    for sample in samples:
        body = {"apiVersion": "v1", "kind": "Node", **msgspec.to_builtins(sample)}
        body["metadata"] = {"name": sample.metadata.name, "labels": sample.metadata.labels}
        cluster.create(body)


def described(
    cluster: Cluster, ours: Mapping[str, Mapping[int, str]] | None = None
) -> dict[str, Described]:
    """Every node there is, less what pods of other schedulers hold."""
    pods = msgspec.convert(list(cluster.pods().values()), list[Pod])
    devices = _published(cluster)
    return {
        name: describe(
            msgspec.convert(body, Node),
            held_of(
                ask_of(pod)
                for pod in pods
                if pod.spec.node_name == name
                and pod.spec.scheduler_name != names.SCHEDULER
                and not pod.is_over
            ),
            (ours or {}).get(name, {}),
            {},
            published=devices,
        )
        for name, body in cluster.nodes().items()
    }


def _published(cluster: Cluster) -> Published:
    return published(msgspec.convert(cluster.list(SLICES), list[ResourceSlice]))


def test_nodes_are_described_as_the_server_has_them(cluster: Cluster) -> None:
    add(cluster, eks("aws"), mig_mixed(whole=2, g1=7), gb200())
    found = described(cluster)
    assert types(found["aws"]) == ["H100"] * 8
    assert types(found["mixed"]) == ["A100"] * 2 + ["A100-MIG-1G.5GB"] * 7
    assert found["aws"].node.domains[Level.RACK] == "nn-3a"
    assert Level.NVLINK in found["tray-00"].node.domains
    assert found["aws"].node.cpu_milli == 95_500


def test_pods_of_other_schedulers_take_from_a_node_until_they_are_over(cluster: Cluster) -> None:
    cluster.add_nodes(1, gpus=8)
    cluster.create(
        manifests.pod("other", gpus=3, cpu="2", scheduler="default-scheduler", nodeName="node-0"),
        manifests.pod("mine", gpus=2, nodeName="node-0"),
    )
    found = described(cluster, {"node-0": {6: GPU, 7: GPU}})["node-0"]
    assert free(found) == [0, 1, 2, 6, 7]
    assert found.node.cpu_milli == 62_000
    assert found.node.max_pods == 109
    cluster.set_phase("other", "Succeeded")
    found = described(cluster, {"node-0": {6: GPU, 7: GPU}})["node-0"]
    assert free(found) == list(range(8))
    assert found.node.cpu_milli == 64_000


def test_a_gpu_that_dies_is_seen_in_what_pods_may_have(cluster: Cluster) -> None:
    cluster.add_nodes(1, gpus=8)
    status = {"status": {"allocatable": {GPU: "7"}}}
    cluster.patch("/api/v1/nodes/node-0/status", status)
    assert free(described(cluster)["node-0"]) == list(range(7))
    full = {"node-0": dict.fromkeys(range(8), GPU)}
    assert described(cluster, full)["node-0"].deficit.gpus == ((GPU, 1),)


def test_cordoning_closes_a_node(cluster: Cluster) -> None:
    cluster.add_nodes(2)
    cluster.patch("/api/v1/nodes/node-1", {"spec": {"unschedulable": True}})
    found = described(cluster)
    assert found["node-0"].node.cordoned == ""
    assert found["node-1"].node.cordoned == "cordoned"


def test_racks_that_were_moved_by_half_are_found(cluster: Cluster) -> None:
    add(cluster, bare_metal("a", "r1", "b1"), bare_metal("b", "r1", "b2"), bare_metal("c", "r2"))
    nodes = [each.node for each in described(cluster).values()]
    found = check_levels(nodes)
    assert len(found.troubles) == 1
    assert found.dropped.keys() == {"a", "b"}


def test_slices_of_drivers_are_read(cluster: Cluster) -> None:
    cluster.add_nodes(1, gpus=0)
    pool = {"name": "node-0", "generation": 1, "resourceSliceCount": 1}
    attributes = {"productName": {"string": "NVIDIA H100"}, "index": {"int": 0}}
    spec = {
        "driver": "gpu.nvidia.com",
        "nodeName": "node-0",
        "pool": pool,
        "devices": [{"name": "gpu-0", "attributes": attributes}],
    }
    version, meta = "resource.k8s.io/v1", {"name": "node-0-gpus"}
    body = {"apiVersion": version, "kind": "ResourceSlice", "metadata": meta, "spec": spec}
    cluster.create(body)
    try:
        assert _published(cluster).attributes["node-0"]["gpu.nvidia.com/index"] == "0"
        assert "offers 1 devices" in described(cluster)["node-0"].troubles[0]
    finally:
        cluster.delete(f"{SLICES}/node-0-gpus")
