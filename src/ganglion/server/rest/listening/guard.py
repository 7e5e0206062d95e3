"""Who may ask, and how much at once: before any route is looked at."""

import re
import secrets
from collections.abc import Callable
from typing import Protocol
from urllib.parse import parse_qs

import anyio
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ganglion.identity.tokens import PREFIX as PERSONAL
from ganglion.server.rest.listening.connections import ACCOUNT, PEER
from ganglion.server.rest.problems import problem
from ganglion.transport import proof
from ganglion.transport.hosts import Hosts, is_foreign

MOST_BYTES = 1 << 20
"""Largest body of a request."""
MOST_DELIVERED = 16 << 20
"""The same of records that a scheduler of clusters delivers: a gang has up to 100,000 pods."""
_DELIVERY = re.compile(r"/api/v1/clusters/[^/]+/records")

PREFIX = "/api/v1"
OPEN = frozenset(
    {"/healthz", "/readyz", "/version", f"{PREFIX}/healthz", f"{PREFIX}/version", proof.PATH},
)
"""Paths that need no token."""

METRICS = "/metrics"
OWNER, TOKEN, SESSION = "ganglion.owner", "ganglion.token", "ganglion.session"
"""Keys in the state of a request's scope: that the owner asks; the personal token that was sent;
the cookie of a browser's session."""


class LoginPages(Protocol):
    """The pages of signing in, which every caller may ask for.

    Attributes:
        cookie: name of the cookie of sessions.
    """

    cookie: str

    def __contains__(self, path: str) -> bool:
        """Whether a path is one of them."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for one of them."""


class OpenPages(Protocol):
    """Pages without data, which every caller may have."""

    def answers(self, scope: Scope) -> bool:
        """Whether a request is for one of them."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer it."""


