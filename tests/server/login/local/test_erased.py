"""Erasing the name of a local user: with and without removing the user first."""

import pytest

from ganglion.ledger.people.erasure import unwiped
from tests.server.access.office import API
from tests.server.login.local.conftest import LocalOffice

NAME = "eve.of-the-lab"


@pytest.mark.parametrize("removed", [True, False])
def test_the_user_and_all_that_was_its_go_with_the_name(local: LocalOffice, removed: bool) -> None:
    local.add(NAME)
    local.grant(f"user:{NAME}", "viewer")
    browser, token = local.signed_in(NAME), local.client(local.token(NAME))
    assert browser.get("/nodes").status_code == token.get(f"{API}/nodes").status_code == 200
    home = local.rig.home.root
    assert any(NAME.encode() in path.read_bytes() for path in home.glob("ledger.db*"))
    if removed:
        assert local.owner.delete(f"{API}/users/{NAME}").status_code == 200
    body = {"user": NAME, "reason": "request of 2026-11-27"}
    done = local.owner.post(f"{API}/users:erase", json=body)
    assert done.status_code == 200, done.text
    assert browser.get("/whoami").status_code == 401
    assert token.get(f"{API}/whoami").status_code == 401
    assert local.page_of().sign_in(NAME).status_code == 403
    for page in ("users", "sessions", "roles", "tokens", "events?follow=false"):
        assert NAME not in local.owner.get(f"{API}/{page}").text, page
    assert local.owner.get(f"{API}/users").json()["items"] == []
    assert not unwiped(local.rig.ledger)
    for path in home.glob("ledger.db*"):
        assert NAME.encode() not in path.read_bytes(), path.name
    local.add(NAME)  # another user may have the name, and has nothing of the former
    me = local.signed_in(NAME).get("/whoami").json()
    assert (me["user"], me["grants"]) == (NAME, [])
