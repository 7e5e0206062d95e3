"""Personal tokens and grants: what counts, for how long, and what is written of them."""

import json
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from ganglion.identity.tokens import assembled
from ganglion.server.recovery.documents import document, value_of
from ganglion.server.state.rights import AccessRights
from tests.server.access.office import API, Office, office
from tests.server.conftest import Rig


def test_the_owner_needs_no_grant_and_says_who_it_is(staff: Office) -> None:
    me = staff.owner.get(f"{API}/whoami").json()
    assert (me["user"], me["owner"], me["token"]) == ("ada", True, "")
    assert [each["role"] for each in me["grants"]] == ["admin"]


def test_a_token_is_its_user_within_its_scope(staff: Office) -> None:
    staff.grant("group:ml", "maintainer", "research")
    client = staff.client(staff.token("bob", "viewer", "vision", groups=["ml"], label="ci"))
    job, other = (staff.submit(staff.owner, name, name) for name in ("vision", "speech"))
    assert client.get(f"{API}/workloads/{job}").status_code == 200
    assert client.get(f"{API}/workloads/{other}").status_code == 404
    refused = client.post(f"{API}/workloads/{job}/cancel")
    assert (refused.status_code, refused.json()["code"]) == (403, "access")
    assert "the token is limited to role viewer on queue vision" in refused.json()["detail"]
    me = client.get(f"{API}/whoami").json()
    assert (me["user"], me["owner"], me["groups"]) == ("bob", False, ["ml"])
    assert me["limit"] == "role viewer on queue vision"
    wide = staff.client(staff.token("bob", groups=["ml"]))
    assert wide.post(f"{API}/workloads/{other}/cancel").status_code == 200
    assert wide.post(f"{API}/nodes/n0/uncordon").status_code == 403


def test_whoami_names_the_queue_of_a_token_although_its_user_may_see_nothing_there(
    staff: Office,
) -> None:
    me = staff.client(staff.token("eve", "viewer", "vision")).get(f"{API}/whoami").json()
    assert me["limit"] == "role viewer on queue vision"


def test_whoami_names_no_other_queue_that_a_token_may_not_see(staff: Office) -> None:
    staff.grant("user:eve", "viewer", "speech")
    said = staff.client(staff.token("eve", "viewer", "vision")).get(f"{API}/whoami")
    assert said.json()["limit"] == "role viewer on queue vision"
    assert [each["queue"] for each in said.json()["grants"]] == ["another queue"]
    assert "speech" not in said.text


def test_a_token_of_the_owner_is_limited_too(staff: Office) -> None:
    client = staff.client(staff.token("ada", "viewer"))
    assert client.get(f"{API}/nodes").status_code == 200
    assert client.post(f"{API}/shutdown").status_code == 403
    assert client.post(f"{API}/tokens", json={"user": "ada", "role": "admin"}).status_code == 403
    full = staff.client(staff.token("ada", "admin", days=1))
    made = full.post(f"{API}/tokens", json={"user": "ada", "role": "admin", "days": 300}).json()
    first = full.get(f"{API}/whoami").json()["until"]
    assert made["about"]["until"] == first, "no token makes one that lives longer than itself"


def test_a_submitter_has_its_own_work_and_no_other(staff: Office) -> None:
    bob, eve = (staff.user(name, "submitter", "research") for name in ("bob", "eve"))
    mine = staff.submit(bob, "bobs", "vision")
    assert staff.owner.get(f"{API}/workloads/{mine}").json()["user"] == "bob"
    refused = eve.post(f"{API}/workloads/{mine}/cancel")
    assert refused.status_code == 403
    assert "needs one of the roles maintainer" in refused.json()["detail"]
    assert eve.patch(f"{API}/workloads/{mine}", json={"priority": 9}).status_code == 403
    assert bob.patch(f"{API}/workloads/{mine}", json={"priority": 9}).status_code == 200
    eve.put(f"{API}/secrets/KEY", json={"value": "eve's"})
    assert bob.get(f"{API}/secrets").json()["items"] == []
    assert bob.post(f"{API}/workloads/{mine}/cancel").status_code == 200


def test_the_idempotency_key_of_another_user_repeats_nothing(staff: Office) -> None:
    bob, eve = (staff.user(name, "submitter", "research") for name in ("bob", "eve"))
    body = {"name": "a", "run": "true", "queue": "vision", "resources": {"gpus": 1}}
    head = {"Idempotency-Key": "k1"}
    first = bob.post(f"{API}/workloads", json=body, headers=head).json()["id"]
    assert bob.post(f"{API}/workloads", json=body, headers=head).json()["id"] == first
    other = eve.post(f"{API}/workloads", json={**body, "name": "b"}, headers=head)
    assert other.status_code == 201
    assert other.json()["id"] != first


