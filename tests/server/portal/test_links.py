"""A link opens the portal once, for the owner, on the machine of the server."""

import pytest

from ganglion.seams.effects import SYSTEM
from ganglion.server.access.permissions import BadSession, Permissions, SessionRules
from ganglion.server.access.tries.one_time_codes import WRONG_CODES
from ganglion.server.commands.sign_in import BY_LINK
from ganglion.server.login.owner import IDLE_MS
from ganglion.server.portal.links import LASTING_MS, MOST, PortalLinks
from tests.server.access.office import API
from tests.server.portal.conftest import URL, PortalOffice


def test_its_visitor_is_the_owner(portal: PortalOffice) -> None:
    browser = portal.opened()
    me = browser.get(f"{API}/whoami").json()
    assert (me["user"], me["owner"], me["token"]) == ("ada", False, "")
    assert me["session"]
    assert me["csrf"]
    assert browser.get(f"{API}/nodes").status_code == 200
    assert browser.get(f"{API}/roles").status_code == 200
    (session,) = browser.get(f"{API}/sessions").json()["items"]
    assert (session["user"], session["own"]) == ("ada", True)


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(portal: PortalOffice) -> None:
    said = portal.browser().post("/login/portal", data={"code": portal.code()})
    cookie = said.headers["set-cookie"]
    for each in ("HttpOnly", "SameSite=strict", "Path=/"):
        assert each in cookie, each
    assert "Domain" not in cookie


def test_a_code_counts_once(portal: PortalOffice) -> None:
    code = portal.code()
    assert portal.browser().post("/login/portal", data={"code": code}).status_code == 204
    second = portal.browser().post("/login/portal", data={"code": code})
    assert second.status_code == 403
    assert second.json()["hint"] == "make another one: ganglion portal"
    denied = [each for each in portal.events(portal.owner) if each["type"] == "access_denied"]
    assert [each["operation"] for each in denied] == ["open_portal"]
    assert code not in str(portal.events(portal.owner))


def test_a_code_ends_after_an_hour_and_only_so_many_count() -> None:
    links = PortalLinks(SYSTEM.randomness)
    code, until = links.make(1_000)
    assert until == 1_000 + LASTING_MS
    assert not links.take(code, until)
    first, *others = [links.make(0)[0] for _ in range(MOST + 1)]
    assert not links.take(first, 1)
    assert all(links.take(each, 1) for each in others)


def test_a_stranger_gets_no_data_and_makes_no_link(portal: PortalOffice) -> None:
    stranger = portal.browser()
    for path in ("/order", "/workloads", "/events", "/whoami", "/nodes"):
        assert stranger.get(API + path).status_code == 401
    assert stranger.post(f"{API}/portal:link").status_code == 401
    assert stranger.post("/login/portal", data={"code": "guessed"}).status_code == 403
    assert portal.user("eve", "admin").post(f"{API}/portal:link").status_code == 403
    # Not even a session of the owner, which a page has, makes further ones.
    browser = portal.opened()
    token = {"X-CSRF-Token": browser.get(f"{API}/whoami").json()["csrf"], "Origin": URL}
    assert browser.post(f"{API}/portal:link", headers=token).status_code == 403


def test_guesses_are_slowed_down(portal: PortalOffice) -> None:
    guesses = [
        portal.browser().post("/login/portal", data={"code": "guessed"}).status_code
        for _ in range(WRONG_CODES.tries + 1)
    ]
    assert guesses == [403] * WRONG_CODES.tries + [429]


def test_a_code_that_others_on_the_network_could_read_does_not_count(portal: PortalOffice) -> None:
    code = portal.code()
    elsewhere = portal.browser("192.0.2.7").post("/login/portal", data={"code": code})
    assert elsewhere.status_code == 403
    assert portal.browser().post("/login/portal", data={"code": code}).status_code == 204


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": URL}, 403),  # without the header that only our pages know
        ({"Origin": "http://localhost:9999", "X-CSRF-Token": "right"}, 403),
        ({"Origin": "http://evil.example", "X-CSRF-Token": "right"}, 403),
        ({"Origin": URL, "X-CSRF-Token": "wrong"}, 403),
        ({"Origin": URL, "X-CSRF-Token": "right"}, 200),
    ],
)
def test_a_foreign_page_changes_nothing(
    portal: PortalOffice, headers: dict[str, str], status: int
) -> None:
    browser = portal.opened()
    right = browser.get(f"{API}/whoami").json()["csrf"]
    sent = {name: right if value == "right" else value for name, value in headers.items()}
    assert (
        browser.post(f"{API}/nodes/n0/cordon", json={"reason": "x"}, headers=sent).status_code
        == status
    )


def test_another_origin_posts_no_code(portal: PortalOffice) -> None:
    foreign = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
    code = portal.code()
    assert (
        portal.browser().post("/login/portal", data={"code": code}, headers=foreign).status_code
        == 403
    )
    assert portal.browser().post("/login/portal", data={"code": code}).status_code == 204


def test_a_session_ends_when_its_user_leaves(portal: PortalOffice) -> None:
    browser = portal.opened()
    csrf = browser.get(f"{API}/whoami").json()["csrf"]
    assert browser.post("/logout", data={"csrf": "wrong"}).status_code == 403
    kept = dict(browser.cookies)
    assert browser.post("/logout", data={"csrf": csrf}).status_code == 204
    browser.cookies.update(kept)
    assert browser.get(f"{API}/whoami").status_code == 401


def test_a_session_ends_when_it_is_not_used(portal: PortalOffice) -> None:
    browser = portal.opened()
    assert browser.get(f"{API}/whoami").status_code == 200
    portal.rig.machine.time += IDLE_MS
    assert browser.get(f"{API}/whoami").status_code == 401


def test_the_session_is_that_of_the_owner_alone(portal: PortalOffice) -> None:
    """A ledger that another user's server takes over brings no session of the former owner."""
    browser = portal.opened()
    cookie = next(iter(browser.cookies.values()))
    rules = SessionRules(BY_LINK, IDLE_MS)
    assert Permissions(portal.rig.service, "ada", rules).session(cookie).subject.user == "ada"
    with pytest.raises(BadSession):
        Permissions(portal.rig.service, "zoe", rules).session(cookie)


def test_a_server_without_a_portal_says_why(portal: PortalOffice) -> None:
    portal.context.portal_trouble = "the portal was not built"
    made = portal.owner.post(f"{API}/portal:link").json()
    assert (made["url"], made["trouble"]) == ("", "the portal was not built")
