"""Signing in with a code that a user confirms (RFC 8628), or with an ID token (RFC 8693)."""

from typing import TYPE_CHECKING, Self, TypeVar

import httpx2
import msgspec
from msgspec import Struct

from ganglion.client.errors import error_of, fault_of
from ganglion.client.http import CONNECT_S, TIMEOUT_S, checked_url, https_settings
from ganglion.client.trail import TrailClient
from ganglion.model.errors import (
    EnvironmentFault,
    Forbidden,
    GanglionError,
    InputError,
    NoClusterRight,
)
from ganglion.seams.clock import SYSTEM_CLOCK
from ganglion.transport.hosts import is_own

if TYPE_CHECKING:
    from ganglion.seams.clock import Clock

T = TypeVar("T")

GRANT = "urn:ietf:params:oauth:grant-type:device_code"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"
SLOWER_S = 5
"""What a wait grows by when the server asks for it (RFC 8628, section 3.5)."""
LONGEST_S = 60
"""Longest wait between two questions, whatever happens."""
MOST_SAID, MOST_HINT = 300, 1_000


class PairingCode(Struct, frozen=True):
    """What a server answers to a command that wants to sign in.

    Attributes:
        device_code: secret of the command; printed nowhere.
        user_code: what the user compares, or types.
        verification_uri: page where the user does so.
        expires_in: seconds that the user has.
        interval: seconds between two questions.
        verification_uri_complete: the same page with the code; empty = there is none.
    """

    device_code: str
    user_code: str
    verification_uri: str
    expires_in: int
    interval: int = SLOWER_S
    verification_uri_complete: str = ""


class PairedToken(Struct, frozen=True):
    """What a command gets once the user has confirmed, or for an ID token.

    Attributes:
        access_token: personal token.
        expires_in: seconds that it counts.
        user: whose it is.
        scope: what it is limited to, as `role:viewer queue:vision`; empty = not said.
    """

    access_token: str
    expires_in: int
    user: str = ""
    scope: str = ""


class _Refusal(Struct):
    error: str
    error_description: str = ""
    code: str = ""
    hint: str = ""


