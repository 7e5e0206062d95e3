"""Signing in with a name and a password, and what a session is worth then."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ganglion.model.errors import RateLimited
from ganglion.server.access.tries import passwords
from ganglion.server.state.rights import LocalUser
from tests.server.access.conftest import Staffed
from tests.server.access.office import API
from tests.server.login.browser import FOREIGN, HOST, OURS, fields
from tests.server.login.local.conftest import COOKIE, GOOD, OTHER, SETTINGS, URL, LocalOffice


def denials(local: LocalOffice) -> list[tuple[str, str, str]]:
    return [
        (each["user"], each["operation"], each["rule"])
        for each in local.events(local.owner)
        if each["type"] == "access_denied"
    ]


def test_a_user_signs_in_and_does_what_was_granted(local: LocalOffice) -> None:
    local.add("eve")
    browser = local.page_of()
    found = browser.sign_in("eve", target="/account")
    assert found.status_code == 200, found.text
    assert "signed in as <strong>eve</strong>" in found.text
    assert '<meta http-equiv="refresh" content="0;url=/account">' in found.text
    me = browser.get("/whoami").json()
    assert (me["user"], me["owner"], me["token"], me["grants"]) == ("eve", False, "", [])
    assert browser.get("/nodes").status_code == 403
    local.grant("user:eve", "viewer")
    assert browser.get("/nodes").status_code == 200


def test_the_cookie_is_that_of_other_sessions(local: LocalOffice) -> None:
    local.add("eve")
    found = local.page_of().sign_in("eve")
    given = [each for each in found.headers.get_list("set-cookie") if each.startswith(f"{COOKIE}=")]
    assert len(given) == 1
    said = {each.strip().lower() for each in given[0].split(";")[1:]}
    assert {"httponly", "secure", "samesite=lax", "path=/", "max-age=43200"} <= said
    assert found.headers["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in found.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("user", "password"),
    [
        ("eve", OTHER),
        ("eve", ""),
        ("eve", f"{GOOD}\0"),
        ("eve", f" {GOOD}"),
        ("eve", GOOD.upper()),
        ("Eve", GOOD),
        ("eve\0", GOOD),
        ("eve\u202e", GOOD),
        ("\u202eeve", GOOD),
        ("еve", GOOD),  # noqa: RUF001 - a letter that looks alike is the matter
        ("eve ", GOOD),
        ("", ""),
        ("ada", GOOD),
        ("<script>", GOOD),
        ("nobody", GOOD),
        ("x" * 1000, GOOD),
    ],
)
def test_all_that_is_wrong_is_answered_alike(local: LocalOffice, user: str, password: str) -> None:
    local.add("eve")
    browser = local.page_of()
    found = browser.sign_in(user, password)
    assert found.status_code == 403
    assert "The name or the password is wrong" in found.text
    assert "<script" not in found.text
    assert COOKIE not in browser.ours.cookies
    again = {**fields(found.text), "user": "eve", "password": GOOD}
    assert browser.send("/login", again).status_code == 200  # the page is a new form


def test_what_was_typed_as_a_name_is_written_down_only_where_it_is_one(local: LocalOffice) -> None:
    local.add("eve")
    local.page_of().sign_in("eve", OTHER)
    local.page_of().sign_in(GOOD, OTHER)
    rule = "the name or the password is wrong"
    assert denials(local) == [("eve", "sign_in", rule), ("", "sign_in", rule)]
    assert not any(GOOD in str(each) for each in local.events(local.owner))


def test_a_huge_password_is_refused_and_hashes_nothing(local: LocalOffice) -> None:
    local.add("eve")
    browser = local.page_of()
    form = {**browser.form(), "user": "eve", "password": "x" * 100_000}
    found = browser.send("/login", form)
    assert found.status_code == 413
    assert COOKIE not in browser.ours.cookies
    long = browser.sign_in("eve", "x" * 3_000)
    assert long.status_code == 403


def test_a_form_counts_once_and_in_the_browser_that_got_it(local: LocalOffice) -> None:
    local.add("eve")
    browser, other = local.page_of(), local.page_of()
    form = {**browser.form(), "user": "eve", "password": GOOD}
    other.form()
    assert other.send("/login", form).status_code == 400
    assert other.get("/whoami").status_code == 401
    assert browser.send("/login", form).status_code == 200
    assert browser.send("/login", form).status_code == 400
    assert browser.send("/login", {"user": "eve", "password": GOOD}).status_code == 400


def test_a_page_of_another_site_signs_no_browser_in(local: LocalOffice) -> None:
    local.add("mallory")
    browser = local.page_of()
    form = {**browser.form(), "user": "mallory", "password": GOOD}
    for headers in (
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "null"},
        {"Origin": f"https://{HOST}:444"},
        FOREIGN,
    ):
        found = browser.ours.post("/login", data=form, headers=headers)
        assert found.status_code == 403, headers
    assert browser.ours.post("/login", data=form, headers=OURS).status_code == 200


def test_a_disabled_user_is_refused_with_every_credential_until_it_is_enabled(
    local: LocalOffice,
) -> None:
    local.add("eve")
    local.grant("user:eve", "viewer")
    token = local.client(local.token("eve"))
    browser = local.signed_in("eve")
    assert token.get(f"{API}/nodes").status_code == browser.get("/nodes").status_code == 200
    assert local.owner.post(f"{API}/users/eve/disable").json()["disabled"] is True
    assert token.get(f"{API}/nodes").status_code == browser.get("/nodes").status_code == 401
    assert "is disabled" in token.get(f"{API}/nodes").json()["detail"]
    assert "is wrong" in local.page_of().sign_in("eve", OTHER).text
    refused = local.page_of().sign_in("eve")
    assert (refused.status_code, "is disabled" in refused.text) == (403, True)
    assert local.owner.post(f"{API}/users/eve/enable").json()["disabled"] is False
    assert token.get(f"{API}/nodes").status_code == 200
    assert browser.get("/nodes").status_code == 401  # the session has ended for good
    assert local.signed_in("eve").get("/nodes").status_code == 200


def test_a_stolen_session_ends_with_the_password_and_its_thief_cannot_change_it(
    local: LocalOffice,
) -> None:
    local.add("eve")
    browser, thief = local.signed_in("eve"), local.page_of("198.51.100.7")
    thief.ours.cookies.set(COOKIE, browser.cookie, domain=HOST, path="/")
    assert thief.get("/whoami").json()["user"] == "eve"
    form = fields(thief.ours.get("/account/password").text)
    wrong = {**form, "current": OTHER, "password": OTHER, "again": OTHER}
    assert thief.send("/account/password", wrong).status_code == 403
    own = local.signed_in("eve")
    form = fields(own.ours.get("/account/password").text)
    done = own.send(
        "/account/password", {**form, "current": GOOD, "password": OTHER, "again": OTHER}
    )
    assert (done.status_code, "Changed" in done.text) == (200, True)
    assert thief.get("/whoami").status_code == browser.get("/whoami").status_code == 401
    assert own.get("/whoami").status_code == 200
    assert local.page_of().sign_in("eve", GOOD).status_code == 403
    assert local.page_of().sign_in("eve", OTHER).status_code == 200
    assert ("eve", "change_password", "the password so far is wrong") in denials(local)


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"csrf": ""}, 403),
        ({"csrf": "0" * 64}, 403),
        ({"again": GOOD}, 422),
        ({"password": "too short", "again": "too short"}, 422),
        ({"password": "a" * 20, "again": "a" * 20}, 422),
        ({"current": ""}, 403),
    ],
)
def test_a_password_changes_by_a_form_of_ours_that_is_filled_in(
    local: LocalOffice, changed: dict[str, str], status: int
) -> None:
    local.add("eve")
    browser = local.signed_in("eve")
    form = fields(browser.ours.get("/account/password").text)
    given = {**form, "current": GOOD, "password": OTHER, "again": OTHER, **changed}
    found = browser.send("/account/password", given)
    assert found.status_code == status, found.text
    assert OTHER not in found.text
    assert local.page_of().sign_in("eve").status_code == 200


def test_a_session_ends_with_sign_out_and_the_cookie_before_is_worth_nothing(
    local: LocalOffice,
) -> None:
    local.add("eve")
    browser = local.signed_in("eve")
    former = browser.cookie
    assert browser.sign_in("eve").status_code == 200  # a new sign-in ends the one before
    thief = local.page_of()
    thief.ours.cookies.set(COOKIE, former, domain=HOST, path="/")
    assert thief.get("/whoami").status_code == 401
    form = fields(browser.ours.get("/account").text)
    assert browser.send("/logout", form).status_code == 200
    assert browser.get("/whoami").status_code == 401


def test_a_command_line_is_paired_by_a_local_user(local: LocalOffice) -> None:
    local.add("eve")
    local.grant("user:eve", "viewer")
    program = local.client("")
    asked = program.post("/login/device", data={"client_id": "x", "label": "eve at work"}).json()
    browser = local.page_of()
    first = browser.ours.get("/login/pair", params={"code": asked["user_code"]})
    assert first.status_code == 401
    assert "/login?next=" in first.text
    target = f"/login/pair?code={asked['user_code']}"
    assert f"url={target.replace('&', '&amp;')}" in browser.sign_in("eve", target=target).text
    form = fields(browser.ours.get(target).text)
    assert browser.send("/login/pair", {**form, "answer": "confirm"}).status_code == 200
    given = {
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
        "device_code": asked["device_code"],
    }
    answer = program.post("/login/token", data=given).json()
    assert answer["user"] == "eve"
    assert local.client(answer["access_token"]).get(f"{API}/nodes").status_code == 200


def test_wrong_passwords_are_limited_by_network_and_a_victim_still_gets_in(
    local: LocalOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passwords, "PASSES", 1)
    monkeypatch.setattr(passwords, "MEMORY_KIB", 64)
    local.add("eve")
    local.signed_in("eve", "203.0.113.9")
    for number in range(passwords.WRONG_OF_PAIR.tries):
        found = local.page_of("192.0.2.66").sign_in("eve", f"wrong wrong wrong {number}")
        assert found.status_code == 403
        local.clock.now_s += 0.01
    slowed = local.page_of("192.0.2.66").sign_in("eve", GOOD)
    assert slowed.status_code == 429
    assert int(slowed.headers["retry-after"]) > 0
    assert COOKIE not in slowed.headers.get("set-cookie", "")
    # From many networks: the user is slowed down elsewhere, but not where it has been before.
    check = local.context.passwords
    kept = check.hashed(GOOD)
    refused = 0
    for number in range(200):
        try:
            assert not check.is_right("eve", f"198.51.{number}.1", kept, OTHER)
        except RateLimited:
            refused += 1
    assert refused >= 200 - passwords.WRONG_OF_USER.tries
    assert local.page_of("203.0.113.200").sign_in("eve").status_code == 429
    assert local.page_of("203.0.113.9").sign_in("eve").status_code == 200
    local.add("bob")
    assert local.page_of("203.0.113.200").sign_in("bob").status_code == 200
    local.clock.now_s += passwords.WRONG_OF_USER.per_s
    assert local.page_of("203.0.113.200").sign_in("eve").status_code == 200


def test_a_password_is_kept_with_the_parameters_of_today(
    local: LocalOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(passwords, "PASSES", 1)
        before.setattr(passwords, "MEMORY_KIB", 64)
        local.add("eve")

    def kept() -> LocalUser:
        with local.rig.service.read() as mind:
            return mind.book.rights.users["eve"]

    assert ",t=1," in kept().digest
    former = local.signed_in("eve")
    assert passwords.is_current(kept().digest)
    changes = [each for each in local.events(local.owner) if each["type"] == "password_changed"]
    assert [(each["rehashed"], each["digest"]) for each in changes] == [(True, "")]
    local.signed_in("eve")
    assert former.get("/whoami").status_code == 200
    assert kept().added_ms == kept().changed_ms


def test_sign_ins_at_once_each_get_a_session_and_others_are_answered_meanwhile(
    local: LocalOffice,
) -> None:
    local.add("eve")
    held, release = threading.Event(), threading.Event()

    def slow(*_args: Any) -> bool:
        held.set()
        assert release.wait(30)
        return True

    check = local.context.passwords
    check._is_right = slow  # type: ignore[method-assign,assignment]
    with ThreadPoolExecutor(8) as pool:
        begun = [pool.submit(local.page_of().sign_in, "eve") for _ in range(4)]
        assert held.wait(30)
        assert local.owner.get(f"{API}/nodes").status_code == 200
        assert local.page_of().ours.get("/login").status_code == 200
        local.submit(local.owner, "a", "vision")  # turns are taken as well
        assert check._waiting >= passwords.AT_ONCE
        release.set()
        assert [each.result().status_code for each in begun] == [200] * 4
    signed = [each for each in local.events(local.owner) if each["type"] == "signed_in"]
    assert len(signed) == len({each["session"] for each in signed}) == 4


def test_pages_of_listed_origins_may_use_a_session_and_no_others(tmp_path: Path) -> None:
    rig = Staffed(tmp_path / "home")
    rig.service.start()
    settings = replace(SETTINGS, origins=("https://GPU.internal:8443/",))
    local = LocalOffice(rig, settings)
    with local.owner:
        local.add("eve")
        local.grant("user:eve", "admin")
        pages = local.signed_in("eve")
        csrf = pages.get("/whoami").json()["csrf"]

        def status(origin: str) -> int:
            host = origin.partition("://")[2]
            headers = {"Origin": origin, "Host": host, "X-CSRF-Token": csrf, "Cookie": cookie}
            path = f"{API}/queues/default"
            return int(pages.ours.put(path, json={"weight": 2}, headers=headers).status_code)

        cookie = f"{COOKIE}={pages.cookie}"
        assert status(URL) in (200, 201)
        assert status("https://gpu.internal:8443") == 200
        assert status("https://gpu.internal") == 421  # it does not answer to that name
        assert status("http://gpu.internal:8443") == 403
    rig.service.stop()
    rig.ledger.close()
