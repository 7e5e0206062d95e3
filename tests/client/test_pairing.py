"""Signing in with a code: what a command asks, how long it waits, and what it is refused."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import httpx2
import pytest

from ganglion.client.pairing import GRANT, PairedToken, PairingClient, PairingCode
from ganglion.model.errors import EnvironmentFault, Forbidden, GanglionError, InputError
from ganglion.seams.clock import SystemClock

URL = "https://gpu.example.org"
CODE = PairingCode("secret", "BCDF-GHJK", f"{URL}/login/pair", 600, 5)
TOKEN = {"access_token": "gng_x", "token_type": "Bearer", "expires_in": 60, "user": "eve"}
Step = tuple[int, Any] | Exception


class Waits(SystemClock):
    """A clock that is set forward by waiting."""

    def __init__(self) -> None:
        self.waited = list[float]()

    def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)

    def monotonic(self) -> float:
        return sum(self.waited)


class Server:
    """Answers in turn; the last answer again and again."""

    def __init__(self, *steps: Step) -> None:
        self.steps, self.asked = list(steps), list[dict[str, list[str]]]()

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        assert "authorization" not in request.headers
        self.asked.append(parse_qs(request.content.decode()))
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        if isinstance(step, Exception):
            raise step
        status, body = step
        if isinstance(body, bytes):
            return httpx2.Response(status, content=body)
        return httpx2.Response(status, json=body)


def refusal(error: str, why: str = "because") -> Step:
    return 400, {"error": error, "error_description": why}


def client(server: Callable[[httpx2.Request], httpx2.Response], clock: Waits) -> PairingClient:
    return PairingClient(URL, clock=clock, transport=httpx2.MockTransport(server))


def begun(server: Server) -> PairingCode:
    """Ask to be paired."""
    with client(server, Waits()) as asking:
        return asking.begin("x", 1)


def waited(*steps: Step) -> tuple[PairedToken | GanglionError, list[float]]:
    """What comes of waiting, and the seconds before each question."""
    clock = Waits()
    with client(Server(*steps), clock) as asking:
        try:
            return asking.wait(CODE), clock.waited
        except GanglionError as error:
            return error, clock.waited


PENDING = refusal("authorization_pending")


def test_a_command_says_who_it_is_and_asks_with_its_secret() -> None:
    body = {"device_code": "s", "user_code": "BCDF-GHJK", "verification_uri": f"{URL}/login/pair"}
    server = Server((200, body | {"expires_in": 600, "interval": 7}), (200, TOKEN))
    clock = Waits()
    with client(server, clock) as asking:
        code = asking.begin("eve@box", 30)
        assert (code.interval, code.verification_uri_complete) == (7, "")
        assert asking.wait(code) == PairedToken("gng_x", 60, "eve")
    assert clock.waited == [7]
    assert server.asked == [
        {"client_id": ["ganglion"], "label": ["eve@box"], "days": ["30"]},
        {"client_id": ["ganglion"], "grant_type": [GRANT], "device_code": ["s"]},
    ]


def test_it_asks_at_the_interval_and_more_rarely_when_it_is_slowed_down() -> None:
    slow = refusal("slow_down")
    found, seconds = waited(PENDING, PENDING, slow, PENDING, slow, (200, TOKEN))
    assert isinstance(found, PairedToken)
    assert seconds == [5, 5, 5, 10, 10, 15]


def test_a_server_that_is_away_is_asked_again_ever_more_rarely() -> None:
    away = httpx2.ConnectError("refused")
    found, seconds = waited(
        PENDING, away, (502, b"<html>"), httpx2.ReadTimeout("late"), (200, TOKEN)
    )
    assert isinstance(found, PairedToken)
    assert seconds == [5, 5, 10, 10, 20]


def test_a_server_that_stays_away_is_given_up_when_the_code_has_expired() -> None:
    found, seconds = waited(httpx2.ConnectError("refused"))
    assert isinstance(found, EnvironmentFault)
    assert "no server is running at" in found.message
    assert 600 <= sum(seconds) < 700
    assert max(seconds) == 60


def test_it_gives_up_when_the_server_forgets_to_say_that_the_code_has_expired() -> None:
    found, seconds = waited(PENDING)
    assert isinstance(found, EnvironmentFault)
    assert (found.message, sum(seconds)) == ("the code has expired before it was confirmed", 600)


@pytest.mark.parametrize(
    ("step", "kind", "message"),
    [
        (refusal("access_denied"), Forbidden, "the sign-in was refused in the browser"),
        (refusal("expired_token"), EnvironmentFault, "has expired before it was confirmed"),
        (refusal("invalid_grant", "restarted"), EnvironmentFault, "is lost: restarted"),
        (refusal("invalid_request", "a\x1b[31mb"), EnvironmentFault, r"refuses: a\[31mb"),
        ((404, b"<html>"), GanglionError, "answered 404"),
        ((200, b"<html>"), EnvironmentFault, "unexpected answer"),
        ((200, {"token": "x"}), EnvironmentFault, "unexpected answer"),
    ],
)
def test_each_refusal_ends_it_at_once(step: Step, kind: type[Exception], message: str) -> None:
    clock = Waits()
    with client(Server(PENDING, step), clock) as asking, pytest.raises(kind, match=message):
        asking.wait(CODE)
    assert clock.waited == [5, 5]


@pytest.mark.parametrize("status", [401, 404])
def test_a_server_where_browsers_cannot_sign_in_is_named(status: int) -> None:
    body = {"code": "auth", "message": "the token is missing or wrong"}
    with pytest.raises(EnvironmentFault, match="no command line can sign in") as found:
        begun(Server((status, body)))
    assert "ganglion token create" in found.value.hint


def test_too_many_from_one_address_are_refused_with_the_reason() -> None:
    body = {"error": "slow_down", "error_description": "too many pairings have begun"}
    with pytest.raises(EnvironmentFault, match="too many pairings have begun"):
        begun(Server((429, body)))


@pytest.mark.parametrize(
    "changed",
    [
        {"user_code": "\x1b[2J"},
        {"verification_uri": "javascript:alert(1)"},
        {"verification_uri_complete": "file:///etc/passwd"},
        {"verification_uri": "https://gpu.example.org/\n"},
    ],
)
def test_what_a_server_may_not_have_printed_or_opened_is_refused(changed: dict[str, str]) -> None:
    body = {"device_code": "s", "user_code": "B", "verification_uri": URL, "expires_in": 9}
    with pytest.raises(EnvironmentFault, match="unexpected answer"):
        begun(Server((200, body | changed)))


def test_a_token_does_not_cross_a_network_in_clear() -> None:
    for url in ("http://gpu.example.org", "http://192.0.2.1:7077"):
        with pytest.raises(EnvironmentFault, match="could be read on the way"):
            PairingClient(url)
    for url in ("http://127.0.0.1:7077", "http://localhost:7077", "http://[::1]:7077"):
        PairingClient(url).__exit__()


@pytest.mark.parametrize("url", ["https://eve:pw@gpu.example.org", f"{URL}?x=1", f"{URL}#x"])
def test_a_url_with_more_than_a_server_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="neither user, query nor fragment"):
        PairingClient(url)
