"""The socket, and uvicorn on top of it."""

import errno
import ipaddress
import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from ganglion.model.errors import EnvironmentFault, InputError
from ganglion.server.home import holder_of

LAST_WORDS_S = 3
"""How long requests may take to finish once the server is told to end."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bind(host: str, port: int) -> socket.socket:
    """Take a port; nobody can connect before the server listens.

    Args:
        host: address of this machine.
        port: 0 = any free one.

    Raises:
        InputError: no address of this machine.
        EnvironmentFault: the port is in use or may not be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((host, port))
    except (OSError, OverflowError) as error:
        taken.close()
        raise _refused(host, port, error) from error
    return taken


def _refused(host: str, port: int, error: Exception) -> EnvironmentFault | InputError:
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.EADDRINUSE:
        holder = holder_of(port)
        return EnvironmentFault(
            f"port {port} is in use" + (f" by {holder}" if holder else ""),
            "stop that program, or choose another port with --port",
        )
    if number == errno.EACCES:
        return EnvironmentFault(f"port {port} may not be used", "choose one above 1023 with --port")
    return InputError(f"cannot listen on {host}:{port}: {error}", "as 127.0.0.1 and 7077")


def url_of(taken: socket.socket, host: str) -> str:
    """Where clients find the server."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{taken.getsockname()[1]}"


class Listener(uvicorn.Server):
    """Serves until a signal or `halt`.

    Args:
        app: the application.
        ready: called once clients can connect.
        leaving: called when the end begins, so that endless answers end.
    """

    def __init__(
        self, app: ASGIApp, ready: Callable[[], None], leaving: Callable[[], None]
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                lifespan="on",
                server_header=False,
                timeout_graceful_shutdown=LAST_WORDS_S,
            )
        )
        self._ready, self._leaving = ready, leaving

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup(sockets)
        if not self.should_exit:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal ends the server."""
        self._leaving()
        super().handle_exit(sig, frame)

    def halt(self) -> None:
        """End the server. Safe from any thread."""
        self._leaving()
        self.should_exit = True

    def serve_until_told(self, taken: socket.socket) -> None:
        """Serve; returns after SIGTERM, SIGINT or `halt`."""
        # uvicorn raises the signals again that it was ended by; here they have done their work.
        heeded = (signal.SIGTERM, signal.SIGINT)
        before = {number: signal.signal(number, self._told) for number in heeded}
        try:
            self.run(sockets=[taken])
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _told(self, _number: int, _frame: FrameType | None) -> None:
        self.should_exit = True
