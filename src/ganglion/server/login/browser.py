"""Signing in and out with a browser: `/login`, `/login/callback`, `/account`, `/logout`.

Command lines that a browser confirms are the matter of `device`, ID tokens of CI of `exchange`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import anyio
import structlog
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from ganglion.model.errors import Forbidden, GanglionError
from ganglion.seams.effects import Effects
from ganglion.server.access.caller import Caller
from ganglion.server.access.denials import Denials
from ganglion.server.access.limits import RateLimit, Tries
from ganglion.server.access.permissions import BadSession, Permissions
from ganglion.server.commands.sign_in import sign_in, sign_out
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

log = structlog.get_logger(__name__)


class BrowserLogin:
    """Answers the pages of signing in.

    Args:
        settings: of this server.
        service: owns the state.
        permissions: who may do what.
        effects: clock, chance and files.
        owner: user of the server.
    """

    def __init__(
        self,
        settings: LoginSettings,
        service: "Service",
        permissions: Permissions,
        effects: Effects,
        owner: str,
    ) -> None:
        self._settings, self._service, self._permissions = settings, service, permissions
        self._effects, self._owner = effects, owner
        self._provider = Provider(settings, effects)
        self._pending, self._tries = PendingSignIns(effects.randomness), Tries(PER_ADDRESS)
        self._denials = Denials(service)
        self._devices = DeviceLogin(settings, service, self._denials, effects)
        self._exchange = TokenExchange(settings, service, self._denials, effects)
        self._paths = METHODS.keys() if settings.has_provider else {TOKEN}
        self.cookie = settings.session_cookie
        self._begun = f"{self.cookie}-login"

    def __contains__(self, path: str) -> bool:
        """Whether a path is one of these pages."""
        return path in self._paths

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
        if request.method not in METHODS[path]:
            allowed = ", ".join(METHODS[path])
            answer = pages.refusal(405, f"{path} takes {allowed} only")
            answer.headers["Allow"] = allowed
            return answer
        if path == LOGIN:
            return await self._begin(request)
        if path == CALLBACK:
            return await self._come_back(request)
        if path in (DEVICE, TOKEN):
            return await self._of_program(request)
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
            return pages.refusal(401, error.message, error.hint)
        serve_for(caller.subject.user)
        if path == PAIR:
            return await self._devices.page(request, caller)
        return await self._leave(request, caller) if path == LOGOUT else _account(caller)

    def _sent(self, request: Request) -> str:
        return request.cookies.get(self.cookie, "")

    async def _begin(self, request: Request) -> Response:
        """Send the browser to the provider."""
        address = network_of(request.client.host) if request.client else ""
        wait_s = self._tries.wait_s(address, self._effects.clock.monotonic())
        if wait_s:
            hint = f"try again in {wait_s} s"
            return pages.refusal(429, "too many sign-ins have begun from here", hint, wait_s)
        await self._provider.metadata()  # where it is down, nothing is begun
        target = _local(parameter(request, "next"))
        attempt = self._pending.begin(
            request.cookies.get(self._begun, ""), target, self._service.now()
        )
        answer = RedirectResponse(await self._provider.address(attempt), 302, pages.HEADERS)
        self._set(answer, self._begun, attempt.browser, LASTING_MS)
        return answer

    async def _come_back(self, request: Request) -> Response:
        """Take the browser back from the provider, and begin its session."""
        browser, state = request.cookies.get(self._begun, ""), parameter(request, "state")
        attempt = self._pending.take(state, browser, self._service.now())
        if attempt is None:
            hint = "it is too old, was used before, or was begun in another browser; sign in again"
            return pages.refusal(400, "this sign-in is not one that this browser has begun", hint)
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
        await self._end_former(request)
        log.info("signed in", user=begun.user, session=begun.session)
        return await self._entered(attempt, cookie)

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

    async def _entered(self, attempt: PendingSignIn, cookie: str) -> Response:
        # No redirect: a browser that comes from another site says so until a page of ours leads on.
        caller = await anyio.to_thread.run_sync(self._permissions.session, cookie)
        answer = _account(caller, attempt.target)
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
        said = "<p>This session has ended. You may still be signed in at the provider.</p>"
        answer = pages.page("Signed out", said + '<p><a href="/login">Sign in</a></p>')
        self._set(answer, self.cookie, "", 0)
        return answer

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


def _account(caller: Caller, follow: str = "") -> Response:
    return pages.account(caller.subject.user, caller.subject.groups, caller.csrf, follow)


def _local(target: str) -> str:
    """A path of this server; empty = it is none."""
    fits = target.startswith("/") and not target.startswith(("//", "/\\"))
    return (
        target
        if fits and target.isascii() and target.isprintable() and len(target) <= MOST_TARGET
        else ""
    )
