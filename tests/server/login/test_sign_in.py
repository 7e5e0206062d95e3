"""Signing in at a real provider, and what a session is worth."""

import pytest

from tests.provider.provider import SECRET, key
from tests.server.access.office import API
from tests.server.login.browser import FOREIGN, HOST, OURS, asked, fields
from tests.server.login.conftest import SignedOffice

COOKIE = "__Host-ganglion"
HOUR = 3_600_000


def test_a_user_signs_in_and_has_the_least_role(signed: SignedOffice) -> None:
    browser = signed.browser()
    found = browser.sign_in("eve", target="/account")
    assert found.status_code == 200, found.text
    assert "signed in as <strong>eve@example.org</strong>" in found.text
    assert '<meta http-equiv="refresh" content="0;url=/account">' in found.text
    me = browser.get("/whoami").json()
    assert (me["user"], me["owner"], me["token"]) == ("eve@example.org", False, "")
    assert [(each["role"], each["queue"], each["by"]) for each in me["grants"]] == [
        ("viewer", "", "")
    ]
    assert browser.get("/nodes").status_code == 200
    refused = browser.post("/workloads", {"name": "x", "run": "true"})
    assert refused.status_code == 403
    assert "needs one of the roles" in refused.json()["detail"]


def test_the_provider_is_asked_with_pkce_state_and_nonce(signed: SignedOffice) -> None:
    found, other = (asked(signed.browser().begin()) for _ in range(2))
    assert found["response_type"] == "code"
    assert found["code_challenge_method"] == "S256"
    assert found["redirect_uri"] == f"https://{HOST}/login/callback"
    assert set(found["scope"].split()) == {"openid", "profile", "email"}
    for name in ("state", "nonce", "code_challenge"):
        assert len(found[name]) == 43
        assert found[name] != other[name]


def test_the_cookie_is_for_this_host_and_no_script(signed: SignedOffice) -> None:
    found = signed.browser().sign_in("eve")
    given = [each for each in found.headers.get_list("set-cookie") if each.startswith(f"{COOKIE}=")]
    assert len(given) == 1
    said = {each.strip().lower() for each in given[0].split(";")[1:]}
    assert {"httponly", "secure", "samesite=lax", "path=/", "max-age=43200"} <= said
    assert not any(each.startswith("domain") for each in said)
    assert found.headers["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in found.headers["content-security-policy"]


def test_groups_of_the_provider_are_granted_roles(signed: SignedOffice) -> None:
    signed.grant("group:research", "submitter", "research")
    browser = signed.signed_in("eve", groups=["research", "no such name", "research"])
    assert browser.get("/whoami").json()["groups"] == ["research"]
    made = browser.post("/workloads", {"name": "x", "run": "true", "queue": "vision"})
    assert made.status_code == 201, made.text
    other = signed.signed_in("bob", groups=["sales"])
    assert other.post("/workloads", {"name": "x", "run": "true"}).status_code == 403


@pytest.mark.parametrize(
    "claims",
    [
        {"_claim_names": {"groups": "src1"}},
        {"groups": "https://graph.example.org/groups"},
        {"hasgroups": True},
    ],
)
def test_a_link_in_place_of_groups_is_refused(
    signed: SignedOffice, claims: dict[str, object]
) -> None:
    found = signed.browser().sign_in("eve", **claims)
    assert found.status_code == 403
    assert "a link in place of the groups" in found.text


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"email_verified": False}, "has not verified"),
        ({"email": "e v e"}, "no usable name"),
        ({"groups": {"a": 1}}, "no list of names"),
    ],
)
def test_an_account_without_a_usable_name_is_refused(
    signed: SignedOffice, claims: dict[str, object], said: str
) -> None:
    found = signed.browser().sign_in("eve", **claims)
    assert found.status_code == 403
    assert said in found.text
    denials = [each for each in signed.events(signed.owner) if each["type"] == "access_denied"]
    assert [each["operation"] for each in denials] == ["sign_in"]


def test_a_name_stays_with_the_account_that_had_it_first(signed: SignedOffice) -> None:
    signed.signed_in("u-7", email="eve@example.org")
    found = signed.browser().sign_in("u-8", email="eve@example.org")
    assert found.status_code == 403
    assert "belongs to another account" in found.text
    signed.signed_in("u-7", email="eve@example.org")


