"""What the server answers about nodes and what is free on them."""

from pydantic import Field

from ganglion.server.wire.base import NEXT, Model


class DeviceView(Model):
    """One GPU."""

    index: int
    type: str
    memory_mib: int
    numa: int
    island: int
    uuid: str
    healthy: bool
    free_milli: int
    gangs: tuple[str, ...]


class NodeView(Model):
    """One node and what is free on it."""

    name: str
    flavor: str
    state: str = Field(description="ready, cordoned, draining, drained or lost")
    reason: str = Field(description="why it is cordoned, or what is odd about it")
    deadline: int = Field(0, description="when it is to be empty, in ms; 0 = it does not drain")
    domains: dict[str, str]
    labels: dict[str, str]
    gpu_total_milli: int
    gpu_free_milli: int
    cpu_total_milli: int
    cpu_free_milli: int
    memory_total_mib: int
    memory_free_mib: int
    pods: int
    devices: tuple[DeviceView, ...]


class NodePage(Model):
    """Nodes, by name."""

    items: tuple[NodeView, ...]
    next: str | None = NEXT


class FlavorView(Model):
    """One flavor of the fleet."""

    flavor: str
    nodes: int
    open_nodes: int
    gpu_total_milli: int
    gpu_used_milli: int
    gpu_free_milli: int
    cpu_total_milli: int
    cpu_used_milli: int
    memory_total_mib: int
    memory_used_mib: int
    largest_hole: int
    whole_nodes: int


class CapacityPage(Model):
    """Flavors, by name."""

    items: tuple[FlavorView, ...]
    next: str | None = NEXT


class LeaverView(Model):
    """A gang on a node that drains."""

    gang: str
    at: int = Field(description="when it leaves at the earliest, in ms")
    how: str


class DrainView(Model):
    """A node or domain that is being emptied."""

    what: str
    nodes: tuple[str, ...]
    by: int = Field(description="when what is still there is stopped, in ms")
    reason: str
    leavers: tuple[LeaverView, ...]


class DrainPage(Model):
    """What drains, the first deadline first."""

    items: tuple[DrainView, ...]
    next: str | None = NEXT
