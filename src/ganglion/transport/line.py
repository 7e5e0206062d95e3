"""Short requests through a Unix socket, which take a tenth of httpx2's processor time."""

import http.client
import select
import socket
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import httpx2

from ganglion.transport import unix
from ganglion.transport.http import KEPT, KEPT_S, Unproven


class SocketLine:
    """Connections to the server of one Unix socket; safe from any thread.

    It raises the exceptions of httpx2, so that callers need not know which of both was used.

    Args:
        path: the socket; its listener is checked before anything is sent.
        timeout_s: longest silence of the server, in seconds.
        connect_s: most time for a connection.
        shared: whether it is a socket for other accounts, of a server of its folder's owner.
    """

    def __init__(
        self, path: Path, timeout_s: float, connect_s: float, *, shared: bool = False
    ) -> None:
        self._path, self._timeout_s, self._connect_s = path, timeout_s, connect_s
        self._shared = shared
        self._idle = deque[_Connection]()

    def close(self) -> None:
        """Close all connections that are not in use."""
        while self._idle:
            self._idle.pop().close()

    def send(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None
    ) -> httpx2.Response:
        """Send a request, and read all of the answer.

        Args:
            method: HTTP method.
            target: path and query, with everything escaped.
            headers: more headers than those of the connection and the body.
            body: None = there is none.

        Raises:
            httpx2.TransportError: the server cannot be reached, is silent, or hung up.
            Unproven: another user's process listens there; nothing was sent.
        """
        connection = self._taken()
        try:
            response = connection.exchange(method, target, headers, body)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise _told(error) from error
        except BaseException:
            connection.close()
            raise
        if connection.sock is not None:  # the server keeps it open
            connection.idle_since = time.monotonic()
            if len(self._idle) < KEPT:
                self._idle.append(connection)
            else:
                connection.close()
        return response

    def _taken(self) -> "_Connection":
        """A connection that was used before and is still open, else a new one."""
        while self._idle:
            with suppress(IndexError):  # another thread took the last one
                found = self._idle.pop()
                if found.is_open():
                    return found
                found.close()
        made = _Connection(self._path, self._timeout_s, shared=self._shared)
        made.begin(self._connect_s)
        return made


class _Connection(http.client.HTTPConnection):
    """One connection, which sends head and body at once: that wakes the server once for both."""

    def __init__(self, path: Path, timeout_s: float, *, shared: bool) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._shared = shared
        self._path, self._unsent = path, b""
        self.idle_since = 0.0
        self._readable = select.poll()

    def begin(self, timeout_s: float) -> None:
        """Connect, and check who listens.

        Raises:
            httpx2.TransportError: nothing listens there, or takes calls in time.
            Unproven: another user's process listens.
        """
        connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connected.settimeout(timeout_s)
            with unix.address(self._path) as short:
                connected.connect(short)
        except TimeoutError as error:
            connected.close()
            raise httpx2.ConnectTimeout(str(error)) from error
        except OSError as error:
            connected.close()
            raise httpx2.ConnectError(str(error)) from error
        try:
            unix.check_server(connected, self._path, shared=self._shared)
        except OSError as error:
            connected.close()
            raise Unproven(
                f"{error}; nothing was sent", "check who may write to that folder"
            ) from error
        connected.settimeout(self.timeout)
        self._readable.register(connected, select.POLLIN)
        self.sock = connected

    def is_open(self) -> bool:
        """Whether it may be used again: what can be read while nothing is asked is its end."""
        fresh = time.monotonic() - self.idle_since < KEPT_S
        return fresh and not self._readable.poll(0)

    def exchange(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None
    ) -> httpx2.Response:
        """Send a request, and read the answer."""
        self.request(method, target, body, headers)
        with suppress(BrokenPipeError, ConnectionResetError):  # the answer may say why
            self.sock.sendall(self._unsent)
        self._unsent = b""
        response = self.getresponse()
        content = response.read()
        return httpx2.Response(response.status, headers=response.getheaders(), content=content)

    def send(self, data: bytes) -> None:  # type: ignore[override]  # only called for bytes here
        """Take a part of a request, which is sent with all others."""
        self._unsent += data


def _told(error: OSError | http.client.HTTPException) -> httpx2.TransportError:
    """What httpx2 raises in place of an error."""
    said = str(error) or type(error).__name__
    if isinstance(error, TimeoutError):
        return httpx2.ReadTimeout(said)
    if isinstance(error, http.client.HTTPException):
        return httpx2.RemoteProtocolError(said)
    return httpx2.ReadError(said)