class PairingClient:
    """Asks one server, without any token.

    Args:
        url: where it is; `https`, or on this machine.
        clock: what it waits by.
        transport: replaces the network, for tests.

    Raises:
        InputError: the URL has parts that no server is named by.
        EnvironmentFault: a token from there could be read on the way.
    """

    def __init__(
        self,
        url: str,
        *,
        clock: "Clock" = SYSTEM_CLOCK,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self.url, self._clock = checked_url(url), clock
        parsed = httpx2.URL(self.url)
        if parsed.userinfo or parsed.query or parsed.fragment:
            raise InputError("a server's URL has neither user, query nor fragment", "https://HOST")
        secure = parsed.scheme == "https"
        if not secure and not is_own(parsed.host, "127.0.0.1"):
            raise EnvironmentFault(
                f"a token from {self.url} could be read on the way",
                "use https, or ssh -L and http://127.0.0.1:PORT",
            )
        self._http = TrailClient(
            self.url,
            base_url=self.url,
            timeout=httpx2.Timeout(TIMEOUT_S, connect=CONNECT_S),
            transport=transport,
            **https_settings(self.url) if transport is None else {},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def begin(self, label: str, days: int) -> PairingCode:
        """Ask to be paired.

        Args:
            label: what the user is shown, and what the token is called.
            days: how long the token counts.

        Raises:
            GanglionError: what the server answered, or that it could not be reached.
        """
        form = {"client_id": "ganglion", "label": label, "days": str(days)}
        try:
            response = self._http.post("/login/device", data=form)
        except httpx2.TransportError as error:
            raise fault_of(error, self.url) from error
        found = self._taken(response, PairingCode)
        for text in (found.user_code, found.verification_uri, found.verification_uri_complete):
            # They are printed, and opened in a browser.
            if not (text.isascii() and text.isprintable()):
                raise self._unexpected(response, "it cannot be printed")
        for text in (found.verification_uri, found.verification_uri_complete):
            if text and not text.startswith(("https://", "http://")):
                raise self._unexpected(response, "it names no web page")
        return found

    def wait(self, code: PairingCode) -> PairedToken:
        """Wait until the user has decided; returns the token, which is handed out this once.

        A server that cannot be reached is asked again, ever more rarely, until the code has
        expired.

        Args:
            code: as `begin` returned it.

        Raises:
            Forbidden: the user refuses.
            GanglionError: the code has expired, or the server does not know it any more.
        """
        ends = self._clock.monotonic() + code.expires_in
        wait_s = min(max(code.interval, 1), LONGEST_S)
        form = {"grant_type": GRANT, "device_code": code.device_code, "client_id": "ganglion"}
        while True:
            self._clock.sleep(wait_s)
            over = self._clock.monotonic() >= ends
            try:
                response = self._http.post("/login/token", data=form)
            except httpx2.TransportError as error:
                if over:
                    raise fault_of(error, self.url) from error
                wait_s = min(2 * wait_s, LONGEST_S)
                continue
            if response.is_success:
                return self._decoded(response, PairedToken)
            error_code = _refusal(response).error
            if error_code == "slow_down":
                wait_s = min(wait_s + SLOWER_S, LONGEST_S)
            elif error_code != "authorization_pending" and not response.is_server_error:
                raise self._refused(response)
            if over:
                raise _expired()

    def exchange(self, id_token: str, queue: str = "") -> PairedToken:
        """Exchange an ID token, which works once; returns the token that is given for it.

        Args:
            id_token: of an issuer that the server has a rule for.
            queue: that the token is to be limited to; empty = as the rule says.

        Raises:
            GanglionError: what the server answered, or that it could not be reached.
        """
        form = {"grant_type": EXCHANGE, "subject_token": id_token, "subject_token_type": ID_TOKEN}
        if queue:
            form["scope"] = f"queue:{queue}"
        try:
            response = self._http.post("/login/token", data=form)
        except httpx2.TransportError as error:
            raise fault_of(error, self.url) from error
        return self._taken(response, PairedToken)

    def _taken(self, response: httpx2.Response, returns: type[T]) -> T:
        """What a server answers that lets command lines sign in."""
        if response.status_code in (httpx2.codes.UNAUTHORIZED, httpx2.codes.NOT_FOUND):
            raise EnvironmentFault(
                f"at {self.url} no command line can sign in",
                "its owner can make a token for you: ganglion token create; see docs/access.md",
            )
        if response.is_error:
            raise self._refused(response)
        return self._decoded(response, returns)

    def _refused(self, response: httpx2.Response) -> GanglionError:
        refusal = _refusal(response)
        error = refusal.error
        if not error:
            return error_of(response)
        shown = _printable(refusal.error_description or error)
        if refusal.code == NoClusterRight.code:
            return NoClusterRight(shown, _printable(refusal.hint, MOST_HINT))
        if error == "access_denied":
            return Forbidden("the sign-in was refused in the browser")
        if error == "expired_token":
            return _expired()
        if error == "invalid_grant":
            return EnvironmentFault(f"the sign-in is lost: {shown}", "begin anew: ganglion login")
        return EnvironmentFault(f"{self.url} refuses: {shown}")

    def _decoded(self, response: httpx2.Response, returns: type[T]) -> T:
        try:
            return msgspec.json.decode(response.content, type=returns)
        except msgspec.DecodeError as error:
            raise self._unexpected(response, str(error)) from error

    def _unexpected(self, response: httpx2.Response, why: str) -> EnvironmentFault:
        path = response.request.url.path
        return EnvironmentFault(
            f"{self.url}{path}: unexpected answer: {why}", "is that a Ganglion server?"
        )


def _printable(text: str, most: int = MOST_SAID) -> str:
    return "".join(filter(str.isprintable, text))[:most]


def _refusal(response: httpx2.Response) -> _Refusal:
    """The error of RFC 6749 that a response names; without any where it names none."""
    try:
        return msgspec.json.decode(response.content, type=_Refusal)
    except msgspec.DecodeError:
        return _Refusal("")


def _expired() -> EnvironmentFault:
    return EnvironmentFault(
        "the code has expired before it was confirmed", "begin anew: ganglion login"
    )