def test_a_role_that_was_revoked_stays_revoked(signed: SignedOffice) -> None:
    browser = signed.signed_in("eve")
    body = {"subject": "user:eve@example.org", "role": "viewer", "queue": ""}
    assert signed.owner.post(f"{API}/roles:revoke", json=body).status_code == 200
    assert browser.get("/nodes").status_code == 403
    assert signed.signed_in("eve").get("/nodes").status_code == 403


def test_an_answer_of_the_provider_counts_once(signed: SignedOffice) -> None:
    browser = signed.browser()
    signed.provider.account("eve")
    path = browser.at_provider(browser.begin())
    assert browser.back(path).status_code == 200
    again = browser.back(path)
    assert again.status_code == 400
    assert "was used before" in again.text


def test_an_answer_counts_in_the_browser_that_began(signed: SignedOffice) -> None:
    browser, victim = signed.browser(), signed.browser()
    signed.provider.account("eve")
    path = browser.at_provider(browser.begin())
    victim.begin()
    assert victim.back(path).status_code == 400  # an attacker's link signs no user in
    assert victim.get("/whoami").status_code == 401
    assert browser.back(path).status_code == 200  # and takes nothing from who began


def test_a_sign_in_that_takes_too_long_is_begun_anew(signed: SignedOffice) -> None:
    browser = signed.browser()
    signed.provider.account("eve")
    path = browser.at_provider(browser.begin())
    signed.rig.machine.time += 600_000
    assert browser.back(path).status_code == 400


@pytest.mark.parametrize("changed", ["state", "code", "iss"])
def test_a_changed_answer_is_refused(signed: SignedOffice, changed: str) -> None:
    browser = signed.browser()
    signed.provider.account("eve")
    path = browser.at_provider(browser.begin())
    given = asked(path)[changed]
    found = browser.back(path.replace(f"{changed}=", f"{changed}=x"))
    assert found.status_code in (400, 403), given
    assert COOKIE not in browser.ours.cookies


def test_what_the_provider_refuses_is_said(signed: SignedOffice) -> None:
    found = signed.browser().sign_in("eve", refuses=True)
    assert found.status_code == 403
    assert "not this time" in found.text


def test_pages_lead_to_this_server_only(signed: SignedOffice) -> None:
    for target in ("https://evil.example", "//evil.example", "/\\evil.example", "javascript:1"):
        assert "evil" not in signed.browser().sign_in("eve", target).text
    found = signed.browser().sign_in("eve", '/"><script>alert(1)</script>')
    assert "<script>" not in found.text


def test_sign_out_ends_the_session_on_the_server(signed: SignedOffice) -> None:
    browser = signed.signed_in("eve")
    stolen = browser.cookie
    form = fields(browser.ours.get("/account").text)
    for wrong in ({}, {"csrf": "0" * 64}):
        assert browser.ours.post("/logout", data=wrong, headers=OURS).status_code == 403
    assert browser.get("/whoami").status_code == 200
    left = browser.ours.post("/logout", data=form, headers=OURS)
    assert left.status_code == 200, left.text
    assert COOKIE not in browser.ours.cookies
    browser.ours.cookies.set(COOKIE, stolen)
    assert browser.get("/whoami").status_code == 401
    kinds = [each["type"] for each in signed.events(signed.owner)]
    assert kinds[-2:] == ["signed_in", "signed_out"]


def test_signing_in_again_ends_the_session_before(signed: SignedOffice) -> None:
    browser = signed.signed_in("eve")
    former = browser.cookie
    browser.sign_in("eve")
    assert browser.cookie != former
    browser.ours.cookies.set(COOKIE, former, domain=HOST)
    other = signed.browser()
    other.ours.cookies.set(COOKIE, former)
    assert other.get("/whoami").status_code == 401


def test_a_session_ends_when_it_is_idle_and_in_the_end(signed: SignedOffice) -> None:
    browser, idle = signed.signed_in("eve"), signed.signed_in("bob")
    for _ in range(11):
        signed.rig.machine.time += HOUR
        assert browser.get("/whoami").status_code == 200
    assert idle.get("/whoami").status_code == 401
    signed.rig.machine.time += HOUR
    found = browser.get("/whoami")
    assert found.status_code == 401
    assert "the session has ended" in found.json()["detail"]


