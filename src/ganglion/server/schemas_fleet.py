"""What the server answers about nodes and what is free on them."""

from pydantic import Field

from ganglion.server.schema_base import Model


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
    state: str = Field(description="ready, cordoned or lost")
    reason: str = Field(description="why it is cordoned")
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
    """All nodes, by name."""

    items: tuple[NodeView, ...]


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
    """All flavors, by name."""

    items: tuple[FlavorView, ...]
