"""Volumes, claims on them and what limits where they can be used."""

from msgspec import field

from ganglion.worlds.kubernetes.types.affinity import NodeSelector
from ganglion.worlds.kubernetes.types.meta import LabelSelector, Meta, Object
from ganglion.worlds.kubernetes.types.pod import ContainerResources, Quantities

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
"""Annotation that named the class of a claim or volume before there was a field for it."""

FILESYSTEM = "Filesystem"
"""Volume mode of claims and volumes that name none."""


class ClaimSpec(Object, frozen=True):
    """`spec` of a claim; `volume_name` is empty until a volume was found, no selector = any."""

    volume_name: str = ""
    storage_class_name: str = ""
    access_modes: tuple[str, ...] = ()
    resources: ContainerResources = ContainerResources()
    selector: LabelSelector | None = None
    volume_mode: str = FILESYSTEM
    volume_attributes_class_name: str = ""


class ClaimStatus(Object, frozen=True):
    """`status` of a claim; the phase is Pending, Bound or Lost."""

    phase: str = "Pending"


class PersistentVolumeClaim(Object, frozen=True):
    """A claim on a volume."""

    metadata: Meta = Meta()
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()

    @property
    def storage_class(self) -> str:
        """Name of its class; empty = none."""
        return self.metadata.annotations.get(BETA_CLASS) or self.spec.storage_class_name


class CsiSource(Object, frozen=True):
    """A volume of a storage driver; the handle is the driver's name for it."""

    driver: str = ""
    volume_handle: str = ""


class VolumeAffinity(Object, frozen=True):
    """Nodes that can reach a volume; None = all."""

    required: NodeSelector | None = None


class ObjectReference(Object, frozen=True):
    """Which claim a volume is for; people who reserve a volume leave the UID out."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class VolumeSpec(Object, frozen=True):
    """`spec` of a volume."""

    node_affinity: VolumeAffinity | None = None
    csi: CsiSource | None = None
    capacity: Quantities = field(default_factory=dict)
    access_modes: tuple[str, ...] = ()
    storage_class_name: str = ""
    volume_mode: str = FILESYSTEM
    volume_attributes_class_name: str = ""
    claim_ref: ObjectReference | None = None


class VolumeStatus(Object, frozen=True):
    """`status` of a volume; the phase is Pending, Available, Bound, Released or Failed."""

    phase: str = ""


class PersistentVolume(Object, frozen=True):
    """A volume; its zone may be a label."""

    metadata: Meta = Meta()
    spec: VolumeSpec = VolumeSpec()
    status: VolumeStatus = VolumeStatus()

    @property
    def storage_class(self) -> str:
        """Name of its class; empty = none."""
        return self.metadata.annotations.get(BETA_CLASS) or self.spec.storage_class_name


class TopologyRequirement(Object, frozen=True):
    """A label with the values it may have."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologyTerm(Object, frozen=True):
    """All expressions have to match; a term without any matches everything."""

    match_label_expressions: tuple[TopologyRequirement, ...] = ()


class StorageClass(Object, frozen=True):
    """How volumes of a class are made, and where; no allowed topologies = anywhere."""

    metadata: Meta = Meta()
    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: tuple[TopologyTerm, ...] = ()


class DriverLimit(Object, frozen=True):
    """How many volumes of a driver a node can have; None = no limit."""

    count: int | None = None


class NodeDriver(Object, frozen=True):
    """A storage driver on a node."""

    name: str = ""
    allocatable: DriverLimit | None = None


class CSINodeSpec(Object, frozen=True):
    """`spec` of a `CSINode`."""

    drivers: tuple[NodeDriver, ...] = ()


class CSINode(Object, frozen=True):
    """The storage drivers of the node of the same name."""

    metadata: Meta = Meta()
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Object, frozen=True):
    """`spec` of a driver; `storage_capacity` = it reports its capacity by place."""

    storage_capacity: bool = False


class CSIDriver(Object, frozen=True):
    """A storage driver."""

    metadata: Meta = Meta()
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(Object, frozen=True):
    """Capacity for volumes of a class on the nodes that match."""

    metadata: Meta = Meta()
    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: str | int | None = None
    maximum_volume_size: str | int | None = None


class AttachmentSource(Object, frozen=True):
    """Which volume is attached."""

    persistent_volume_name: str = ""


class AttachmentSpec(Object, frozen=True):
    """`spec` of an attachment; the attacher is a driver."""

    attacher: str = ""
    node_name: str = ""
    source: AttachmentSource = field(default_factory=AttachmentSource)


class VolumeAttachment(Object, frozen=True):
    """A volume that is attached to a node, or about to be."""

    metadata: Meta = Meta()
    spec: AttachmentSpec = AttachmentSpec()
