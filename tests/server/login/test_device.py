"""Command lines that a browser confirms: the whole way, and every refusal of RFC 8628."""

import re
from typing import Any

import pytest

from ganglion.server.login.device import GRANT
from tests.server.access.office import API, office
from tests.server.login.browser import FOREIGN, OURS, Browser, fields
from tests.server.login.conftest import URL, SignedOffice

PAGE = "/login/pair"
WRONG = "BBBB-BBBB"


class Command:
    """A command line that signs in.

    Args:
        office: where.
        wish: fields of its request.
    """

    def __init__(self, office: SignedOffice, **wish: str) -> None:
        self._client = office.browser().ours
        found = self._client.post("/login/device", data={"client_id": "x", **wish})
        assert found.status_code == 200, found.text
        assert found.headers["cache-control"] == "no-store"
        self.begun: dict[str, Any] = found.json()
        self.code = self.begun["user_code"]

    def ask(self, **changed: str) -> Any:
        """Ask what became of it."""
        form = {"grant_type": GRANT, "device_code": self.begun["device_code"], "client_id": "x"}
        return self._client.post("/login/token", data=form | changed)

    def error(self) -> str:
        found = self.ask()
        assert found.status_code == 400, found.text
        assert found.json()["error_description"]
        return str(found.json()["error"])


def decide(browser: Browser, code: str, answer: str = "confirm", **changed: str) -> Any:
    """What a user does on the page."""
    form = fields(browser.ours.get(PAGE, params={"code": code}).text)
    form = {each: form[each] for each in ("csrf", "code")} | {"answer": answer} | changed
    return browser.ours.post(PAGE, data=form, headers=OURS)


def kinds(signed: SignedOffice) -> list[str]:
    return [each["type"] for each in signed.events(signed.owner)]


def test_a_command_line_gets_a_token_of_the_user_who_confirms(signed: SignedOffice) -> None:
    signed.grant("group:research", "maintainer", "research")
    command = Command(signed, label="eve@box", days="30")
    assert command.begun["verification_uri"] == f"{URL}{PAGE}"
    assert command.begun["verification_uri_complete"] == f"{URL}{PAGE}?code={command.code}"
    assert (command.begun["expires_in"], command.begun["interval"]) == (600, 5)
    signed.rig.machine.time += 5_000
    assert command.error() == "authorization_pending"
    browser = signed.signed_in("eve", groups=["research"])
    shown = browser.ours.get(PAGE, params={"code": command.code})
    assert shown.status_code == 200
    assert shown.headers["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in shown.headers["content-security-policy"]
    for said in (command.code, "eve@box", "testclient", "5 s ago", "eve@example.org", "30 days"):
        assert said in shown.text
    done = decide(browser, command.code)
    assert (done.status_code, "Go back to the terminal" in done.text) == (200, True)
    found = command.ask()
    assert found.status_code == 200, found.text
    assert found.headers["cache-control"] == "no-store"
    assert (found.json()["token_type"], found.json()["user"]) == ("Bearer", "eve@example.org")
    assert 0 <= 30 * 86_400 - found.json()["expires_in"] <= 1
    token = found.json()["access_token"]
    assert token not in done.text
    me = signed.client(token).get(f"{API}/whoami").json()
    assert (me["user"], me["groups"]) == ("eve@example.org", ["research"])
    assert me["limit"] == "role admin on the whole fleet"
    assert signed.client(token).get(f"{API}/nodes").status_code == 200
    assert signed.client(token).post(f"{API}/nodes/n0/cordon", json={}).status_code == 403
    (made,) = [e for e in signed.events(signed.owner) if e["type"] == "token_created"]
    assert (made["user"], made["by"], made["label"]) == ("eve@example.org",) * 2 + ("eve@box",)
    assert (made["actor"], made["digest"]) == ("eve@example.org", "")
    left = signed.client(token).delete(f"{API}/tokens/{made['token']}")
    assert left.status_code == 200, left.text
    assert signed.client(token).get(f"{API}/whoami").status_code == 401


def test_a_token_gives_what_its_user_has_then(signed: SignedOffice) -> None:
    command, browser = Command(signed), signed.signed_in("eve")
    decide(browser, command.code)
    client = signed.client(command.ask().json()["access_token"])
    assert client.get(f"{API}/nodes").status_code == 200
    body = {"subject": "user:eve@example.org", "role": "viewer", "queue": ""}
    assert signed.owner.post(f"{API}/roles:revoke", json=body).status_code == 200
    assert client.get(f"{API}/nodes").status_code == 403


def test_a_secret_that_is_replayed_gets_no_second_token(signed: SignedOffice) -> None:
    command, browser = Command(signed), signed.signed_in("eve")
    decide(browser, command.code)
    assert command.ask().status_code == 200
    assert command.error() == "invalid_grant"
    assert "handed out already" in command.ask().json()["error_description"]
    again = browser.ours.get(PAGE, params={"code": command.code})
    assert (again.status_code, "No command line waits" in again.text) == (404, True)
    assert kinds(signed).count("token_created") == 1


def test_a_user_refuses(signed: SignedOffice) -> None:
    commands, browser = (
        [Command(signed, label="mallory") for _ in range(2)],
        signed.signed_in("eve"),
    )
    for command in commands:
        assert "gets no token" in decide(browser, command.code, "refuse").text
        assert [command.error(), command.error()] == ["access_denied"] * 2
    denied = [e for e in signed.events(signed.owner) if e["type"] == "access_denied"]
    assert [(e["user"], e["operation"]) for e in denied] == [("eve@example.org", "pair")] * 2
    for command, event in zip(commands, denied, strict=True):
        assert event["rule"] == f"eve@example.org refused command line mallory, {command.code}"
    assert "token_created" not in kinds(signed)


def test_only_a_clear_answer_confirms(signed: SignedOffice) -> None:
    command, browser = Command(signed), signed.signed_in("eve")
    assert "Refused" in decide(browser, command.code, "").text
    assert command.error() == "access_denied"


def test_a_pairing_that_takes_too_long_is_over(signed: SignedOffice) -> None:
    command, browser = Command(signed), signed.signed_in("eve")
    signed.rig.machine.time += 600_000
    assert browser.ours.get(PAGE, params={"code": command.code}).status_code == 404
    assert command.error() == "expired_token"


def test_a_hasty_command_is_slowed_down(signed: SignedOffice) -> None:
    command = Command(signed)
    assert command.error() == "slow_down"
    signed.rig.machine.time += 9_000
    assert command.error() == "slow_down"
    signed.rig.machine.time += 15_000
    assert command.error() == "authorization_pending"


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"device_code": "x"}, "invalid_grant"),
        ({"device_code": ""}, "invalid_request"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
    ],
)
def test_what_is_no_question_of_a_pairing_is_refused(
    signed: SignedOffice, changed: dict[str, str], error: str
) -> None:
    command = Command(signed)
    decide(signed.signed_in("eve"), command.code)
    found = command.ask(**changed)
    assert (found.status_code, found.json()["error"]) == (400, error)
    assert command.ask().status_code == 200  # and the token is still there for its owner


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("label", "x" * 101),
        ("label", "a\x1b[31m"),
        ("label", "a\u202eb"),
        ("days", "0"),
        ("days", "367"),
        ("days", "-1"),
        ("days", "1e3"),
        ("days", "٣"),
    ],
)
def test_what_cannot_be_shown_or_lasts_too_long_is_refused(
    signed: SignedOffice, field: str, text: str
) -> None:
    found = signed.browser().ours.post("/login/device", data={field: text})
    assert (found.status_code, found.json()["error"]) == (400, "invalid_request")
    assert found.json()["error_description"].startswith(f"{field}:")


