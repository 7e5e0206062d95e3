"""Adding, changing and removing local users by REST, and what stays of them."""

from pathlib import Path

import pytest

from ganglion.server.recovery.documents import document, value_of
from ganglion.server.state.rights import AccessRights
from tests.server.access.conftest import Staffed
from tests.server.access.office import API
from tests.server.login.browser import HOST
from tests.server.login.local.conftest import COOKIE, GOOD, OTHER, LocalOffice


def test_users_are_listed_without_what_is_kept_of_passwords(local: LocalOffice) -> None:
    local.add("eve")
    local.add("bob", OTHER)
    found = local.owner.get(f"{API}/users")
    assert [each["user"] for each in found.json()["items"]] == ["bob", "eve"]
    assert set(found.json()["items"][0]) == {*("user", "disabled", "changed", "by", "at", "groups")}
    stream = str(local.events(local.owner))
    for text in (found.text, stream):
        assert "argon2" not in text
        assert GOOD not in text
    added = [each for each in local.events(local.owner) if each["type"] == "user_added"]
    assert [(each["user"], each["by"], each["actor"]) for each in added] == [
        ("eve", "ada", "ada"),
        ("bob", "ada", "ada"),
    ]


@pytest.mark.parametrize(
    "user", ["", "e ve", "e\0ve", "eve\u202e", "אבג", "é", "eve/..", "x" * 101, "<b>", "e\nve"]
)
def test_a_name_that_is_none_is_refused(local: LocalOffice, user: str) -> None:
    found = local.owner.post(f"{API}/users", json={"user": user, "password": GOOD})
    assert found.status_code == 422, found.text
    assert local.owner.get(f"{API}/users").json()["items"] == []


@pytest.mark.parametrize(
    "password", ["", "short", "x" * 20, "x" * 5_000, "nine\0trains to Ulm", 1234567]
)
def test_a_password_that_is_none_is_refused_and_not_repeated(
    local: LocalOffice, password: str | int
) -> None:
    found = local.owner.post(f"{API}/users", json={"user": "eve", "password": password})
    assert found.status_code == 422, found.text
    assert not password or str(password) not in found.text
    assert "password" in found.text


def test_a_name_is_one_users_alone(local: LocalOffice) -> None:
    local.add("eve")
    for taken in ("eve", "ada"):
        found = local.owner.post(f"{API}/users", json={"user": taken, "password": GOOD})
        assert found.status_code == 409
    assert local.page_of().sign_in("ada").status_code == 403


def test_admins_change_users_and_others_their_own_password(local: LocalOffice) -> None:
    local.add("eve")
    local.add("bob")
    local.grant("user:bob", "admin")
    eve, bob = local.client(local.token("eve")), local.client(local.token("bob"))
    body = {"password": OTHER, "current": GOOD}
    assert eve.put(f"{API}/users/bob/password", json=body).status_code == 403
    assert eve.put(f"{API}/users/none/password", json=body).status_code == 403
    assert eve.post(f"{API}/users/bob/disable").status_code == 403
    assert eve.get(f"{API}/users").status_code == 403
    for wrong in ({"password": OTHER}, {"password": OTHER, "current": OTHER}):
        assert eve.put(f"{API}/users/eve/password", json=wrong).status_code == 403
    session = local.signed_in("eve")
    assert eve.put(f"{API}/users/eve/password", json=body).status_code == 200
    assert session.get("/whoami").status_code == 401
    assert bob.put(f"{API}/users/eve/password", json={"password": GOOD}).status_code == 200
    assert local.signed_in("eve").get("/whoami").json()["user"] == "eve"
    assert bob.put(f"{API}/users/bob/password", json={"password": OTHER}).status_code == 403
    assert bob.put(f"{API}/users/none/password", json={"password": OTHER}).status_code == 404


def test_broken_glass_adds_no_user(local: LocalOffice) -> None:
    body = {"subject": "user:eve", "role": "admin", "queue": "", "break_glass": True}
    assert local.owner.post(f"{API}/roles:grant", json=body).status_code == 200
    eve = local.client(local.token("eve"))
    assert eve.post(f"{API}/roles:break-glass", json={"reason": "a fire in hall 2"}).is_success
    made = eve.post(f"{API}/users", json={"user": "mallory", "password": GOOD})
    assert made.status_code == 403


def test_nothing_of_a_removed_user_goes_to_another_one_of_that_name(local: LocalOffice) -> None:
    local.add("eve")
    local.grant("user:eve", "admin")
    local.grant("user:evelyn", "viewer")
    token, browser = local.client(local.token("eve")), local.signed_in("eve")
    assert local.owner.delete(f"{API}/users/eve").status_code == 200
    assert token.get(f"{API}/whoami").status_code == browser.get("/whoami").status_code == 401
    assert local.page_of().sign_in("eve").status_code == 403
    assert local.owner.delete(f"{API}/users/eve").status_code == 404
    local.add("eve", OTHER)
    again = local.page_of()
    assert again.sign_in("eve", OTHER).status_code == 200
    assert again.get("/whoami").json()["grants"] == []
    subjects = [each["subject"] for each in local.owner.get(f"{API}/roles").json()["items"]]
    assert subjects == ["user:evelyn"]