def test_programs_of_others_do_not_run_as_the_account_of_the_server(rig: Rig) -> None:
    rig.service.start()
    body = {"name": "a", "run": "cat ~/.ganglion/token", "resources": {"gpus": 1}}
    with office(rig, shares_account=True) as staff:
        client = staff.user("bob", "owner")
        for path, sent in (
            ("/workloads", {**body, "queue": "vision"}),
            ("/workloads?force=true", {**body, "queue": "vision"}),
            ("/workloads:submit", {"workloads": [{**body, "queue": "vision"}]}),
        ):
            refused = client.post(API + path, json=sent)
            assert (refused.status_code, refused.json()["code"]) == (403, "access.account"), path
            assert "programs run as the account of this server" in refused.json()["detail"]
            assert "accounts.yaml" in refused.json()["hint"]
        job = staff.submit(staff.owner, "train", "vision")
        assert client.post(f"{API}/workloads/{job}/retry").status_code == 403
        assert client.post(f"{API}/workloads/{job}/cancel").status_code == 200
        limited = staff.client(staff.token("ada", "owner"))
        refused = limited.post(f"{API}/workloads", json={**body, "queue": "vision"})
        assert refused.status_code == 403
        full = staff.client(staff.token("ada", "admin"))
        staff.submit(full, "mine", "vision")
    rig.service.stop()


def test_a_submitter_without_an_account_may_ask_what_would_happen(rig: Rig) -> None:
    rig.service.start()
    body = {"name": "a", "run": "true", "resources": {"gpus": 1}, "queue": "vision"}
    with office(rig, shares_account=True) as staff:
        client = staff.user("bob", "submitter", "research")
        told = client.post(f"{API}/workloads?dry_run=true", json=body)
        assert told.status_code == 200, told.text
        assert told.json()["placement"]
        other = client.post(f"{API}/workloads?dry_run=true", json={**body, "queue": "secretlab"})
        assert (other.status_code, "there is no queue" in other.json()["detail"]) == (422, True)
        assert client.get(f"{API}/workloads").json()["items"] == []
    rig.service.stop()


def test_a_schedule_of_a_user_is_refused_as_it_would_outlive_the_grant(staff: Office) -> None:
    bob = staff.user("bob", "owner")
    body = {"name": "a", "run": "true", "queue": "vision", "schedule": {"cron": "0 3 * * *"}}
    refused = bob.post(f"{API}/workloads", json={**body, "resources": {"gpus": 1}})
    assert (refused.status_code, "schedule" in refused.json()["detail"]) == (403, True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda token: token[:-1], "has 40 characters, this one has 39"),
        (lambda token: token[:10], "has 40 characters, this one has 10"),
        (lambda token: token[:8] + ("A" if token[8] != "A" else "B") + token[9:], "checksum"),
        (lambda _token: assembled([7] * 30), "knows no such personal token"),
        (lambda token: token + " x", "has 40 characters"),
        (lambda _token: "gng_" + "\u00e9" * 18, "letters and digits"),
    ],
)
def test_a_token_that_is_none_is_refused_by_name(staff: Office, change: object, said: str) -> None:
    token = staff.token("bob", "viewer")
    assert callable(change)
    given = {"Authorization": f"Bearer {change(token)}".encode()}
    refused = staff.client("").get(f"{API}/workloads", headers=given)  # type: ignore[arg-type]
    assert refused.status_code == 401
    assert said in refused.json()["detail"]
    assert refused.headers["www-authenticate"] == "Bearer"
    assert token[4:] not in refused.text
    assert staff.client(token).get(f"{API}/whoami").status_code == 200


def test_a_revoked_token_and_an_ended_grant_count_no_more(staff: Office) -> None:
    client = staff.user("bob", "viewer", "research")
    assert client.get(f"{API}/workloads").status_code == 200
    staff.owner.post(
        f"{API}/roles:revoke", json={"subject": "user:bob", "role": "viewer", "queue": "research"}
    )
    assert client.get(f"{API}/workloads").status_code == 403
    soon = staff.rig.service.now() + 400
    staff.grant("user:bob", "viewer", "research", soon)
    assert client.get(f"{API}/workloads").status_code == 200
    staff.rig.machine.time = soon
    assert client.get(f"{API}/workloads").status_code == 403
    token = client.get(f"{API}/whoami").json()["token"]
    assert client.delete(f"{API}/tokens/none").status_code == 404
    assert client.delete(f"{API}/tokens/{token}").status_code == 200
    refused = client.get(f"{API}/whoami")
    assert (refused.status_code, "no such personal token" in refused.text) == (401, True)


def test_a_user_sees_and_revokes_only_its_own_tokens(staff: Office) -> None:
    bob, eve = (staff.user(name, "viewer") for name in ("bob", "eve"))
    theirs = eve.get(f"{API}/whoami").json()["token"]
    assert [each["user"] for each in bob.get(f"{API}/tokens").json()["items"]] == ["bob"]
    assert bob.delete(f"{API}/tokens/{theirs}").status_code == 404
    assert {each["user"] for each in staff.owner.get(f"{API}/tokens").json()["items"]} == {
        *("bob", "eve"),
    }


