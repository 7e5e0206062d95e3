"""What a Jupyter server reports about its kernels, terminals and notebooks.

It reports the past as well: when each kernel last did anything. A kernel that is busy counts
as used however long its cell takes and whatever it uses. An open browser tab alone does not:
people leave them open over night.
"""

from msgspec import Struct

from ganglion.lifecycle.workspaces.observations import Sight, Witness, doubtful

QUIET = frozenset({"idle", "dead"})
"""States in which a kernel does nothing."""
WORKING = frozenset({"busy", "starting", "restarting", "autorestarting"})


class Kernel(Struct, frozen=True):
    """One kernel.

    Attributes:
        state: as its server says: `idle`, `busy`, `starting`...
        last_activity: when it last did anything, in ms; 0 = unknown.
        connections: browsers that are connected to it.
    """

    state: str
    last_activity: int
    connections: int = 0


class Notebooks(Struct, frozen=True):
    """A Jupyter server at one moment; times in ms.

    Attributes:
        at: when it was asked.
        started: since when its reports begin.
        kernels: its kernels.
        terminals: when each terminal was last active.
        saved: when the open notebooks were last saved.
    """

    at: int
    started: int
    kernels: tuple[Kernel, ...] = ()
    terminals: tuple[int, ...] = ()
    saved: tuple[int, ...] = ()


def kernel_sight(found: Notebooks | None, at: int) -> Sight:
    """What the server amounts to as a witness.

    Args:
        found: what it answered; None = it did not answer.
        at: when it was asked, in ms.
    """
    if found is None:
        return doubtful(Witness.KERNELS, at, "the notebook server does not answer")
    working = [each for each in found.kernels if each.state in WORKING]
    if working:
        return Sight(Witness.KERNELS, at, found.started, at, said="a cell runs")
    for each in found.kernels:
        if each.state not in QUIET:
            return doubtful(Witness.KERNELS, at, f"a kernel's state is {each.state or 'unknown'}")
        if not each.last_activity and each.state == "idle":
            return doubtful(Witness.KERNELS, at, "a kernel does not report when it was last active")
    last, said = max(
        (max((each.last_activity for each in found.kernels), default=0), "a cell ran"),
        (max(found.terminals, default=0), "a terminal was used"),
        (max(found.saved, default=0), "a notebook was saved"),
    )
    # The clock of another machine may be ahead.
    return Sight(Witness.KERNELS, at, min(found.started, at), min(last, at), said=said)