def test_a_label_is_text_on_the_page(signed: SignedOffice) -> None:
    command = Command(signed, label='<img src="x" onerror="alert(1)">')
    shown = signed.signed_in("eve").ours.get(PAGE, params={"code": command.code}).text
    assert "<img" not in shown
    assert "&lt;img" in shown


def test_a_pairing_ends_with_the_server_which_says_so(signed: SignedOffice) -> None:
    command = Command(signed)
    decide(signed.signed_in("eve"), command.code)
    after = SignedOffice(signed.rig, signed.provider, signed.settings)
    form = {"grant_type": GRANT, "device_code": command.begun["device_code"]}
    found = after.browser().ours.post("/login/token", data=form)
    assert (found.status_code, found.json()["error"]) == (400, "invalid_grant")
    assert "the server was restarted since" in found.json()["error_description"]


def test_a_browser_signs_in_first_and_comes_back(signed: SignedOffice) -> None:
    command, browser = Command(signed), signed.browser()
    sent = browser.ours.get(PAGE, params={"code": command.code}, headers=FOREIGN)
    assert sent.status_code == 401
    login = f"/login?next=%2Flogin%2Fpair%3Fcode%3D{command.code}"
    assert f'<meta http-equiv="refresh" content="0;url={login}">' in sent.text
    target = f"{PAGE}?code={command.code}"
    found = browser.sign_in("eve", target)
    assert f'content="0;url={target}"' in found.text
    assert command.code in browser.ours.get(target).text


def test_without_a_session_nothing_is_decided(signed: SignedOffice) -> None:
    command = Command(signed)
    form = {"code": command.code, "answer": "confirm", "csrf": ""}
    found = signed.browser().ours.post(PAGE, data=form, headers=OURS)
    assert found.status_code == 401
    signed.rig.machine.time += 5_000
    assert command.error() == "authorization_pending"


