"""Whether what listens at a port belongs to an attempt: pods have the network of this machine."""

from enum import Enum
from pathlib import Path

from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files.leftovers import processes_of


class PortOwner(Enum):
    """The process that takes connections at a port."""

    NOBODY = "nobody"
    ATTEMPT = "attempt"
    OTHER = "other"
    UNKNOWN = "unknown"


def listener(run: Path, port: int) -> PortOwner:
    """Find the process that takes TCP connections at a port of this machine.

    Args:
        run: run directory of the attempt.
        port: 1 to 65,535.

    Raises:
        OSError: the machine does not say.
    """
    if not host.has_proc():
        return PortOwner.UNKNOWN
    wanted = host.listening(port)
    if not wanted:
        return PortOwner.NOBODY
    # Where two programs share the number, on different addresses, neither is taken for the other.
    ours = frozenset[int]().union(*(host.sockets(pid) for pid in sorted(processes_of(run))))
    return PortOwner.ATTEMPT if wanted <= ours else PortOwner.OTHER
