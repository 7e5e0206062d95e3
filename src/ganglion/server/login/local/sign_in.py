"""The pages of local users: signing in, and changing a password."""

from typing import TYPE_CHECKING

import anyio
import structlog
from starlette.requests import Request
from starlette.responses import Response

from ganglion.model.errors import FieldError, Forbidden, RateLimited
from ganglion.model.events import SignedIn
from ganglion.server.access.caller import Caller
from ganglion.server.access.denials import Denials
from ganglion.server.access.tries.passwords import Passwords, check_password, is_current
from ganglion.server.commands.sign_in import WRONG, change_password, sign_in_locally
from ganglion.server.login import pages
from ganglion.server.login.forms import Form, address_of, field_of, form_of, require_own_page
from ganglion.transport.limits import network_of

if TYPE_CHECKING:
    from ganglion.server.loop.service import Service

PASSWORD = "/account/password"
SIGN_IN, CHANGE = "sign_in", "change_password"
"""What denials call it."""

log = structlog.get_logger(__name__)


class LocalLogin:
    """Checks names and passwords, and changes passwords.

    Args:
        service: owns the state.
        denials: takes down what was refused.
        passwords: checks them.
        lasting_ms: how long a session lasts at most.
    """

    def __init__(
        self, service: "Service", denials: Denials, passwords: Passwords, lasting_ms: int
    ) -> None:
        self._service, self._denials, self._passwords = service, denials, passwords
        self._lasting_ms = lasting_ms

    async def sign_in(self, request: Request, form: Form, cookie: str) -> SignedIn:
        """Begin a session of the user whose name and password a form has.

        Args:
            request: where it comes from.
            form: what was typed.
            cookie: the secret of the session.

        Raises:
            Forbidden: the name or the password is wrong, or the user is disabled.
            RateLimited: there were too many wrong ones.
        """
        user, password = field_of(form, "user"), field_of(form, "password")
        known = await anyio.to_thread.run_sync(self._kept, user)
        try:
            await self._check(request, user, known, password)
            kept = known if is_current(known) else await self._passwords.hashed_soon(password)
            lasting = self._lasting_ms
            return await self._service.answer(
                lambda draft: sign_in_locally(draft, user, known, kept, cookie, lasting)
            )
        except (Forbidden, RateLimited) as error:
            # Passwords are typed as names now and then: only names that exist are written down.
            await self._denials.note(user if known else "", SIGN_IN, error.message)
            raise

    async def page(self, request: Request, caller: Caller) -> Response:
        """Show a user who is signed in the form for another password, and take it."""
        user = caller.subject.user
        known = await anyio.to_thread.run_sync(self._kept, user)
        if not known:
            raise Forbidden("this session is not one of a local user", "see: /account")
        if request.method != "POST":
            return pages.ask_new_password(user, caller.csrf)
        form = await form_of(request)
        require_own_page(form, caller)
        current, password = field_of(form, "current"), field_of(form, "password")
        try:
            check_password(user, password)
            if field_of(form, "again") != password:
                raise FieldError("the two are not equal", key="password")
            await self._check(request, user, known, current)
        except FieldError as error:
            return pages.ask_new_password(user, caller.csrf, 422, error.problem)
        except Forbidden:
            why = "the password so far is wrong"
            await self._denials.note(user, CHANGE, why)
            return pages.ask_new_password(user, caller.csrf, 403, why)
        made = await self._passwords.hashed_soon(password)
        session = caller.token
        await self._service.answer(lambda draft: change_password(draft, user, made, user, session))
        log.info("password changed", user=user)
        return pages.decided("Changed", "Your other sessions have ended. Tokens stay as they are.")

    def _kept(self, user: str) -> str:
        """The PHC string of a user's password; empty = there is no such user."""
        with self._service.read() as mind:
            known = mind.book.rights.users.get(user)
        return known.digest if known else ""

    async def _check(self, request: Request, user: str, kept: str, password: str) -> None:
        """Raises Forbidden if a password is not the one that is kept."""
        network = network_of(address_of(request))
        if not await self._passwords.is_right_soon(user, network, kept, password):
            raise Forbidden(WRONG)
