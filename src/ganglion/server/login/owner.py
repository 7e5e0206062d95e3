"""The owner of a server opens the portal: a one-time code is exchanged for a session.

Only where users do not sign in with a browser. The link has the code behind `#`, which browsers
send nowhere: the page of the portal posts it.
"""

from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

import anyio
import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ganglion.model.errors import Forbidden, GanglionError
from ganglion.seams.effects import Effects
from ganglion.server.access.denials import Denials
from ganglion.server.access.permissions import BadSession, Permissions
from ganglion.server.access.tries.one_time_codes import OneTimeCodes
from ganglion.server.commands.sign_in import sign_in_owner, sign_out
from ganglion.server.login.forms import (
    NO_STORE,
    Form,
    address_of,
    field_of,
    form_of,
    require_own_page,
)
from ganglion.server.portal.links import PortalLinks
from ganglion.server.rest.listening.guard import LoginPages
from ganglion.server.rest.problems import answer, problem

if TYPE_CHECKING:
    from ganglion.server.loop.service import Service

ENTER, LEAVE = "/login/portal", "/logout"
LASTING_MS = 7 * 24 * 3_600_000
"""When a session ends at the latest."""
IDLE_MS = 24 * 3_600_000
"""How long one lasts without a request."""
COOKIE_BYTES = 32
OPERATION = "open_portal"
"""What denials call it."""

log = structlog.get_logger(__name__)


class OwnerLogin:
    """Answers for the two paths, and passes on what other pages there are.

    Args:
        service: owns the state.
        permissions: who may do what.
        links: what has the codes.
        owner: user of the server.
        effects: clock and chance.
        home: folder of the server, which names the cookie: browsers send it to others here, too.
        secure: whether browsers reach this server by TLS.
        others: pages of programs that sign in; None = there are none.
    """

    def __init__(
        self,
        service: "Service",
        permissions: Permissions,
        links: PortalLinks,
        owner: str,
        effects: Effects,
        home: str,
        *,
        secure: bool,
        others: LoginPages | None = None,
    ) -> None:
        self._service, self._permissions, self._links = service, permissions, links
        self._owner, self._effects, self._secure, self._others = owner, effects, secure, others
        self._codes = OneTimeCodes(Denials(service), effects.clock, OPERATION, secure=secure)
        self.cookie = cookie_of(home, secure=secure)

    def __contains__(self, path: str) -> bool:
        """Whether a path is one of these pages."""
        return path in (ENTER, LEAVE) or (self._others is not None and path in self._others)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for one of them."""
        if scope["path"] not in (ENTER, LEAVE):
            assert self._others is not None  # as `__contains__` says
            await self._others(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            found = await self._answer(request)
        except GanglionError as error:
            found = answer(error)
        await found(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        path = request.url.path
        if request.method != "POST":
            said = {"Allow": "POST"}
            return problem(405, "http.method", f"{path} takes POST only", "", said)
        form = await form_of(request)
        return await (self._enter(request, form) if path == ENTER else self._leave(request, form))

    async def _enter(self, request: Request, form: Form) -> Response:
        """Begin a session.

        Raises:
            Forbidden: the code does not count, or the way it came by can be read by others.
            RateLimited: too many did not.
        """
        taking = partial(self._take, field_of(form, "code"))
        await self._codes.require(taking, address_of(request), request.url.scheme)
        cookie, owner = self._effects.randomness.token_urlsafe(COOKIE_BYTES), self._owner
        begun = await self._service.answer(
            lambda draft: sign_in_owner(draft, owner, cookie, LASTING_MS)
        )
        log.info("the owner has opened the portal", session=begun.session)
        return self._with_cookie(cookie, LASTING_MS)

    async def _take(self, code: str) -> None:
        if not self._links.take(code, self._service.now()):
            raise Forbidden(
                "this link does not count: it was used, is too old, or the server was restarted",
                "make another one: ganglion portal",
            )

    async def _leave(self, request: Request, form: Form) -> Response:
        sent = request.cookies.get(self.cookie, "")
        try:
            caller = await anyio.to_thread.run_sync(self._permissions.session, sent)
        except BadSession:
            return self._with_cookie("", 0)
        require_own_page(form, caller)
        user, session = caller.subject.user, caller.token
        await self._service.answer(lambda draft: sign_out(draft, session, user, own=True))
        return self._with_cookie("", 0)

    def _with_cookie(self, value: str, lasting_ms: int) -> Response:
        """An answer that sets the cookie, which no script reads and no other site sends."""
        made = Response(status_code=204, headers=NO_STORE)
        made.set_cookie(
            self.cookie,
            value,
            max_age=lasting_ms // 1000,
            secure=self._secure,
            httponly=True,
            samesite="strict",
        )
        return made


def cookie_of(home: str, *, secure: bool) -> str:
    """Name of the cookie of a server: browsers send cookies to every port of a host."""
    name = f"ganglion-{sha256(home.encode()).hexdigest()[:8]}"
    return f"__Host-{name}" if secure else name
