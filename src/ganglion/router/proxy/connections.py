"""Callers' connections, limited in number and in the time until their headers end."""

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from aiohttp import web
from msgspec import Struct

from ganglion.router.proxy.answers import RouterResponse
from ganglion.transport.hosts import is_own
from ganglion.transport.limits import HEADERS_S, CallerLimit, RefusedConnection
from ganglion.transport.refusals import LATE, MALFORMED
from ganglion.transport.tcp_owner import owner_of
from ganglion.transport.tls.handshake import encrypted

if TYPE_CHECKING:  # it needs `cryptography`, which takes a moment to load
    from ganglion.transport.tls.certificate import ServedCertificate

FAILED = (
    HTTPStatus.INTERNAL_SERVER_ERROR,
    "router.failed",
    "the router failed over this request",
    "see router.log in the home of the server",
)
"""Status, code, message and hint of a defect of the router."""


class CallerLimits(Struct):
    """Limits of callers.

    Attributes:
        gate: counts them.
        headers_s: longest time from a connection, or from the first byte of a further request, to
            the end of headers, or of the handshake of TLS.
        certificate: what callers are shown; None = they speak plain HTTP.
    """

    gate: CallerLimit
    headers_s: float = HEADERS_S
    certificate: "ServedCertificate | None" = None


class CallerProtocols(web.Server):
    """Makes the protocol of each connection.

    Args:
        handler: answers requests.
        bounds: limits of callers.
        others: of aiohttp's server and of its connections.
    """

    def __init__(
        self,
        handler: Any,  # noqa: ANN401 - aiohttp names its type in a private module
        bounds: CallerLimits,
        **others: Any,  # noqa: ANN401 - aiohttp's
    ) -> None:
        super().__init__(handler, **others)
        self._bounds = bounds

    def __call__(self) -> web.RequestHandler:
        """The protocol of a new connection."""
        return CallerConnection(self, self._bounds, loop=self._loop, **self._kwargs)


class CallerConnection(web.RequestHandler):
    """One connection.

    Args:
        manager: the server.
        bounds: what callers are allowed.
        others: of aiohttp's.
    """

    def __init__(
        self,
        manager: CallerProtocols,
        bounds: CallerLimits,
        **others: Any,  # noqa: ANN401 - aiohttp's
    ) -> None:
        super().__init__(manager, **others)
        self._bounds = bounds
        self._address: str | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._handshake: asyncio.Task[None] | None = None
        self._ends: tuple[tuple[str, int], tuple[str, int]] | None = None
        self._user: int | None = None

    @property
    def user(self) -> int | None:
        """User of this machine who connected, as the kernel reports; None = not known."""
        if self._ends:
            ends, self._ends = self._ends, None
            self._user = owner_of(*ends)
        return self._user

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, unless the limit is reached."""
        assert isinstance(transport, asyncio.Transport)
        address = str((transport.get_extra_info("peername") or ("",))[0])
        certificate = self._bounds.certificate
        if not self._bounds.gate.enter(address):
            if certificate:
                transport.abort()  # an answer that is not encrypted would not be understood
            else:
                RefusedConnection().take(transport)
            return
        self._address = address
        self._ends = _local_ends(transport)
        if certificate:
            loop = asyncio.get_running_loop()
            self._handshake = loop.create_task(self._encrypted(transport, certificate))
            return
        super().connection_made(transport)
        self._arm()

    async def _encrypted(
        self, transport: asyncio.Transport, certificate: "ServedCertificate"
    ) -> None:
        """Go on behind TLS; a connection that does not get there frees its place."""
        found = None
        try:
            found = await encrypted(transport, self, certificate.context(), self._bounds.headers_s)
        finally:
            if found is None:
                self._leave()
        if found is None:
            return
        made, kept = found
        super().connection_made(made)
        self._arm()
        if kept:
            self.data_received(kept)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Release the connection's slot in the limit."""
        self._disarm()
        self._leave()
        super().connection_lost(exc)

    def _leave(self) -> None:
        if self._address is not None:
            self._bounds.gate.leave(self._address)
            self._address = None

    def data_received(self, data: bytes) -> None:
        """Read received bytes; headers that have begun must end in time."""
        before = self._request_count
        super().data_received(data)
        if self._request_count > before:
            self._disarm()
        elif data and self._timer is None and self._waiter is not None:
            self._arm()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = HTTPStatus.INTERNAL_SERVER_ERROR,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer malformed requests, and requests that cause a defect in the router.

        Raises:
            ConnectionError: an answer has begun, so that there can be no other one.
        """
        super().handle_error(request, status, exc, message)
        found = RouterResponse(
            *(MALFORMED if status == HTTPStatus.BAD_REQUEST else FAILED)
        ).answer()
        found.force_close()
        return found

    def _arm(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._bounds.headers_s, self._late)

    def _disarm(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if self.transport is not None:
            self.transport.write(LATE)
        self.force_close()


def _local_ends(transport: asyncio.Transport) -> tuple[tuple[str, int], tuple[str, int]] | None:
    """Address and port of both ends of a connection within this machine; None = it is none."""
    peer, own = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
    if not peer or not own or not is_own(str(peer[0]), str(own[0])):
        return None
    return (peer[0], peer[1]), (own[0], own[1])
