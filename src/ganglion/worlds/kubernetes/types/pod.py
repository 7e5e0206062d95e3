"""Pods."""

from msgspec import field

from ganglion.worlds.kubernetes.types.affinity import Affinity, SpreadConstraint, Toleration
from ganglion.worlds.kubernetes.types.meta import Condition, Meta, Object

Quantities = dict[str, str | int]
"""Resource name -> quantity as written, as `{"cpu": "500m", "nvidia.com/gpu": 8}`."""


class ContainerResources(Object, frozen=True):
    """What a container, or a whole pod, asks for."""

    requests: Quantities = field(default_factory=dict)
    limits: Quantities = field(default_factory=dict)


class Port(Object, frozen=True):
    """A port of a container."""

    container_port: int = 0
    host_port: int = 0
    host_ip: str = field(default="", name="hostIP")
    protocol: str = "TCP"


class Container(Object, frozen=True):
    """A container of a pod; `restart_policy` `Always` makes an init container a sidecar."""

    name: str = ""
    image: str = ""
    resources: ContainerResources = ContainerResources()
    ports: tuple[Port, ...] = ()
    restart_policy: str = ""


class ClaimSource(Object, frozen=True):
    """A volume that is a persistent volume claim."""

    claim_name: str = ""


class PodVolume(Object, frozen=True):
    """A volume; only those that bear on placement are read."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: dict[str, object] | None = None


class Named(Object, frozen=True):
    """Something with a name."""

    name: str = ""


class ResourceClaim(Object, frozen=True):
    """A claim on devices by dynamic resource allocation."""

    name: str = ""
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class SchedulingGroup(Object, frozen=True):
    """Upstream's own mark of a gang."""

    pod_group_name: str = ""


class PodSpec(Object, frozen=True):
    """`spec` of a pod."""

    scheduler_name: str = ""
    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    ephemeral_containers: tuple[Container, ...] = ()
    overhead: Quantities = field(default_factory=dict)
    resources: ContainerResources | None = None
    node_selector: dict[str, str] = field(default_factory=dict)
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[SpreadConstraint, ...] = ()
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    scheduling_gates: tuple[Named, ...] = ()
    volumes: tuple[PodVolume, ...] = ()
    host_network: bool = False
    termination_grace_period_seconds: int | None = None
    resource_claims: tuple[ResourceClaim, ...] = ()
    scheduling_group: SchedulingGroup | None = None
    active_deadline_seconds: int | None = None


class Waiting(Object, frozen=True):
    """Why a container does not run yet, or not again."""

    reason: str = ""
    message: str = ""


class Terminated(Object, frozen=True):
    """How a container ended."""

    reason: str = ""
    exit_code: int = 0


class ContainerState(Object, frozen=True):
    """What a container does, as far as it matters."""

    waiting: Waiting | None = None
    terminated: Terminated | None = None


class ContainerStatus(Object, frozen=True):
    """What became of a container.

    `resources` is what it runs with, empty when not known; `image_id` is what its image was, empty
    until it was pulled.
    """

    name: str = ""
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()
    ready: bool = False
    restart_count: int = 0
    image_id: str = field(default="", name="imageID")
    allocated_resources: Quantities = field(default_factory=dict)
    resources: ContainerResources | None = None


class PodStatus(Object, frozen=True):
    """`status` of a pod; the phase is Pending, Running, Succeeded, Failed or Unknown."""

    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    nominated_node_name: str = ""
    start_time: str = ""
    pod_ip: str = field(default="", name="podIP")
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    ephemeral_container_statuses: tuple[ContainerStatus, ...] = ()
    allocated_resources: Quantities = field(default_factory=dict)
    resources: ContainerResources | None = None


class Pod(Object, frozen=True):
    """A pod."""

    metadata: Meta = Meta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return self.metadata.key

    @property
    def is_over(self) -> bool:
        """Whether it has ended and holds nothing any more."""
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def is_leaving(self) -> bool:
        """Whether its deletion has begun; it holds what it has until it is gone or over."""
        return bool(self.metadata.deletion_timestamp)

    def condition(self, kind: str) -> Condition | None:
        """The condition of a type."""
        return next((each for each in self.status.conditions if each.type == kind), None)
