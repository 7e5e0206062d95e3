"""Nodes, what is free on them, and those that are being emptied."""

from msgspec import Struct, field

from ganglion.api.page import Page
from ganglion.model.fleet.capacity import FlavorReport


class DeviceView(Struct):
    """One GPU of a node.

    Attributes:
        index: its number on the node.
        free_milli: thousandths that are free.
        gangs: ids of those that use it.
    """

    index: int
    type: str
    memory_mib: int = 0
    numa: int = 0
    island: int = 0
    uuid: str = ""
    healthy: bool = True
    free_milli: int = 0
    gangs: tuple[str, ...] = ()


class NodeView(Struct):
    """One node and what is free on it.

    Attributes:
        name: unique in the fleet.
        flavor: kind of node that quota is given in.
        state: `ready`, `cordoned`, `draining`, `drained` or `lost`.
        reason: why it is cordoned, or what is odd about it.
        deadline: when it is to be empty, in ms; 0 = it does not drain.
        domains: the named domain it lies in, by level.
        labels: free-form labels that constraints match.
        gpu_total_milli, gpu_free_milli: thousandths of GPUs.
        cpu_total_milli, cpu_free_milli: thousandths of cores.
        memory_total_mib, memory_free_mib: host memory.
        pods: pods on it.
        devices: its GPUs.
        cluster: the cluster that it is in, whose name stands before its own and its flavor; empty
            = it is one of the server. Of those in clusters, cores, memory and labels are unknown.
        silent_since: since when the scheduler of its cluster was not heard of, in ms; 0 = it is
            not silent.
    """

    name: str
    flavor: str = ""
    state: str = "ready"
    reason: str = ""
    deadline: int = 0
    domains: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    gpu_total_milli: int = 0
    gpu_free_milli: int = 0
    cpu_total_milli: int = 0
    cpu_free_milli: int = 0
    memory_total_mib: int = 0
    memory_free_mib: int = 0
    pods: int = 0
    devices: tuple[DeviceView, ...] = ()
    cluster: str = ""
    silent_since: int = 0


class NodePage(Page):
    """Nodes, by name."""

    items: tuple[NodeView, ...] = ()


class CapacityPage(Page):
    """Flavors, by name."""

    items: tuple[FlavorReport, ...] = ()


class LeaverView(Struct):
    """A gang on a node that drains.

    Attributes:
        gang: its id.
        at: when it leaves at the earliest, in ms.
        how: in words.
    """

    gang: str
    at: int = 0
    how: str = ""


class DrainView(Struct):
    """A node or domain that is being emptied.

    Attributes:
        what: the node or domain.
        nodes: names of the nodes.
        by: when what is still there is stopped, in ms.
        reason: for people.
        leavers: what has not left yet.
    """

    what: str
    nodes: tuple[str, ...] = ()
    by: int = 0
    reason: str = ""
    leavers: tuple[LeaverView, ...] = ()


class DrainPage(Page):
    """Everything that drains, the first deadline first."""

    items: tuple[DrainView, ...] = ()
