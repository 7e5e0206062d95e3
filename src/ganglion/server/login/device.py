"""Command lines that sign in with a code, as RFC 8628: they ask, and a browser confirms.

`POST /login/device` begins a pairing, `POST /login/token` says what became of it, and `/login/pair`
is the page where a user who is signed in decides. Every command is taken, so that `client_id` does
not matter; `label` and `days` say what the token is to be.
"""

from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ganglion.identity.roles import Role
from ganglion.model.errors import GanglionError
from ganglion.seams.effects import Effects
from ganglion.server.access.caller import Caller
from ganglion.server.access.denials import Denials
from ganglion.server.access.tries.limits import RateLimit, Tries
from ganglion.server.commands.access import MOST_DAYS, WantedToken, make_token, new_token
from ganglion.server.login import pages
from ganglion.server.login.exchange.grant import EXCHANGE
from ganglion.server.login.forms import (
    NO_STORE,
    Form,
    address_of,
    field_of,
    form_of,
    oauth_error,
    parameter,
    require_own_page,
)
from ganglion.server.login.pairings import (
    INTERVAL_MS,
    LASTING_MS,
    Pairing,
    Pairings,
    PairingState,
)
from ganglion.server.login.settings import LoginSettings
from ganglion.transport.limits import network_of

if TYPE_CHECKING:
    from ganglion.server.loop.service import Service

DEVICE, TOKEN, PAIR = "/login/device", "/login/token", "/login/pair"
GRANT = "urn:ietf:params:oauth:grant-type:device_code"
OPERATION = "pair"
"""What denials call it."""
PER_ADDRESS = RateLimit(tries=30, per_s=60.0)
"""Pairings that may begin."""
WRONG_PER_SESSION = RateLimit(tries=10, per_s=600.0)
WRONG_PER_ADDRESS = RateLimit(tries=60, per_s=600.0)
"""Wrong codes. There are 25 billion codes, so that one is not found so."""
MOST_LABEL = 100
USUAL_DAYS = 90