def test_users_and_their_sessions_survive_a_restart(tmp_path: Path) -> None:
    rig = Staffed(tmp_path / "home")
    rig.service.start()
    local = LocalOffice(rig)
    with local.owner:
        local.add("eve")
        local.add("bob")
        assert local.owner.post(f"{API}/users/bob/disable").status_code == 200
        cookie = local.signed_in("eve").cookie
    rig.service.stop()
    rig.crash()
    rig.service.start()
    local = LocalOffice(rig)
    with local.owner:
        browser = local.page_of()
        browser.ours.cookies.set(COOKIE, cookie, domain=HOST, path="/")
        assert browser.get("/whoami").json()["user"] == "eve"
        refused = local.page_of().sign_in("bob")
        assert (refused.status_code, "is disabled" in refused.text) == (403, True)
        assert local.page_of().sign_in("eve").status_code == 200
    rig.service.stop()
    rig.ledger.close()


def test_a_checkpoint_keeps_users(local: LocalOffice) -> None:
    local.add("eve")
    assert local.owner.post(f"{API}/users/eve/disable").status_code == 200
    with local.rig.service.read() as mind:
        rights = mind.book.rights
    assert rights.users["eve"].disabled
    assert value_of(document(rights)) == rights
    assert value_of(b'{"rights": {}}') == AccessRights()  # of an earlier version


def test_who_may_not_audit_reads_only_what_is_about_the_own_account(local: LocalOffice) -> None:
    local.add("eve")
    local.add("bob")
    local.grant("user:eve", "viewer")
    body = {"since": 0, "reason": "case 117"}
    assert local.owner.put(f"{API}/holds/case", json=body).status_code == 200
    assert local.owner.post(f"{API}/users:bootstrap", json={}).status_code == 200
    assert local.owner.post(f"{API}/users/bob/disable").status_code == 200
    seen = local.events(local.client(local.token("eve")))
    named = {each["type"] for each in seen if each["type"].startswith(("user", "boot", "hold"))}
    assert named == {"user_added"}
    assert {each["user"] for each in seen if each["type"] == "user_added"} == {"eve"}
    said = local.events(local.client(local.token("eve"), "192.0.2.9"))
    assert said[-1]["type"] == "token_created"


def test_groups_of_a_user_count_at_once_in_sessions_and_tokens(local: LocalOffice) -> None:
    local.grant("group:ml", "submitter", "research")
    local.grant("group:ops", "operator")
    made = {"user": "eve", "password": GOOD, "groups": ["ml", "ml"]}
    added = local.owner.post(f"{API}/users", json=made)
    assert (added.status_code, added.json()["groups"]) == (201, ["ml"])
    session, token = local.signed_in("eve"), local.client(local.token("eve"))
    for client in (session.ours, token):
        assert client.get(f"{API}/whoami").json()["groups"] == ["ml"]
    assert token.post(f"{API}/nodes/n0/cordon", json={"reason": "x"}).status_code == 403
    path = f"{API}/users/eve/groups"
    assert token.put(path, json={"groups": ["ops"]}).status_code == 403
    for _ in range(2):  # the second time nothing changes
        assert local.owner.put(path, json={"groups": ["ops"]}).json()["groups"] == ["ops"]
    assert session.get("/whoami").json()["groups"] == ["ops"]
    assert token.post(f"{API}/nodes/n0/cordon", json={"reason": "x"}).status_code == 200
    assert local.owner.put(path, json={"groups": []}).status_code == 200
    assert token.post(f"{API}/nodes/n0/uncordon").status_code == 403
    grouped = [each for each in local.events(local.owner) if each["type"] == "user_grouped"]
    assert [(each["user"], each["groups"], each["by"]) for each in grouped] == [
        ("eve", ["ops"], "ada"),
        ("eve", [], "ada"),
    ]


@pytest.mark.parametrize("group", ["", "a b", "x" * 101, "group:ml", 7])
def test_a_group_without_a_name_is_refused(local: LocalOffice, group: str | int) -> None:
    made = {"user": "eve", "password": GOOD, "groups": [group]}
    assert local.owner.post(f"{API}/users", json=made).status_code == 422
    local.add("eve")
    put = local.owner.put(f"{API}/users/eve/groups", json={"groups": [group]})
    assert put.status_code == 422
    assert local.owner.get(f"{API}/users").json()["items"][0]["groups"] == []
    none = local.owner.put(f"{API}/users/bob/groups", json={"groups": []})
    assert none.status_code == 404