def test_other_sites_cannot_confirm(signed: SignedOffice) -> None:
    command, browser = Command(signed), signed.signed_in("eve")
    page = browser.ours.get(PAGE, params={"code": command.code}, headers=FOREIGN)
    assert page.status_code == 200  # a link leads there, and changes nothing
    form = fields(page.text) | {"answer": "confirm"}

    def status(headers: dict[str, str], **changed: str) -> int:
        return int(browser.ours.post(PAGE, data=form | changed, headers=headers).status_code)

    assert status(FOREIGN) == 403
    assert status({"Origin": "https://evil.example"}) == 403
    assert status({"Origin": "null", "Sec-Fetch-Site": "same-origin"}) == 403
    assert status(OURS | {"Sec-Fetch-Site": "same-site"}) == 403
    assert status(OURS, csrf="0" * 64) == 403
    assert status(OURS, csrf="") == 403
    signed.rig.machine.time += 5_000
    assert command.error() == "authorization_pending"
    other = signed.signed_in("bob")
    borrowed = other.ours.post(PAGE, data=form, headers=OURS)
    assert borrowed.status_code == 403  # the token of one session is worth nothing in another
    assert status(OURS) == 200
    assert "token_created" in kinds(signed)


def test_web_pages_of_others_begin_no_pairing(signed: SignedOffice) -> None:
    for path in ("/login/device", "/login/token"):
        assert signed.browser().ours.post(path, headers=FOREIGN).status_code == 403
        answer = signed.browser().ours.get(path)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_where_browsers_cannot_sign_in_no_command_line_can(signed: SignedOffice) -> None:
    with office(signed.rig) as other:
        for path in ("/login/device", "/login/token", PAGE):
            assert other.client("").post(path).status_code == 401


def test_wrong_codes_are_limited_by_session(signed: SignedOffice) -> None:
    command, browser = Command(signed), signed.signed_in("eve")

    def status(code: str) -> int:
        return int(browser.ours.get(PAGE, params={"code": code}).status_code)

    assert [status(command.code) for _ in range(20)] == [200] * 20  # right ones are not counted
    form = fields(browser.ours.get(PAGE, params={"code": command.code}).text)
    for _ in range(5):
        body = form | {"code": WRONG, "answer": "confirm"}
        assert browser.ours.post(PAGE, data=body, headers=OURS).status_code == 404
    assert [status(WRONG) for _ in range(6)] == [404] * 5 + [429]
    limited = browser.ours.get(PAGE, params={"code": command.code})
    assert limited.status_code == 429
    assert 1 <= int(limited.headers["retry-after"]) <= 60
    assert signed.signed_in("bob").ours.get(PAGE, params={"code": command.code}).status_code == 200
    denied = [e for e in signed.events(signed.owner) if e["type"] == "access_denied"]
    assert [(e["user"], e["rule"]) for e in denied] == [
        ("eve@example.org", "too many wrong codes of command lines")
    ]


def test_wrong_codes_are_limited_by_address(signed: SignedOffice) -> None:
    found = list[int]()
    for number in range(7):
        browser = signed.signed_in(f"user{number}")
        found += [browser.ours.get(PAGE, params={"code": WRONG}).status_code for _ in range(9)]
    assert found == [404] * 60 + [429] * 3


def test_only_a_number_of_pairings_begin_from_one_address(signed: SignedOffice) -> None:
    client = signed.browser().ours
    found = [client.post("/login/device") for _ in range(31)]
    assert [each.status_code for each in found] == [200] * 30 + [429]
    assert found[-1].json()["error"] == "slow_down"
    assert 1 <= int(found[-1].headers["retry-after"]) <= 60


def test_the_first_of_two_decisions_counts(signed: SignedOffice) -> None:
    command, browser = Command(signed), signed.signed_in("eve")
    other = signed.signed_in("bob")
    decide(browser, command.code)
    late = other.ours.get(PAGE, params={"code": command.code})
    assert late.status_code == 404
    token = command.ask().json()["access_token"]
    assert signed.client(token).get(f"{API}/whoami").json()["user"] == "eve@example.org"


def test_a_code_is_typed_in_small_letters_without_a_hyphen(signed: SignedOffice) -> None:
    command, browser = Command(signed), signed.signed_in("eve")
    page = browser.ours.get(PAGE)
    assert list(fields(page.text)) == ["code"]
    typed = command.code.replace("-", "").lower()
    assert command.code in browser.ours.get(PAGE, params={"code": typed}).text


def test_a_token_and_a_secret_are_in_no_file(signed: SignedOffice) -> None:
    command, browser = Command(signed), signed.signed_in("eve")
    decide(browser, command.code)
    token = command.ask().json()["access_token"]
    assert re.fullmatch(r"gng_[0-9A-Za-z]{36}", token)
    files = [each for each in signed.rig.home.root.rglob("*") if each.is_file()]
    assert files
    for secret in (token, command.begun["device_code"]):
        assert not [each for each in files if secret.encode() in each.read_bytes()]
