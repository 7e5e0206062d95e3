"""The link of the first admin: once, within an hour, and not where others can read it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient

from ganglion.server.access.tries.one_time_codes import WRONG_CODES
from ganglion.server.login.settings import LoginSettings
from tests.server.access.conftest import Staffed
from tests.server.access.office import API, Office, office
from tests.server.login.browser import fields
from tests.server.login.conftest import SignedOffice, provider, signed  # noqa: F401 - fixtures
from tests.server.login.local.conftest import GOOD, URL, LocalOffice, Pages

PAGE = "/login/bootstrap"
HOUR = 3_600_000


def code_of(of: Office, **wish: bool) -> str:
    """The code of a new link; empty = none was made."""
    made = of.owner.post(f"{API}/users:bootstrap", json=wish)
    assert made.status_code == 200, made.text
    assert not made.json()["url"] or made.json()["url"].startswith(f"{URL}{PAGE}?")
    return parse_qs(urlsplit(made.json()["url"]).query).get("code", [""])[0]


def claim(browser: Pages, code: str, user: str = "eve", **changed: str) -> int:
    given = {"code": code, "user": user, "password": GOOD, "again": GOOD, **changed}
    return int(browser.send(PAGE, given).status_code)


def test_its_visitor_becomes_the_first_admin_and_is_signed_in(local: LocalOffice) -> None:
    code = code_of(local, if_needed=True)
    browser = local.page_of()
    asked = browser.ours.get(PAGE, params={"code": code})
    assert asked.status_code == 200
    assert asked.headers["referrer-policy"] == "no-referrer"
    assert asked.headers["cache-control"] == "no-store"
    found = browser.send(
        PAGE, {**fields(asked.text), "user": "eve", "password": GOOD, "again": GOOD}
    )
    assert found.status_code == 200, found.text
    grants = browser.get("/whoami").json()["grants"]
    assert [(each["role"], each["queue"]) for each in grants] == [("admin", "")]
    assert local.signed_in("eve").get("/nodes").status_code == 200
    assert code_of(local, if_needed=True) == ""
    kinds = [each["type"] for each in local.events(local.owner)]
    assert kinds[-5:-1] == ["user_added", "bootstrap_used", "role_granted", "signed_in"]
    assert code not in str(local.events(local.owner))
    made = [each for each in local.events(local.owner) if each["type"] == "bootstrap_made"]
    assert [(each["digest"], each["by"]) for each in made] == [("", "ada")]


def test_a_code_counts_once(local: LocalOffice) -> None:
    code = code_of(local)
    assert claim(local.page_of(), code) == 200
    assert claim(local.page_of(), code, "mallory") == 403
    assert local.page_of().ours.get(PAGE, params={"code": code}).status_code == 403
    assert [each["user"] for each in local.owner.get(f"{API}/users").json()["items"]] == ["eve"]


def test_of_visitors_at_once_one_becomes_admin(local: LocalOffice) -> None:
    code = code_of(local)
    with ThreadPoolExecutor(6) as pool:
        found = list(
            pool.map(lambda number: claim(local.page_of(), code, f"user{number}"), range(6))
        )
    assert sorted(found) == [200, *([403] * 5)]
    assert len(local.owner.get(f"{API}/users").json()["items"]) == 1
    roles = local.owner.get(f"{API}/roles").json()["items"]
    assert [each["role"] for each in roles] == ["admin"]


def test_a_code_ends_after_an_hour_and_with_the_next_one(local: LocalOffice) -> None:
    code = code_of(local)
    newer = code_of(local)
    assert claim(local.page_of(), code) == 403
    local.rig.machine.time += HOUR
    assert claim(local.page_of(), newer) == 403
    assert local.owner.get(f"{API}/users").json()["items"] == []


@pytest.mark.parametrize("code", ["", "x", "\0", "\u202e", "x" * 2_000])
def test_a_wrong_code_is_refused_and_written_down(local: LocalOffice, code: str) -> None:
    code_of(local)
    assert claim(local.page_of(), code) == 403
    denials = [each for each in local.events(local.owner) if each["type"] == "access_denied"]
    assert [(each["user"], each["operation"]) for each in denials] == [("", "bootstrap")]


def test_wrong_codes_are_slowed_down(local: LocalOffice) -> None:
    code = code_of(local)
    found = [claim(local.page_of("192.0.2.66"), "wrong") for _ in range(WRONG_CODES.tries + 1)]
    assert (set(found[:-1]), found[-1]) == ({403}, 429)
    assert claim(local.page_of(), code) == 200


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"again": "another one, no doubt"}, 422),
        ({"password": "short", "again": "short"}, 422),
        ({"user": "ada"}, 422),
        ({"user": "e\0ve"}, 422),
        ({"user": "eve\u202e"}, 422),
        ({"user": ""}, 422),
    ],
)
def test_what_is_wrong_with_the_form_uses_no_code_up(
    local: LocalOffice, changed: dict[str, str], status: int
) -> None:
    code = code_of(local)
    assert claim(local.page_of(), code, **changed) == status
    assert claim(local.page_of(), code) == 200


def test_a_page_of_another_site_uses_no_link(local: LocalOffice) -> None:
    code = code_of(local)
    form = {"code": code, "user": "eve", "password": GOOD, "again": GOOD}
    headers = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert local.page_of().ours.post(PAGE, data=form, headers=headers).status_code == 403
    assert claim(local.page_of(), code) == 200


def test_the_owner_alone_makes_links(local: LocalOffice) -> None:
    admin = local.user("bob", "admin")
    found = admin.post(f"{API}/users:bootstrap", json={})
    assert found.status_code == 403
    assert "only the owner" in found.json()["detail"]
    assert code_of(local, if_needed=True) == ""
    assert code_of(local)  # who lost all admins gets in again


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[LocalOffice]:
    rig = Staffed(tmp_path / "home")
    rig.service.start()
    made = LocalOffice(rig, LoginSettings(public_url="http://localhost:7077", local_users=True))
    with made.owner:
        yield made
    rig.service.stop()
    rig.ledger.close()


@pytest.mark.parametrize(("address", "status"), [("192.0.2.1", 403), ("127.0.0.1", 200)])
def test_over_plain_http_it_counts_on_this_machine_alone(
    plain: LocalOffice, address: str, status: int
) -> None:
    made = plain.owner.post(f"{API}/users:bootstrap", json={}).json()["url"]
    browser = TestClient(plain._app, "http://localhost:7077", client=(address, 5_000))
    found = browser.get(urlsplit(made).path, params={"code": made.partition("code=")[2]})
    assert found.status_code == status, found.text
    assert ("can read this link" in found.text) is (status == 403)


def test_without_pages_there_is_no_link(tmp_path: Path) -> None:
    rig = Staffed(tmp_path / "home")
    rig.service.start()
    with office(rig) as staff:
        assert staff.owner.post(f"{API}/users:bootstrap", json={}).status_code == 409
        found = staff.owner.post(f"{API}/users:bootstrap", json={"if_needed": True})
        assert found.json()["url"] == ""
    rig.service.stop()
    rig.ledger.close()


def test_a_user_of_a_provider_becomes_admin_after_signing_in(
    signed: SignedOffice,  # noqa: F811 - fixture
) -> None:
    code = code_of(signed, if_needed=True)
    browser = signed.browser()
    first = browser.ours.get(PAGE, params={"code": code})
    assert first.status_code == 401
    assert "/login?next=" in first.text
    browser.sign_in("eve", target=f"{PAGE}?code={code}")
    asked = browser.ours.get(PAGE, params={"code": code})
    assert "signed in as <strong>eve@example.org</strong>" in asked.text
    form, pages = fields(asked.text), Pages(browser.ours)
    assert pages.send(PAGE, {**form, "csrf": ""}).status_code == 403
    assert [each["role"] for each in browser.get("/whoami").json()["grants"]] == ["viewer"]
    assert pages.send(PAGE, form).status_code == 200
    assert "admin" in [each["role"] for each in browser.get("/whoami").json()["grants"]]
    other = signed.signed_in("bob")
    form = {"csrf": other.csrf(), "code": code}
    assert Pages(other.ours).send(PAGE, form).status_code == 403
    assert signed.browser().ours.post(PAGE, data=form).status_code == 401
