"""What the server answers about present use, and about one node."""

from pydantic import Field

from ganglion.server.wire.base import Model
from ganglion.server.wire.fleet import NodeView
from ganglion.server.wire.workloads import BookingView

UNKNOWN = "null = unknown"


class DeviceUse(Model):
    """One GPU now."""

    node: str
    index: int
    type: str
    uuid: str = Field(description="empty = a pretend GPU, of which nothing can be measured")
    gangs: tuple[str, ...] = Field(description="gangs that hold it")
    users: tuple[str, ...] = Field(description="their users")
    busy_milli: int | None = Field(description=f"time in which it computed; {UNKNOWN}")
    memory_mib: int | None = Field(description=UNKNOWN)
    memory_total_mib: int
    power_mw: int | None = Field(description=UNKNOWN)
    power_limit_mw: int | None = Field(description=UNKNOWN)
    strangers: tuple[int, ...] = Field(description="processes on it that belong to no gang")


class GangUse(Model):
    """One gang that holds resources, now."""

    gang: str
    workload: str
    user: str
    queue: str
    phase: str
    nodes: tuple[str, ...]
    gpus: float = Field(description="GPUs that it holds")
    gpu_busy_milli: int | None = Field(
        description=f"mean over its GPUs, where it has them alone; {UNKNOWN}"
    )
    gpu_memory_mib: int | None = Field(description=f"by its processes; {UNKNOWN}")
    power_mw: int | None = Field(description=f"of its GPUs, where it has them alone; {UNKNOWN}")
    cpu_milli: int | None = Field(description=f"thousandths of a core; {UNKNOWN}")
    memory_mib: int | None = Field(description=f"resident memory; {UNKNOWN}")
    processes: int | None = Field(description=UNKNOWN)


class UsePage(Model):
    """What is used now."""

    at: int
    devices: tuple[DeviceUse, ...]
    gangs: tuple[GangUse, ...]


class Occupant(Model):
    """A gang on a node."""

    gang: str
    user: str
    queue: str
    phase: str
    since: int = Field(description="when it was placed, in ms")
    pods: int = Field(description="its pods on this node")
    devices: tuple[int, ...]
    milli: int = Field(description="of each device, in thousandths")


class NodeDetail(Model):
    """Everything about one node."""

    node: NodeView
    opens: str = Field(description="command that lets it take work again; empty = it takes work")
    occupants: tuple[Occupant, ...]
    awaiting: tuple[Occupant, ...] = Field(
        description="gangs that start here once others have left; devices are those promised"
    )
    bookings: tuple[BookingView, ...]
