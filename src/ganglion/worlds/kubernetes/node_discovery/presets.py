"""Labels that say in which domain a node lies, without configuration."""

from collections.abc import Mapping

from msgspec import Struct

from ganglion.model.fleet.levels import Level


class Fabric(Struct, frozen=True):
    """The labels by which one source describes the network that joins nodes.

    Of three tiers of switches the two nearest to the nodes are used.

    Attributes:
        source: the program that writes them.
        rack: the nearest tier.
        block: the tier above; empty where there is none.
        scope: label within whose value the others count, where they are mere numbers.
    """

    source: str
    rack: str
    block: str = ""
    scope: str = ""


FABRICS: tuple[Fabric, ...] = (
    Fabric("Topograph from 1.0", "fabric.topograph.run/tier-0", "fabric.topograph.run/tier-1"),
    Fabric(
        "Topograph 0.3 to 0.5",
        "network.topology.nvidia.com/leaf",
        "network.topology.nvidia.com/spine",
    ),
    Fabric(
        "Topograph before 0.3",
        "network.topology.nvidia.com/block",
        "network.topology.nvidia.com/spine",
    ),
    Fabric(
        "AWS",
        "topology.k8s.aws/network-node-layer-3",
        "topology.k8s.aws/network-node-layer-2",
    ),
    Fabric(
        "Google Cloud",
        "cloud.google.com/gce-topology-subblock",
        "cloud.google.com/gce-topology-block",
    ),
    Fabric("Google Cloud, DRANET", "gce.dra.net/subBlock", "gce.dra.net/block"),
    Fabric(
        "Oracle Cloud",
        "oci.oraclecloud.com/rdma.local_block_id",
        "oci.oraclecloud.com/rdma.network_block_id",
    ),
    Fabric(
        "Oracle Cloud, older",
        "oci.oraclecloud.com/host.rack_id",
        "oci.oraclecloud.com/host.network_block_id",
    ),
    Fabric(
        "CoreWeave",
        "backend.coreweave.cloud/leafgroup",
        "backend.coreweave.cloud/superpod",
        "backend.coreweave.cloud/fabric",
    ),
    Fabric(
        "CoreWeave, older",
        "ib.coreweave.cloud/leafgroup",
        "ib.coreweave.cloud/superpod",
        "ib.coreweave.cloud/fabric",
    ),
    Fabric("Crusoe", "crusoe.ai/pod.id", "crusoe.ai/ib.partition.id"),
    Fabric("Kueue", "cloud.provider.com/topology-rack", "cloud.provider.com/topology-block"),
    Fabric("by hand", "topology.kubernetes.io/rack", "topology.kubernetes.io/block"),
    Fabric("CoreWeave without InfiniBand", "node.coreweave.cloud/rack"),
)
"""In order of trust. The first that a node has any label of describes it; they are not mixed, as
the tiers of one source need not nest in those of another."""

PLACES: Mapping[Level, tuple[str, ...]] = {
    Level.REGION: ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"),
    Level.ZONE: ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"),
}
"""Where the machine stands, which needs not agree with the network."""

LINKS: tuple[str, ...] = (
    "nvidia.com/gpu.clique",
    "topology.k8s.aws/ultraserver-id",
    "ds.coreweave.com/nvlink.domain",
    "topology.nebius.com/nvl-instance-group-id",
)
"""Labels of nodes whose devices are linked directly; they are there only where that is so."""

SUB_LINKS = ("accelerator.topograph.run/domain", "accelerator.topograph.run/sub-domain")
"""Topograph's label for a part of such a domain, behind the one within which it counts."""

LINKS_OF_ALL: tuple[str, ...] = ("accelerator.topograph.run/domain",)
"""Labels for the whole domain, where it has no parts."""

LINKS_OF_RACKS: tuple[str, ...] = (
    *LINKS_OF_ALL,
    "network.topology.nvidia.com/accelerator",
    "cloud.google.com/gce-topology-subblock",
)
"""The same and labels that mean it only for models whose links span nodes: a reservation or a
group of machines otherwise."""

NOWHERE = frozenset(
    {"", "-", "none", "null", "n/a", "na", "unknown", "undefined", "not-available", "no-imds-data"}
)
"""What agents write when they do not know, in lower case. Such nodes are in no common domain."""