class DeviceLogin:
    """Answers command lines, and the page where users confirm them.

    Args:
        settings: of this server.
        service: owns the state.
        denials: takes down what was refused.
        effects: clock and chance.
    """

    def __init__(
        self, settings: LoginSettings, service: "Service", denials: Denials, effects: Effects
    ) -> None:
        self._origin, self._service = settings.public_url.rstrip("/"), service
        self._denials, self._effects = denials, effects
        self._pairings = Pairings(effects.randomness)
        self._begun = Tries(PER_ADDRESS)
        self._of_session, self._of_address = Tries(WRONG_PER_SESSION), Tries(WRONG_PER_ADDRESS)

    def answer(self, request: Request, form: Form) -> Response:
        """Answer a command line."""
        if request.url.path == DEVICE:
            return self._begin(request, form)
        grant = field_of(form, "grant_type")
        if grant != GRANT:
            return oauth_error("unsupported_grant_type", f"those are {GRANT} and {EXCHANGE}")
        secret = field_of(form, "device_code")
        if not secret:
            return oauth_error("invalid_request", "device_code is missing")
        now = self._service.now()
        found = self._pairings.answer(secret, now)
        if found.error:
            return oauth_error(found.error, found.why)
        lasting_s = max(0, found.until_ms - now) // 1000
        body = {"access_token": found.token, "token_type": "Bearer", "expires_in": lasting_s}
        return JSONResponse({**body, "user": found.user}, headers=NO_STORE)

    def _begin(self, request: Request, form: Form) -> Response:
        address = address_of(request)
        wait_s = self._begun.wait_s(network_of(address), self._effects.clock.monotonic())
        if wait_s:
            why = f"too many pairings have begun from {address}; try again in {wait_s} s"
            return oauth_error("slow_down", why, 429, wait_s)
        label = field_of(form, "label") or "command line"
        if len(label) > MOST_LABEL or not label.isprintable():
            why = f"label: at most {MOST_LABEL} characters that can be printed"
            return oauth_error("invalid_request", why)
        given = field_of(form, "days") or str(USUAL_DAYS)
        days = int(given) if given.isascii() and given.isdigit() and len(given) < 5 else 0
        if not 1 <= days <= MOST_DAYS:
            why = f"days: a number from 1 to {MOST_DAYS}"
            return oauth_error("invalid_request", why)
        made, secret = self._pairings.begin(label, days, address, self._service.now())
        page = f"{self._origin}{PAIR}"
        body = {
            "device_code": secret,
            "user_code": made.shown,
            "verification_uri": page,
            "verification_uri_complete": f"{page}?{urlencode({'code': made.shown})}",
            "expires_in": LASTING_MS // 1000,
            "interval": INTERVAL_MS // 1000,
        }
        return JSONResponse(body, headers=NO_STORE)

    def after_sign_in(self, request: Request) -> Response:
        """Have a browser without a session sign in first, and come back to the page."""
        target = f"{PAIR}?{urlencode({'code': parameter(request, 'code')[:20]})}"
        # No redirect: after a form, browsers follow none to the provider (`form-action` of CSP).
        return pages.sign_in_first(f"/login?next={quote(target, safe='')}")

    async def page(self, request: Request, caller: Caller) -> Response:
        """Show a user who is signed in who asks, and take the decision."""
        form = await form_of(request) if request.method == "POST" else None
        if form is not None:
            require_own_page(form, caller)
        code = parameter(request, "code") if form is None else field_of(form, "code")
        if not code:
            return pages.ask_code()
        found = self._found(request, caller, code)
        if isinstance(found, int):
            rule = "too many wrong codes of command lines"
            await self._denials.note(caller.subject.user, OPERATION, rule)
            return pages.ask_code(
                429, f"too many wrong codes were entered; try again in {found} s", found
            )
        if found is None:
            return pages.ask_code(404, f"no command line waits with the code {code[:20]}")
        if form is None:
            return pages.ask_consent(found, caller.subject.user, caller.csrf, self._service.now())
        if field_of(form, "answer") != "confirm":
            return await self._refuse(found, caller)
        return await self._confirm(found, caller)

    def _found(self, request: Request, caller: Caller, code: str) -> Pairing | int | None:
        """The pairing of a code; None = there is none; a number = seconds until the next try."""
        now_s = self._effects.clock.monotonic()
        network = network_of(address_of(request))
        counted = ((self._of_session, caller.token), (self._of_address, network))
        wait_s = max(tries.wait_s(key, now_s, taking=False) for tries, key in counted)
        if wait_s:
            return wait_s
        found = self._pairings.find(code, self._service.now())
        if found is None:
            for tries, key in counted:
                tries.wait_s(key, now_s)
        return found

    async def _refuse(self, pairing: Pairing, caller: Caller) -> Response:
        pairing.state = PairingState.REFUSED
        rule = f"{caller.subject.user} refused command line {pairing.label}, {pairing.shown}"
        await self._denials.note(caller.subject.user, OPERATION, rule)
        return pages.decided("Refused", f"{pairing.label} gets no token.")

    async def _confirm(self, pairing: Pairing, caller: Caller) -> Response:
        """Make the token. Of two decisions at once, the first counts."""
        self._pairings.decide(pairing, self._service.now())
        token, subject = new_token(self._effects.randomness), caller.subject
        # Role admin on the whole fleet is no limit: a token gives what its user has then.
        wish = WantedToken(
            subject.user, str(Role.ADMIN), "", subject.groups, pairing.label, pairing.days
        )
        try:
            made = await self._service.answer(
                lambda draft: make_token(draft, wish, token, subject.user)
            )
        except GanglionError:
            pairing.state = PairingState.OPEN
            raise
        pairing.token, pairing.token_until_ms = token, made.until_ms
        pairing.user, pairing.state = subject.user, PairingState.CONFIRMED
        return pages.decided(
            "Confirmed",
            f"{pairing.label} gets a token of yours, {made.token}. Go back to the terminal.",
        )
