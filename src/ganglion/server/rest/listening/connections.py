"""One connection of a caller: who it is, and how long it may keep the server waiting."""

import asyncio
import socket
from typing import TYPE_CHECKING

import h11
import structlog
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.wsproto_impl import WSProtocol
from wsproto.utilities import RemoteProtocolError

from ganglion.transport import unix
from ganglion.transport.limits import (
    BODY_S,
    DROPPED_BYTES,
    HEADERS_S,
    CallerLimit,
    RefusedConnection,
)
from ganglion.transport.refusals import FAILED, LATE, UNREADABLE
from ganglion.transport.tls.handshake import encrypted

if TYPE_CHECKING:  # a scheduler of clusters has no TLS, and no `cryptography`
    from ganglion.transport.tls.certificate import ServedCertificate

PEER, ACCOUNT = "ganglion.peer", "ganglion.account"
"""Keys in the state of a request's scope: the uid at the other end of a Unix socket, one who may do
everything; that of another account, on the socket that is for these."""

log = structlog.get_logger(__name__)


class JoinedAnswer:
    """Sends the head of an answer together with the first part of its body.

    The caller is woken once for both; a head without a body behind it leaves a moment later.

    Args:
        transport: the connection.
        loop: of the server.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._head, self._begun = b"", False

    def write(self, data: bytes) -> None:
        """Send bytes; the first ones wait for those that follow at once."""
        if not self._begun:
            self._head, self._begun = data, True
            self._loop.call_soon(self._flush)
            return
        head, self._head = self._head, b""
        self._transport.write(head + data)

    def is_closing(self) -> bool:
        """Whether the connection is closed, or about to be."""
        return self._transport.is_closing()

    def close(self) -> None:
        """Close the connection once everything is sent."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._head:
            self.write(b"")