class TokenGuard:
    """Asks for the token, shows that the server knows it, and bounds bodies.

    Callers on Unix sockets need no token: the kernel identifies them. Whether a personal token
    counts, and for what, is decided behind the guard.

    Args:
        app: what is guarded, a `Gate`.
        token: what clients must send.
        hosts: names that the server answers to.
        keys: id of a personal token -> what the server proves with that it knows it; empty = it
            does not. May wait for a turn to end.
        open_metrics: whether metrics need no token.
        login: where browsers sign in; None = they cannot.
        portal: pages of the portal; None = there are none.
    """

    def __init__(
        self,
        app: ASGIApp,
        token: str,
        hosts: Hosts,
        keys: Callable[[str], str],
        *,
        open_metrics: bool,
        login: LoginPages | None = None,
        portal: OpenPages | None = None,
    ) -> None:
        self._keys, self._portal = keys, portal
        self._app, self._secret, self._token = app, token, token.encode()
        self._hosts, self._login = hosts, login
        self._open = OPEN | {METRICS} if open_metrics else OPEN

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass the request on."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal:
            await refusal(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._app(scope, receive, send)
        elif self._login and scope["path"] in self._login:
            await self._login(scope, _bounded(receive, MOST_BYTES), send)
        elif self._shows(scope):
            await self._portal(scope, receive, send)  # type: ignore[misc]  # there is one
        elif scope["path"] == proof.PATH and scope["method"] == "GET":
            answer = await self._proof(scope)
            await answer(scope, receive, send)
        else:
            await self._app(scope, _bounded(receive, _most(scope)), send)

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        """Why a request is not passed on; None = it is."""
        headers = Headers(scope=scope)
        personal, known = _personal(headers), _is_local(scope)
        account = ACCOUNT in scope.get("state", {})
        if not known and not account:  # no web page reaches a Unix socket
            authority, address = headers.get("host", ""), scope["server"]
            if not self._hosts.answers_to(authority, address):
                return _misdirected(f"this server does not answer to {authority!r}")
            if is_foreign(headers, authority) and not self._leads_here(scope, headers):
                return _foreign()
            known = self._knows(headers)
        state = scope.setdefault("state", {})
        if personal:
            state[TOKEN] = personal
        elif known:
            state[OWNER] = True
        elif self._shows(scope):
            pass
        elif scope["path"] not in self._open and not account:
            session = self._session(headers)
            if not session:
                return _unauthorized()
            state[SESSION] = session
        most = _most(scope)
        return _too_large(most) if _length(headers) > most else None

    async def _proof(self, scope: Scope) -> ASGIApp:
        """The answer to a challenge, for the address that the client connected to."""
        query = parse_qs(scope["query_string"].decode("ascii", "replace"))
        given, name = query.get("nonce", [""])[0], query.get("token", [""])[0]
        authority = Headers(scope=scope).get("host", "")
        if not proof.is_nonce(given):
            return problem(422, "input.field", "nonce: should be 16 to 128 letters and digits")
        if not _is_local(scope) and not self._hosts.is_address_of(authority, scope["server"]):
            return _misdirected(f"this server is not at {authority!r}")
        key = await anyio.to_thread.run_sync(self._keys, name) if name else self._secret
        if not key:
            return problem(404, "state.not_found", "this server knows no such personal token")
        return JSONResponse({"proof": proof.proof(key, given, authority)})

    def _leads_here(self, scope: Scope, headers: Headers) -> bool:
        """Whether a browser follows a link or redirect of another site to a page without data."""
        page = self._shows(scope)
        follows = headers.get("Sec-Fetch-Mode", "navigate") == "navigate"
        return page and follows and "Origin" not in headers and scope.get("method") == "GET"

    def _shows(self, scope: Scope) -> bool:
        """Whether a request is for a page that every caller may have."""
        if self._login and scope["path"] in self._login:
            return True
        reserved = scope["path"] in self._open or scope["path"] == METRICS
        return self._portal is not None and not reserved and self._portal.answers(scope)

    def _session(self, headers: Headers) -> str:
        """The cookie of a request without credentials of another kind; empty = it has none."""
        if self._login is None or "authorization" in headers:
            return ""
        return cookie_parser(headers.get("cookie", "")).get(self._login.cookie, "")

    def _knows(self, headers: Headers) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        # Compared as bytes: text beyond ASCII would raise.
        same = secrets.compare_digest(given.strip().encode("utf-8", "replace"), self._token)
        return same and kind.lower() == "bearer"


def _personal(headers: Headers) -> str:
    """The personal token of a request, well formed or not; empty = it has none."""
    kind, _, given = headers.get("authorization", "").partition(" ")
    given = given.strip()
    return given if kind.lower() == "bearer" and given.startswith(PERSONAL) else ""


def _length(headers: Headers) -> int:
    given = headers.get("content-length", "0")
    return int(given) if given.isascii() and given.isdigit() else 0


def _most(scope: Scope) -> int:
    """Most bytes that the body of a request may have."""
    return MOST_DELIVERED if _DELIVERY.fullmatch(scope["path"]) else MOST_BYTES


def _bounded(receive: Receive, most: int) -> Receive:
    """Bodies without a declared length are counted as they come."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise HTTPException(413, f"the body has more than {most:,} bytes")
        return message

    return counted


def _is_local(scope: Scope) -> bool:
    """Whether the kernel identifies the caller as a user who may call."""
    return PEER in scope.get("state", {})


def _misdirected(message: str) -> ASGIApp:
    return problem(
        421, "http.host", message, "give the server that name: ganglion up --host-name NAME[:PORT]"
    )


def _foreign() -> ASGIApp:
    message = "a web page of another origin may not use this server"
    return problem(403, "http.origin", message, "programs send neither Origin nor Sec-Fetch-Site")


def _unauthorized() -> ASGIApp:
    return problem(
        401,
        "auth",
        "the token is missing or wrong",
        "send `Authorization: Bearer` with the token of $GANGLION_HOME/token",
        {"WWW-Authenticate": "Bearer"},
    )


def _too_large(most: int) -> ASGIApp:
    return problem(
        413,
        "input.size",
        f"the body has more than {most:,} bytes",
        f"a request may have at most {most >> 20} MiB",
    )
