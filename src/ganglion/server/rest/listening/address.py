"""Where a server listens."""

import errno
import socket
from contextlib import ExitStack
from pathlib import Path

import structlog

from ganglion.model.errors import EnvironmentFault, FieldError, InputError
from ganglion.seams.effects import Effects
from ganglion.seams.files import remove
from ganglion.seams.processes import SYSTEM_PROCESSES, Processes
from ganglion.transport import unix
from ganglion.transport.accepting import Listening, listening
from ganglion.transport.hosts import is_loopback, reached_at

NO_SOCKET = "TLS needs a Unix socket in the home, by which clients of this machine call"

log = structlog.get_logger(__name__)


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
    """Where clients of this machine find the server."""
    return f"http{'s' if tls else ''}://{reached_at(host)}:{taken.getsockname()[1]}"


def check_host(host: str, *, tls: bool, behind_proxy: bool) -> None:
    """Allow an address that other machines can reach only where what they send is encrypted.

    Args:
        host: address to listen on.
        tls: whether the server speaks TLS.
        behind_proxy: whether a proxy in front of it does.

    Raises:
        FieldError: it is not.
    """
    if not (tls or behind_proxy or is_loopback(host)):
        raise FieldError(
            f"other machines reach {host}, and tokens would travel unencrypted",
            key="--host",
            hint="--tls-cert FILE --tls-key FILE, or --tls self; --behind-proxy where only a proxy"
            " that speaks TLS reaches this address",
        )


def sockets(
    stack: ExitStack, host: str, port: int, path: Path, effects: Effects, *, tls: bool
) -> list[socket.socket]:
    """Take the port, and a Unix socket if there can be one, until the stack ends.

    Args:
        stack: of the server.
        host: address of this machine.
        port: 0 = any free one.
        path: of the Unix socket; none where the file system or the kernel has no such thing.
        effects: files, and processes to name the one that has the port.
        tls: whether the server speaks TLS.

    Raises:
        InputError: no address of this machine.
        EnvironmentFault: the port is in use or may not be used; with TLS: no Unix socket.
    """
    taken = stack.enter_context(bind(host, port, effects.processes))
    beneath = _beneath(stack, path, effects)
    if tls and not beneath:
        raise EnvironmentFault(NO_SOCKET, "set GANGLION_HOME to a folder on a local disk")
    return [taken, *beneath]


def _beneath(stack: ExitStack, path: Path, effects: Effects) -> list[socket.socket]:
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
