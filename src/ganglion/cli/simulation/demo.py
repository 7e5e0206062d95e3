"""`ganglion demo`."""

import rich_click as click

from ganglion.cli.options import command
from ganglion.extras import require


@command("demo", "demo", "demo --keep")
@click.option("--keep", is_flag=True, help="Leave the server running, to look around.")
def demo(keep: bool) -> int:
    """Watch three teams share a pretend cluster.

    Starts a server of its own in a temporary folder, with four nodes of eight pretend GPUs in
    two racks, and submits training, a sweep, services, workspaces and batch jobs: real
    processes on this machine. Explains one job that waits and one that can never run; then a
    training is preempted and goes on from its checkpoint, a node is taken away, a service
    follows its load, a workspace sleeps and comes back, a sweep uses free GPUs. Checks what it
    promised, and cleans up. Takes one to two minutes; needs no GPU.
    """
    require("server")
    from ganglion.cli.simulation.showing import show

    return show(keep=keep)
