"""What is known of storage, and the claims that pods mount."""

from collections.abc import Callable, Hashable, Iterator
from typing import Any, TypeVar, cast

from msgspec import Struct

from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.types.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
ONE_POD = "ReadWriteOncePod"

T = TypeVar("T")

Stored = (
    PersistentVolumeClaim
    | PersistentVolume
    | StorageClass
    | CSINode
    | CSIDriver
    | CSIStorageCapacity
    | VolumeAttachment
)


class Mount(Struct, frozen=True):
    """A claim that a pod mounts.

    Attributes:
        claim: `namespace/name`.
        own: whether the claim is made for the pod and has to belong to it.
    """

    claim: str
    own: bool


class Volumes:
    """The objects of storage, by key (`namespace/name`, or the name where there is none).

    Attributes:
        version: grows with every change.
    """

    def __init__(self) -> None:
        self.version = 0
        self.claims: dict[str, PersistentVolumeClaim] = {}
        self.volumes: dict[str, PersistentVolume] = {}
        self.classes: dict[str, StorageClass] = {}
        self.nodes: dict[str, CSINode] = {}
        self.drivers: dict[str, CSIDriver] = {}
        self.capacities: dict[str, CSIStorageCapacity] = {}
        self.attachments: dict[str, VolumeAttachment] = {}
        self._given_up: dict[str, dict[str, int]] = {}
        self._attached: dict[str, dict[str, VolumeAttachment]] = {}
        self._memory: dict[Hashable, object] = {}
        self._tables: dict[type, dict[str, Any]] = {
            PersistentVolumeClaim: self.claims,
            PersistentVolume: self.volumes,
            StorageClass: self.classes,
            CSINode: self.nodes,
            CSIDriver: self.drivers,
            CSIStorageCapacity: self.capacities,
            VolumeAttachment: self.attachments,
        }

    def put(self, item: Stored) -> None:
        """An object came or changed."""
        self.drop(item)
        self._tables[type(item)][item.metadata.key] = item
        if isinstance(item, VolumeAttachment):
            self._attached.setdefault(item.spec.node_name, {})[item.metadata.key] = item

    def drop(self, item: Stored) -> None:
        """An object is gone."""
        self.version += 1
        known = self._tables[type(item)].pop(item.metadata.key, None)
        if isinstance(known, VolumeAttachment):
            self._attached[known.spec.node_name].pop(known.metadata.key)
        if isinstance(item, PersistentVolume):
            self._memory.clear()

    def remembered(self, question: Hashable, answer: Callable[[], T]) -> T:
        """The answer to a question about volumes alone, worked out again once one changes."""
        if question not in self._memory:
            self._memory[question] = answer()
        return cast("T", self._memory[question])

    def give_up(self, claim_key: str, node: str, now: int) -> None:
        """A claim's volume could not be made for a node."""
        self.version += 1
        self._given_up.setdefault(claim_key, {})[node] = now

    def try_again(self, before: int) -> None:
        """Forget what could not be made up to a time."""
        for key, nodes in list(self._given_up.items()):
            kept = {node: at for node, at in nodes.items() if at > before}
            self.version += kept != nodes
            self._given_up.update({key: kept})
            if not kept:
                del self._given_up[key]

    def given_up(self, claim_key: str) -> tuple[str, ...]:
        """Nodes for which a claim's volume could not be made lately."""
        return tuple(sorted(self._given_up.get(claim_key, ())))

    def attached_to(self, node: str) -> Iterator[tuple[str, str]]:
        """(driver, handle) of the volumes that are attached to a node."""
        for each in self._attached.get(node, {}).values():
            volume = self.volumes.get(each.spec.source.persistent_volume_name)
            if each.spec.attacher and volume and volume.spec.csi:
                yield each.spec.attacher, volume.spec.csi.volume_handle

    def handle(self, claim_key: str) -> tuple[str, str] | None:
        """(driver, handle) of a claim's volume, the claim standing in for what is not made yet.

        None where no storage driver is concerned.
        """
        claim = self.claims.get(claim_key)
        if claim is None:
            return None
        volume = self.volumes.get(claim.spec.volume_name)
        if volume:
            csi = volume.spec.csi
            return (csi.driver, csi.volume_handle) if csi and csi.driver else None
        made_by = self.classes.get(claim.storage_class)
        return (made_by.provisioner, f"claim {claim_key}") if made_by else None

    def only_for_one(self, claim_key: str) -> bool:
        """Whether a claim may be used by one pod at a time."""
        claim = self.claims.get(claim_key)
        return claim is not None and ONE_POD in claim.spec.access_modes


def is_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether a claim and its volume belong to each other for good."""
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def mounts_of(pod: Pod) -> Iterator[Mount]:
    """The claims that a pod mounts."""
    namespace = pod.metadata.namespace
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim:
            yield Mount(f"{namespace}/{volume.persistent_volume_claim.claim_name}", False)
        elif volume.ephemeral is not None:
            yield Mount(f"{namespace}/{pod.metadata.name}-{volume.name}", True)
