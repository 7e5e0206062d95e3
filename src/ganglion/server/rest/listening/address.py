"""Where a server listens."""

import errno
import ipaddress
import socket
import sys
from contextlib import ExitStack
from pathlib import Path

import structlog

from ganglion.model.errors import EnvironmentFault, InputError
from ganglion.seams.effects import Effects
from ganglion.seams.files import remove
from ganglion.seams.processes import SYSTEM_PROCESSES, Processes
from ganglion.transport import unix
from ganglion.transport.accepting import Listening, listening

log = structlog.get_logger(__name__)


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bind(host: str, port: int, processes: Processes = SYSTEM_PROCESSES) -> socket.socket:
    """Take a port; no client can connect before the server listens.

    Args:
        host: address of this machine.
        port: 0 = any free one.
        processes: name the one that has the port.

    Raises:
        InputError: no address of this machine.
        EnvironmentFault: the port is in use or may not be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio lets small answers out at once only where a socket says that it is TCP: otherwise
    # the second half of an answer waits some 40 ms for the client's acknowledgement.
    taken = Listening(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((host, port))
    except (OSError, OverflowError) as error:
        taken.close()
        raise _refused(host, port, error, processes) from error
    return taken


def beneath(stack: ExitStack, path: Path, effects: Effects) -> list[socket.socket]:
    """The Unix socket in the home; none where the file system or the kernel has no such thing."""
    if not unix.SUPPORTED:
        return []
    try:
        taken = stack.enter_context(listening(unix.bind(path)))
    except OSError as error:
        log.warning("no Unix socket: clients use the port", path=str(path), error=str(error))
        return []
    stack.callback(remove, effects.files, path)
    return [taken]


def _refused(
    host: str, port: int, error: Exception, processes: Processes
) -> EnvironmentFault | InputError:
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.EADDRINUSE:
        holder = processes.listener(port)
        return EnvironmentFault(
            f"port {port} is in use" + (f" by {holder}" if holder else ""),
            "stop that program, or choose another port with --port",
        )
    if number == errno.EACCES:
        return EnvironmentFault(f"port {port} may not be used", "choose one above 1023 with --port")
    return InputError(f"cannot listen on {host}:{port}: {error}", "as 127.0.0.1 and 7077")


def url_of(taken: socket.socket, host: str, *, tls: bool = False) -> str:
    """Where clients find the server."""
    shown = f"[{host}]" if ":" in host else host
    return f"http{'s' if tls else ''}://{shown}:{taken.getsockname()[1]}"


def check_host(host: str, *, public: bool, tls: bool) -> None:
    """Allow an address that other machines can reach only where that is meant.

    Raises:
        InputError: it is not.
    """
    if is_loopback(host):
        return
    if not public:
        raise InputError(
            f"{host} can be reached by other machines",
            "python -m ganglion.server --public, if meant: the token allows to run programs",
        )
    plain = "" if tls else ", and the token travels unencrypted: see --tls-cert and --tls"
    sys.stderr.write(
        f"warning: listening on {host}: every holder of the token may run programs here{plain}\n"
    )
