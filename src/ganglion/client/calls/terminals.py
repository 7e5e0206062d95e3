"""Commands in running pods, terminals, and ports, through the server."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

import msgspec

from ganglion.model.errors import EnvironmentFault

if TYPE_CHECKING:
    from httpx2.websockets import WebSocketSession

    from ganglion.client.http import Http

STDIN, STDOUT, STDERR, STATUS, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
"""Channels of messages, as Kubernetes numbers them."""
PIECE = 1 << 15
"""Most bytes of input in one message."""


class Size(NamedTuple):
    """Size of a terminal."""

    rows: int = 24
    columns: int = 80


USUAL = Size()


class SessionStatus(msgspec.Struct):
    """How a session ended.

    Attributes:
        exit_code: of the command, 128 + N after signal N; None = there is none.
        error: why it could not be started; empty = it was.
        hint: what to do about it.
        ended: whether the terminal was closed by its job.
    """

    exit_code: int | None = None
    error: str = ""
    hint: str = ""
    ended: bool = False


class TerminalSession:
    """One open command or terminal; `send` and `receive` may be called from two threads."""

    def __init__(self, socket: "WebSocketSession") -> None:
        self._socket, self._lock = socket, threading.Lock()

    def _send(self, channel: int, payload: bytes) -> None:
        with self._lock:
            self._socket.send_bytes(bytes((channel,)) + payload)

    def send(self, data: bytes) -> None:
        """Send input."""
        for at in range(0, len(data), PIECE):
            self._send(STDIN, data[at : at + PIECE])

    def close_input(self) -> None:
        """There is no more input; nothing is sent to a session that has ended."""
        from wsproto.utilities import LocalProtocolError  # noqa: PLC0415 - start-up budget

        with suppress(LocalProtocolError):
            self._send(CLOSE, bytes((STDIN,)))

    def resize(self, size: Size) -> None:
        """Send the size of the person's terminal."""
        self._send(RESIZE, msgspec.json.encode({"rows": size.rows, "columns": size.columns}))

    def receive(self) -> tuple[int, bytes] | SessionStatus:
        """Return output (channel, bytes), or at last how it ended.

        Raises:
            EnvironmentFault: the connection broke.
        """
        from httpx2.websockets import HTTPXWSException  # noqa: PLC0415 - start-up budget

        try:
            body = self._socket.receive_bytes()
        except HTTPXWSException as error:
            raise EnvironmentFault(
                "the connection to the server broke", "see whether it runs: ganglion version"
            ) from error
        if body[0] == STATUS:
            return msgspec.json.decode(body[1:], type=SessionStatus)
        return body[0], body[1:]


class Terminals:
    """Part of `Client`; every method raises what its methods raise.

    Args:
        http: the connection.
    """

    def __init__(self, http: "Http") -> None:
        self._http = http

    @contextmanager
    def execute(
        self,
        ref: str,
        command: Sequence[str],
        *,
        pod: int | None = None,
        rank: int | None = None,
        tty: bool = False,
        term: str = "dumb",
        size: Size = USUAL,
        path: str = "",
    ) -> Iterator[TerminalSession]:
        """Run a command in a running pod; it ends with the block.

        Args:
            ref: id, unique prefix or name, with `/index` for one gang.
            command: argument vector.
            pod: number of the pod in its gang; None = 0.
            rank: whose environment it gets; None = the pod's first.
            tty: whether it has a terminal.
            term: sort of terminal.
            size: of the terminal.
            path: what it copies in the pod, for the record; empty = it is no copy.
        """
        asked = {"command": list(command), "tty": tty, "term": term}
        asked |= {"rows": size.rows, "columns": size.columns}
        if path:
            asked["path"] = path
        with self._http.socket(_path(ref, "exec"), {"pod": pod, "rank": rank}) as socket:
            socket.send_text(msgspec.json.encode(asked).decode())
            yield TerminalSession(socket)

    @contextmanager
    def attach(self, ref: str) -> Iterator[TerminalSession]:
        """Look at the terminal of rank 0, and type; the job goes on after the block.

        Raises:
            Conflict: it has none (`state.no_terminal`), or does not run.
        """
        with self._http.socket(_path(ref, "attach")) as socket:
            yield TerminalSession(socket)

    @contextmanager
    def forward(
        self, ref: str, port: int, *, pod: int | None = None
    ) -> "Iterator[WebSocketSession]":
        """Connect to a port of a running pod; an empty message ends one direction."""
        params = {"port": port, "pod": pod}
        with self._http.socket(_path(ref, "port-forward"), params) as socket:
            yield socket


def _path(ref: str, verb: str) -> str:
    return f"/workloads/{quote(ref, safe='/')}/{verb}"
