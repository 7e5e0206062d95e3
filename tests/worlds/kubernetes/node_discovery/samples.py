"""Nodes as clouds and operators make them, with the labels that bear on placement."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ganglion.worlds.kubernetes.gpu_discovery.foreign import ForeignUse
from ganglion.worlds.kubernetes.node_discovery.nodes import Described, describe
from ganglion.worlds.kubernetes.requests import Ask
from ganglion.worlds.kubernetes.types.dra import ResourceSlice
from ganglion.worlds.kubernetes.types.node import Node

READY = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
CLUSTER_UUID = "9d1c6a1e-3c5c-4a4f-8f0e-6a6d2b1c7e55"


def node(
    name: str = "n",
    labels: Mapping[str, str] | None = None,
    *,
    gpus: Mapping[str, int] | None = None,
    working: Mapping[str, int] | None = None,
    cpu: str = "95500m",
    memory: str = "512Gi",
    taints: Sequence[Mapping[str, str]] = (),
    annotations: Mapping[str, str] | None = None,
    conditions: Sequence[Mapping[str, str]] = (),
    **spec: Any,
) -> Node:
    """A node; `gpus` is its capacity, `working` what of it pods may have (all, if not given)."""
    has = {name: str(count) for name, count in (gpus or {}).items()}
    works = {name: str(count) for name, count in (working or {}).items()}
    body = {
        "metadata": {"name": name, "labels": labels or {}, "annotations": annotations or {}},
        "spec": {"taints": taints, **spec},
        "status": {
            "capacity": {"cpu": "96", "memory": "600Gi", "pods": "110", **has},
            "allocatable": {"cpu": cpu, "memory": memory, "pods": "110", **has, **works},
            "conditions": conditions or READY,
        },
    }
    return msgspec.convert(body, Node)


def told(
    sample: Node,
    *,
    held: ForeignUse | None = None,
    ours: Mapping[int, str] | None = None,
    **rest: Any,
) -> Described:
    """What a node is to the model."""
    return describe(sample, held or ForeignUse(), ours or {}, {}, **rest)


def holding(gpus: int, resource: str = "nvidia.com/gpu") -> ForeignUse:
    """What one pod of another owner holds."""
    return ForeignUse(Ask(gpu_resource=resource, gpus=gpus), 1)


def types(described: Described) -> list[str]:
    """The types of a node's devices, by index."""
    return [device.type for device in described.node.devices]


def free(described: Described) -> list[int]:
    """Indexes of devices that may be given out or are in use by us."""
    return [index for index, device in enumerate(described.node.devices) if device.healthy]


def gfd(product: str, memory: int, count: int, **more: str) -> dict[str, str]:
    """Labels of NVIDIA's feature discovery."""
    return {
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": product,
        "nvidia.com/gpu.memory": str(memory),
        "nvidia.com/gpu.count": str(count),
        "nvidia.com/gpu.replicas": "1",
        "nvidia.com/gpu.sharing-strategy": "none",
        **more,
    }


def eks(name: str = "ip-10-1-2-3.ec2.internal", leaf: str = "nn-3a", spine: str = "nn-2a") -> Node:
    """A p5.48xlarge of EKS, with AWS's own labels and no feature discovery."""
    labels = {
        "kubernetes.io/hostname": name,
        "node.kubernetes.io/instance-type": "p5.48xlarge",
        "topology.kubernetes.io/region": "us-east-1",
        "topology.kubernetes.io/zone": "us-east-1a",
        "topology.k8s.aws/zone-id": "use1-az4",
        "topology.k8s.aws/network-node-layer-1": "nn-1a",
        "topology.k8s.aws/network-node-layer-2": spine,
        "topology.k8s.aws/network-node-layer-3": leaf,
        "eks.amazonaws.com/nodegroup": "h100",
    }
    return node(name, labels, gpus={"nvidia.com/gpu": 8}, providerID="aws:///us-east-1a/i-0abc")


def gke(name: str = "gke-train-a3-1", **more: str) -> Node:
    """An a3-ultragpu-8g of GKE in a dense reservation."""
    labels = {
        "cloud.google.com/gke-accelerator": "nvidia-h200-141gb",
        "cloud.google.com/gke-accelerator-count": "8",
        "cloud.google.com/gce-topology-block": "1c5ae31b9cb8",
        "cloud.google.com/gce-topology-subblock": "60c1bb0e7a5d",
        "cloud.google.com/gce-topology-host": "4b97ab7d1cc3",
        "node.kubernetes.io/instance-type": "a3-ultragpu-8g",
        "topology.kubernetes.io/region": "europe-west4",
        "topology.kubernetes.io/zone": "europe-west4-b",
        **more,
    }
    return node(name, labels, gpus={"nvidia.com/gpu": 8})


