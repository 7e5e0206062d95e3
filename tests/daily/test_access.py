"""Roles and personal tokens at the command line of a real server."""

import json

import pytest

from ganglion.client import Client
from ganglion.client.home import read_server
from ganglion.model.errors import EnvironmentFault, Forbidden, NotFound
from ganglion.transport.http import Unproven
from tests.daily.conftest import Ganglion, Site


def test_a_token_made_here_is_another_user_elsewhere(
    site: Site, ganglion: Ganglion, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "the owner of the server" in ganglion("whoami").out
    assert ganglion("role", "grant", "eve", "viewer", "-q", "blue", "--for", "8h").code == 0
    made = ganglion("token", "create", "eve", "viewer", "-q", "blue", "--label", "dashboard")
    token = made.out.strip()
    assert (token[:4], "not shown again" in made.err) == ("gng_", True)
    holders = json.loads(ganglion("whocan", "view", "workload", "-q", "blue", "-o", "json").out)
    assert {"user:eve"} < {each["subject"] for each in holders}
    job = site.submit("seen", "sleep 600", resources={"gpus": 1})

    record = read_server(site.home)
    assert record
    with monkeypatch.context() as patch:
        patch.setenv("GANGLION_URL", record.url)
        patch.setenv("GANGLION_TOKEN", token)
        said = ganglion("whoami").out
        assert said.startswith("eve: by token")
        assert "limited to role viewer on queue blue" in said
        assert job in ganglion("ps").out
        refused = ganglion("cancel", job)
        assert refused.code == 1
        assert "the token is limited to role viewer on queue blue" in refused.err
        assert ganglion("nodes").code == 1
        run = ganglion("run", "--detach", "-q", "blue", "true")
        assert run.code == 1
        mine = json.loads(ganglion("token", "list", "-o", "json").out)
        assert [each["user"] for each in mine] == ["eve"]

    denied = ganglion("events", "--type", "access_denied").out
    assert "cancel_many" in denied
    assert ganglion("token", "revoke", mine[0]["id"]).code == 0
    assert ganglion("role", "revoke", "eve", "viewer", "-q", "blue").code == 0
    assert "no grants" in ganglion("role", "list").err
    assert token[4:] not in (site.home / "server.log").read_text()
    with Client(record.url, token) as client, pytest.raises(EnvironmentFault):
        client.access.whoami()
    ganglion("cancel", job, "--force", "-y")


def test_a_legal_hold_is_placed_listed_and_released(site: Site, ganglion: Ganglion) -> None:
    words = ("audit", "hold", "add", "case-117", "--reason", "case 26-117")
    done = ganglion(*words)
    assert (done.code, done.out) == (0, "hold case-117: every event stays until it is released\n")
    again = ganglion(*words, "--since", "2026-10-01")
    assert again.code == 1
    assert "there is a hold 'case-117' already" in again.err
    listed = json.loads(ganglion("audit", "hold", "list", "-o", "json").out)
    assert [(each["name"], each["since"], each["reason"]) for each in listed] == [
        ("case-117", 0, "case 26-117")
    ]
    seen = ganglion("events", "--type", "hold_placed").out
    assert "every event stays: case 26-117, by" in seen
    assert ganglion("audit", "hold", "release", "case-117").code == 0
    assert "no holds" in ganglion("audit", "hold", "list").err
    gone = ganglion("audit", "hold", "release", "case-117")
    assert gone.code == 1
    assert "there is no hold 'case-117'" in gone.err


def test_glass_is_broken_told_and_mended(
    site: Site, ganglion: Ganglion, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = json.loads(ganglion("nodes", "-o", "json").out)[0]["name"]
    made = ganglion("role", "grant", "eve", "operator", "--break-glass")
    assert made.out == "user:eve may break the glass for role operator on the whole fleet\n"
    token = ganglion("token", "create", "eve", "admin").out.strip()
    record = read_server(site.home)
    assert record
    with monkeypatch.context() as patch:
        patch.setenv("GANGLION_URL", record.url)
        patch.setenv("GANGLION_TOKEN", token)
        assert "(dormant)" in ganglion("whoami").out
        assert ganglion("cordon", node).code == 1
        done = ganglion("break-glass", "--reason", "node fire in hall 2", "--for", "2h")
        assert done.out.startswith("user:eve has role operator on the whole fleet until ")
        assert ganglion("cordon", node).code == 0
        assert ganglion("break-glass", "--reason", "node fire in hall 2", "--for", "5h").code != 0
    seen = ganglion("events", "--type", "glass_broken").out
    assert "eve broke the glass: role operator on the whole fleet until" in seen
    assert "node fire in hall 2" in seen
    assert "broken by eve until" in ganglion("role", "list").out
    assert ganglion("break-glass", "--end", "--user", "eve").code == 0
    shown = json.loads(ganglion("audit", "show", "--glass", "-o", "json").out)
    assert [(each["kind"], each["actor"]) for each in shown[:2]] == [
        ("glass_broken", "eve"),
        ("node_cordoned", "eve"),
    ]
    assert shown[1]["rule"].endswith("on the whole fleet, by broken glass")
    assert (shown[2]["kind"], shown[2]["event"]["by"]) == ("glass_mended", shown[2]["actor"])
    assert ganglion("uncordon", node).code == 0
    assert ganglion("role", "revoke", "eve", "operator").code == 0
    (listed,) = json.loads(ganglion("token", "list", "-o", "json").out)
    assert ganglion("token", "revoke", listed["id"]).code == 0


def test_the_sdk_grants_and_limits(site: Site) -> None:
    record = read_server(site.home)
    assert record
    with site.client() as owner:
        owner.access.grant("group:ml", "maintainer")
        made = owner.access.create_token("bob", "maintainer", groups=["ml"], days=1)
        with Client(record.url, made.token) as bob:
            me = bob.access.whoami()
            assert (me.user, me.groups, me.token) == ("bob", ("ml",), made.about.id)
            assert [each.subject for each in bob.access.roles()] == ["group:ml"]
            with pytest.raises(Forbidden, match="the token is limited to role maintainer"):
                bob.cordon(bob.nodes()[0].name, "no")
            with pytest.raises(Forbidden, match="run as the account of this server"):
                bob.submit({"name": "x", "run": "true", "queue": "blue"})
            with pytest.raises(NotFound, match="there is no token"):
                bob.access.revoke_token("none")
        with pytest.raises(Unproven), Client(record.url, "gng_" + "0" * 36) as none:
            none.access.whoami()
        owner.access.revoke_token(made.about.id)
        owner.access.revoke("group:ml", "maintainer")
        assert owner.access.tokens() == ()
        assert owner.access.whocan("halt", "server").items[0].role == "admin"
