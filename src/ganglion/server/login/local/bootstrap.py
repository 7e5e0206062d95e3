"""The page that a link with a one-time code leads to: its visitor becomes the first admin.

Where users have passwords, the visitor says name and password. Where they sign in at a provider,
the user who is signed in becomes admin.
"""

from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import anyio
import structlog
from starlette.requests import Request
from starlette.responses import Response

from ganglion.model.errors import Conflict, FieldError
from ganglion.model.events import SignedIn
from ganglion.seams.effects import Effects
from ganglion.server.access.caller import Caller
from ganglion.server.access.denials import Denials
from ganglion.server.access.tries.one_time_codes import OneTimeCodes
from ganglion.server.access.tries.passwords import Passwords, check_password
from ganglion.server.commands.sign_in import (
    BOOTSTRAP,
    add_first_admin,
    check_bootstrap,
    make_admin,
)
from ganglion.server.login import pages
from ganglion.server.login.forms import (
    address_of,
    field_of,
    form_of,
    parameter,
    require_own_page,
)
from ganglion.server.login.settings import LoginSettings

if TYPE_CHECKING:
    from ganglion.server.loop.service import Service

OPERATION = "bootstrap"
"""What denials call it."""

log = structlog.get_logger(__name__)


class Bootstrap:
    """Answers for the page.

    Args:
        settings: of this server.
        service: owns the state.
        denials: takes down what was refused.
        passwords: of local users.
        effects: the clock.
        owner: user of the server.
    """

    def __init__(
        self,
        settings: LoginSettings,
        service: "Service",
        denials: Denials,
        passwords: Passwords,
        effects: Effects,
        owner: str,
    ) -> None:
        self._settings, self._service = settings, service
        self._passwords, self._owner = passwords, owner
        self._codes = OneTimeCodes(denials, effects.clock, OPERATION, secure=settings.is_secure)

    async def ask(self, request: Request) -> Response:
        """Show the form for name and password.

        Raises:
            Forbidden: the code does not count, or the way it came by can be read by others.
        """
        code = parameter(request, "code")
        await self._check(request, code)
        return pages.ask_first_admin(code)

    async def claim(self, request: Request, cookie: str) -> SignedIn | Response:
        """Make the visitor a user and admin who is signed in; of several at once, the first.

        Args:
            request: has the form.
            cookie: the secret of the session.

        Raises:
            Forbidden: as of `ask`.
        """
        form = await form_of(request)
        code, user, password = (field_of(form, each) for each in ("code", "user", "password"))
        await self._check(request, code)
        try:
            check_password(user, password)
            if field_of(form, "again") != password:
                raise FieldError("the two are not equal", key="password")
            kept = await self._passwords.hashed_soon(password)
            owner, lasting = self._owner, self._settings.lasting_ms
            begun = await self._service.answer(
                lambda draft: add_first_admin(draft, code, user, kept, owner, cookie, lasting)
            )
        except (FieldError, Conflict) as error:
            why = error.problem if isinstance(error, FieldError) else error.message
            return pages.ask_first_admin(code, 422, why)
        log.info("the first admin has come", user=user)
        return begun

    def after_sign_in(self, request: Request) -> Response:
        """Have a browser without a session sign in at the provider first, and come back."""
        target = f"{BOOTSTRAP}?{urlencode({'code': parameter(request, 'code')[:100]})}"
        return pages.sign_in_first(f"/login?next={quote(target, safe='')}")

    async def page(self, request: Request, caller: Caller) -> Response:
        """Ask a user who is signed in, and make it admin.

        Raises:
            Forbidden: as of `ask`.
        """
        user = caller.subject.user
        if request.method != "POST":
            code = parameter(request, "code")
            await self._check(request, code, user)
            return pages.ask_admin(code, user, caller.csrf)
        form = await form_of(request)
        require_own_page(form, caller)
        code = field_of(form, "code")
        await self._check(request, code, user)
        await self._service.answer(lambda draft: make_admin(draft, code, user))
        log.info("the first admin has come", user=user)
        return pages.decided("Done", f"{user} has role admin on the whole fleet.")

    async def _check(self, request: Request, code: str, user: str = "") -> None:
        """Raises Forbidden or RateLimited unless a code counts and came by a way that is safe."""
        looking = partial(anyio.to_thread.run_sync, self._require, code)
        await self._codes.require(looking, address_of(request), request.url.scheme, user)

    def _require(self, code: str) -> None:
        with self._service.read() as mind:
            check_bootstrap(mind.book.rights, code, self._service.now())
