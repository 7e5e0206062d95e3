"""Who may ask, and how much at once: before any route is looked at."""

import secrets

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ganglion.server.problems import problem

MOST_BYTES = 1 << 20
"""Largest body of a request."""

PREFIX = "/api/v1"
OPEN = frozenset(
    {"/healthz", "/readyz", "/version", f"{PREFIX}/healthz", f"{PREFIX}/version"},
)
"""Paths that need no token."""

METRICS = "/metrics"


class Guard:
    """Asks for the token and bounds bodies.

    Args:
        app: what is guarded.
        token: what clients must send.
        open_metrics: whether metrics need no token.
    """

    def __init__(self, app: ASGIApp, token: str, *, open_metrics: bool) -> None:
        self._app, self._token = app, token.encode()
        self._open = OPEN | {METRICS} if open_metrics else OPEN

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if scope["path"] not in self._open and not self._knows(headers):
            await _unauthorized()(scope, receive, send)
        elif _length(headers) > MOST_BYTES:
            await _too_large()(scope, receive, send)
        else:
            await self._app(scope, _bounded(receive), send)

    def _knows(self, headers: Headers) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        # Compared as bytes: text beyond ASCII would raise.
        same = secrets.compare_digest(given.strip().encode("utf-8", "replace"), self._token)
        return same and kind.lower() == "bearer"


def _length(headers: Headers) -> int:
    given = headers.get("content-length", "0")
    return int(given) if given.isascii() and given.isdigit() else 0


def _bounded(receive: Receive) -> Receive:
    """Bodies without a declared length are counted as they come."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > MOST_BYTES:
            raise HTTPException(413, f"the body has more than {MOST_BYTES:,} bytes")
        return message

    return counted


def _unauthorized() -> ASGIApp:
    return problem(
        401,
        "auth",
        "the token is missing or wrong",
        "send `Authorization: Bearer` with the token of $GANGLION_HOME/token",
        {"WWW-Authenticate": "Bearer"},
    )


def _too_large() -> ASGIApp:
    return problem(
        413,
        "input.size",
        f"the body has more than {MOST_BYTES:,} bytes",
        "a request may have at most 1 MiB",
        {"Connection": "close"},
    )
