"""The port that a router listens on: taking it, and whether it could be taken."""

import errno
import socket

from ganglion.model.errors import EnvironmentFault
from ganglion.transport.accepting import Listening


def bind(host: str, port: int) -> socket.socket:
    """Take a port.

    Raises:
        EnvironmentFault: it is in use, or the address is none of this machine.
    """
    taken = Listening(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((host, port))
    except (OSError, OverflowError) as error:
        taken.close()
        message = f"the router cannot listen on {host}:{port}: {error}"
        raise EnvironmentFault(message, "choose another port: --services-port") from error
    return taken


def refusal(host: str, port: int) -> str:
    """Why a router could not listen there now; empty = it could."""
    try:
        bind(host, port).close()
    except EnvironmentFault as fault:
        cause = fault.__cause__
        if isinstance(cause, OSError) and cause.errno == errno.EADDRINUSE:
            return f"port {port}, where the router listens, is in use by another program"
        return fault.message
    return ""
