"""Submits without the layers of the framework, which cost more than everything else about them."""

import re

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from ganglion.model.errors import GanglionError
from ganglion.server.requests.context import ServerContext, body_of, bound
from ganglion.server.rest import problems
from ganglion.server.rest.listening.guard import PREFIX
from ganglion.server.routes.workloads import MOST_KEY, taken

PATH = f"{PREFIX}/workloads"
_KEY = b"idempotency-key"
_PLAIN = re.compile(rb"[\x21-\x7e]{0,%d}" % MOST_KEY)


class Direct:
    """Answers a plain `POST /workloads` as its route does, and passes on every other request.

    Args:
        app: the application.
        context: what it serves.
    """

    def __init__(self, app: ASGIApp, context: ServerContext) -> None:
        self._app, self._context = app, context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass the request on."""
        key = _plain_key(scope)
        if key is None:
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            body = body_of(await request.body())
            response = await taken(bound(self._context, scope), body, key=key)
        except (GanglionError, HTTPException) as error:
            response = problems.answer_to(request, error)
        except ClientDisconnect:
            return  # before all of the body was sent
        await response(scope, receive, send)


def _plain_key(scope: Scope) -> str | None:
    """The idempotency key of a submit without a query; None = the framework has to look at it."""
    if scope["type"] != "http" or scope["path"] != PATH or scope["method"] != "POST":
        return None
    keys = [value for name, value in scope["headers"] if name == _KEY]
    if scope["query_string"] or len(keys) > 1 or not all(map(_PLAIN.fullmatch, keys)):
        return None
    return keys[0].decode() if keys else ""
