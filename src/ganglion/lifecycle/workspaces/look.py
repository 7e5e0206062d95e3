"""One look at a workspace by all its witnesses, and what it would lose by going."""

from msgspec import Struct

from ganglion.lifecycle.workspaces.observations import Sight
from ganglion.lifecycle.workspaces.words import counted, listed, mib

KEPT = "name, environment, address, files and place in line"


class Loss(Struct, frozen=True):
    """What is gone when the processes of a workspace end.

    Attributes:
        kernels: notebook kernels, with every variable in them.
        terminals: open shells.
        memory_mib: memory of its processes.
        gpu_memory_mib: memory that they hold on GPUs.
    """

    kernels: int = 0
    terminals: int = 0
    memory_mib: int = 0
    gpu_memory_mib: int = 0

    @property
    def text(self) -> str:
        """What is lost and what is kept, for people."""
        parts = [
            f"the variables of {counted(self.kernels, 'kernel')}" if self.kernels else "",
            counted(self.terminals, "shell") if self.terminals else "all shells",
            f"{mib(self.memory_mib)} of memory" if self.memory_mib else "what is in memory",
            f"{mib(self.gpu_memory_mib)} of GPU memory" if self.gpu_memory_mib else "GPU memory",
        ]
        return f"lost: {listed([each for each in parts if each])}; kept: {KEPT}"


class Look(Struct, frozen=True):
    """What was found with one look.

    Attributes:
        at: when, in ms.
        sights: one per witness that looks at this workspace.
        loss: what it would lose now.
    """

    at: int
    sights: tuple[Sight, ...] = ()
    loss: Loss = Loss()
