"""One connection of a caller: who it is, where the kernel tells."""

import asyncio
import socket

import structlog
from uvicorn.protocols.http.h11_impl import H11Protocol

from ganglion.transport import unix

PEER = "ganglion.peer"
"""Key in the state of a request's scope: the user at the other end of a Unix socket."""

log = structlog.get_logger(__name__)


class Connection(H11Protocol):
    """Takes callers on a Unix socket who are this user, and anybody over TCP."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn declares it
        """Begin, unless another user calls."""
        super().connection_made(transport)
        connected: socket.socket = transport.get_extra_info("socket")
        if connected.family != socket.AF_UNIX:
            return
        uid = unix.peer_uid(connected)
        if unix.may_call(uid):
            self.app_state = {**self.app_state, PEER: uid}
        else:
            log.warning("another user was refused", uid=uid)
            transport.abort()
