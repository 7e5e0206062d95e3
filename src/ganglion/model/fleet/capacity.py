"""What a fleet has, in numbers for people and graphs."""

from msgspec import Struct


class FlavorReport(Struct, frozen=True):
    """One flavor of the fleet.

    Attributes:
        flavor: its name.
        nodes: nodes that are not lost.
        open_nodes: those where pods may start.
        gpu_total_milli: thousandths of GPUs of healthy devices.
        gpu_used_milli: thousandths in use, on lost nodes too.
        gpu_free_milli: thousandths free on open nodes.
        cpu_total_milli, cpu_used_milli: thousandths of cores.
        memory_total_mib, memory_used_mib: host memory.
        largest_hole: most wholly free GPUs on one open node.
        whole_nodes: open nodes without any pod.
    """

    flavor: str
    nodes: int = 0
    open_nodes: int = 0
    gpu_total_milli: int = 0
    gpu_used_milli: int = 0
    gpu_free_milli: int = 0
    cpu_total_milli: int = 0
    cpu_used_milli: int = 0
    memory_total_mib: int = 0
    memory_used_mib: int = 0
    largest_hole: int = 0
    whole_nodes: int = 0
