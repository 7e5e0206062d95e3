"""Ports for rendezvous and services: the same for an attempt each time, and free."""

import hashlib
import socket
from collections.abc import Callable, Container, Iterator

from ganglion.model.errors import EnvironmentFault

FIRST, LAST = 20_000, 32_767
"""Below the range from which Linux takes ports for outgoing connections (32768 upwards), so
that none is taken between the choice and its use."""


def candidates(key: str) -> Iterator[int]:
    """Every port of the range, in an order that depends on the key alone."""
    span = LAST - FIRST + 1
    start = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8])
    return (FIRST + (start + step) % span for step in range(span))


def is_free(port: int) -> bool:
    """Whether no process listens on the port, on any address of this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
        return True


def is_reusable(port: int) -> bool:
    """The same for servers that say SO_REUSEADDR, as most do.

    They may listen again at once where connections of the one before are only just closed.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
        return True


def free_port(
    key: str, taken: Container[int], wanted: int = 0, free: Callable[[int], bool] = is_free
) -> int:
    """A free port for this key.

    Args:
        key: what the port is for, as `train-7/0#1 master`.
        taken: ports promised to others that may not listen yet.
        wanted: port to prefer; 0 = none.
        free: returns whether a port is free.

    Raises:
        EnvironmentFault: not one port of the range is free.
    """
    if wanted and wanted not in taken and free(wanted):
        return wanted
    for port in candidates(key):
        if port not in taken and free(port):
            return port
    raise EnvironmentFault(f"no port from {FIRST} to {LAST} is free", "stop some services")