def aks(name: str = "aks-gpu-0", zone: str = "0") -> Node:
    """An ND96isr_H100_v5 of AKS outside availability zones, with the GPU operator."""
    labels = {
        "kubernetes.azure.com/agentpool": "gpu",
        "node.kubernetes.io/instance-type": "Standard_ND96isr_H100_v5",
        "topology.kubernetes.io/region": "eastus2",
        "topology.kubernetes.io/zone": zone,
        **gfd("NVIDIA-H100-80GB-HBM3", 81559, 8),
    }
    provider = "azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/vm/0"
    return node(name, labels, gpus={"nvidia.com/gpu": 8}, providerID=provider)


def oci(name: str = "10.140.71.103", local: str = "4tjxbt4s6ua") -> Node:
    """A BM.GPU.H100.8 of Oracle's OKE in a cluster network."""
    labels = {
        "node.kubernetes.io/instance-type": "BM.GPU.H100.8",
        "topology.kubernetes.io/region": "iad",
        "topology.kubernetes.io/zone": "US-ASHBURN-AD-1",
        "oci.oraclecloud.com/rdma.hpc_island_id": "af7ubvouuyq",
        "oci.oraclecloud.com/rdma.network_block_id": "7xmzl4p4wba",
        "oci.oraclecloud.com/rdma.local_block_id": local,
        "oci.oraclecloud.com/rdma.host_id": "ab3zs7y7v7q",
    }
    return node(name, labels, gpus={"nvidia.com/gpu": 8})


def coreweave(name: str = "g80b396", leafgroup: str = "12") -> Node:
    """An HGX H100 of CoreWeave."""
    labels = {
        "topology.kubernetes.io/region": "US-EAST-04",
        "node.coreweave.cloud/rack": "184",
        "backend.coreweave.cloud/flavor": "infiniband",
        "backend.coreweave.cloud/fabric": "us-east-04a-h100",
        "backend.coreweave.cloud/superpod": "3",
        "backend.coreweave.cloud/leafgroup": leafgroup,
        "ib.coreweave.cloud/leafgroup": leafgroup,
        "gpu.nvidia.com/class": "H100_NVLINK_80GB",
        "gpu.nvidia.com/model": "H100",
        "gpu.nvidia.com/count": "8",
        "gpu.nvidia.com/vram": "81",
    }
    return node(name, labels, gpus={"nvidia.com/gpu": 8}, memory="2Ti")


def bare_metal(name: str = "dgx-01", rack: str = "r1", block: str = "b1") -> Node:
    """An own DGX A100 with NFD, GFD and racks labelled by hand."""
    labels = {
        "feature.node.kubernetes.io/pci-10de.present": "true",
        "feature.node.kubernetes.io/cpu-model.vendor_id": "AMD",
        "topology.kubernetes.io/rack": rack,
        "topology.kubernetes.io/block": block,
        **gfd("NVIDIA-A100-SXM4-80GB", 81920, 8),
    }
    return node(name, labels, gpus={"nvidia.com/gpu": 8})


def gb200(index: int = 0, clique: int = 1) -> Node:
    """A compute tray of a GB200 NVL72, labelled by GFD and Topograph."""
    labels = {
        **gfd("NVIDIA-GB200", 189471, 4),
        "nvidia.com/gpu.clique": f"{CLUSTER_UUID}.{clique}",
        "fabric.topograph.run/tier-0": f"leaf-{index % 2}",
        "fabric.topograph.run/tier-1": "spine-1",
        "topology.kubernetes.io/zone": "hall-a",
    }
    return node(f"tray-{index:02}", labels, gpus={"nvidia.com/gpu": 4}, memory="860Gi")


def mig_mixed(**gpus: int) -> Node:
    """A DGX A100 of which some GPUs are cut up; `g1` and `g3` say how many slices it has."""
    names = {
        "whole": "nvidia.com/gpu",
        "g1": "nvidia.com/mig-1g.5gb",
        "g3": "nvidia.com/mig-3g.20gb",
    }
    labels = gfd("NVIDIA-A100-SXM4-40GB", 40960, 8) | {
        "nvidia.com/mig.capable": "true",
        "nvidia.com/mig.strategy": "mixed",
        "nvidia.com/mig.config.state": "success",
        "nvidia.com/mig-1g.5gb.count": str(gpus.get("g1", 0)),
        "nvidia.com/mig-1g.5gb.memory": "4864",
        "nvidia.com/mig-1g.5gb.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb",
    }
    return node("mixed", labels, gpus={names[key]: count for key, count in gpus.items()})


def resource_slice(
    name: str,
    host: str,
    devices: Sequence[Mapping[str, Any]],
    *,
    driver: str = "gpu.nvidia.com",
    generation: int = 1,
    of: int = 1,
) -> ResourceSlice:
    """A slice of the pool that is called as its node."""
    pool = {"name": host, "generation": generation, "resourceSliceCount": of}
    spec = {"driver": driver, "nodeName": host, "pool": pool, "devices": list(devices)}
    return msgspec.convert({"metadata": {"name": name}, "spec": spec}, ResourceSlice)
