"""`ganglion nodes` and `ganglion gpus`."""

from typing import TYPE_CHECKING

from ganglion.cli.connection.connect import connect
from ganglion.cli.options import command, list_output
from ganglion.cli.output.formats import DASH, clock, memory, milli
from ganglion.cli.output.tables import Column, print_list

if TYPE_CHECKING:
    from ganglion.api.nodes import NodeView
    from ganglion.model.fleet.capacity import FlavorReport

STATES = {
    "ready": "green",
    "cordoned": "yellow",
    "draining": "yellow",
    "drained": "yellow",
    "lost": "red",
}


@command("nodes", "nodes -o wide", "nodes --csv > nodes.csv")
@list_output
def nodes(form: str) -> None:
    """List nodes and what is free on them.

    FREE counts thousandths of shared GPUs too: 7.5 is seven whole ones and half of one.
    """
    columns: list[Column[NodeView]] = [
        Column("NODE", lambda n: n.name),
        Column("FLAVOR", lambda n: n.flavor or DASH),
        Column("STATE", lambda n: n.state, style=lambda n: STATES.get(n.state, "")),
        Column("GPUS", lambda n: milli(n.gpu_total_milli), right=True),
        Column("FREE", lambda n: milli(n.gpu_free_milli), right=True),
        Column("CPUS FREE", lambda n: DASH if n.cluster else milli(n.cpu_free_milli), right=True),
        Column("MEM FREE", lambda n: DASH if n.cluster else memory(n.memory_free_mib), right=True),
        Column("PODS", lambda n: str(n.pods), right=True),
        Column(
            "CPUS", lambda n: DASH if n.cluster else milli(n.cpu_total_milli), right=True, wide=True
        ),
        Column(
            "MEMORY",
            lambda n: DASH if n.cluster else memory(n.memory_total_mib),
            right=True,
            wide=True,
        ),
        Column("DOMAINS", _domains, wide=True),
        Column("REASON", _reason, least=20),
    ]
    with connect() as client:
        print_list(client.nodes(), columns, form, empty="no nodes")


@command("gpus", "gpus -o json")
@list_output
def gpus(form: str) -> None:
    """Show free GPUs by type, and the largest hole.

    HOLE is the most whole GPUs that are free on one node: the largest pod that fits now.
    """
    columns: list[Column[FlavorReport]] = [
        Column("TYPE", lambda f: f.flavor),
        Column("TOTAL", lambda f: milli(f.gpu_total_milli), right=True),
        Column("USED", lambda f: milli(f.gpu_used_milli), right=True),
        Column("FREE", lambda f: milli(f.gpu_free_milli), right=True),
        Column("HOLE", lambda f: str(f.largest_hole), right=True),
        Column("NODES", lambda f: str(f.nodes), right=True),
        Column("OPEN", lambda f: str(f.open_nodes), right=True),
        Column("EMPTY", lambda f: str(f.whole_nodes), right=True),
        Column("CPUS", lambda f: milli(f.cpu_total_milli), right=True, wide=True),
        Column("CPUS USED", lambda f: milli(f.cpu_used_milli), right=True, wide=True),
        Column("MEMORY", lambda f: memory(f.memory_total_mib), right=True, wide=True),
        Column("MEM USED", lambda f: memory(f.memory_used_mib), right=True, wide=True),
    ]
    with connect() as client:
        print_list(client.gpus(), columns, form, empty="no nodes")


def _reason(node: "NodeView") -> str:
    by = f", by {clock(node.deadline)}" if node.state == "draining" and node.deadline else ""
    return f"{node.reason}{by}" if node.reason else DASH


def _domains(node: "NodeView") -> str:
    return " ".join(f"{level}={name}" for level, name in node.domains.items()) or DASH
