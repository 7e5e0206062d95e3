"""Sessions of browsers are listed and ended by their user, and all of them by an admin."""

from typing import Any

import pytest

from tests.server.access.office import API
from tests.server.login.browser import HOST, OURS
from tests.server.login.local.conftest import COOKIE, LocalOffice, Pages

HOUR = 3_600_000


def listed(client: Any) -> list[dict[str, Any]]:
    found = client.get(f"{API}/sessions")
    assert found.status_code == 200, found.text
    items: list[dict[str, Any]] = found.json()["items"]
    return items


def id_of(browser: Pages) -> str:
    return str(browser.get("/whoami").json()["session"])


def ended(browser: Pages, session: str) -> int:
    csrf = browser.get("/whoami").json()["csrf"]
    headers = {**OURS, "X-CSRF-Token": csrf}
    return int(browser.ours.delete(f"{API}/sessions/{session}", headers=headers).status_code)


@pytest.fixture
def eve(local: LocalOffice) -> Pages:
    local.add("eve")
    local.add("bob")
    return local.signed_in("eve")


def test_a_stolen_cookie_is_seen_and_ended_by_its_user(local: LocalOffice, eve: Pages) -> None:
    stolen = local.signed_in("eve")
    thief = local.page_of("198.51.100.7")
    thief.ours.cookies.set(COOKIE, stolen.cookie, domain=HOST, path="/")
    assert thief.get("/whoami").json()["user"] == "eve"
    seen = {each["id"]: each for each in eve.get("/sessions").json()["items"]}
    assert [seen[id_of(each)]["own"] for each in (eve, stolen)] == [True, False]
    assert ended(eve, id_of(stolen)) == 200
    assert thief.get("/whoami").status_code == stolen.get("/whoami").status_code == 401
    assert eve.get("/whoami").status_code == 200
    assert [each["id"] for each in eve.get("/sessions").json()["items"]] == [id_of(eve)]
    event = local.events(local.owner)[-1]
    told = {key: event[key] for key in ("type", "user", "by", "actor")}
    assert told == {"type": "signed_out", "user": "eve", "by": "eve", "actor": "eve"}


def test_a_stream_of_an_ended_session_is_refused_again(local: LocalOffice, eve: Pages) -> None:
    local.grant("user:eve", "viewer")
    assert eve.get("/events?follow=false").status_code == 200
    assert local.owner.delete(f"{API}/sessions/{id_of(eve)}").status_code == 200
    assert eve.get("/events?follow=false").status_code == 401


def test_others_neither_see_nor_end_it(local: LocalOffice, eve: Pages) -> None:
    bob = local.signed_in("bob")
    (own,) = bob.get("/sessions").json()["items"]
    assert (own["user"], own["own"]) == ("bob", True)
    assert ended(bob, id_of(eve)) == 404
    token = local.client(local.token("bob"))
    assert [each["user"] for each in listed(token)] == ["bob"]
    assert eve.get("/whoami").status_code == 200


def test_an_admin_sees_all_and_ends_any_and_an_auditor_ends_none(
    local: LocalOffice, eve: Pages
) -> None:
    bob, session = local.signed_in("bob"), id_of(eve)
    for role in ("auditor", "admin"):
        other = local.user(role, role, "")
        assert {each["user"] for each in listed(other)} == {"eve", "bob"}
        status = other.delete(f"{API}/sessions/{session}").status_code
        assert status == (200 if role == "admin" else 404)
    assert eve.get("/whoami").status_code == 401
    assert bob.get("/whoami").status_code == 200
    assert other.delete(f"{API}/sessions/{session}").status_code == 404
    last = [each for each in local.events(local.owner) if each["type"] == "signed_out"]
    assert [(each["user"], each["by"], each["actor"]) for each in last] == [
        ("eve", "admin", "admin")
    ]


def test_another_site_ends_none(local: LocalOffice, eve: Pages) -> None:
    path = f"{API}/sessions/{id_of(eve)}"
    assert eve.ours.delete(path, headers=OURS).status_code == 403
    assert eve.ours.delete(path, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert eve.get("/whoami").status_code == 200


def test_sessions_that_ended_by_themselves_are_not_listed(local: LocalOffice, eve: Pages) -> None:
    local.rig.machine.time += HOUR
    local.signed_in("bob")
    assert {each["user"] for each in listed(local.owner)} == {"eve", "bob"}
    local.rig.machine.time += HOUR + 1
    (left,) = listed(local.owner)
    assert left["user"] == "bob"
    assert HOUR <= left["at"] <= left["used"] < 2 * HOUR
    assert eve.get("/whoami").status_code == 401
