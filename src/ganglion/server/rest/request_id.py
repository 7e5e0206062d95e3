"""The request that is being served, from the client to the log and the ledger: its id and maker."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ganglion.seams.effects import SYSTEM, Effects
from ganglion.seams.randomness import SYSTEM_RANDOMNESS, Randomness, unique_id
from ganglion.server.rest.paths import WEBSOCKET
from ganglion.tracing import spans
from ganglion.transport.problem import MEDIA_TYPE
from ganglion.transport.refusals import BROKEN, body

HEADER = "X-Request-Id"
AGENT = "X-Ganglion-Agent"
"""Header in which a program that acts for a user says how it is called."""
SWITCHING = 101
"""Status of a WebSocket that was accepted."""
log = structlog.get_logger(__name__)

_FIT = re.compile(r"[A-Za-z0-9._:-]{1,64}")
_NAME = re.compile(r"[A-Za-z0-9 ._:/@+()-]{1,100}")

_current: ContextVar[str] = ContextVar("request_id", default="")
_actor: ContextVar[str] = ContextVar("request_actor", default="")
_token: ContextVar[str] = ContextVar("request_token", default="")
_agent: ContextVar[str] = ContextVar("request_agent", default="")
_grants: ContextVar[Sequence[str]] = ContextVar("request_grants", default=())
_glass: ContextVar[Sequence[str]] = ContextVar("request_glass", default=())


def request_id() -> str:
    """The id of the request that this task or thread serves; empty = it serves none."""
    return _current.get()


def request_actor() -> str:
    """The user whose request this task or thread serves; empty = it serves none, or of no user."""
    return _actor.get()


def request_token() -> str:
    """Id of the personal token that was sent with the request; empty = none."""
    return _token.get()


def request_agent() -> str:
    """The program that makes the request for its user, as it calls itself; empty = unknown."""
    return _agent.get()


def request_grants() -> Sequence[str]:
    """The standing grants that allow this request; grows as it is decided about."""
    return _grants.get()


def request_glass() -> Sequence[str]:
    """The grants by broken glass that this request needed so far; grows as it is decided about."""
    return _glass.get()


def serve_for(
    user: str, grants: Sequence[str] = (), glass: Sequence[str] = (), token: str = ""
) -> None:
    """Take down who makes the request that this task serves.

    Args:
        user: its name.
        grants: the standing grants that allow it; others go on to append to it.
        glass: the grants by broken glass that it needs; others go on to append to it.
        token: id of the personal token that was sent with it; empty = none.
    """
    _actor.set(user)
    _token.set(token)
    _grants.set(grants)
    _glass.set(glass)


def begin(given: str, randomness: Randomness = SYSTEM_RANDOMNESS, agent: str = "") -> str:
    """Take the id that a client made, or make one where that is missing or not fit to be logged.

    Args:
        given: value of the header; empty = none.
        randomness: makes an id.
        agent: value of the header `AGENT`; what is not fit to be logged is left out.

    Returns:
        the id.
    """
    found = given if _FIT.fullmatch(given) else unique_id(randomness)
    _current.set(found)
    serve_for("")
    _agent.set(agent if _NAME.fullmatch(agent) else "")
    return found


class Identified:
    """Gives every request its id: in the log, in problems, and in the answer's header.

    Args:
        app: the application.
        answered: gets the path, the method, the status, and the seconds until the answer's head.
        template: path and method -> the template of the path; empty = none fits.
        effects: chance, and the clock.
    """

    def __init__(
        self,
        app: ASGIApp,
        answered: Callable[[str, str, int, float], None] = lambda *_: None,
        template: Callable[[str, str], str] = lambda *_: "",
        effects: Effects = SYSTEM,
    ) -> None:
        self._effects = effects
        self._app, self._answered, self._template = app, answered, template

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        clock = self._effects.clock
        began = clock.monotonic()
        headers, said = Headers(scope=scope), dict[str, spans.Value]()
        agent = headers.get(AGENT, "")
        found = begin(headers.get(HEADER, ""), self._effects.randomness, agent)
        if scope["type"] == "websocket":
            with structlog.contextvars.bound_contextvars(request=found):
                await self._conversed(scope, receive, send, found)
            return

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = found
                said["http.response.status_code"] = message["status"]
                seconds = clock.monotonic() - began
                self._answered(scope["path"], scope["method"], message["status"], seconds)
            await send(message)

        async def answering() -> None:
            try:
                await self._app(scope, receive, marked)
            except Exception as error:
                # The application answers what it fails over; this failed outside of it.
                if said:
                    raise
                log.error("request failed", method=scope["method"], exc_info=error)
                await Response(body(*BROKEN), BROKEN[0], media_type=MEDIA_TYPE)(
                    scope, receive, marked
                )

        with structlog.contextvars.bound_contextvars(request=found):
            if spans.exporter() is None:
                await answering()
                return
            with self._spanned(scope, scope["method"], found) as known:
                await answering()
                known.update(said)

    async def _conversed(self, scope: Scope, receive: Receive, send: Send, request: str) -> None:
        """Pass a WebSocket on; its span ends with it."""
        if spans.exporter() is None:
            await self._app(scope, receive, send)
            return
        with self._spanned(scope, WEBSOCKET, request) as known:

            async def marked(message: Message) -> None:
                if message["type"] == "websocket.accept":
                    known["http.response.status_code"] = SWITCHING
                elif message["type"] == "websocket.http.response.start":
                    known["http.response.status_code"] = message["status"]
                await send(message)

            await self._app(scope, receive, marked)

    @contextmanager
    def _spanned(self, scope: Scope, method: str, request: str) -> Iterator[dict[str, spans.Value]]:
        """The server's span of a request, below that of the client."""
        route, verb = self._template(scope["path"], method), scope.get("method", "GET")
        about = {"http.request.method": verb, "http.route": route, "ganglion.request": request}
        parent = spans.read(Headers(scope=scope).get(spans.HEADER, ""))
        with spans.span(f"{verb} {route}".rstrip(), spans.SpanKind.SERVER, parent, about) as known:
            yield known
