"""WebSockets: a connection to a replica for every connection of a caller, message by message."""

import asyncio
from http import HTTPStatus

import aiohttp
from aiohttp import WSCloseCode, WSMsgType, hdrs, web
from msgspec import Struct
from yarl import URL

from ganglion.router.balancing.balancer import ReplicaState
from ganglion.router.balancing.counters import RequestOutcome
from ganglion.router.balancing.table import Limits, RoutedService
from ganglion.router.proxy.answers import RouterResponse
from ganglion.router.proxy.forward import NEVER_SENT
from ganglion.router.proxy.headers import onward
from ganglion.router.proxy.request import Visit

End = web.WebSocketResponse | aiohttp.ClientWebSocketResponse
CLOSE_S = 5.0
"""Time for the other side to confirm a close."""


def wanted(request: web.BaseRequest) -> bool:
    """Whether a request asks for a WebSocket."""
    return request.headers.get(hdrs.UPGRADE, "").lower() == "websocket"


class Tunnel:
    """One WebSocket.

    Args:
        session: connections to replicas.
        service: which service it is for.
        request: the caller's handshake.
        path: path and query for replicas, percent-encoded.
        prefix: prefix that was removed from the path.
        visit: its record, from arrival to end.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        service: RoutedService,
        request: web.BaseRequest,
        path: str,
        prefix: str,
        visit: Visit,
    ) -> None:
        self._session, self._service, self._request = session, service, request
        self._path, self._visit = path, visit
        self._headers = onward(request, prefix, service.access.key, websocket=True)

    async def run(self) -> web.StreamResponse:
        """Serve it until either side ends it.

        Raises:
            Refusal: no replica took it.
        """
        return await self._visit.served(self._tried)

    async def _tried(self, replica: ReplicaState) -> web.StreamResponse | None:
        try:
            far = await self._connected(replica)
        except NEVER_SENT:
            self._visit.failed(replica)
            return None
        except aiohttp.WSServerHandshakeError as error:
            return self._declined(replica, error)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            # A handshake is a GET: it may be tried again.
            self._visit.failed(replica)
            if self._visit.tries >= self._service.limits.tries:
                raise self._broken(replica) from error
            return None
        async with far:
            return await self._joined(replica, far)

    async def _connected(self, replica: ReplicaState) -> aiohttp.ClientWebSocketResponse:
        offered = self._request.headers.get(hdrs.SEC_WEBSOCKET_PROTOCOL, "")
        return await self._session.ws_connect(
            URL(f"http://{replica.endpoint.address}{self._path}", encoded=True),
            headers=self._headers,
            protocols=[each.strip() for each in offered.split(",") if each.strip()],
            timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_S),
            autoclose=False,
            autoping=False,
            max_msg_size=_largest(self._service.limits),
        )

    async def _joined(
        self, replica: ReplicaState, far: aiohttp.ClientWebSocketResponse
    ) -> web.StreamResponse:
        near = web.WebSocketResponse(
            timeout=CLOSE_S,
            protocols=[far.protocol] if far.protocol else (),
            autoclose=False,
            autoping=False,
            max_msg_size=_largest(self._service.limits),
        )
        try:
            await near.prepare(self._request)
            self._visit.began()
            await both_ways(near, far)
        except ConnectionResetError:
            self._visit.end(RequestOutcome.LEFT)
            return near
        self._visit.answered(replica)
        return near

    def _declined(
        self, replica: ReplicaState, error: aiohttp.WSServerHandshakeError
    ) -> web.StreamResponse:
        """Pass on the status of a replica that refuses the WebSocket."""
        self._visit.answered(replica)
        status = HTTPStatus(error.status) if error.status >= HTTPStatus.BAD_REQUEST else None
        message = f"{replica.name} takes no WebSocket there: {error.message}"
        return RouterResponse(
            status or HTTPStatus.BAD_GATEWAY, "router.websocket", message
        ).answer()

    def _broken(self, replica: ReplicaState) -> RouterResponse:
        self._visit.end(RequestOutcome.BROKEN)
        message = f"{replica.name} ended the connection without an answer"
        return RouterResponse(HTTPStatus.BAD_GATEWAY, "router.broken", message)


def _largest(limits: Limits) -> int:
    return limits.body_bytes


class SideClosed(Struct, frozen=True):
    """Close of one side.

    Attributes:
        code: close code of RFC 6455, 7.4.
        reason: for people.
    """

    code: int
    reason: bytes = b""


async def both_ways(near: End, far: End) -> None:
    """Pass messages on until one side ends; then both are ended with its code and reason."""
    ways = {
        asyncio.create_task(_one_way(near, far)): (far, near),
        asyncio.create_task(_one_way(far, near)): (near, far),
    }
    try:
        done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
    first = done.pop()
    ended = first.result()
    for side in ways[first]:
        await side.close(code=ended.code, message=ended.reason)


async def _one_way(source: End, sink: End) -> SideClosed:
    while True:
        message = await source.receive()
        match message.type:
            case WSMsgType.TEXT:
                await sink.send_str(message.data)
            case WSMsgType.BINARY:
                await sink.send_bytes(message.data)
            case WSMsgType.PING:
                await sink.ping(message.data)
            case WSMsgType.PONG:
                await sink.pong(message.data)
            case WSMsgType.CLOSE:
                return SideClosed(message.data or WSCloseCode.OK, (message.extra or "").encode())
            case _:
                return _broken_off(source)


def _broken_off(source: End) -> SideClosed:
    """The side vanished, or sent a malformed WebSocket message."""
    code = source.close_code
    # 1006 says that there was no close at all, and must not be sent.
    return SideClosed(
        code if code and code != WSCloseCode.ABNORMAL_CLOSURE else WSCloseCode.GOING_AWAY
    )
