"""Control endpoint: a server of this machine sends tables and reads stats, with a token."""

import hmac
import socket
from collections.abc import Awaitable, Callable
from http import HTTPStatus

import msgspec
from aiohttp import hdrs, web

from ganglion.model.errors import FieldError
from ganglion.router.balancing.registry import ServiceRegistry
from ganglion.router.balancing.table import RoutingTable, check
from ganglion.router.decisions import RoleAnswer, RoleDecisions
from ganglion.router.metrics import CONTENT_TYPE, exposition
from ganglion.router.proxy.answers import RouterResponse
from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.transport import unix

LONGEST_MS = 30_000
"""Longest wait for a change."""
LARGEST = 64 << 20
"""Largest table in bytes."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Control:
    """The control side.

    Args:
        switch: the services.
        token: token that requests must carry.
        leave: called when the router is to end.
        decisions: what servers are asked about callers.
        clock: see `heard`.

    Attributes:
        heard: when a request with the token came last, by the monotonic clock, in seconds.
    """

    def __init__(
        self,
        services: ServiceRegistry,
        token: str,
        leave: Callable[[], Awaitable[None]],
        decisions: RoleDecisions,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._clock = clock
        self._services, self._leave, self._decisions = services, leave, decisions
        self._expected = f"Bearer {token}".encode()
        self.heard = self._clock.monotonic()

    def app(self) -> web.Application:
        """The application."""

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            return await self._guarded(request, handler)

        app = web.Application(middlewares=[guard], client_max_size=LARGEST)
        app.router.add_get("/stats", self._stats)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_put("/table", self._table)
        app.router.add_get("/questions", self._questions)
        app.router.add_post("/answers", self._answers)
        app.router.add_post("/leave", self._left)
        return app

    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        connected: socket.socket | None = request.get_extra_info("socket")
        if connected is not None and connected.family == socket.AF_UNIX:
            uid = unix.peer_uid(connected)
            if not unix.may_call(uid):
                return RouterResponse(
                    HTTPStatus.FORBIDDEN, "auth", f"user {uid} may not call"
                ).answer()
        given = request.headers.get(hdrs.AUTHORIZATION, "").encode("utf-8", "replace")
        if not hmac.compare_digest(given, self._expected):
            message = "the token is missing or wrong"
            return RouterResponse(HTTPStatus.UNAUTHORIZED, "auth", message).answer()
        self.heard = self._clock.monotonic()
        try:
            return await handler(request)
        except web.HTTPException as error:
            message = f"{request.method} {request.path}: {error.reason}"
            answer = RouterResponse(HTTPStatus(error.status), "http", message).answer()
            if hdrs.ALLOW in error.headers:
                answer.headers[hdrs.ALLOW] = error.headers[hdrs.ALLOW]
            return answer

    async def _stats(self, request: web.Request) -> web.StreamResponse:
        """Return the stats as soon as they are newer than `news`, at most `wait_ms` later."""
        seen, wait_ms = (_number(request, key) for key in ("news", "wait_ms"))
        if wait_ms:
            await self._services.news_beyond(seen, min(wait_ms, LONGEST_MS))
        body = msgspec.json.encode(self._services.stats())
        return web.Response(body=body, content_type="application/json")

    async def _metrics(self, _request: web.Request) -> web.StreamResponse:
        return web.Response(body=exposition(self._services), headers={"Content-Type": CONTENT_TYPE})

    async def _table(self, request: web.Request) -> web.StreamResponse:
        try:
            table = msgspec.json.decode(await request.read(), type=RoutingTable)
            check(table)
        except (msgspec.DecodeError, FieldError) as error:
            return RouterResponse(HTTPStatus.BAD_REQUEST, "router.table", str(error)).answer()
        self._services.apply(table)
        return web.Response(status=HTTPStatus.NO_CONTENT)

    async def _questions(self, request: web.Request) -> web.StreamResponse:
        """Return questions about callers as soon as there are some, at most `wait_ms` later."""
        wait_ms = min(_number(request, "wait_ms"), LONGEST_MS)
        body = msgspec.json.encode(await self._decisions.questions(wait_ms))
        return web.Response(body=body, content_type="application/json")

    async def _answers(self, request: web.Request) -> web.StreamResponse:
        try:
            answers = msgspec.json.decode(await request.read(), type=tuple[RoleAnswer, ...])
        except msgspec.DecodeError as error:
            return RouterResponse(HTTPStatus.BAD_REQUEST, "router.answers", str(error)).answer()
        self._decisions.decided(answers)
        return web.Response(status=HTTPStatus.NO_CONTENT)

    async def _left(self, _request: web.Request) -> web.StreamResponse:
        await self._leave()
        return web.Response(status=HTTPStatus.NO_CONTENT)


def _number(request: web.Request, key: str) -> int:
    given = request.query.get(key, "0")
    return int(given) if given.isascii() and given.isdigit() else 0
