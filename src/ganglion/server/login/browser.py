"""Signing in and out with a browser: `/login` and pages below it, `/account`, `/logout`.

Command lines that a browser confirms are the matter of `device`, ID tokens of CI of `exchange`,
names and passwords of `local`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import anyio
import structlog
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from ganglion.model.errors import Forbidden, GanglionError, RateLimited
from ganglion.model.events import SignedIn
from ganglion.seams.effects import Effects
from ganglion.server.access.caller import Caller
from ganglion.server.access.denials import Denials
from ganglion.server.access.permissions import BadSession, Permissions
from ganglion.server.access.tries.limits import RateLimit, Tries
from ganglion.server.access.tries.passwords import Passwords
from ganglion.server.commands.sign_in import BOOTSTRAP, sign_in, sign_out
from ganglion.server.login import pages
from ganglion.server.login.accounts import account_of
from ganglion.server.login.device import DEVICE, PAIR, TOKEN, DeviceLogin
from ganglion.server.login.exchange.grant import EXCHANGE, TokenExchange
from ganglion.server.login.forms import (
    MOST_FORM,
    field_of,
    form_of,
    oauth_error,
    parameter,
    require_own_page,
)
from ganglion.server.login.id_tokens import MOST_BYTES, BadIdToken
from ganglion.server.login.local.bootstrap import Bootstrap
from ganglion.server.login.local.sign_in import PASSWORD, LocalLogin
from ganglion.server.login.pending import BYTES, LASTING_MS, PendingSignIn, PendingSignIns
from ganglion.server.login.provider import CALLBACK, Provider
from ganglion.server.login.settings import LoginSettings
from ganglion.server.rest.problems import status_of
from ganglion.server.rest.request_id import serve_for
from ganglion.transport.limits import network_of

if TYPE_CHECKING:
    from ganglion.server.loop.service import Service

LOGIN, LOGOUT, ACCOUNT = "/login", "/logout", "/account"
_GET, _POST = ("GET", "HEAD"), ("POST",)
METHODS: Mapping[str, tuple[str, ...]] = {
    LOGIN: _GET,
    CALLBACK: _GET,
    BOOTSTRAP: _GET + _POST,
    ACCOUNT: _GET,
    LOGOUT: _POST,
    PAIR: _GET + _POST,
    DEVICE: _POST,
    TOKEN: _POST,
}
"""Path -> the methods that it takes."""
PER_ADDRESS = RateLimit(tries=30, per_s=60.0)
"""Sign-ins that may begin."""
MOST_TARGET = 2_000
NOT_BEGUN = (
    "this sign-in is not one that this browser has begun",
    "it is too old, was used before, or was begun in another browser; sign in again",
)

log = structlog.get_logger(__name__)


class BrowserLogin:
    """Answers the pages of signing in.

    Args:
        settings: of this server.
        service: owns the state.
        permissions: who may do what.
        effects: clock, chance and files.
        owner: user of the server.
        passwords: of local users.
    """

    def __init__(
        self,
        settings: LoginSettings,
        service: "Service",
        permissions: Permissions,
        effects: Effects,
        owner: str,
        passwords: Passwords,
    ) -> None:
        self._settings, self._service, self._permissions = settings, service, permissions
        self._effects, self._owner = effects, owner
        self._provider = Provider(settings, effects)
        self._pending, self._tries = PendingSignIns(effects.randomness), Tries(PER_ADDRESS)
        self._denials = Denials(service)
        self._devices = DeviceLogin(settings, service, self._denials, effects)
        self._exchange = TokenExchange(settings, service, permissions, self._denials, effects)
        self.cookie = settings.session_cookie
        self._begun = f"{self.cookie}-login"
        self._local = LocalLogin(service, self._denials, passwords, settings.lasting_ms)
        self._bootstrap = Bootstrap(settings, service, self._denials, passwords, effects, owner)
        self._methods = _methods(settings)

    def __contains__(self, path: str) -> bool:
        """Whether a path is one of these pages."""
        return path in self._methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for one of these pages."""
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except GanglionError as error:
            log.info("not signed in", reason=error.message)
            status = 403 if isinstance(error, BadIdToken) else status_of(error)
            response = pages.refusal(status, error.message, error.hint)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        path = request.url.path
        if request.method not in self._methods[path]:
            allowed = ", ".join(self._methods[path])
            answer = pages.refusal(405, f"{path} takes {allowed} only")
            answer.headers["Allow"] = allowed
            return answer
        if path in (DEVICE, TOKEN):
            return await self._of_program(request)
        if len(await request.body()) > MOST_FORM:
            return pages.refusal(413, f"the form has more than {MOST_FORM:,} bytes")
        return await self._of_browser(request)

    async def _of_browser(self, request: Request) -> Response:
        """Answer for a page of a browser, which may have a session."""
        if request.url.path == LOGIN and request.method == "POST":
            return await self._take_password(request)
        if request.url.path == LOGIN:
            return await self._begin(request)
        if request.url.path == CALLBACK:
            return await self._come_back(request)
        if request.url.path == BOOTSTRAP and self._settings.local_users:
            return await self._add_admin(request)
        return await self._of_session(request)

    async def _of_program(self, request: Request) -> Response:
        """Answer a command line, or a program that has an ID token."""
        most = MOST_FORM + MOST_BYTES
        if len(await request.body()) > most:
            return oauth_error("invalid_request", f"the form has more than {most:,} bytes", 413)
        form = await form_of(request, most)
        if request.url.path == TOKEN and field_of(form, "grant_type") == EXCHANGE:
            return await self._exchange.answer(request, form)
        return self._devices.answer(request, form)

    async def _of_session(self, request: Request) -> Response:
        """Answer for a page of users who are signed in."""
        path = request.url.path
        try:
            caller = await anyio.to_thread.run_sync(self._permissions.session, self._sent(request))
        except BadSession as error:
            if path == PAIR and request.method != "POST":
                return self._devices.after_sign_in(request)
            if path == BOOTSTRAP and request.method != "POST":
                return self._bootstrap.after_sign_in(request)
            return pages.refusal(401, error.message, error.hint)
        serve_for(caller.subject.user)
        if path == PAIR:
            return await self._devices.page(request, caller)
        if path in (PASSWORD, BOOTSTRAP):
            shown = self._local if path == PASSWORD else self._bootstrap
            return await shown.page(request, caller)
        return await self._leave(request, caller) if path == LOGOUT else self._account(caller)

    def _sent(self, request: Request) -> str:
        return request.cookies.get(self.cookie, "")

    async def _begin(self, request: Request) -> Response:
        """Send the browser to the provider."""
        address = network_of(request.client.host) if request.client else ""
        wait_s = self._tries.wait_s(address, self._effects.clock.monotonic())
        if wait_s:
            hint = f"try again in {wait_s} s"
            return pages.refusal(429, "too many sign-ins have begun from here", hint, wait_s)
        target = _local(parameter(request, "next"))
        if self._settings.local_users:
            return self._ask_password(request, target)
        await self._provider.metadata()  # where it is down, nothing is begun
        attempt = self._attempt(request, target)
        answer = RedirectResponse(await self._provider.address(attempt), 302, pages.HEADERS)
        self._set(answer, self._begun, attempt.browser, LASTING_MS)
        return answer

    def _attempt(self, request: Request, target: str) -> PendingSignIn:
        """Begin a sign-in of the browser that asks."""
        browser = request.cookies.get(self._begun, "")
        return self._pending.begin(browser, target, self._service.now())

    def _taken(self, request: Request, state: str) -> PendingSignIn | None:
        """End a sign-in that the browser has begun; None = it has not."""
        browser = request.cookies.get(self._begun, "")
        return self._pending.take(state, browser, self._service.now())

    def _ask_password(
        self, request: Request, target: str, status: int = 200, trouble: str = ""
    ) -> Response:
        """Show the form for name and password, which counts once and in this browser."""
        attempt = self._attempt(request, target)
        answer = pages.ask_password(attempt.state, status, trouble)
        self._set(answer, self._begun, attempt.browser, LASTING_MS)
        return answer

    async def _take_password(self, request: Request) -> Response:
        """Take name and password, and begin a session."""
        form = await form_of(request)
        attempt = self._taken(request, field_of(form, "state"))
        if attempt is None:
            return self._ask_password(request, "", 400, NOT_BEGUN[0])
        cookie = self._effects.randomness.token_urlsafe(BYTES)
        try:
            begun = await self._local.sign_in(request, form, cookie)
        except RateLimited as error:
            return pages.refusal(429, error.message, error.hint, error.wait_s)
        except Forbidden as error:
            return self._ask_password(request, attempt.target, 403, error.message)
        return await self._began(request, attempt.target, begun, cookie)

    async def _add_admin(self, request: Request) -> Response:
        """Let the visitor of the link of the first admin in, who has a password afterwards."""
        if request.method != "POST":
            return await self._bootstrap.ask(request)
        cookie = self._effects.randomness.token_urlsafe(BYTES)
        found = await self._bootstrap.claim(request, cookie)
        if isinstance(found, Response):
            return found
        return await self._began(request, "", found, cookie)

    async def _come_back(self, request: Request) -> Response:
        """Take the browser back from the provider, and begin its session."""
        attempt = self._taken(request, parameter(request, "state"))
        if attempt is None:
            return pages.refusal(400, *NOT_BEGUN)
        user = ""
        try:
            code = await self._code(request)
            claims = await self._provider.claims(attempt, code)
            user = str(claims.get(self._settings.user_claim, ""))[:200]
            account = account_of(claims, self._settings, self._owner)
            cookie = self._effects.randomness.token_urlsafe(BYTES)
            lasting, queue = self._settings.lasting_ms, self._settings.newcomer_queue
            begun = await self._service.answer(
                lambda draft: sign_in(draft, account, cookie, lasting, queue)
            )
        except (BadIdToken, Forbidden) as error:
            await self._denials.note(user, "sign_in", error.message)
            raise
        return await self._began(request, attempt.target, begun, cookie)

    async def _began(self, request: Request, target: str, begun: SignedIn, cookie: str) -> Response:
        """Answer a browser whose session has begun, and end the one that it had."""
        await self._end_former(request)
        log.info("signed in", user=begun.user, session=begun.session)
        return await self._entered(target, cookie)

    async def _code(self, request: Request) -> str:
        """The code of the provider's answer. Raises Forbidden where it has none, and says why."""
        known = await self._provider.metadata()
        issuer = parameter(request, "iss")
        named = known.authorization_response_iss_parameter_supported
        if (named or issuer) and issuer != self._settings.issuer:
            raise Forbidden("the answer is one of another provider", "sign in again")
        error = parameter(request, "error")
        if error:
            why = f"{error[:100]} {parameter(request, 'error_description')[:300]}".strip()
            raise Forbidden(f"the provider refuses: {why}")
        code = parameter(request, "code")
        if not code:
            raise Forbidden("the provider sends no code", "sign in again")
        return code

    async def _entered(self, target: str, cookie: str) -> Response:
        # No redirect: a browser that comes from another site says so until a page of ours leads on.
        caller = await anyio.to_thread.run_sync(self._permissions.session, cookie)
        answer = self._account(caller, target)
        self._set(answer, self.cookie, cookie, self._settings.lasting_ms)
        self._set(answer, self._begun, "", 0)
        return answer

    async def _end_former(self, request: Request) -> None:
        """End the session that the browser had before, so that each one begins anew."""
        try:
            former = await anyio.to_thread.run_sync(self._permissions.session, self._sent(request))
        except BadSession:
            return
        user, session = former.subject.user, former.token
        await self._service.answer(lambda draft: sign_out(draft, session, user, own=True))

    async def _leave(self, request: Request, caller: Caller) -> Response:
        """End a session; its requests that are being answered end within a second."""
        require_own_page(await form_of(request), caller)
        user, session = caller.subject.user, caller.token
        await self._service.answer(lambda draft: sign_out(draft, session, user, own=True))
        more = " You may still be signed in at the provider." if self._settings.issuer else ""
        said = f"<p>This session has ended.{more}</p>"
        answer = pages.page("Signed out", said + '<p><a href="/login">Sign in</a></p>')
        self._set(answer, self.cookie, "", 0)
        return answer

    def _account(self, caller: Caller, follow: str = "") -> Response:
        subject, local = caller.subject, self._settings.local_users
        return pages.account(subject.user, subject.groups, caller.csrf, follow, local=local)

    def _set(self, answer: Response, name: str, value: str, lasting_ms: int) -> None:
        """Set a cookie that no script reads, and that other sites send with links at most."""
        answer.set_cookie(
            name,
            value,
            max_age=lasting_ms // 1000,
            secure=self._settings.is_secure,
            httponly=True,
            samesite="lax",
        )


def _methods(settings: LoginSettings) -> Mapping[str, tuple[str, ...]]:
    """Path -> the methods that it takes, of those that a server has."""
    if settings.local_users:
        more = {LOGIN: _GET + _POST, PASSWORD: _GET + _POST}
        return {key: each for key, each in METHODS.items() if key != CALLBACK} | more
    return METHODS if settings.has_provider else {TOKEN: METHODS[TOKEN]}


def _local(target: str) -> str:
    """A path of this server; empty = it is none."""
    fits = target.startswith("/") and not target.startswith(("//", "/\\"))
    return (
        target
        if fits and target.isascii() and target.isprintable() and len(target) <= MOST_TARGET
        else ""
    )