class CallerServer(H11Protocol):
    """Takes callers on a Unix socket who are this user, and others as many as the limit allows.

    Others come over TCP, or by the Unix socket that is for other accounts. This user's calls on a
    Unix socket are not counted: a flood of others does not keep them out. With TLS, those over TCP
    are counted from before the handshake, which has the time of headers.
    """

    gate = CallerLimit(1 << 16)
    certificate: "ServedCertificate | None" = None
    """Set anew by `limited`; None = plain HTTP."""
    shared = ""
    """Address of the socket for other accounts; empty = there is none."""
    headers_s, body_s = HEADERS_S, BODY_S
    _address = ""
    _timer: asyncio.TimerHandle | None = None
    _handshake: asyncio.Task[None] | None = None
    _dropped = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn declares it
        """Begin, unless the limit is reached, or another user calls."""
        connected: socket.socket = transport.get_extra_info("socket")
        if connected.family == socket.AF_UNIX:
            uid = unix.peer_uid(connected)
            other = not unix.may_call(uid)
            self.app_state = {**self.app_state, ACCOUNT if other else PEER: uid}
            if other and self.shared and connected.getsockname() == self.shared:
                self._take(transport, f"uid {uid}")
                return
            super().connection_made(transport)
            if other:
                log.warning("another user was refused", uid=uid)
                transport.abort()
            return
        self._take(transport, str((transport.get_extra_info("peername") or ("",))[0]))

    def _take(self, transport: asyncio.Transport, address: str) -> None:
        """Begin with a caller that is counted, unless the limit is reached."""
        encrypted = self.certificate and ACCOUNT not in self.app_state
        if not self.gate.enter(address):
            log.warning("callers beyond the cap were refused", most=self.gate.most)
            if encrypted:
                transport.abort()  # an answer that is not encrypted would not be understood
            else:
                RefusedConnection().take(transport)
            return
        self._address = address
        if self.certificate and encrypted:
            self._handshake = self.loop.create_task(self._encrypted(transport, self.certificate))
            return
        super().connection_made(transport)
        self._arm(self.headers_s)

    async def _encrypted(
        self, transport: asyncio.Transport, certificate: "ServedCertificate"
    ) -> None:
        """Go on behind TLS once both ends agree; a connection that does not get there is gone."""
        found = None
        try:
            found = await encrypted(transport, self, certificate.context(), self.headers_s)
        finally:
            if found is None:
                self.gate.leave(self._address)
        if found is None:
            return
        made, kept = found
        super().connection_made(made)
        self._arm(self.headers_s)
        if kept:
            self.data_received(kept)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone; another one may connect."""
        self._disarm()
        if self._address:
            self.gate.leave(self._address)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came, and set the time for what is missing."""
        refused = self.conn.our_state is h11.DONE and self.conn.their_state is h11.SEND_BODY
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self.cycle.transport = JoinedAnswer(self.transport, self.loop)  # type: ignore[assignment]  # what it uses of one
        if self.transport.get_protocol() is not self:
            self._disarm()  # it has become a WebSocket, whose silence is no error
            return
        if refused:
            self._dropped += len(data)
            if self._dropped > DROPPED_BYTES:
                self.transport.close()
        self._wait_for_rest()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Hand the connection to the protocol of WebSockets; its end frees its place."""
        super().handle_websocket_upgrade(event)
        heir = self.transport.get_protocol()
        if self._address and heir is not self:
            lost, gate, address = heir.connection_lost, self.gate, self._address

            def left(exc: Exception | None) -> None:
                gate.leave(address)
                lost(exc)

            heir.connection_lost = left  # type: ignore[method-assign]  # uvicorn chose its class

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request, unless an answer has begun."""
        del msg
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(UNREADABLE)
        self.transport.close()

    def on_response_complete(self) -> None:
        """Wait for the next request, part of which may be there."""
        super().on_response_complete()
        self._wait_for_rest()

    def _wait_for_rest(self) -> None:
        """Bound the wait for the rest of headers as a whole, and for each part of a body."""
        state = self.conn.their_state
        if state is h11.SEND_BODY and not self.flow.read_paused:
            self._disarm()
            self._arm(self.body_s)
        elif state is not h11.IDLE:
            self._disarm()
        elif self.conn.trailing_data[0]:
            if self._timer is None:
                self._arm(self.headers_s)
        else:
            # uvicorn bounds the pause between two requests.
            self._disarm()

    def _arm(self, seconds: float) -> None:
        if not self.transport.is_closing():
            self._timer = self.loop.call_later(seconds, self._late)

    def _disarm(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        """The rest did not come in time."""
        self._timer = None
        if self.transport.is_closing():
            return
        if self.flow.read_paused:  # the application does not read the body at present
            self._arm(self.body_s)
            return
        cycle = self.cycle
        if cycle is None or cycle.response_complete or not cycle.response_started:
            self.transport.write(LATE)
        self.transport.close()


class Conversation(WSProtocol):
    """A WebSocket whose handshake fails as other requests do: with a problem."""

    def data_received(self, data: bytes) -> None:
        """Take what came; a handshake that is none is answered."""
        if self.handshake_complete:
            super().data_received(data)
            return
        try:
            self.conn.receive_data(data)
        except RemoteProtocolError:
            self.transport.write(UNREADABLE)
            self.transport.close()
        else:
            self.handle_events()

    def send_500_response(self) -> None:
        """Answer that the server failed, while it can."""
        if not self.response_started and not self.handshake_complete:
            self.transport.write(FAILED)


def limited(
    most: int, certificate: "ServedCertificate | None" = None, shared: str = ""
) -> type[CallerServer]:
    """Connections of one server, with a cap of their own.

    Args:
        most: callers at once, but for the owner's on the Unix socket.
        certificate: what those over TCP are shown; None = they speak plain HTTP.
        shared: address of the socket for other accounts; empty = there is none.
    """
    how = {"gate": CallerLimit(most), "certificate": certificate, "shared": shared}
    return type("Connection", (CallerServer,), how)