def test_a_role_is_given_only_by_those_who_have_it_there(staff: Office) -> None:
    client = staff.user("olga", "owner", "research")

    def give(role: str, queue: str) -> int:
        body = {"subject": "user:zoe", "role": role, "queue": queue}
        return client.post(f"{API}/roles:grant", json=body).status_code

    assert [give(role, "vision") for role in ("viewer", "maintainer", "owner")] == [200] * 3
    assert [give(role, "vision") for role in ("operator", "admin")] == [403, 403]
    assert [give("viewer", queue) for queue in ("", "org")] == [403, 422]
    assert give("viewer", "secretlab") == give("viewer", "absent") == 422
    seen = client.get(f"{API}/roles").json()["items"]
    assert {each["queue"] for each in seen} == {"research", "vision"}


def test_only_a_digest_of_a_token_is_written_and_streams_have_not_even_that(
    staff: Office, tmp_path: Path
) -> None:
    token = staff.token("bob", "viewer")
    staff.client(token).post(f"{API}/shutdown")
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert token.encode()[4:-6] not in path.read_bytes(), path
    made = next(each for each in staff.events(staff.owner) if each["type"] == "token_created")
    assert made["digest"] == ""
    assert staff.owner.get(f"{API}/tokens").text.count(token[4:20]) == 0


def test_denials_are_events_and_equal_ones_are_recorded_once(staff: Office) -> None:
    client = staff.user("bob", "viewer", "research")
    for _ in range(5):
        assert client.post(f"{API}/shutdown").status_code == 403
        assert client.get(f"{API}/queues/secretlab").status_code == 404
        assert client.get(f"{API}/queues/absent").status_code == 404
    denied = [each for each in staff.events(staff.owner) if each["type"] == "access_denied"]
    assert [(each["user"], each["operation"], each["queue"]) for each in denied] == [
        ("bob", "shut_down", ""),
        ("bob", "show_queue", "secretlab"),
    ]
    assert "needs one of the roles admin on the whole fleet" in denied[0]["rule"]


def test_a_stream_ends_when_its_token_is_revoked(
    staff: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ganglion.server.access.gate.AGAIN_MS", 0)
    token = staff.token("bob")
    staff.grant("user:bob", "viewer")
    about = staff.client(token).get(f"{API}/whoami").json()["token"]
    with staff.client(token).stream("GET", f"{API}/events?now=true") as stream:
        lines = stream.iter_lines()
        assert next(lines) == ": events"
        staff.owner.delete(f"{API}/tokens/{about}")
        began = time.monotonic()
        assert "token_revoked" not in "".join(lines)
        assert time.monotonic() - began < 5


def unnamed(rights: AccessRights) -> AccessRights:
    """Without their requests, which events get when they are written."""
    return AccessRights(
        {key: replace(each, request="", actor="", grant="") for key, each in rights.grants.items()},
        {key: replace(each, request="", actor="", grant="") for key, each in rights.tokens.items()},
    )


def test_grants_and_tokens_outlive_the_server(rig: Rig) -> None:
    rig.service.start()
    with office(rig) as staff:
        staff.grant("group:ml", "viewer", "research")
        token = staff.token("bob", groups=["ml"])
        gone = staff.token("eve", groups=["ml"])
        about = staff.client(gone).get(f"{API}/whoami").json()["token"]
        staff.owner.delete(f"{API}/tokens/{about}")
        with rig.service.read() as mind:
            before = mind.book.rights
    rig.service.stop()
    rig.crash()
    with rig.service.read() as mind:
        after = mind.book.rights
        assert unnamed(after) == unnamed(before)
        assert value_of(document(after)) == after
    rig.service.start()
    with office(rig) as staff:
        assert staff.client(token).get(f"{API}/workloads").status_code == 200
        assert staff.client(gone).get(f"{API}/workloads").status_code == 401
    rig.service.stop()


def test_a_queue_that_is_removed_takes_its_grants_along(staff: Office) -> None:
    client = staff.user("bob", "viewer", "speech")
    assert staff.owner.delete(f"{API}/queues/speech").status_code == 200
    assert staff.owner.put(f"{API}/queues/speech", json={"parent": "org"}).status_code == 200
    assert client.get(f"{API}/workloads").status_code == 403
    assert staff.owner.get(f"{API}/roles").json()["items"] == []


def test_checkpoints_of_versions_without_rights_have_none() -> None:
    assert json.loads(document(AccessRights())) == {
        "rights": {
            name: {"table": {}}
            for name in (
                *("grants", "tokens", "accounts", "sessions", "holds", "glasses", "users"),
            )
        }
        | {"bootstrap": None}
    }


def test_tokens_that_expired_are_listed_for_a_month(staff: Office) -> None:
    day = 86_400_000
    staff.token("eve", days=1)
    lasting = staff.token("bob", days=40)

    def users() -> set[str]:
        return {each["user"] for each in staff.owner.get(f"{API}/tokens").json()["items"]}

    staff.rig.machine.time += 31 * day - 1_000
    staff.token("ann")
    assert users() == {"eve", "bob", "ann"}
    staff.rig.machine.time += 2_000
    staff.token("ann")
    assert users() == {"bob", "ann"}
    assert staff.client(lasting).get(f"{API}/whoami").status_code == 200