def test_a_session_survives_a_restart_and_its_cookie_is_nowhere(signed: SignedOffice) -> None:
    browser = signed.signed_in("eve")
    cookie = browser.cookie
    stream = signed.owner.get(f"{API}/events?follow=false").text
    (begun,) = [each for each in signed.events(signed.owner) if each["type"] == "signed_in"]
    assert begun["digest"] == ""
    assert cookie not in stream
    files = [each for each in signed.rig.home.root.rglob("*") if each.is_file()]
    assert files
    assert not [each for each in files if cookie.encode() in each.read_bytes()]
    assert not [each for each in files if SECRET.encode() in each.read_bytes()]
    signed.rig.service.stop()
    signed.rig.ledger.close()
    signed.rig.start()
    signed.rig.service.start()
    after = SignedOffice(signed.rig, signed.provider, signed.settings).browser()
    after.ours.cookies.set(COOKIE, cookie)
    assert after.get("/whoami").json()["user"] == "eve@example.org"


def test_sessions_go_on_while_the_provider_is_down(signed: SignedOffice) -> None:
    browser = signed.signed_in("eve")
    fresh = SignedOffice(signed.rig, signed.provider, signed.settings)
    signed.provider.stop()
    try:
        assert browser.get("/nodes").status_code == 200
        found = fresh.browser().ours.get("/login")
        assert found.status_code == 503
        assert f"annot sign in at {signed.provider.issuer}" in found.text
        assert "sessions that exist go on" in found.text.lower()
    finally:
        signed.provider.start()


def test_a_rotation_of_keys_is_followed(
    signed: SignedOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed.signed_in("eve")
    former, ahead = signed.provider.key, 0.0
    clock = signed.rig.effects.clock
    real = type(clock).monotonic
    monkeypatch.setattr(type(clock), "monotonic", lambda self: real(self) + ahead)
    signed.provider.stop()
    signed.provider.key = key("EC")
    signed.provider.start()
    try:
        soon = signed.browser().sign_in("eve")
        assert soon.status_code == 403  # keys are asked for again once a minute
        assert "has not published" in soon.text
        ahead = 61.0
        signed.signed_in("eve")
    finally:
        signed.provider.stop()
        signed.provider.key = former
        signed.provider.start()


def test_other_sites_cannot_use_a_session(signed: SignedOffice) -> None:
    signed.grant("user:eve@example.org", "admin")
    browser = signed.signed_in("eve")
    csrf, path = browser.csrf(), "/api/v1/queues/default"
    body, good = {"weight": 2}, {**OURS, "X-CSRF-Token": browser.csrf()}

    def status(**headers: str) -> int:
        return int(browser.ours.put(path, json=body, headers=headers).status_code)

    assert status(**good) in (200, 201)
    assert status(**OURS) == 403
    assert status(**{"X-CSRF-Token": csrf}) == 403
    assert status(**good | {"X-CSRF-Token": "0" * 64}) == 403
    assert status(**good | {"Origin": f"http://{HOST}"}) == 403
    assert status(**good | {"Origin": "https://evil.example"}) == 403
    assert status(**good | {"Sec-Fetch-Site": "same-site"}) == 403
    assert status(**good | {"Origin": "null"}) == 403
    assert browser.ours.get("/api/v1/whoami", headers=FOREIGN).status_code == 403


def test_other_hosts_are_not_answered(signed: SignedOffice) -> None:
    browser = signed.browser()
    for path in ("/login", "/account", "/login/callback?state=x&code=y"):
        found = browser.ours.get(path, headers={"Host": "evil.example"})
        assert found.status_code == 421


def test_only_so_many_sign_ins_begin_from_one_address(signed: SignedOffice) -> None:
    browser = signed.browser()
    found = [browser.ours.get("/login") for _ in range(31)]
    assert [each.status_code for each in found] == [302] * 30 + [429]
    assert 1 <= int(found[-1].headers["retry-after"]) <= 60


def test_a_token_counts_before_a_cookie(signed: SignedOffice) -> None:
    browser = signed.signed_in("eve")
    token = signed.token("bob", "viewer")
    found = browser.get("/whoami", Authorization=f"Bearer {token}").json()
    assert (found["user"], found["csrf"]) == ("bob", "")
    assert browser.get("/whoami", Authorization="Bearer wrong").status_code == 401


def test_the_owner_does_not_sign_in(signed: SignedOffice) -> None:
    found = signed.browser().sign_in("x", email="ada")
    assert found.status_code == 403
    assert "the name of this server&#x27;s owner" in found.text
