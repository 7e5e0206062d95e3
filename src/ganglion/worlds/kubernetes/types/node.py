"""Nodes."""

from msgspec import field

from ganglion.worlds.kubernetes.types.meta import Condition, Meta, Object
from ganglion.worlds.kubernetes.types.pod import Quantities

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
"""Key of the taint of cordoned nodes."""


class Taint(Object, frozen=True):
    """A taint; effects are NoSchedule, PreferNoSchedule and NoExecute."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Object, frozen=True):
    """`spec` of a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    provider_id: str = field(default="", name="providerID")


class NodeImage(Object, frozen=True):
    """An image that lies on a node; kubelets list the largest 50, unless configured otherwise."""

    names: tuple[str, ...] | None = None
    size_bytes: int = 0


class NodeStatus(Object, frozen=True):
    """`status` of a node; allocatable is what pods may have."""

    allocatable: Quantities = field(default_factory=dict)
    capacity: Quantities = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    images: tuple[NodeImage, ...] = ()


class Node(Object, frozen=True):
    """A node of a cluster."""

    metadata: Meta = Meta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
